"""When a search has made up its mind on a parameter."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from experiments.paper.reach import converged
from experiments.stats import Floats
from experiments.windows import Windows

NEAR = 0.1
"""A window is near where a search ends if mean and spread of the choices differ by no more."""

MOSTLY = 0.9
"""A parameter has settled once such a share of windows is near: single ones are off by chance."""

UNDECIDED = 0.8
"""A parameter is undecided if its choices end spread as widely as this share of uniform ones."""


def uniform_spread(choices: int) -> float:
    """Return the standard deviation of uniform choices, which are numbers evenly from 0 to 1."""
    return math.sqrt((choices + 1) / (12 * (choices - 1))) if choices > 1 else 0.0


def settled(windows: Windows, choices: tuple[int, ...]) -> Floats:
    """Return the evaluations after which each parameter stays as it ends, float64[D].

    They are those up to the end of the first window near where the search ends, the last tenth of
    its windows, from which on most windows are. Infinite for a parameter that ends undecided, and
    for one without a choice.

    Args:
        windows: of a search.
        choices: number of every parameter's.
    """
    near = _near(windows.choices) & _near(windows.spreads)
    left = np.arange(len(near), 0, -1)[:, np.newaxis]
    share = np.cumsum(near[::-1], axis=0)[::-1] / left
    stays = near & (share >= MOSTLY)
    samples = windows.ends[np.argmax(stays, axis=0)].astype(np.float64)
    return np.where(stays.any(axis=0) & decided(windows, choices), samples, np.inf)


def decided(windows: Windows, choices: tuple[int, ...]) -> NDArray[np.bool_]:
    """Return which parameters end with a narrower spread than an undecided one, bool[D]."""
    uniform = np.array([uniform_spread(each) for each in choices])
    return converged(windows.spreads) < UNDECIDED * uniform


def _near(values: Floats) -> NDArray[np.bool_]:
    return np.abs(values - converged(values)) <= NEAR
