"""A mapper and an objective of your own: a hill climber minimises energy x delay^2."""

import argparse

import numpy as np

from maestro_env import Evaluator, MapSpace, Problem, find_hardware, find_layer
from maestro_env.evaluation.objectives import Objective
from maestro_env.mappers import make_mapper, register_mapper
from maestro_env.mappers.base import AskTellMapper
from maestro_env.mappers.parts.arrays import log_uniform

flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--samples", type=int, default=5_000, help="mappings of each mapper")
samples = flags.parse_args().samples

# A product of figures; a lower bound is optional.
ed2 = Objective("ed2", "nJ x cycles^2", ("energy_nj", "latency_cycles", "latency_cycles"), None)


class HillClimber(AskTellMapper):
    """Changes one or two parameters of the best vector so far, after random ones."""

    def start(self, space, rng):
        super().start(space, rng)
        self.best, self.value = None, np.inf

    def ask(self, n):
        vectors = log_uniform(self._space, min(n, 32), self._rng)
        if self.best is None:
            return vectors
        changed = self._rng.integers(len(self.best), size=(len(vectors), 2))
        neighbours = np.tile(self.best, (len(vectors), 1))
        rows = np.arange(len(vectors))[:, None]
        neighbours[rows, changed] = vectors[rows, changed]
        return neighbours

    def tell(self, points, values):
        least = values.argmin()
        if values[least] < self.value:
            self.best, self.value = points[least], values[least]


# From here on it is known as the project's own are, to commands run in this process too. Those that
# start processes know the mappers of installed packages: an entry point "maestro_env.mappers".
register_mapper("hill_climber", HillClimber)

problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("unlimited")))
for name in ("hill_climber", "random_log", "ga_log"):
    evaluator = Evaluator(problem, ed2, samples)
    make_mapper(name).search(evaluator, samples, np.random.default_rng(0))
    print(f"{name:12} {evaluator.best.value:.3g} {ed2.unit}")
