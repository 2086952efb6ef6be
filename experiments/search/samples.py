"""Samples that a policy collects for clustering, cached so that they are paid once."""

from __future__ import annotations

import hashlib
import json
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from maestro_env.clustering import Samples
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.searches import Recorder, run_search
from maestro_env.experiments.shell.files import RecordError, ensure_directory, replacing, user_cache
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.records import code_digest
from maestro_env.mappers.agents.grouping import refusing, samples_of
from maestro_env.mapspace.space import Points


@dataclass(frozen=True, eq=False)
class Collected:
    """Samples and where they come from.

    Args:
        samples: in the order they were evaluated.
        spent: evaluations this took; none if the samples were in the cache.
        path: of the samples in the cache.
        complaint: why that file had to be replaced, if it had to.
    """

    samples: Samples
    spent: int
    path: Path
    complaint: str | None


def collect(
    goal: Goal, policy: str, samples: int, seed: int, cache: Path, bar: Bar | None = None
) -> Collected:
    """Return what a policy's search evaluates, from a directory of samples if it is there.

    The bar is shown if samples have to be collected.

    Raises:
        Exception: whatever the policy raises.
    """
    facts = describe(goal, policy, samples, seed)
    path = cache / f"{hashlib.sha256(facts.encode()).hexdigest()[:32]}.npz"
    complaint = None
    if path.exists():
        try:
            return Collected(_read(path, facts, goal, samples), 0, path, None)
        except Exception as error:  # noqa: BLE001 (a damaged file may raise anything)
            damage = RecordError(f"cannot read samples {path}: {error}")
            complaint = f"{damage}; its samples were collected again"
    ensure_directory(cache)
    recorder = Recorder(goal.problem, goal.objective, samples, on_batch=bar.follow if bar else None)
    with bar or nullcontext():
        run_search(recorder, policy, seed)
    points, values = recorder.points, recorder.trace[0]
    with refusing(f"{policy} on {goal.problem.layer}"):
        made = samples_of(goal.problem.space, points, values)
    with replacing(path) as temporary, temporary.open("wb") as file:
        digest = _digest(points, values)
        np.savez_compressed(file, facts=facts, points=points, values=values, digest=digest)
    return Collected(made, recorder.used + recorder.warmed_up, path, complaint)


def default_cache() -> Path:
    """Return the user's directory of samples."""
    return user_cache() / "samples"


def describe(goal: Goal, policy: str, samples: int, seed: int) -> str:
    """Return everything that decides which samples are collected, as JSON."""
    problem, objective = goal.require("levels"), goal.objective
    layer, space = problem.layer, problem.space
    # The name of the hardware decides random streams, that of the layer nothing.
    facts = {
        "layer": [layer.operator, dict(layer.extents), layer.stride],
        "hardware": problem.hardware.record(),
        "space": [space.schema, space.tiles],
        "model": [problem.model, problem.guard],
        "objective": [objective.name, objective.unit],
        "search": [policy, samples, seed],
        "code": code_digest(),
    }
    return json.dumps(facts, sort_keys=True)


def _read(path: Path, facts: str, goal: Goal, samples: int) -> Samples:
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        if str(arrays["facts"]) != facts or len(arrays["values"]) != samples:
            raise RecordError("it holds the samples of another search")
        points, values = arrays["points"], arrays["values"]
        if str(arrays["digest"]) != _digest(points, values):
            raise RecordError("its samples were changed")
        return samples_of(goal.problem.space, points, values)


def _digest(points: Points, values: Floats) -> str:
    return hashlib.sha256(points.tobytes() + values.tobytes()).hexdigest()
