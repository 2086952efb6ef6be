"""What a search did over its samples, window by window: its mean return and its choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.environments.task import Task
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.searches import Recorder
from maestro_env.experiments.shown.statistics import Floats

_WINDOWS = 100
_DIGITS = 5
_PER_MILLE = 1000


@dataclass(frozen=True, eq=False)
class Windows:
    """What a search did in each of W windows of equal width.

    Args:
        ends: int64[W], evaluations up to and including each window.
        returns: float64[W], mean reward: the objective of a typical random mapping divided by that
            of a sample, 0 for an invalid one.
        choices: float64[W, D], mean choice of every parameter: 0 is its first, 1 its last.
        spreads: float64[W, D], standard deviation of the same.
    """

    ends: NDArray[np.int64]
    returns: Floats
    choices: Floats
    spreads: Floats


def windows_of(recorder: Recorder, goal: Goal) -> Windows:
    """Return what a search did so far, which must have begun."""
    rewards = reference(goal) / recorder.trace[0]
    choices = recorder.points / np.maximum(recorder.space.sizes - 1, 1)
    ends = window_ends(recorder.used)
    means = window_means(choices, ends)
    variances = window_means(choices**2, ends) - means**2
    spreads = np.sqrt(np.maximum(variances, 0.0))
    return Windows(ends, window_means(rewards, ends), means, spreads)


def reference(goal: Goal) -> float:
    """Return the objective that earns 1, the same as that of ``MaestroEnv``."""
    return Task(goal.problem, goal.objective).reference


def window_ends(samples: int) -> NDArray[np.int64]:
    """Return where windows end, int64[W]: as many as there are samples, at most a hundred."""
    windows = min(_WINDOWS, samples)
    return np.arange(1, windows + 1) * samples // windows


def window_means(values: Floats, ends: NDArray[np.int64]) -> Floats:
    """Return the mean in each window, shape [N, ...] to [W, ...]."""
    starts = np.append(0, ends[:-1])
    widths = (ends - starts).reshape(-1, *(1 for _ in values.shape[1:]))
    means: Floats = np.add.reduceat(values, starts, axis=0) / widths
    return means


def to_entry(windows: Windows, goal: Goal) -> dict[str, Any]:
    """Return windows as a cell's file holds them: a line of numbers each, choices per mille."""

    def lines(columns: Floats) -> dict[str, str]:
        whole = np.rint(columns * _PER_MILLE).astype(int).T.tolist()
        return {
            parameter.name: " ".join(map(str, column))
            for parameter, column in zip(goal.problem.space.parameters, whole, strict=True)
        }

    return {
        "returns": " ".join(f"{each:.{_DIGITS}g}" for each in windows.returns.tolist()),
        "choices": lines(windows.choices),
        "spreads": lines(windows.spreads),
    }


def from_entry(entry: dict[str, Any], goal: Goal, samples: int) -> Windows:
    """Return the windows that a cell's file holds.

    Raises:
        LookupError, TypeError, ValueError: it holds something else.
    """
    ends = window_ends(samples)

    def numbers(line: object) -> Floats:
        if not isinstance(line, str):
            raise TypeError("windows are not lines of numbers")
        found = np.array(line.split(), dtype=np.float64)
        if found.shape != ends.shape or not np.isfinite(found).all():
            raise ValueError(f"windows: {len(found)} numbers, allowed: {len(ends)} finite ones")
        return found

    def columns(lines: dict[str, object]) -> Floats:
        parameters = goal.problem.space.parameters
        return np.stack([numbers(lines[each.name]) for each in parameters], axis=1) / _PER_MILLE

    returns, choices, spreads = (entry[name] for name in ("returns", "choices", "spreads"))
    return Windows(ends, numbers(returns), columns(choices), columns(spreads))
