"""One categorical distribution per parameter: its choices, its start, what its choices share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from maestro_env.map_space import MapSpace, Parameter, Points
from mappers.orders import orders_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_LOGITS = 8192
"""Logits of a head at most: a parameter with more choices offers some of them, spread out.

All of 7! orders fit. Sizes are spread geometrically, so that small ones are all there.
"""

# Chance of a choice that its head favours.
_FAVOUR = 0.7

# Octaves, more than a size and a step from it can have.
_FAR = 100.0

STARTS = ("log", "uniform")
"""Distributions a head can start from: of sizes in proportion to 1 / size, or uniform."""


@dataclass(frozen=True, eq=False)
class Heads:
    """The heads of all parameters of a map space, their logits one behind the other.

    Args:
        space: whose D parameters there are heads for.
        start: a name of ``STARTS``.
    """

    space: MapSpace
    start: str = "log"

    @cached_property
    def choices(self) -> tuple[Integers, ...]:
        """The choice of its parameter every logit of a head stands for, D arrays."""
        return tuple(_offered(parameter) for parameter in self.space.parameters)

    @cached_property
    def counts(self) -> Integers:
        """Logits of every head, int64[D]."""
        return np.array([len(offered) for offered in self.choices])

    @cached_property
    def are_sizes(self) -> NDArray[np.bool_]:
        """Whether the choices of a head are in ascending order, bool[D]."""
        return np.array([parameter.is_size for parameter in self.space.parameters])

    @cached_property
    def starts(self) -> Integers:
        """Index of every head's first logit, int64[D]."""
        starts: Integers = np.cumsum(self.counts) - self.counts
        return starts

    @cached_property
    def owner(self) -> Integers:
        """The head every logit belongs to, int64[L]."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @cached_property
    def bias(self) -> Floats:
        """What every logit is before anything is learnt, float64[L]."""
        return np.concatenate([self._bias(head) for head in range(len(self.counts))])

    @cached_property
    def features(self) -> csr_matrix:
        """What choices of one head have in common, 0 or 1, sparse float64[L, F].

        A size has its octave; an order, where each dimension stands and which of each two comes
        first. What is learnt of one choice so carries over to others.
        """
        blocks = [self._features(head) for head in range(len(self.counts))]
        rows = [start + row for start, (row, _, _) in zip(self.starts, blocks, strict=True)]
        widths = np.array([width for _, _, width in blocks])
        before = np.cumsum(widths) - widths
        columns = [first + column for first, (_, column, _) in zip(before, blocks, strict=True)]
        row, column = np.concatenate(rows), np.concatenate(columns)
        shape = (int(self.counts.sum()), int(widths.sum()))
        return csr_matrix((np.ones(len(row)), (row, column)), shape)

    def points(self, actions: Integers) -> Points:
        """Return what int64[N, D] indices of logits within their heads stand for, int32[N, D]."""
        columns = [offered[taken] for offered, taken in zip(self.choices, actions.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.int32)

    def favouring(self, actions: Integers, favoured: NDArray[np.bool_]) -> Floats:
        """Return the bias, raised so that some heads begin with one choice at chance 0.7 or more.

        Args:
            actions: int64[D], indices of logits within their heads.
            favoured: bool[D], the heads.
        """
        raised = self.bias.copy()
        for head in np.flatnonzero(favoured):
            logits = raised[self.starts[head] : self.starts[head] + self.counts[head]]
            others = np.delete(logits, actions[head])
            if len(others):
                least = np.logaddexp.reduce(others) + math.log(_FAVOUR / (1 - _FAVOUR))
                logits[actions[head]] = max(logits[actions[head]], least)
        return raised

    def scaled(self, actions: Integers, heads: Integers, octaves: Floats) -> Integers:
        """Scale sizes, each to the choice nearest to it, and by one choice at least.

        Args:
            actions: int64[...], indices of logits within their heads.
            heads: int64[...], whose choices are sizes; for others the result means nothing.
            octaves: float64[...], base-2 logarithms of the factors.

        Returns:
            int64[...], where the head ends, its last or first choice.
        """
        first, last = self.starts[heads], self.starts[heads] + self.counts[heads] - 1
        now = first + actions
        target = self._places[now] + octaves
        above = np.searchsorted(self._places, target).clip(first, last)
        below = (above - 1).clip(first)
        nearer_below = target - self._places[below] < self._places[above] - target
        nearest = np.where(nearer_below, below, above)
        step = np.where(octaves > 0, 1, -1)
        reached: Integers = np.where(nearest == now, now + step, nearest).clip(first, last) - first
        return reached

    @cached_property
    def _places(self) -> Floats:
        """Logarithms of sizes on one ascending line, far apart from head to head, float64[L]."""
        logs = [
            np.log2(_sizes(parameter, offered))
            if parameter.is_size
            else np.arange(len(offered)) / len(offered)
            for parameter, offered in zip(self.space.parameters, self.choices, strict=True)
        ]
        places: Floats = np.concatenate(logs) + _FAR * self.owner
        return places

    def _bias(self, head: int) -> Floats:
        parameter, offered = self.space.parameters[head], self.choices[head]
        if self.start == "log" and parameter.is_size:
            # A head that leaves choices out stands, with each, for as many as it skips.
            skipped = np.diff(offered, append=offered[-1] + 1)
            bias: Floats = np.log(skipped / _sizes(parameter, offered))
            return bias
        return np.zeros(len(offered))

    def _features(self, head: int) -> tuple[Integers, Integers, int]:
        """Return rows, columns and number of columns of a head's features."""
        parameter, offered = self.space.parameters[head], self.choices[head]
        if parameter.is_size:
            octaves = np.floor(np.log2(_sizes(parameter, offered))).astype(np.int64)
            present, column = np.unique(octaves, return_inverse=True)
            return np.arange(len(offered)), column, len(present)
        if parameter.kind == "order":
            return _order_features(offered, len(self.space.extents))
        return np.empty(0, np.int64), np.empty(0, np.int64), 0


def _offered(parameter: Parameter) -> Integers:
    if parameter.choices <= MOST_LOGITS:
        return np.arange(parameter.choices)
    if parameter.is_size:
        spread = np.geomspace(1, parameter.choices, MOST_LOGITS) - 1
    else:
        spread = np.linspace(0, parameter.choices - 1, MOST_LOGITS)
    return np.unique(np.rint(spread).astype(np.int64))


def _sizes(parameter: Parameter, offered: Integers) -> Floats:
    values = parameter.values
    # A range may be too long to list; its choices are 1, 2, 3 and so on.
    sizes = offered + 1 if isinstance(values, range) else np.array(values)[offered]
    return sizes.astype(np.float64)


def _order_features(ranks: Integers, dims: int) -> tuple[Integers, Integers, int]:
    places = np.argsort(orders_of(ranks, dims), axis=1)
    first, second = np.triu_indices(dims, k=1)
    ahead_row, ahead_pair = np.nonzero(places[:, first] < places[:, second])
    row = np.concatenate([np.repeat(np.arange(len(ranks)), dims), ahead_row])
    column = np.concatenate([(np.arange(dims) * dims + places).ravel(), dims**2 + ahead_pair])
    return row, column, dims**2 + len(first)
