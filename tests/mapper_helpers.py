"""Searches that the tests of mappers share, and the evaluator that watches them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from two_levels import MODELS

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import PROVERS, make_mapper, own_mappers
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

# Settings with which every mapper learns within a few hundred samples, and cheaply.
_QUICK = {
    "bo": "initial=60:trees=3:local=200:candidates=50",
    "maddpg": "rows=8:samples=75:updates=0.01",
    "marl_clustered": "warm_up=500",
    "marl_mlp": "batch=16:epochs=2",
    "marl_paper": "batch=16:epochs=2",
    "masac": "rows=8:samples=75:updates=0.01",
    "optuna": "memory=50",
    "qmix": "rows=8:samples=75:updates=0.01",
    "ppo": "n_steps=8:n_epochs=2:environments=4:batch_size=32",
    "ppo_box": "n_steps=8:n_epochs=2:environments=4:batch_size=32",
    "ppo_tuned": "n_steps=8:n_epochs=2:environments=4:batch_size=32",
}
LEARNERS = {
    **dict.fromkeys(("maddpg", "marl_mlp", "marl_paper", "masac", "qmix"), "torch"),
    "prior_adapted": "torch",
    **dict.fromkeys(("ppo", "ppo_box", "ppo_tuned"), "stable_baselines3"),
    "optuna": "optuna",
}
# Where an extra is missing, test_networks.py, test_ppo.py and test_optuna.py say so.
_MISSING = {name for name, module in LEARNERS.items() if find_spec(module) is None}
SPENDERS = [name for name in own_mappers() if name not in (*PROVERS, *_MISSING)]
TRACES = json.loads((Path(__file__).parent / "data" / "traces.json").read_text())
QUICK = [f"{name}:{_QUICK[name]}" if name in _QUICK else name for name in SPENDERS]

# A sample of Optuna takes longer than hundreds of most others; test_optuna.py has its searches.
CASES = [
    pytest.param(text, id=name, marks=[pytest.mark.slow] * (name == "optuna"))
    for name, text in zip(SPENDERS, QUICK, strict=True)
]
every_mapper = pytest.mark.parametrize("mapper", CASES)
every_model = pytest.mark.parametrize("model", MODELS)


class Recorder(Evaluator):
    """Keeps the points it is asked for, and the best value after every batch."""

    def __init__(
        self, problem: Problem, objective: str, budget: int | None, start: Points | None = None
    ) -> None:
        super().__init__(problem, find_objective(objective), budget, start=start)
        self.points: list[Points] = []
        self.bests: list[tuple[int, float]] = []

    def record(self, points: Points, batch: Batch) -> None:
        self.points.append(points.copy())
        super().record(points, batch)
        self.bests.append((self.used, self.best.value if self.best else np.inf))

    def digest(self) -> str:
        """Return a digest of all points, their values and statuses."""
        parts = [*self.points, *self.trace]
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


@cache
def problem(model: str = DEFAULT_MODEL, l1_bytes: int = 2**30) -> Problem:
    hardware = replace(PRESETS["unlimited"], l1_bytes=l1_bytes)
    return Problem(MapSpace(find_layer("mobilenetv2_l2"), hardware), model)


@cache
def search(
    mapper: str,
    budget: int,
    seed: int = 0,
    model: str = DEFAULT_MODEL,
    objective: str = "latency",
    l1_bytes: int = 2**30,
) -> Recorder:
    """Search once, however many tests look at the result."""
    recorder = Recorder(problem(model, l1_bytes), objective, budget)
    make_mapper(mapper).search(recorder, budget, np.random.default_rng(seed))
    return recorder
