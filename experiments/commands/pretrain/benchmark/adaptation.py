"""What going on to learn is worth where a prior was not trained: the table of docs/prior.md."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.shown.statistics import Floats, log_mean
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.workloads.finding import find_layer
from mappers import make_mapper

MAPPERS = ("prior", "prior_adapted", "marl")
BUDGETS = (100, 500)
# Cycles.
_SETUP = 1000

_CONV = find_layer("conv:K=96,C=40,Y=30,X=30,R=3,S=3")
_GEMM = find_layer("gemm:M=200,N=1000,K=600")
_DEPTHWISE = find_layer("dsconv:C=160,Y=30,X=30,R=5,S=5")
_EDGE = PRESETS["edge"]
_MANY_PES = Hardware(300_000, 2**10, 2**24, noc_bw=2**12, offchip_bw=2**9)
_TINY_L1 = Hardware(256, 20, 2**16, noc_bw=64, offchip_bw=16)
_SLOW_NOC = Hardware(512, 2**9, 2**18, 1, 16, noc_hops=8, noc_hop_latency=500)


class SetupProblem(Problem):
    """What a prior does not know: a simulator that sets up every tile of L2 for 1,000 cycles."""

    def score(
        self, points: Points, objective: Objective, threads: int = 1
    ) -> tuple[Floats, NDArray[np.uint8]]:
        """Evaluate int32[N, D] vectors for their latency."""
        values, status = super().score(points, objective, threads)
        tiles = np.ones(len(points))
        for dim, extent in self.space.extents.items():
            tile = self.space.tile("l2", dim)
            if not isinstance(tile, int):
                sizes = np.asarray(tile.values)[points[:, self.space.columns[tile.name]]]
                tiles *= -(-extent // sizes)
        return values + _SETUP * tiles, status


PROBLEMS: Mapping[str, tuple[tuple[Problem, str], ...]] = {
    "model `maestro`": tuple(
        (Problem(MapSpace(layer, _EDGE), "maestro"), "edp") for layer in (_CONV, _GEMM)
    ),
    "far machines": (
        (Problem(MapSpace(_CONV, _MANY_PES)), "edp"),
        (Problem(MapSpace(_GEMM, _TINY_L1)), "edp"),
        (Problem(MapSpace(_CONV, _SLOW_NOC)), "edp"),
        (Problem(MapSpace(_DEPTHWISE, _SLOW_NOC)), "edp"),
    ),
    "a simulator": tuple(
        (SetupProblem(MapSpace(layer, _EDGE)), "latency") for layer in (_CONV, _GEMM, _DEPTHWISE)
    ),
    "within the ranges": tuple(
        (Problem(MapSpace(layer, _EDGE)), "edp") for layer in (_CONV, _GEMM)
    ),
}
"""Problems with their objectives, by what is new to the prior; no layer is one of the zoo."""


def bests(problem: Problem, objective: str, mapper: str, seed: int) -> Floats:
    """Return the best values of one search after each of ``BUDGETS`` samples."""
    evaluator = Evaluator(problem, find_objective(objective), BUDGETS[-1])
    make_mapper(mapper).search(evaluator, BUDGETS[-1], np.random.default_rng(seed))
    found: Floats = np.minimum.accumulate(evaluator.trace[0])[np.array(BUDGETS) - 1]
    return found


def main(seeds: int) -> None:
    """Print the table: values divided by those of ``prior``, geometric means.

    Args:
        seeds: searches of each problem by each mapper.
    """
    print(f"| problems | mapper | {' | '.join(map(str, BUDGETS))} |")
    print(f"| --- | --- |{' ---: |' * len(BUDGETS)}")
    for kind, problems in PROBLEMS.items():
        searches = list(product(problems, range(seeds)))
        found = {
            mapper: np.array([bests(*each, mapper, seed) for each, seed in searches])
            for mapper in MAPPERS
        }
        for mapper in MAPPERS[1:]:
            ratios = log_mean(found[mapper] / found["prior"])
            print(f"| {kind} | `{mapper}` | {' | '.join(f'{each:.3f}' for each in ratios)} |")


if __name__ == "__main__":
    main(int(sys.argv[1]))
