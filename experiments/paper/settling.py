"""When a search has made up its mind on a parameter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from experiments.paper.reach import converged
from experiments.stats import Floats
from experiments.windows import Windows

NEAR = 0.05
"""A parameter has settled once mean and spread stay this near to where they end."""

UNDECIDED = 0.8
"""A parameter is undecided if its choices end spread as widely as this share of uniform ones."""


def uniform_spread(choices: int) -> float:
    """Return the standard deviation of uniform choices, which are numbers evenly from 0 to 1."""
    return math.sqrt((choices + 1) / (12 * (choices - 1))) if choices > 1 else 0.0


def settled(windows: Windows, choices: tuple[int, ...]) -> Floats:
    """Return the evaluations after which each parameter stays as it ends, float64[D].

    They are those up to the end of the first window from which on both its mean choice and its
    spread stay within ``NEAR`` of their means over the last tenth of windows. Infinite for a
    parameter that does not, or that ends undecided; and for one without a choice.

    Args:
        windows: of a search.
        choices: number of every parameter's.
    """
    moving = _away(windows.choices) | _away(windows.spreads)
    # The window after the last one in which it still moves; past the end if that is the last.
    first = np.where(moving.any(axis=0), len(moving) - np.argmax(moving[::-1], axis=0), 0)
    samples = np.append(windows.ends.astype(np.float64), np.inf)[first]
    return np.where(decided(windows, choices), samples, np.inf)


def decided(windows: Windows, choices: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which parameters end with a narrower spread than an undecided one, bool[D]."""
    uniform = np.array([uniform_spread(each) for each in choices])
    return converged(windows.spreads) < UNDECIDED * uniform


def _away(values: Floats) -> NDArray[np.bool_]:
    return np.abs(values - converged(values)) > NEAR
