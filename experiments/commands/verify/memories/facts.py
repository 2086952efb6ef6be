"""What the bounds of a layer on an accelerator with any memories are made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.loop_rules import DIMS, INDEXING
from maestro_env.hierarchy.evaluation import HierarchyEvaluator

Numbers = NDArray[np.float64]
Tuples = NDArray[np.int64]

INPUT, FILTER, OUTPUT = range(3)
N, G, K, C, P, Q, R, S = range(8)
WINDOWS = ((P, R), (Q, S))
# Loops that bring other words of a whole tile; those of taps slide inputs on.
MOVING = ({N, G, C, P, Q}, {G, K, C, R, S}, {N, G, K, P, Q})
# Dimensions whose units may share a word.
SHARING = ({K, P, Q, R, S}, {N, P, Q}, {C, R, S})
# Dimensions that do not index a tensor.
LACKING = ({K}, {N, P, Q}, {C, R, S})
# So many tuples are checked one by one at most.
MOST_TUPLES = 300_000
_MOST_TRIED = 5_000_000


def touched(outputs: int, taps: int, stride: int, dilation: int) -> int:
    """Return the rows that a tile touches (docs/spec/hierarchy.md, H5)."""
    common = math.gcd(stride, dilation)
    return outputs * taps - max(0, outputs - dilation // common) * max(0, taps - stride // common)


def least_tail(extent: int, least: int, most: int) -> int:
    """Return what the last of the first memory's tiles has at least."""
    chunks = -(-extent // most)
    return 1 if chunks < -(-extent // least) else extent - (chunks - 1) * most


@dataclass(frozen=True, eq=False)
class Units:
    """The units of some tuples: the fewest and the most of each element, int64[E, 8].

    Args:
        least, most: 1 at memories.
        sharing: of them, those that share a word of each tensor at most, by element.
        cycles: that one of them computes at least.
        outer: least and most of the tiles that the first memory's loops leave.
    """

    least: Tuples
    most: Tuples
    sharing: Numbers
    cycles: float
    outer: list[tuple[int, int]]


class Facts:
    """A layer on an accelerator, as the bounds see it."""

    def __init__(self, evaluator: HierarchyEvaluator) -> None:
        shape = evaluator.shape
        self.evaluator = evaluator
        self.elements, self.mac = evaluator.hierarchy.native()
        self.rules = evaluator.hierarchy.rules
        self.extents = [int(each) for each in shape.native()]
        self.stride, self.dilation = shape.stride, shape.dilation
        self.macs = math.prod(self.extents)
        self.boundaries = [(tensor, parent, child) for tensor, parent, child, _ in evaluator.prices]
        self.fanouts = [e for e, each in enumerate(self.elements) if "size" in each]

    def is_memory(self, element: int) -> bool:
        """Say whether an element is one; the others are fan-outs."""
        return element not in self.fanouts

    def loops(self, element: int) -> set[int]:
        """Return the dimensions that may have a loop at an element (H2.1)."""
        whole = {dim for inside in self.rules[element + 1 :] for dim in inside.whole}
        return {
            place
            for place, dim in enumerate(DIMS)
            if self.rules[element].allows(dim) and dim not in whole
        }

    @cached_property
    def words(self) -> list[int]:
        """Words of each tensor that the layer touches."""
        size = self.extents
        rows, columns = (
            touched(size[out], size[tap], self.stride[axis], self.dilation[axis])
            for axis, (out, tap) in enumerate(WINDOWS)
        )
        indexed = [math.prod(size[DIMS.index(dim)] for dim in dims) for dims in INDEXING.values()]
        return [size[N] * size[G] * size[C] * rows * columns, *indexed[1:]]

    @cached_property
    def energy(self) -> Numbers:
        """PJ of an access of each kind, and none of words in gaps, float64[B, 6]."""
        prices = [[*(energy for energy, _ in kinds), 0] for *_, kinds in self.evaluator.prices]
        return np.array(prices, dtype=np.float64)

    @cached_property
    def cycles(self) -> Numbers:
        """Cycles of an access of each kind at each port, float64[B, 5, E, 2]."""
        prices = [[ports for _, ports in kinds] for *_, kinds in self.evaluator.prices]
        return np.array(prices, dtype=np.float64)

    @cached_property
    def rounding(self) -> Numbers:
        """Cycles of each port for beats and lines that runs do not fill, float64[E, 2] (P14)."""
        found: Numbers = np.tensordot(np.array(self.words), self.evaluator.roundings, 1)
        return found

    def launches(self, element: int, port: int) -> float:
        """Return the cycles that a step of a memory takes of the port of another (H6)."""
        outside = [e for e in range(element) if self.is_memory(e)]
        if not self.is_memory(element) or not outside:
            return 0.0
        loads = self.elements[outside[-1]]["pool"] == port
        return float(self.elements[element]["launch_cycles"]) if loads else 0.0

    def has_gaps(self, boundary: int) -> bool:
        """Say whether the first memory's port moves inputs of a boundary with what lies between."""
        return self.boundaries[boundary] == (INPUT, 0, 1) and bool(self.elements[0]["gaps"])

    @cached_property
    def exposed(self) -> Numbers:
        """Cycles of a port for a word of the first fill, of the slowest one, float64[E, 4].

        Of outputs it is the last drain. The last column is of words between those of inputs.
        """
        found = np.zeros((len(self.elements), 4))
        for element in range(1, len(self.elements)):
            by_port = self._edges(element)
            total = by_port[:OUTPUT].sum(axis=0)
            found[element] = by_port[:, *np.unravel_index(total.argmax(), total.shape)]
            found[element, OUTPUT] = by_port[OUTPUT].max()
        return found

    def hidden(
        self, element: int, tensors: list[int], shares: Mapping[tuple[int, int], float]
    ) -> float:
        """Return the share of a first fill or last drain that the time of ports may have (P11)."""
        passes = self._edges(element)[tensors].sum(axis=0)
        return min(1.0, sum(share for port, share in shares.items() if passes[port] > 0))

    def _edges(self, element: int) -> Numbers:
        """Return cycles of each port for a word of each tensor, and in gaps, float64[4, E, 2]."""
        by_port = np.zeros((4, len(self.elements), 2))
        for b, (tensor, _, child) in enumerate(self.boundaries):
            if child == element:
                down, up = self.cycles[b, 0] + self.cycles[b, 3], self.cycles[b, 1:3].sum(axis=0)
                by_port[tensor] += up if tensor == OUTPUT else down
                by_port[3] += self.cycles[b, 0] if self.has_gaps(b) else 0.0
        return by_port

    # ---- Units ----------------------------------------------------------------------------------

    @cached_property
    def tuples(self) -> Tuples:
        """All choices of units, int64[n, fan-outs, 8], but for those that exceed what there is.

        Raises:
            ValueError: too many.
        """
        found = np.ones((1, 0, 8), dtype=np.int64)
        for fanout in self.fanouts:
            size, most = int(self.elements[fanout]["size"]), self.rules[fanout].units
            choices = np.ones((1, 8), dtype=np.int64)
            for dim in self.loops(fanout):
                limit = min(self.extents[dim], most.get(DIMS[dim], size), size)
                _require_few(len(choices) * limit, _MOST_TRIED)
                units = np.arange(1, limit + 1)
                choices = np.repeat(choices, limit, axis=0)
                choices[:, dim] = np.tile(units, len(choices) // limit)
                choices = choices[choices.prod(axis=1) <= size]
                _require_few(len(choices))
            _require_few(len(found) * len(choices))
            left = np.repeat(found, len(choices), axis=0)
            found = np.concatenate([left, np.tile(choices, (len(found), 1))[:, None]], axis=1)
            found = found[(found.prod(axis=1) < 2 * np.array(self.extents)).all(axis=1)]
        return found

    def units(self, tuples: Tuples, outer: list[tuple[int, int]] | None = None) -> Units:
        """Return what is known of some tuples together, with all outer tiles or some."""
        least = np.ones((len(self.elements), 8), dtype=np.int64)
        most, sharing = least.copy(), np.ones((len(self.elements), 3))
        for place, fanout in enumerate(self.fanouts):
            own = tuples[:, place]
            least[fanout], most[fanout] = own.min(axis=0), own.max(axis=0)
            for tensor, dims in enumerate(SHARING):
                sharing[fanout, tensor] = own[:, sorted(dims)].prod(axis=1).max()
        tiles = [(1, extent) for extent in self.extents] if outer is None else outer
        return Units(least, most, sharing, self._compute_cycles(tuples, tiles), tiles)

    def _compute_cycles(self, tuples: Tuples, outer: list[tuple[int, int]]) -> float:
        """Return the cycles that one unit of some tuple computes at least (H10.5, P2)."""
        together = tuples.prod(axis=1)
        shares = np.ceil(np.array(self.extents) / together).clip(1)
        for dim, (extent, (least, most)) in enumerate(zip(self.extents, outer, strict=True)):
            units, whole = together[:, dim], -(-extent // most) - 1
            last = np.ceil(least_tail(extent, least, most) / units)
            cut = whole * np.ceil(least / units) + last
            shares[:, dim] = np.maximum(shares[:, dim], cut)
        cycles = np.ceil(shares.prod(axis=1) / self.mac["simd"])
        finish = math.fsum(float(each.get("finish_cycles", 0.0)) for each in self.elements)
        outputs = shares[:, [N, G, K, P, Q]].prod(axis=1)
        return float((cycles + finish * outputs).min())


def _require_few(count: int, most: int = MOST_TUPLES) -> None:
    if count > most:
        raise ValueError(f"{count:,} choices of units; allowed: {most:,}")


def port_prices(facts: Facts, units: Units, port: tuple[int, int]) -> Numbers:
    """Return cycles of a port for each access of all instances, shared among them (H10.4).

    The last column is of words in gaps.
    """
    above = [1.0]
    for element, each in enumerate(facts.elements):
        at_work = float(units.most[element].prod(dtype=np.float64))
        above.append(above[-1] * min(at_work, each.get("size", 1)))
    prices = np.zeros((len(facts.boundaries), 6))
    prices[:, :5] = facts.cycles[:, :, port[0], port[1]]
    for b, (_, parent, child) in enumerate(facts.boundaries):
        prices[b, 5] = prices[b, 0] if facts.has_gaps(b) else 0.0
        prices[b, :2] /= above[parent]
        prices[b, 2:5] /= above[child]
    return prices


def steps_of(facts: Facts, port: tuple[int, int]) -> list[Any]:
    """Return the cycles of a port that a step of each element takes."""
    return [facts.launches(element, port[0]) for element in range(len(facts.elements))]
