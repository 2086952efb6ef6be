"""The units that the fan-outs of an accelerator can have at work on a layer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.elements import TENSORS
from maestro_env.accelerators.loop_rules import DIMS, INDEXING, looping
from maestro_env.hierarchy.cost_floors import CostFloors, Values

Tuples = NDArray[np.int64]
"""Units of each dimension at each fan-out, int64[n, fan-outs, 8]."""

Numbers = NDArray[np.int64]
"""Places of tuples in ``UnitTuples.tuples``."""

# More tuples of units are too many to list; then about so many are.
_MOST_TUPLES = 300_000
_MOST_HANDY = 150_000
# Choices that are looked at to find those that a fan-out has room for.
_MOST_TRIED = 5_000_000
_MOST_SHARED = 2
_SHARING = [[place for place, dim in enumerate(DIMS) if dim not in INDEXING[t]] for t in TENSORS]
# Windows share words of inputs too.
_SHARING[0] += [DIMS.index(dim) for dim in "PQRS"]
# Units of these are told apart as products too: each shares words of another tensor.
_GROUPS = tuple(tuple(map(DIMS.index, dims)) for dims in ("K", "NPQ", "CRS"))


@dataclass(frozen=True, eq=False)
class UnitBox:
    """Mappings whose fan-outs have some units at work.

    Args:
        least, most: units of each dimension, int64[E, 8] by element; 1 at memories.
        sharing: of them, those that share a word of each tensor at most, float64[E, 3].
        compute_cycles: that the MACs take at least.
        outer: least and most of the tiles that the first memory's loops leave, int64[2, 8].
    """

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    sharing: Values
    compute_cycles: float
    outer: NDArray[np.int64]


class UnitTuples:
    """Choices of units of all fan-outs, which together are mapped to a layer.

    Attributes:
        fanouts: elements that are fan-outs.
        extents: of the loops, int64[8].
        outer_dims: dimensions that the first memory may cut.
    """

    def __init__(self, floors: CostFloors) -> None:
        evaluator = floors.evaluator
        self._floors = floors
        self._elements, self._mac = evaluator.hierarchy.native()
        self.fanouts = list(floors.spatial)
        self.extents = np.array(evaluator.shape.native(), dtype=np.int64)
        self.outer_dims = [DIMS.index(dim) for dim in looping(evaluator.hierarchy.rules, 0)]

    def _choices(self, fanout: int, handy: bool) -> Tuples | None:
        """Return choices of units at a fan-out, int64[n, 8]; None if all of them are too many.

        Handy ones are divisors and powers of two, many units that share two dimensions at most.
        """
        size, most = self._elements[fanout]["size"], self._floors.spatial[fanout]
        found: list[tuple[int, ...]] = [()]
        for dim, extent in zip(DIMS, self.extents.tolist(), strict=True):
            units: Sequence[int] = range(1, min(most.get(dim, 1), size) + 1)
            if handy:
                units = [each for each in units if extent % each == 0 or each & (each - 1) == 0]
            elif len(found) * len(units) > _MOST_TRIED:
                return None
            found = [
                (*each, more) for each in found for more in units if math.prod(each) * more <= size
            ]
            if handy:
                found = [each for each in found if sum(one > 1 for one in each) <= _MOST_SHARED]
            elif len(found) > _MOST_TUPLES:
                return None
        choices = np.array(found, dtype=np.int64)
        if handy:
            units_in_all = choices.prod(axis=1)
            choices = choices[units_in_all > units_in_all.max() // 2]
            few = round(_MOST_HANDY ** (1 / len(self.fanouts)))
            choices = choices[(choices > 1).sum(axis=1).argsort(kind="stable")[:few]]
        return choices

    @cached_property
    def _listed(self) -> tuple[Tuples, bool]:
        """Tuples of units, and whether they are all."""
        every = [self._choices(each, handy=False) for each in self.fanouts]
        choices = [each for each in every if each is not None]
        complete = len(choices) == len(every) and math.prod(map(len, choices)) <= _MOST_TUPLES
        if not complete:
            handy = (self._choices(each, handy=True) for each in self.fanouts)
            choices = [each for each in handy if each is not None]
        found = np.ones((1, 0, len(DIMS)), dtype=np.int64)
        for more in choices:
            repeated = np.repeat(found, len(more), axis=0)
            found = np.concatenate([repeated, np.tile(more, (len(found), 1))[:, None]], axis=1)
            # Equal shares of E leave less than 2 E units something to do (P6).
            found = found[(found.prod(axis=1) < 2 * self.extents).all(axis=1)]
        return found, complete

    @property
    def tuples(self) -> Tuples:
        """Choices of units at all fan-outs, one of those that do the same."""
        return self._listed[0]

    @property
    def complete(self) -> bool:
        """Whether ``tuples`` has all choices, which may be too many."""
        return self._listed[1]

    @property
    def all_tiles(self) -> NDArray[np.int64]:
        """All tiles that the first memory's loops may leave, int64[2, 8]."""
        return np.array([np.ones(len(DIMS), dtype=np.int64), self.extents])

    def everything(self) -> UnitBox:
        """Return the box of all choices of units."""
        least = np.ones((len(self._elements), len(DIMS)), dtype=np.int64)
        most, sharing = least.copy(), np.ones((len(self._elements), len(TENSORS)))
        for fanout in self.fanouts:
            limit = self._floors.spatial[fanout]
            most[fanout] = [limit.get(dim, 1) for dim in DIMS]
            size = self._elements[fanout]["size"]
            for tensor, dims in enumerate(_SHARING):
                sharing[fanout, tensor] = min(size, math.prod(most[fanout, dims].tolist()))
        return UnitBox(least, most, sharing, 0.0, self.all_tiles)

    def compute_cycles(self, tuples: Tuples, outer: NDArray[np.int64] | None = None) -> Values:
        """Return the cycles that one unit computes at least, float64[n] (H10.5, P2).

        Args:
            tuples: of units.
            outer: least and most of the tiles that the first memory's loops leave; by default all.
        """
        least, most = self.all_tiles if outer is None else outer
        units = np.minimum(tuples.prod(axis=1), self.extents)
        chunks = -(-self.extents // most)
        alike = chunks == -(-self.extents // least)
        last = np.where(alike, self.extents - (chunks - 1) * most, 1)
        cut = (chunks - 1) * -(-least // units) - (-last // units)
        share = np.maximum(-(-self.extents // units), cut)
        macs = np.ceil(share.prod(axis=1, dtype=np.float64) / self._mac["simd"])
        finish = sum(each.get("finish_cycles", 0.0) for each in self._elements)
        outputs = [DIMS.index(dim) for dim in INDEXING["output"]]
        found: Values = macs + finish * share[:, outputs].prod(axis=1, dtype=np.float64)
        return found

    def box(self, tuples: Tuples, outer: NDArray[np.int64] | None = None) -> UnitBox:
        """Return the box around some tuples of units, of all outer tiles or some."""
        least = np.ones((len(self._elements), len(DIMS)), dtype=np.int64)
        most, sharing = least.copy(), np.ones((len(self._elements), len(TENSORS)))
        for place, fanout in enumerate(self.fanouts):
            units = tuples[:, place]
            least[fanout], most[fanout] = units.min(axis=0), units.max(axis=0)
            sharing[fanout] = [units[:, dims].prod(axis=1).max() for dims in _SHARING]
        tiles = self.all_tiles if outer is None else outer
        cycles = float(self.compute_cycles(tuples, tiles).min())
        return UnitBox(least, most, sharing, cycles, tiles)

    def features(self, numbers: Numbers) -> NDArray[np.int64]:
        """Return units of each fan-out by dimension and as products, int64[n, features]."""
        units = self.tuples[numbers]
        groups = [units[:, :, dims].prod(axis=2) for dims in _GROUPS]
        return np.concatenate(
            [units.reshape(len(units), len(self.fanouts) * len(DIMS)), *groups], axis=1
        )

    def halves(self, numbers: Numbers) -> list[Numbers]:
        """Split tuples where units differ most, by their geometric mean."""
        features = self.features(numbers).astype(np.float64)
        most, least = features.max(axis=0), features.min(axis=0)
        # Of equal ratios a product comes first: the groups stand at the end.
        column = len(most) - 1 - int((most / least)[::-1].argmax())
        low = features[:, column] <= math.sqrt(most[column] * least[column])
        return [half for half in (numbers[low], numbers[~low]) if len(half)]
