"""A map space as the unit cube: what searches see that know real numbers alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env.mapspace.parameter import Parameter


def choices_at(parameter: Parameter, shares: ArrayLike) -> NDArray[np.int64]:
    """Return the choices at these shares of a parameter's range, from 0 to 1; int64 of their shape.

    A size is the largest choice that is at most the real number at this share of the logarithmic
    range from 1 to the largest size + 1. For uniform shares, size v among the integers 1..m has the
    probability log(1 + 1 / v) / log(1 + m).
    """
    shares = np.asarray(shares, dtype=np.float64)
    if not parameter.is_size:
        return (shares * parameter.choices).astype(np.int64).clip(0, parameter.choices - 1)
    reals = np.exp(shares * np.log1p(int(parameter.values[-1])))
    # Rounding in exp may exceed either end.
    return (count_up_to(parameter, reals) - 1).clip(0, parameter.choices - 1)


def share_at(parameter: Parameter, choice: int) -> float:
    """Return the middle of the shares at which ``choices_at`` returns a choice."""
    if not parameter.is_size:
        return (choice + 0.5) / parameter.choices
    last = int(parameter.values[-1])
    following = last + 1 if choice + 1 == parameter.choices else int(parameter.values[choice + 1])
    return (math.log(int(parameter.values[choice])) + math.log(following)) / 2 / math.log1p(last)


def count_up_to(parameter: Parameter, limits: NDArray[np.number]) -> NDArray[np.int64]:
    """Return how many of a parameter's sizes are at most each limit, int64 of the same shape."""
    if isinstance(parameter.values, range):
        return np.minimum(limits.astype(np.int64), parameter.choices)
    return np.searchsorted(np.array(parameter.values), limits, side="right").astype(np.int64)
