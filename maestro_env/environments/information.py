"""What environments tell of a step in ``info``: the same keys at every reset and step."""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.base.errors import UnknownNameError
from maestro_env.mapspace.space import Points

Value = TypeVar("Value", float, NDArray[np.float64])

INFOS = ("basic", "full")
"""How much an environment tells: ``full`` adds the optimum, the vector and all figures."""

NOT_EVALUATED = 255
"""Status code where nothing was evaluated; it is no index of ``STATUSES``."""

NO_FIGURES = np.full(len(_native.METRICS), math.nan)
"""The row of metrics where nothing was evaluated."""


def require_info(info: str) -> str:
    """Return how much is told, if it is a name of ``INFOS``."""
    if info not in INFOS:
        raise UnknownNameError("info", info, INFOS)
    return info


def regret(value: Value, optimum: float) -> Value:
    """Return how far a value is above the optimum, as a share of it.

    It is infinite for an infinite value, and NaN where no optimum is known.
    """
    return value / optimum - 1


def full_information(
    value: Value, known: tuple[float, float], vector: Points, figures: NDArray[np.float64]
) -> dict[str, Value | float | Points]:
    """Return what ``info="full"`` adds for one or N values.

    Args:
        value: of the objective.
        known: value and bound of the optimum.
        vector: int32[(N,) D].
        figures: float64[(N,) M], one column for each name of ``METRICS``.
    """
    optimum, bound = known
    columns = figures.tolist() if figures.ndim == 1 else figures.T
    return {
        "optimum": optimum,
        "optimum_bound": bound,
        "regret": regret(value, optimum),
        "vector": vector,
        **dict(zip(_native.METRICS, columns, strict=True)),
    }
