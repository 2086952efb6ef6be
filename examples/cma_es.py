"""An optimiser of real numbers, CMA-ES of the library pycma, searches for a mapping."""

import argparse

import cma

from maestro_env import MapSpace, Problem, find_hardware, find_layer

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=2_000, help="mappings to evaluate")
samples = flags.parse_args().samples

problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("edge")))
cost = problem.objective("edp")


def penalised(shares):
    """Evaluate one mapping, given as a number from 0 to 1 for each parameter.

    It is log10 of the EDP. Any mapping that does not fit the buffers is worse than all that do, and
    the worse the more it misses.
    """
    return cost.penalised(cost.from_unit(shares))


start = [0.5] * len(cost.parameters)
options = {"bounds": [0, 1], "maxfevals": samples, "seed": 1, "verbose": -9}
_, search = cma.fmin2(penalised, start, 0.3, options)

best = cost.from_unit(search.result.xbest)
print(f"best EDP after {search.result.evaluations} samples: {cost(best):.4g} cycles x nJ")
print(problem.space.decode(best))
