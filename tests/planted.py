"""A problem whose parameters depend on each other in known groups."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env._native import METRICS
from maestro_env.accelerators.finding import find_hardware
from maestro_env.evaluation.cost_and_status import Cost, Rows
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

GROUPS = (
    ("l2_order", "l2_tile_X", "cluster_size"),
    ("l2_parallel", "l1_tile_K"),
    ("l2_tile_K", "l1_order", "l1_tile_Y", "l1_parallel"),
    ("l2_tile_C", "l1_tile_X"),
    ("l2_tile_Y", "l1_tile_C"),
)
PARTITION = {frozenset(group) for group in GROUPS}
LATENCY = find_objective("latency")


class Planted(Problem):
    """Costs are low where all parameters of a group are about equally far along their choices."""

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        names = [each.name for each in self.space.parameters]
        along = (points + 0.5) / self.space.sizes
        spread = [along[:, [names.index(name) for name in group]].std(axis=1) for group in GROUPS]
        metrics = np.full((len(points), len(METRICS)), 1 + np.sum(spread, axis=0)[:, np.newaxis])
        return Rows(metrics, np.zeros(len(points), dtype=np.uint8))

    def score(
        self, points: Points, objective: Objective, threads: int = 1
    ) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        rows = self.evaluate(points)
        return np.where(rows.status, np.inf, objective.function(rows.metrics)), rows.status

    def evaluate_mapping(self, mapping: object) -> tuple[Cost, str]:
        return Cost.from_row([1.0] * len(METRICS)), "ok"


def planted() -> Planted:
    return Planted(MapSpace(find_layer("resnet18_l2"), find_hardware("paper")))
