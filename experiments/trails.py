"""Trails: the improvements of searches that believe the maestro model, under both models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.searches import run_search
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import Hardware
from maestro_env.layer import Layer
from maestro_env.map_space import MapSpace, Points
from maestro_env.objectives import find_objective, latency_bound
from maestro_env.problem import Problem


@dataclass(frozen=True, eq=False)
class Trail:
    """A search's best mapping so far after every generation, as long as it got better.

    Args:
        maestro: float64[N], runtimes under maestro in multiples of the roofline.
        exact: float64[N], those of the same mappings under exact.
    """

    maestro: NDArray[np.float64]
    exact: NDArray[np.float64]


def follow(layer: Layer, hardware: Hardware, mapper: str, samples: int, seed: int) -> Trail:
    """Search for least latency under maestro without the guard, as ``experiments.run`` would."""
    space, latency = MapSpace(layer, hardware), find_objective("latency")
    believed = Problem(space, "maestro", guard=False)
    bests: list[Points] = []

    def note(evaluator: Evaluator) -> None:
        best = evaluator.best
        if best and not (bests and np.array_equal(bests[-1], best.point)):
            bests.append(best.point)

    evaluator = Evaluator(believed, latency, samples, on_batch=note)
    run_search(evaluator, mapper, seed)
    points = np.stack(bests)
    roofline = latency_bound(layer, hardware)
    maestro, exact = (
        latency.function(problem.evaluate(points).metrics) / roofline
        for problem in (believed, Problem(space, "exact"))
    )
    return Trail(maestro, exact)
