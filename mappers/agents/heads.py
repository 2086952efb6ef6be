"""Heads: one categorical distribution per parameter, over its choices."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from maestro_env.map_space import MapSpace, Parameter, Points
from mappers.orders import orders_of
from mappers.sizes import sizes_at, sizes_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_LOGITS = 8192
"""Most logits of a head: of a parameter with more choices, the head offers a spread-out part.

All of 7! orders fit. Offered sizes are spread geometrically, so all small sizes are among them.
"""

# Least chance of the choice that a head favours.
_FAVOUR = 0.7

# Octaves between heads, more than a size plus a step can have.
_FAR = 100.0

STARTS = ("log", "uniform")
"""Initial distributions: ``log`` draws sizes in proportion to 1 / size and all else uniformly."""


@dataclass(frozen=True, eq=False)
class Heads:
    """The heads of all D parameters of a map space, with their logits in one array of length L.

    Args:
        space: the map space.
        start: a name of ``STARTS``.
    """

    space: MapSpace
    start: str = "log"

    @cached_property
    def choices(self) -> tuple[Integers, ...]:
        """The choices each head offers, one per logit, D arrays."""
        return tuple(_offered(parameter) for parameter in self.space.parameters)

    @cached_property
    def counts(self) -> Integers:
        """Logits of every head, int64[D]."""
        return np.array([len(offered) for offered in self.choices])

    @cached_property
    def are_sizes(self) -> NDArray[np.bool_]:
        """Whether a head's parameter is a size, bool[D]."""
        return np.array([parameter.is_size for parameter in self.space.parameters])

    @cached_property
    def sizes(self) -> Integers:
        """Indices of the heads whose parameters are sizes."""
        return np.flatnonzero(self.are_sizes).astype(np.int64)

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
        """The logits before learning, float64[L]."""
        return np.concatenate([self._bias(head) for head in range(len(self.counts))])

    @cached_property
    def features(self) -> csr_matrix:
        """Features that choices of one head share, 0 or 1, sparse float64[L, F].

        The feature of a size is its octave. The features of a loop order are the place of each
        dimension, and which of each two dimensions comes first. What is learnt about one choice so
        carries over to similar ones.
        """
        blocks = [self._features(head) for head in range(len(self.counts))]
        rows = [start + row for start, (row, _, _) in zip(self.starts, blocks, strict=True)]
        widths = np.array([width for _, _, width in blocks])
        before = np.cumsum(widths) - widths
        columns = [first + column for first, (_, column, _) in zip(before, blocks, strict=True)]
        row, column = np.concatenate(rows), np.concatenate(columns)
        shape = (int(self.counts.sum()), int(widths.sum()))
        return csr_matrix((np.ones(len(row)), (row, column)), shape)

    @cached_property
    def members(self) -> csr_matrix:
        """``features`` transposed, sparse float64[F, L]."""
        return self.features.T.tocsr()

    def points(self, actions: Integers) -> Points:
        """Return the points of int64[N, D] actions, indices of logits within heads, int32[N, D]."""
        points: Points = self._choices[self.starts + actions]
        return points

    def inverted(self, probabilities: Floats, uniform: Floats) -> Integers:
        """Return the actions at which every head's distribution function exceeds a uniform number.

        Args:
            probabilities: float64[L], of every choice within its head.
            uniform: float64[N, D] in [0, 1).

        Returns:
            int64[N, D], indices of logits within their heads.
        """
        cumulated = [probabilities[start:end].cumsum() for start, end in self._ranges]
        reached = uniform.T * np.array([[each[-1]] for each in cumulated])
        pairs = zip(cumulated, reached, strict=True)
        found = np.array([each.searchsorted(row, side="right") for each, row in pairs]).T
        # Rounding may lead beyond the last choice.
        clipped: Integers = np.minimum(found, self.counts - 1)
        return clipped

    def favouring(self, actions: Integers, favoured: NDArray[np.bool_]) -> Floats:
        """Return the bias, raised so that some heads start with a choice at chance 0.7 or more.

        Args:
            actions: int64[D], indices of logits within their heads.
            favoured: bool[D], which heads are raised.
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
        """Scale sizes to the nearest choice, at least one choice away.

        Args:
            actions: int64[...], indices of logits within their heads.
            heads: int64[...], the head of every action; without meaning if it is not a size.
            octaves: float64[...], base-2 logarithms of the factors.

        Returns:
            int64[...], clipped to the first and last choice of the head.
        """
        first, last = self.starts[heads], self._lasts[heads]
        now = first + actions
        places = self._places
        target = places[now] + octaves
        above = np.minimum(np.maximum(places.searchsorted(target), first), last)
        below = np.maximum(above - 1, first)
        nearer_below = target - places[below] < places[above] - target
        nearest = np.where(nearer_below, below, above)
        reached = np.where(nearest == now, now + np.where(octaves > 0, 1, -1), nearest)
        scaled: Integers = np.minimum(np.maximum(reached, first), last) - first
        return scaled

    @cached_property
    def _choices(self) -> Points:
        """The choice of every logit, int32[L]."""
        return np.concatenate(self.choices).astype(np.int32)

    @cached_property
    def _lasts(self) -> Integers:
        """Index of every head's last logit, int64[D]."""
        return self.starts + self.counts - 1

    @cached_property
    def _ranges(self) -> list[tuple[int, int]]:
        """First and last plus one index of every head's logits."""
        return list(zip(self.starts.tolist(), (self.starts + self.counts).tolist(), strict=True))

    @cached_property
    def _places(self) -> Floats:
        """Base-2 logarithms of all sizes in one ascending array, heads far apart, float64[L]."""
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
            # An offered choice also stands for the choices skipped after it.
            skipped = np.diff(offered, append=offered[-1] + 1)
            bias: Floats = np.log(skipped / _sizes(parameter, offered))
            return bias
        return np.zeros(len(offered))

    def _features(self, head: int) -> tuple[Integers, Integers, int]:
        """Return rows and columns of the ones in a head's features, and the number of columns."""
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
    return sizes_at(sizes_of(parameter), offered).astype(np.float64)


def _order_features(ranks: Integers, dims: int) -> tuple[Integers, Integers, int]:
    places = np.argsort(orders_of(ranks, dims), axis=1)
    first, second = np.triu_indices(dims, k=1)
    ahead_row, ahead_pair = np.nonzero(places[:, first] < places[:, second])
    row = np.concatenate([np.repeat(np.arange(len(ranks)), dims), ahead_row])
    column = np.concatenate([(np.arange(dims) * dims + places).ravel(), dims**2 + ahead_pair])
    return row, column, dims**2 + len(first)
