"""Branch and bound for matrix products over all tiles of the outermost memory (H11)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.checks import require_integer
from maestro_env.base.errors import LayerError, UnknownNameError
from maestro_env.hierarchy.evaluation import (
    FIGURES,
    STATUSES,
    HierarchyEvaluator,
    NestMapping,
)
from maestro_env.hierarchy.floors import OUTPUT, Floors, Values
from maestro_env.hierarchy.inner_nest import LOOPS, InnerNest
from maestro_env.hierarchy.shape import DIMS, Shape
from maestro_env.workloads.layer import Layer

Goal = Literal["latency_cycles", "energy_nj", "edp_cycles_nj"]
"""What is to be least; the last is the product of the others."""

ORDERS = np.array(list(itertools.permutations(range(len(LOOPS)))))
"""Orders of the loops of the outermost memory, from outside, by number of dimension."""

# A box of at most so many mappings is evaluated, a larger one is split.
_LEAF = 256
_AT_ONCE = 64
# Relative, of sums of doubles.
_ROUNDING = 1e-12

Tiles = NDArray[np.int64]


@dataclass(frozen=True)
class Optimum:
    """The best mapping of a matrix product that was found, and how good any can be.

    Args:
        mapping: loops of each element; None if no mapping fits.
        value: of the goal, in its unit; infinite if no mapping fits.
        bound: no mapping has a lower value, but for rounding.
        boxes: sets of mappings whose bound was computed.
        evaluated: mappings that were evaluated.
    """

    mapping: NestMapping | None
    value: float
    bound: float
    boxes: int
    evaluated: int

    @property
    def gap(self) -> float:
        """How far the value is above the bound, as a share of the bound; 0 is a proof."""
        return self.value / self.bound - 1 if self.bound < self.value else 0.0


def find_optimum(
    layer: Layer | Shape,
    hierarchy: Hierarchy,
    goal: Goal = "latency_cycles",
    most_boxes: int = 10**6,
) -> Optimum:
    """Return the best mapping of a matrix product among those of H11.

    Args:
        layer: a matrix product, or its loops alone.
        hierarchy: the accelerator.
        goal: what is to be least.
        most_boxes: sets of mappings after which the search ends without a proof.

    Raises:
        LayerError: another layer, or one too large to be counted.
        HardwareError: an accelerator without a memory that cuts tiles for its fan-outs.
        UnknownNameError: another goal.
    """
    search = _Search(HierarchyEvaluator(layer, hierarchy), goal)
    return search.run(require_integer("most_boxes", most_boxes, ValueError))


@dataclass(frozen=True)
class _Boxes:
    """Sets of mappings: n ranges of tiles, each with one order.

    Args:
        low: tiles, int64[n, 3], by dimension of ``LOOPS``.
        high: largest tiles, int64[n, 3].
        order: index of ``ORDERS``, int64[n].
    """

    low: Tiles
    high: Tiles
    order: Tiles

    def __getitem__(self, index: NDArray[Any]) -> _Boxes:
        return _Boxes(self.low[index], self.high[index], self.order[index])

    def and_also(self, other: _Boxes) -> _Boxes:
        """Return these boxes and others."""
        return _Boxes(
            np.concatenate([self.low, other.low]),
            np.concatenate([self.high, other.high]),
            np.concatenate([self.order, other.order]),
        )

    def sizes(self) -> Values:
        """Return the number of mappings in each; a large one is a guess."""
        counts: Values = np.prod((self.high - self.low + 1).astype(float), axis=1)
        return counts

    def halves(self) -> _Boxes:
        """Return each in two, split where its ends are farthest apart, in the geometric middle."""
        rows = np.arange(len(self.low))
        dim = np.argmax(self.high / self.low, axis=1)
        low, high = self.low[rows, dim], self.high[rows, dim]
        middle = np.clip(np.sqrt(low * high).astype(np.int64), low, high - 1)
        below, above = self.high.copy(), self.low.copy()
        below[rows, dim], above[rows, dim] = middle, middle + 1
        return _Boxes(self.low, below, self.order).and_also(_Boxes(above, self.high, self.order))

    def points(self) -> tuple[Tiles, Tiles]:
        """Return all mappings: tiles and orders."""
        tiles, orders = [], []
        for low, high, order in zip(self.low, self.high, self.order, strict=True):
            axes = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
            tiles.append(np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(LOOPS)))
            orders.append(np.full(len(tiles[-1]), order))
        return np.concatenate(tiles), np.concatenate(orders)


class _Search:
    """The best mapping so far, and the boxes that may have a better one."""

    def __init__(self, evaluator: HierarchyEvaluator, goal: Goal) -> None:
        if goal not in get_args(Goal):
            raise UnknownNameError("goal", goal, get_args(Goal))
        self.evaluator, self.goal = evaluator, goal
        self.floors = Floors(evaluator)
        size = self.floors.size
        if math.prod(size[dim] for dim in LOOPS) != self.floors.macs:
            loops = ", ".join(dim for dim in DIMS if size[dim] > 1)
            raise LayerError(f"a layer with the loops {loops}; allowed: {', '.join(LOOPS)}")
        self.extents = np.array([size[dim] for dim in LOOPS])
        self.nest = InnerNest(evaluator.hierarchy, self.extents)
        self.best = math.inf
        self.mapping: NestMapping | None = None
        self.boxes = self.evaluated = 0

    def run(self, most_boxes: int) -> Optimum:
        self._try_grid()
        count = len(ORDERS)
        low, high = np.ones((count, len(LOOPS)), np.int64), np.tile(self.extents, (count, 1))
        left, bounds = self._promising(_Boxes(low, high, np.arange(count)))
        while len(bounds) and self.boxes < most_boxes:
            ranked = np.argsort(bounds, kind="stable")
            taken, rest = left[ranked[:_AT_ONCE]], ranked[_AT_ONCE:]
            small = taken.sizes() <= _LEAF
            if small.any():
                self._evaluate(*taken[small].points())
            halves, of_halves = self._promising(taken[~small].halves())
            left, bounds = left[rest].and_also(halves), np.concatenate([bounds[rest], of_halves])
            improving = self._may_improve(bounds)
            left, bounds = left[improving], bounds[improving]
        bound = min(self.best, bounds.min(initial=math.inf))
        return Optimum(self.mapping, self.best, bound, self.boxes, self.evaluated)

    def _may_improve(self, bounds: Values) -> NDArray[np.bool_]:
        return bounds < self.best * (1 - _ROUNDING)

    def _promising(self, boxes: _Boxes) -> tuple[_Boxes, Values]:
        """Return the boxes that may have a better mapping, and their bounds; try their corners."""
        boxes = boxes[self._fits(boxes.low)]
        self.boxes += len(boxes.low)
        for corner in (boxes.low, boxes.high):
            self._evaluate(corner, boxes.order)
        bounds = self._bounds(boxes)
        improving = self._may_improve(bounds)
        return boxes[improving], bounds[improving]

    # ---- Mappings -------------------------------------------------------------------------------

    def _try_grid(self) -> None:
        """Evaluate mappings far apart."""
        axes = [np.unique(np.geomspace(1, extent, 10).astype(np.int64)) for extent in self.extents]
        grid = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(LOOPS))
        orders = np.repeat(np.arange(len(ORDERS)), len(grid))
        self._evaluate(np.tile(grid, (len(ORDERS), 1)), orders)

    def _evaluate(self, tiles: Tiles, orders: Tiles) -> None:
        """Evaluate mappings by tiles, int64[n, 3], and orders, int64[n]; keep the best."""
        if not len(tiles):
            return
        rows = self.nest.rows(tiles, ORDERS[orders])
        figures, statuses = self.evaluator.evaluate_batch(rows)
        self.evaluated += len(rows)
        latency = figures[:, FIGURES.index("latency_cycles")]
        energy = figures[:, FIGURES.index("energy_nj")]
        values = np.where(statuses == STATUSES.index("ok"), self._value(latency, energy), np.inf)
        least = int(np.argmin(values))
        if values[least] < self.best:
            self.best, self.mapping = float(values[least]), self.evaluator.decode(rows[least])

    def _value(self, latency: Values, energy: Values) -> Values:
        return {
            "latency_cycles": latency,
            "energy_nj": energy,
            "edp_cycles_nj": latency * energy,
        }[self.goal]

    # ---- Bounds ---------------------------------------------------------------------------------

    def _fits(self, tiles: Tiles) -> NDArray[np.bool_]:
        """Say which tiles fit all memories; larger ones need no less."""
        fits = np.ones(len(tiles), bool)
        for limit in self.floors.limits:
            needs = [
                part.bits_per_word * _words(self.nest.box(part.element, tiles), part.tensor)
                for part in limit.tiles
            ]
            fits &= sum(needs) <= limit.bits
        return fits

    def _bounds(self, boxes: _Boxes) -> Values:
        """Return what no mapping of each box costs less than (H11)."""
        floors = self.floors
        moved = floors.moved(*self._residencies(boxes))
        fresh, fresh_of_first = floors.fresh()
        flows = floors.flows(*moved, fresh)
        energy = floors.energy_nj(np.einsum("bk,bkn->n", floors.energy_prices, flows))
        of_first = floors.flows(*floors.of_first(moved), fresh_of_first)
        ports = np.einsum("pbk,bkn->pn", floors.port_prices, of_first)
        latency = floors.latency_cycles(self._compute_cycles(boxes), ports, self._edges(boxes))
        return self._value(latency, energy)

    def _residencies(self, boxes: _Boxes) -> tuple[Values, Values]:
        """Return how often words come to parents' units and children at least, float64[B, n]."""
        feeder = self.nest.feeder
        place = np.argsort(ORDERS[boxes.order], axis=1)
        shape = len(self.floors.boundaries), len(boxes.low)
        parents, children = np.empty(shape), np.empty(shape)
        for b, each in enumerate(self.floors.boundaries):
            t = each.tensor
            inside = (place > place[:, [t]]) & (boxes.high < self.extents)
            parents[b] = np.where(inside.any(axis=1), self._chunks(boxes)[:, t], 1)
            children[b] = parents[b]
            if each.child > feeder:
                block = self.nest.block(max(each.parent, feeder))
                if self.floors.is_mac(each) and not self.floors.latched(t):
                    often: Values = self._blocks(boxes, block)[:, t].astype(float)
                else:
                    often = self._below_feeder(boxes, t, block)
                    inner = self.nest.block(each.child - self.floors.is_mac(each))
                    children[b] = np.maximum(parents[b], self._below_feeder(boxes, t, inner))
                parents[b] = np.maximum(parents[b], often)
            parents[b] *= self.floors.words[t]
            children[b] *= self.floors.words[t]
        return parents, children

    def _below_feeder(self, boxes: _Boxes, tensor: int, block: Tiles) -> Values:
        """Return how often a word comes to units below the feeder at least, float64[n].

        Args:
            boxes: of mappings.
            tensor: of the word.
            block: that each of the units gets, int64[3].

        It comes to each unit once. It comes for every block of the dimension that it lacks, or,
        where blocks of that follow each other, for every chunk: if loops of the feeder inside it
        move in between.
        """
        whole, last = self.nest.block(self.nest.feeder), self._last(boxes)
        # Of each dimension, how much is in chunks of several of the feeder's blocks.
        rest = np.where(boxes.low == boxes.high, np.minimum(last, whole), whole)
        several = np.where(last > whole, self.extents, self.extents - rest)
        several = np.where(boxes.low > whole, several, 0) / self.extents
        once = -(-np.minimum(boxes.low, whole) // block)
        inner = self.nest.inside_feeder(tensor)
        if inner:
            again: NDArray[Any] = self._blocks(boxes, block)
        else:
            inner = [dim for dim in range(len(LOOPS)) if dim != tensor]
            again = (self._chunks(boxes) - 1) * once - (-np.minimum(last, whole) // block)
        moves = 1 - np.prod(1 - several[:, inner], axis=1)
        often: Values = once[:, tensor] + moves * np.maximum(0, (again - once)[:, tensor])
        return often

    def _chunks(self, boxes: _Boxes) -> Tiles:
        chunks: Tiles = -(-self.extents // boxes.high)
        return chunks

    def _blocks(self, boxes: _Boxes, block: Tiles) -> Tiles:
        """Return the blocks of some size in each dimension at least, int64[n, 3]."""
        full = self._chunks(boxes) - 1
        blocks = full * -(-boxes.low // block) - (-self._last(boxes) // block)
        least: Tiles = np.maximum(blocks, -(-self.extents // block))
        return least

    def _compute_cycles(self, boxes: _Boxes) -> Values:
        steps = self._blocks(boxes, self.nest.block(self.nest.feeder))
        cycles: Values = np.prod(steps.astype(float), axis=1)
        return cycles

    def _last(self, boxes: _Boxes) -> Tiles:
        """Return the sizes of the last chunks at least."""
        chunks = self._chunks(boxes)
        known = chunks == -(-self.extents // boxes.low)
        last: Tiles = np.where(known, self.extents - (chunks - 1) * boxes.high, 1)
        return last

    def _edges(self, boxes: _Boxes) -> tuple[Values, Values]:
        """Return the least words of the first step, of outputs of the last: float64[B, n] each."""
        shape = len(self.floors.boundaries), len(boxes.low)
        parents, children = np.zeros(shape), np.zeros(shape)
        feeder = self.nest.feeder
        for b, each in enumerate(self.floors.boundaries):
            if self.floors.is_mac(each):
                continue
            tile = boxes.low
            if each.tensor == OUTPUT:
                # Below the feeder, the last block may have any size.
                tile = self._last(boxes) if each.child <= feeder else np.ones_like(tile)
            outer = each.parent if each.child <= feeder else max(each.parent, feeder)
            blocks = each.child > feeder
            parents[b] = _words(
                np.minimum(tile, self.nest.block(outer)) if blocks else tile, each.tensor
            )
            children[b] = _words(self.nest.box(each.child, tile), each.tensor)
        return parents, children


def _words(box: Tiles, tensor: int) -> Values:
    """Return the words of a tensor, which lacks the dimension of its own number."""
    words: Values = np.prod(np.delete(box, tensor, axis=1).astype(float), axis=1)
    return words
