"""Searches that the tests of mappers share, and the evaluator that watches them."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from maestro_env.evaluator import Batch, Evaluator
from maestro_env.hardware import PRESETS
from maestro_env.map_space import MapSpace, Points
from maestro_env.models import DEFAULT_MODEL, MODELS
from maestro_env.objectives import find_objective
from maestro_env.problem import Problem
from maestro_env.workloads import find_layer
from mappers import MAPPERS, make_mapper
from mappers.base import SearchResult

every_mapper = pytest.mark.parametrize("name", MAPPERS)
every_model = pytest.mark.parametrize("model", MODELS)


class Recorder(Evaluator):
    """Keeps the points it is asked for, and the best value after every batch."""

    def __init__(self, problem: Problem, objective: str, budget: int | None) -> None:
        super().__init__(problem, find_objective(objective), budget)
        self.points: list[Points] = []
        self.bests: list[tuple[int, float]] = []

    def record(self, points: Points, batch: Batch) -> None:
        self.points.append(points.copy())
        super().record(points, batch)
        self.bests.append((self.used, self.best.value if self.best else np.inf))


def problem(model: str = DEFAULT_MODEL, l1_bytes: int = 2**30) -> Problem:
    hardware = replace(PRESETS["unlimited"], l1_bytes=l1_bytes)
    return Problem(MapSpace(find_layer("mobilenetv2_l2"), hardware), model)


def search(
    name: str,
    model: str,
    budget: int,
    seed: int = 0,
    objective: str = "latency",
    l1_bytes: int = 2**30,
) -> tuple[Recorder, SearchResult]:
    recorder = Recorder(problem(model, l1_bytes), objective, budget)
    result = make_mapper(name).search(recorder, budget, np.random.default_rng(seed))
    return recorder, result


def fingerprint(name: str, model: str, seed: int) -> str:
    """Digest of 500 samples: the points, their values and statuses."""
    recorder, _ = search(name, model, 500, seed)
    parts = [*recorder.points, *recorder.trace]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()
