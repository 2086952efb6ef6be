"""Samples that a policy collects for clustering, kept so that they are paid once."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clustering import Samples
from experiments.files import RecordError, ensure_directory, replacing
from experiments.goals import Goal
from experiments.machine import code_digest
from experiments.searches import run_search
from experiments.stats import Floats
from maestro_env.evaluator import Batch, Evaluator
from maestro_env.map_space import Points
from mappers.agents.grouping import refusing, samples_of


@dataclass(frozen=True, eq=False)
class Collected:
    """Samples and where they come from.

    Args:
        samples: in the order they were evaluated.
        spent: evaluations this took: none if the samples were in the cache.
        path: the cache's file of them.
        complaint: what was the matter with that file, if it had to be replaced.
    """

    samples: Samples
    spent: int
    path: Path
    complaint: str | None


def collect(
    goal: Goal,
    policy: str,
    samples: int,
    seed: int,
    cache: Path,
    on_batch: Callable[[Evaluator], None] | None = None,
) -> Collected:
    """Return what a policy's search evaluates, from the cache if it is there.

    Args:
        goal: of the search.
        policy: a mapper, and changes of its settings if need be.
        samples: to spend.
        seed: the search begins with.
        cache: directory of the cache; made if it is not there.
        on_batch: called after every batch, for progress bars.

    Raises:
        RecordError: the cache cannot be written.
        AgentsError: values that are no rewards.
        Exception: whatever the policy raises.
    """
    facts = describe(goal, policy, samples, seed)
    path = cache / f"{hashlib.sha256(facts.encode()).hexdigest()[:32]}.npz"
    complaint = None
    try:
        if found := _read(path, facts, goal, samples):
            return Collected(found, 0, path, None)
    except RecordError as error:
        complaint = f"{error}; its samples were collected again"
    ensure_directory(cache)
    recorder = _Recorder(goal, samples, on_batch)
    run_search(recorder, policy, seed)
    points, values = np.concatenate(recorder.points), recorder.trace[0]
    with refusing(f"{policy} on {goal.problem.layer}"):
        made = samples_of(goal.problem.space, points, values)
    with replacing(path) as temporary, temporary.open("wb") as file:
        digest = np.array(_digest(points, values))
        np.savez_compressed(
            file, facts=np.array(facts), points=points, values=values, digest=digest
        )
    return Collected(made, recorder.used + recorder.warmed_up, path, complaint)


def default_cache() -> Path:
    """Return the user's directory of samples, by the XDG Base Directory Specification."""
    home = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = home if home.is_absolute() else Path.home() / ".cache"
    return base / "maestro-env" / "samples"


def describe(goal: Goal, policy: str, samples: int, seed: int) -> str:
    """Return everything that decides which samples are collected, as JSON."""
    problem, objective = goal.problem, goal.objective
    layer, space = problem.layer, problem.space
    # Names of hardware decide random streams, those of layers nothing.
    facts: dict[str, Any] = {
        "layer": [layer.operator, dict(layer.extents), layer.stride],
        "hardware": asdict(problem.hardware),
        "space": [space.schema, space.tiles],
        "model": [problem.model, problem.guard],
        "objective": [objective.name, objective.unit],
        "search": [policy, samples, seed],
        "code": code_digest(),
    }
    return json.dumps(facts, sort_keys=True)


class _Recorder(Evaluator):
    """Keeps the points it is asked for."""

    def __init__(
        self, goal: Goal, budget: int, on_batch: Callable[[Evaluator], None] | None
    ) -> None:
        super().__init__(goal.problem, goal.objective, budget, on_batch=on_batch)
        self.points: list[Points] = []

    def record(self, points: Points, batch: Batch) -> None:
        super().record(points, batch)
        self.points.append(points.copy())


def _read(path: Path, facts: str, goal: Goal, samples: int) -> Samples | None:
    """Read a file of the cache; None if there is none.

    Raises:
        RecordError: it is damaged, or holds something else.
    """
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            if str(arrays["facts"]) != facts or len(arrays["values"]) != samples:
                raise ValueError("it holds the samples of another search")
            points, values = arrays["points"], arrays["values"]
            if str(arrays["digest"]) != _digest(points, values):
                raise ValueError("its samples were changed")
            return samples_of(goal.problem.space, points, values)
    except Exception as error:  # noqa: BLE001 (a damaged file may raise anything)
        raise RecordError(f"cannot read samples {path}: {error}") from None


def _digest(points: Points, values: Floats) -> str:
    """Return a digest of samples in their order."""
    return hashlib.sha256(points.tobytes() + values.tobytes()).hexdigest()
