"""Least costs over all tiles and orders of a layer's loops, by the units at work (docs/optimum.md).

The C++ core has the program; here is what it weighs: energy, and the time of ports and first fills.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.hierarchy import TENSORS
from maestro_env.accelerators.loop_rules import DIMS, INDEXING, looping
from maestro_env.base.checks import MAX_INT
from maestro_env.hierarchy.cost_floors import OUTPUT, CostFloors, Values
from maestro_env.hierarchy.evaluation import HierarchyEvaluator

Tuples = NDArray[np.int64]
"""Units of each dimension at each fan-out, int64[n, fan-outs, 8]."""

EXACT = 1.0
"""The ratio of classes of tiles that are not merged."""

HANDY = 0.0
"""Stands for divisors and halves alone: bounds do not hold for other tiles, traces need no more."""
# More tuples of units are too many to list; then about so many are.
_MOST_TUPLES = 300_000
_MOST_HANDY = 150_000
# Choices that are looked at to find those that a fan-out has room for.
_MOST_TRIED = 5_000_000
_MOST_SHARED = 2


@dataclass(frozen=True)
class Weights:
    """What is to be least: energy, and shares of the time of some ports and of first fills.

    Args:
        energy: of a nJ.
        ports: of a cycle of some ports, by element and way.
        fill: of a cycle of the first fills.
    """

    energy: float = 1.0
    ports: Mapping[tuple[int, int], float] = field(default_factory=dict)
    fill: float = 0.0


@dataclass(frozen=True)
class Limits:
    """What no mapping that counts exceeds, in cycles: of the fill of one memory, and in all."""

    fill_cycles: float = math.inf
    cycles: float = math.inf


_NO_LIMITS = Limits()


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


class Relaxation:
    """The relaxed program of a layer on an accelerator.

    Attributes:
        evaluator: the model.
        fanouts: elements that are fan-outs.
        extents: of the loops, int64[8].
        outer_dims: dimensions that the first memory may cut.

    Args:
        evaluator: with the default conventions.
        dividing: tiles divide what they cut; else they are any integers.
    """

    def __init__(self, evaluator: HierarchyEvaluator, dividing: bool = False) -> None:
        self.evaluator = evaluator
        self._floors = floors = CostFloors(evaluator)
        hierarchy = evaluator.hierarchy
        self._elements, self._mac = hierarchy.native()
        self.outer_dims = [DIMS.index(dim) for dim in looping(hierarchy.rules, 0)]
        self.fanouts = list(floors.spatial)
        self.extents = np.array(evaluator.shape.native(), dtype=np.int64)
        rules = hierarchy.rules
        every = range(len(self._elements))
        arguments: list[Any] = [
            *evaluator.native(),
            floors.words,
            [sum(1 << DIMS.index(dim) for dim in looping(rules, e)) for e in every],
            [[rules[e].tiles.get(dim, MAX_INT) for dim in DIMS] for e in every],
            dividing,
        ]
        self._native = _native.RelaxedProgram(*arguments)

    def states(self, ratio: float) -> int:
        """Return the size of the tables if classes are merged up to a ratio of their chunks."""
        return self._native.states(self.extents.tolist(), ratio)

    # ---- Units ----------------------------------------------------------------------------------

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

    def compute_cycles(self, tuples: Tuples) -> Values:
        """Return the cycles that one unit computes at least, float64[n] (H10.5)."""
        share = -(-self.extents // np.minimum(tuples.prod(axis=1), self.extents))
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
        cycles = float(self.compute_cycles(tuples).min())
        return UnitBox(least, most, sharing, cycles, self.all_tiles if outer is None else outer)

    # ---- Costs ----------------------------------------------------------------------------------

    def least(
        self, box: UnitBox, weights: Weights, ratio: float = EXACT, limits: Limits = _NO_LIMITS
    ) -> float:
        """Return what no mapping of a box within limits is below."""
        found, _ = self._native.least(ratio, False, *self._task(box, weights, limits))
        return found + weights.energy * self._mac_nj

    def trace(
        self, box: UnitBox, weights: Weights, ratio: float, limits: Limits = _NO_LIMITS
    ) -> NDArray[np.int32]:
        """Return the loops of a mapping that costs about that, int32[L, 3]; none if none fits."""
        _, loops = self._native.least(ratio, True, *self._task(box, weights, limits))
        return np.array(loops, dtype=np.int32).reshape(-1, 3)

    @property
    def _mac_nj(self) -> float:
        return float(self._mac["pj"] * self._floors.macs / 1000)

    def _task(self, box: UnitBox, weights: Weights, limits: Limits) -> tuple[Any, ...]:
        accesses = weights.energy / 1000 * self._floors.energy_prices
        steps = np.zeros(len(self._elements))
        for port, weight in weights.ports.items():
            accesses = accesses + weight * self._first_prices(box, port)
            steps += weight * self._steps(port)
        filling = self._filling
        return (
            *(box.least, box.most, box.sharing, accesses, weights.fill * filling, steps),
            (limits.fill_cycles, limits.cycles),
            filling,
            box.outer.tolist(),
        )

    @cached_property
    def ports(self) -> list[tuple[int, int]]:
        """Element and way (out and, if that has a port of its own, in) of each limited port."""
        used = {(e, way) for e, way, *_ in np.argwhere(self._port_prices).tolist()}
        launching = [outside for outside, _ in self._launches]
        return [
            (element, way)
            for element, each in enumerate(self._elements)
            for way in range(2)
            if (element, way) in used or (element in launching and way <= (not each["one_port"]))
        ]

    @cached_property
    def _port_prices(self) -> Values:
        """Cycles of an access of each kind at each port, float64[E, 2, B, 5]."""
        cycles = [[ports for _, ports in kinds] for *_, kinds in self.evaluator.prices]
        return np.array(cycles, dtype=np.float64).transpose(2, 3, 0, 1)

    @cached_property
    def _launches(self) -> list[tuple[int, int]]:
        """Memories whose steps take cycles: the physical memory outside of each, and itself."""
        memories = [e for e, each in enumerate(self._elements) if "keeps" in each]
        return [
            (self._elements[outside]["pool"], memory)
            for outside, memory in pairwise(memories)
            if self._elements[memory]["launch_cycles"]
        ]

    def _first_prices(self, box: UnitBox, port: tuple[int, int]) -> Values:
        """Return cycles of a port for an access of each kind, spread over all instances (H10.4)."""
        units = box.most.prod(axis=1, dtype=np.float64)
        sizes = [each.get("size", 1) for each in self._elements]
        above = np.concatenate([[1.0], np.cumprod(np.minimum(units, sizes))])
        prices: Values = self._port_prices[port].copy()
        for b, boundary in enumerate(self._floors.boundaries):
            prices[b, :2] /= above[boundary.parent]
            prices[b, 2:] /= above[boundary.child]
        return prices

    def _steps(self, port: tuple[int, int]) -> Values:
        """Return the cycles of a port that each step of an element takes, float64[E]."""
        found = np.zeros(len(self._elements))
        for outside, memory in self._launches:
            if outside == port[0]:
                found[memory] = self._elements[memory]["launch_cycles"]
        return found

    @cached_property
    def _filling(self) -> Values:
        """Cycles of one port for a word of each tensor's first tile at least, float64[E, 3]."""
        last = len(self._elements)
        by_child = np.zeros((last, len(TENSORS), last, 2))
        for b, each in enumerate(self._floors.boundaries):
            if each.tensor != OUTPUT and each.child < last:
                by_child[each.child, each.tensor] += self._port_prices[:, :, b, [0, 3]].sum(axis=2)
        ports = by_child.reshape(last, len(TENSORS), -1)
        slowest = ports.sum(axis=1).argmax(axis=1)
        found: Values = ports[np.arange(last), :, slowest]
        return found


_SHARING = [[place for place, dim in enumerate(DIMS) if dim not in INDEXING[t]] for t in TENSORS]
# Windows share words of inputs too.
_SHARING[0] += [DIMS.index(dim) for dim in "PQRS"]
