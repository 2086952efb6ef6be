"""One entry of a vector, what its choices stand for, and the space as the unit cube."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env.base.errors import MapSpaceError, quoted


@dataclass(frozen=True)
class Parameter:
    """One entry of a vector.

    Args:
        name: such as ``l2_order``, ``l1_parallel``, ``l2_tile_K`` or ``cluster_size``.
        kind: ``order`` (Lehmer rank of a loop order), ``parallel`` (a dimension), ``tile`` or
            ``cluster`` (a size; that of a cluster is a number of units).
        values: what each choice stands for; the rank itself for an order.
    """

    name: str
    kind: str
    values: tuple[int, ...] | tuple[str, ...] | range

    @property
    def choices(self) -> int:
        """Number of choices."""
        return len(self.values)

    @property
    def is_size(self) -> bool:
        """Whether the choices are sizes, in ascending order."""
        return self.kind in ("tile", "cluster")

    @property
    def log(self) -> bool:
        """Whether to search the values on a logarithmic scale: those of sizes."""
        return self.is_size

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and largest value; of a parallel dimension, first and last choice.

        With ``tiles="divisors"`` not every integer between them is a value.
        """
        if self.kind == "parallel":
            return 0, self.choices - 1
        return int(self.values[0]), int(self.values[-1])

    def choice(self, value: object) -> int:
        """Return the choice that stands for a value, or raise a ``MapSpaceError``."""
        try:
            if hasattr(value, "__index__"):
                # Of other integers than its own, Python looks through a whole range.
                value = operator.index(value)
            return self.values.index(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            listed = f"{self.bounds[0]} to {self.bounds[1]}"
            if not isinstance(self.values, range):
                listed = ", ".join(map(str, self.values))
            raise MapSpaceError(
                f"{self.name} = {quoted(value)} is not in this space; allowed: {listed}"
            ) from None


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
