"""Evaluated points, which groupings are learnt from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ClusteringError(ValueError):
    """Root of this package's errors."""


class SamplesError(ClusteringError):
    """Samples that are inconsistent or too poor to learn a grouping from."""


class GroupingError(ClusteringError):
    """An argument of a grouping that is not allowed, or groups that are not of the parameters."""


def unknown(what: str, name: object, allowed: Iterable[str]) -> str:
    """Return the message about a name that is not an allowed one."""
    names = list(allowed)
    near = get_close_matches(str(name), names, n=3)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return f"unknown {what} '{name}': {hint}allowed: {', '.join(names)}"


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

KINDS = ("order", "parallel", "tile", "cluster")
"""Rank of a permutation, a category, and two kinds of sizes in ascending order."""

# Two points are always perfectly correlated.
_LEAST = 3


@dataclass(frozen=True, eq=False)
class Samples:
    """Points and their rewards (Algorithm 1, step 2).

    Args:
        names: of the D parameters.
        kinds: one of ``KINDS`` for each.
        sizes: number of choices of each; n! for an order of n loops.
        points: int64[N, D], choices from 0 on.
        rewards: float64[N], such as the inverse of an objective; 0 for an invalid point.

    Raises:
        SamplesError: fields are inconsistent, or a reward is negative or not finite.
    """

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    sizes: tuple[int, ...]
    points: Integers
    rewards: Floats

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise SamplesError(f"names of parameters are {self.names}: allowed: one or more, once")
        if not len(self.names) == len(self.kinds) == len(self.sizes):
            lengths = f"{len(self.names)}, {len(self.kinds)} and {len(self.sizes)}"
            raise SamplesError(f"there are {lengths} names, kinds and sizes: give as many of each")
        for name, kind, size in zip(self.names, self.kinds, self.sizes, strict=True):
            _check_parameter(name, kind, size)
        rewards, points = np.asarray(self.rewards), np.asarray(self.points)
        _check_rewards(rewards)
        self._check_points(points, len(rewards))
        # Read-only copies: the caller may change its arrays.
        copies = {"points": points.astype(np.int64), "rewards": rewards.astype(float)}
        for field, copy in copies.items():
            copy.setflags(write=False)
            object.__setattr__(self, field, copy)

    def __len__(self) -> int:
        return len(self.rewards)

    @cached_property
    def varying(self) -> Booleans:
        """Whether a parameter has more than one value among the points, shape [D]."""
        varying: Booleans = np.ptp(self.points, axis=0) > 0
        return varying

    def subset(self, rows: Sequence[int] | Integers | Booleans) -> Samples:
        """Return some of the samples."""
        return replace(self, points=self.points[rows], rewards=self.rewards[rows])

    def top(self, fraction: float = 0.15) -> Samples:
        """Return the best samples by reward.

        They are ``fraction`` of all samples; more if several tie for the last place, fewer if fewer
        are valid.

        Raises:
            SamplesError: an impossible fraction, or one that leaves fewer than three samples.
        """
        if not 0 < fraction <= 1:
            raise SamplesError(f"top fraction is {fraction}; allowed: above 0, at most 1")
        # The small term cancels rounding, as in 0.1 * 30 = 3.0000000000000004.
        wanted = max(1, math.ceil(fraction * len(self) - 1e-9))
        last = np.partition(self.rewards, -wanted)[-wanted]
        rows = (self.rewards >= last) & (self.rewards > 0)
        if rows.sum() < _LEAST:
            valid = np.count_nonzero(self.rewards)
            raise SamplesError(
                f"top {fraction:.4g} of {len(self)} samples, {valid} of them valid, are "
                f"{rows.sum()}; allowed: {_LEAST} or more; take more samples, or a policy that "
                "finds valid ones"
            )
        return self.subset(rows)

    def _check_points(self, points: NDArray[Any], n: int) -> None:
        shape = (n, len(self.names))
        if points.shape != shape or points.dtype.kind not in "iu":
            raise SamplesError(
                f"points are {points.dtype} of shape {points.shape}: "
                f"allowed: integers of shape {shape}"
            )
        outside = (points < 0) | (points >= np.array(self.sizes))
        if outside.any():
            row, column = np.argwhere(outside)[0]
            raise SamplesError(
                f"sample {row}: {self.names[column]} is {points[row, column]}; "
                f"allowed: 0 to {self.sizes[column] - 1}"
            )


def loops_of(orders: int) -> int | None:
    """Return n of n! orders, or None if there is no such n."""
    loops = next(n for n in count(1) if math.factorial(n) >= orders)
    return loops if math.factorial(loops) == orders else None


def _check_parameter(name: str, kind: str, size: int) -> None:
    if kind not in KINDS:
        raise SamplesError(f"{name}: {unknown('kind', kind, KINDS)}")
    if size < 1 or (kind == "order" and loops_of(size) is None):
        allowed = "1, 2, 6, 24, ... n!" if kind == "order" else "1 or more"
        raise SamplesError(f"{name} has {size} choices; allowed for kind {kind}: {allowed}")


def _check_rewards(rewards: NDArray[Any]) -> None:
    if rewards.ndim != 1 or not len(rewards) or rewards.dtype.kind not in "iuf":
        raise SamplesError(
            f"rewards are {rewards.dtype} of shape {rewards.shape}; allowed: one number per sample"
        )
    wrong = ~(np.isfinite(rewards) & (rewards >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise SamplesError(
            f"reward of sample {row} is {rewards[row]}; "
            "allowed: finite numbers, positive ones for valid samples, 0 for invalid ones"
        )
