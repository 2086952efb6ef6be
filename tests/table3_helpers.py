"""Searches on one problem, made up by hand, for tests of Table III."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from experiments.cells import Cell, Finished
from experiments.paper.arena import Arena
from experiments.paper.item import Run
from experiments.paper.searches import goal
from experiments.standings import Contest

LAYER = "mobilenetv2_l2"
SAMPLES = 100
CELLS = {"paper": 1, "edge": 1}
Found = dict[int, float]


def search(mapper: str, seed: int, found: Found, warm_up: int = 0) -> Finished:
    return Finished(
        Cell(LAYER, "latency", mapper, seed),
        evaluations=SAMPLES,
        invalid=0,
        unique=SAMPLES,
        warm_up=warm_up,
        at=np.array(list(found), dtype=np.int64),
        values=np.array(list(found.values())),
        best_point=(0,) if found else None,
        seconds=1.0,
        model_seconds=0.5,
        versions={},
    )


def arena(searches: Mapping[str, Sequence[Found]], hardware: str = "paper") -> Arena:
    made = {
        mapper: tuple(search(mapper, seed, found) for seed, found in enumerate(each))
        for mapper, each in searches.items()
    }
    run = Run(LAYER, "latency", "marl", 0, SAMPLES, hardware)
    return Arena("exact", hardware, SAMPLES, Contest(LAYER, "latency", goal(run), made))


def ends(*values: float) -> list[Found]:
    """Searches that find these values at once and nothing else."""
    return [{1: value} for value in values]
