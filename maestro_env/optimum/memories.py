"""The search for the best mapping on any memories, with a bound of all others.

docs/optimum_memories.md has the lemmas (P1 to P15) that it cites.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env.base.checks import require_type
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.objectives import Objective
from maestro_env.hierarchy.relaxed import Relaxation, Weights
from maestro_env.hierarchy.units import Numbers, UnitBox
from maestro_env.mapspace.space import Points
from maestro_env.optimum.first_mappings import COARSE, Asking, FirstMappings
from maestro_env.optimum.line_bounds import ROUNDING, WORTHWHILE, Effort, LineBounds, shares_of
from maestro_env.optimum.lines import Line, least_product, powers_of
from maestro_env.optimum.memory_nodes import RATIOS, Leaf, Node
from maestro_env.optimum.search import OptimumError, ProofSearch

# Of more tuples of units than that, of more than one, of one: the finest classes worth their time.
_MANY, _MANY_FINEST, _SOME_FINEST = 64, 1, 3
_MOST_STATES = 2_000_000
# Pairs of lines that bound one tuple, and several.
_LINES, _LINES_OF_SEVERAL = 6, 1
# Of parts of a box, so many lines of latency that bound it highest are looked at.
_SHARES = 4
# Tuples whose mappings are tried, besides the first.
_PROBES = 12
# Of boxes with some outer tiles, each one of so many has its mappings tried.
_LOOKS, _FOLLOWED = 8, 2
# More of outer tiles take long.
_MOST_SPLITS = 2000
_STATES_A_NODE = 1000

_Steps = Generator[Points | None, NDArray[np.float64], None]


def merges_classes(problem: HierarchyProblem) -> bool:
    """Say whether tables of all classes of tiles are too large, so that some are merged (P5)."""
    return Relaxation(problem.space.evaluator).states(RATIOS[-1]) > _MOST_STATES


class MemoriesSearch(ProofSearch):
    """The search for the best mapping of a layer on an accelerator with any memories.

    Best first, it splits the tuples of units that fan-outs may have at work, and then the tiles of
    the first memory, and bounds all mappings of each part by the relaxed program. A path through
    its tables is a mapping, from which it descends.

    Args:
        problem: under the model ``hierarchy``.
        objective: a product of latency and energy, each as often as wanted.

    Raises:
        OptimumError: another objective.
    """

    problem: HierarchyProblem

    def __init__(self, problem: HierarchyProblem, objective: Objective) -> None:
        self.require(problem, objective)
        super().__init__(problem, objective)
        evaluator, self._powers = problem.space.evaluator, powers_of(objective)
        self._bounds = LineBounds(Relaxation(evaluator), self._powers)
        self._dividing = LineBounds(Relaxation(evaluator, dividing=True), self._powers)
        self._units = self._bounds.relaxed.units
        self._first = FirstMappings(problem, self._units, self._dividing)
        # Of all mappings: no search is needed for it.
        self._least = problem.bound(objective) or 0.0
        fit = [self._bounds.relaxed.states(ratio) <= _MOST_STATES for ratio in RATIOS]
        self._finest = max(place for place, fits in enumerate(fit) if fits or not place)
        self._ranks = count()
        self._open: list[Node] = []
        self._final: list[Node] = []
        self._covered = False  # whether open and final nodes have all mappings
        self._splits = self._looked = 0
        self._values: NDArray[np.float64] | None = None
        self._waits = False  # for values that were asked for
        self._steps = self._look()
        self._finished = False

    @classmethod
    def require(cls, problem: Any, objective: Objective) -> None:
        """Refuse an objective without bounds, with an ``OptimumError``."""
        require_type("problem", problem, HierarchyProblem, "of a HierarchySpace")
        require_type("objective", objective, Objective, "see find_objective")
        if sum(powers_of(objective)) < len(objective.factors):
            raise OptimumError(
                f"objective {objective.name} has no bounds on any memories; allowed: products of "
                "latency_cycles, energy_nj"
            )
        problem.require_figures(objective)

    # ---- As of every search ---------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do; a gap may be left."""
        return self._finished

    @property
    def bound(self) -> float:
        """No mapping has a lower value; infinite if none is valid."""
        if not self._covered:
            return self._least
        bound = min((each.bound for each in (*self._open[:1], *self._final)), default=math.inf)
        if not self._units.complete:
            bound = min(bound, self._least)
        return self.best if bound * ROUNDING >= self.best else bound

    @property
    def nodes(self) -> int:
        """Thousands of states of the relaxed programs that bounds were computed with."""
        return self._bounds.states // _STATES_A_NODE

    @property
    def left(self) -> NDArray[np.int32]:
        """Boxes that may hold a lower value than the best.

        A row has the fineness, the least and the most of each feature of the units, and of the
        tiles that the first memory's loops leave.
        """
        # Before it has begun, all are left.
        waiting = (*self._open, *self._final) if self._covered else (self._root,)
        nodes = [each for each in waiting if each.bound < self.best and len(each.tuples)]
        features = [self._units.features(each.tuples) for each in nodes]
        rows = [
            np.concatenate([[node.fineness], of.min(axis=0), of.max(axis=0), node.outer.ravel()])
            for node, of in zip(nodes, features, strict=True)
        ]
        return np.array(rows, dtype=np.int32).reshape(-1, self._width)

    def resume(
        self, best_point: ArrayLike | None, best: float | None, left: NDArray[np.int32]
    ) -> None:
        """Continue another search of the same problem.

        Raises:
            OptimumError: rows that are no boxes of this problem.
        """
        if left.ndim != 2 or left.shape[1] != self._width:
            raise OptimumError(f"boxes have {self._width} numbers, got an array {left.shape}")
        begun = not np.array_equal(left, self.left)
        if best is not None:
            self.tell(np.array([best_point], dtype=np.int32), np.array([best]))
        if not begun:
            return
        features = self._units.features(np.arange(len(self._units.tuples)))
        whole = self._units.all_tiles
        for row in left.astype(np.int64):
            fineness, least, most, outer = np.split(row, [1, 1 + features.shape[1], -whole.size])
            within = (features >= least) & (features <= most)
            tuples, tiles = np.flatnonzero(within.all(axis=1)), outer.reshape(whole.shape)
            known = 0 <= fineness[0] < len(RATIOS) and (tiles[0] <= tiles[1]).all()
            if not len(tuples) or not known or (tiles[0] < 1).any() or (tiles[1] > whole[1]).any():
                raise OptimumError("a box has no units or tiles of this problem")
            self._push(Node(0.0, 0, int(fineness[0]), tuples, tiles))
        self._covered = True

    @property
    def _parameters(self) -> int:
        return len(self.problem.space.parameters)

    @property
    def _width(self) -> int:
        """Numbers of a row of ``left``."""
        features = self._units.features(np.arange(0)).shape[1]
        return int(1 + 2 * features + self._units.all_tiles.size)

    def opening(self) -> Iterator[Points]:
        """Yield vectors of good mappings, int32[N, D], whose values are to be told in turn.

        There are none once it has boxes, also those of another search (``resume``).
        """
        if self._covered:
            return
        steps = self._first.begin(self)
        points = next(steps, None)
        while points is not None:
            self._waits = True
            yield points
            values, self._values = self._values, None
            if values is None:
                break
            try:
                points = steps.send(values)
            except StopIteration:
                break
        steps.close()
        self._cover()

    def ask(self, nodes: int = 1, threads: int = 1) -> Points:
        """Return vectors whose values are wanted, int32[N, D]; none after a step without any."""
        self._cover()
        values, self._values = self._values, None
        try:
            points = next(self._steps) if values is None else self._steps.send(values)
        except StopIteration:
            points, self._finished = None, True
        self._waits = points is not None
        if points is None:
            return np.empty((0, self._parameters), dtype=np.int32)
        return points

    def learn(self, values: NDArray[np.float64]) -> None:
        """Let what has asked for values go on."""
        if self._waits:
            self._values = values

    def leaves(self, bound: float) -> Iterator[Leaf]:
        """Yield boxes of all mappings, and for each the lines that show its bound.

        Args:
            bound: that a search has found, or a lower one.

        Raises:
            OptimumError: too many units to list, or a bound that cannot be shown.
        """
        if not self._units.complete:
            raise OptimumError("too many choices of units for a certificate; allow fewer (units)")
        self.best = bound / ROUNDING
        waiting = [self._root] if len(self._units.tuples) else []
        while waiting:
            node, lines = self._bounded(waiting.pop())
            if self._reach(lines):
                features = self._units.features(node.tuples)
                units = features.min(axis=0), features.max(axis=0)
                yield Leaf(*units, node.outer, RATIOS[node.fineness], self._needed(lines))
            elif parts := self._parts(node):
                waiting += parts
            else:
                raise OptimumError(f"a bound of {bound:g} cannot be shown")

    def _reach(self, lines: list[Line]) -> bool:
        """Say whether no mapping above some lines is better than the best."""
        return least_product(lines, self._powers).value >= self.best

    def _needed(self, lines: list[Line]) -> list[Line]:
        """Return lines that show as much, without those that show nothing more."""
        for line in lines[:0:-1]:
            fewer = [each for each in lines if each is not line]
            if (line.latency or not self._powers[1]) and self._reach(fewer):
                lines = fewer
        return lines

    # ---- Steps ----------------------------------------------------------------------------------

    def _cover(self) -> None:
        """Let the queue have all mappings, if it has not yet."""
        if self._covered:
            return
        if not self._units.complete:
            # Tuples that are not listed are as good as this, at best.
            energy = self._bounds.relaxed.least(self._units.everything(), Weights(), COARSE)
            cycles = self.problem.lower_bounds["latency_cycles"]
            self._least = max(self._least, cycles ** self._powers[0] * energy ** self._powers[1])
        if len(self._units.tuples):
            self._push(self._root)
        # Not before: an interrupt ends what it meets, and what is left must have all mappings.
        self._covered = True

    def _look(self) -> _Steps:
        """Take the lowest bounds first: bound with finer classes, else halve what is several."""
        probes = _PROBES
        while self._open and self._open[0].bound * ROUNDING < self.best:
            node = self._open[0]
            parts = self._parts(node)
            for part in parts:
                self._push(part)
            if not parts:
                self._final.append(node)
            # Its parts have no lower bounds, so it is the first still.
            heapq.heappop(self._open)
            if len(node.tuples) == 1 and node.fineness == _SOME_FINEST and probes:
                probes -= 1
                yield from self._first.probe(node.tuples, self)
            elif (node.outer != self._units.all_tiles).any():
                if self._looked % _LOOKS == 0:
                    yield from self._follow(node)
                self._looked += 1
            yield None
        self._final += self._open
        self._open = []

    def _follow(self, node: Node) -> Asking:
        """Descend from mappings of the lines that bound a node closest to its least product."""
        _, lines = self._bounded(node)
        weighed = [each for each in lines if each.energy and each.latency]
        closest = weighed[-_FOLLOWED:] or lines[1 : 1 + _FOLLOWED]
        yield from self._first.follow(self._box(node), closest, RATIOS[node.fineness], self)

    # ---- Nodes ----------------------------------------------------------------------------------

    @property
    def _root(self) -> Node:
        everything = np.arange(len(self._units.tuples))
        return Node(0.0, 0, _MANY_FINEST, everything, self._units.all_tiles)

    def _push(self, node: Node) -> None:
        """Bound a node and put it into the queue, unless none of its mappings can be better."""
        node, lines = self._bounded(node)
        bound = max(node.bound, least_product(lines, self._powers).value)
        if bound * ROUNDING < self.best:
            heapq.heappush(self._open, replace(node, bound=bound, rank=next(self._ranks)))

    def _bounded(self, node: Node) -> tuple[Node, list[Line]]:
        """Return a node with the shares that bound it highest, and its lines."""
        # The shares of a box serve its parts; and where there are no parts, nothing else is left.
        climbs = len(node.tuples) == 1 and not node.shares and node.fineness == self._finest
        effort = replace(self._effort(node), shares=node.shares, climbs=climbs)
        lines = self._bounds.lines(self._box(node), effort)
        return replace(node, shares=shares_of(lines, self._powers, _SHARES)), lines

    def _box(self, node: Node) -> UnitBox:
        return self._units.box(self._units.tuples[node.tuples], node.outer)

    def _effort(self, node: Node) -> Effort:
        pairs = _LINES if len(node.tuples) == 1 else _LINES_OF_SEVERAL
        return Effort(RATIOS[node.fineness], self.best, pairs)

    def _parts(self, node: Node) -> list[Node]:
        """Return a node with finer classes, else its halves: of its units, else of its tiles."""
        whole = (node.outer == self._units.all_tiles).all()
        if whole and node.fineness < self._finest_of(node.tuples):
            return [replace(node, fineness=node.fineness + 1, shares=())]
        if len(node.tuples) > 1:
            return [
                replace(node, tuples=half, fineness=fineness, shares=())
                for half in self._units.halves(node.tuples)
                for fineness in [min(node.fineness, self._finest_of(half))]
            ]
        worthwhile = not whole or self._powers[0] or self._ragged(node)
        if self._splits >= _MOST_SPLITS or not worthwhile:
            return []
        self._splits += 1
        if parts := self._cut(node.outer):
            fineness = min(self._finest, _SOME_FINEST)
            return [replace(node, fineness=fineness, outer=each) for each in parts]
        if node.fineness < self._finest:
            return [replace(node, fineness=self._finest, shares=())]
        return []

    def _finest_of(self, tuples: Numbers) -> int:
        if len(tuples) == 1:
            return self._finest
        return min(self._finest, _MANY_FINEST if len(tuples) > _MANY else _SOME_FINEST)

    def _ragged(self, node: Node) -> bool:
        """Say whether the bound would be higher if tiles had to divide what they cut."""
        box, effort = self._box(node), self._effort(node)
        return self._dividing.least(box, effort) > self._bounds.least(box, effort) * WORTHWHILE

    def _cut(self, outer: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Split the tiles of the dimension that has the most different ones: whole ones apart."""
        least, most = outer
        dims = [dim for dim in self._units.outer_dims if least[dim] < most[dim]]
        if not dims:
            return []
        dim = max(dims, key=lambda each: most[each] / least[each])
        middle = int(math.sqrt(float(least[dim] * most[dim])))
        if most[dim] == self._units.extents[dim]:
            middle = int(most[dim]) - 1
        below, above = outer.copy(), outer.copy()
        below[1, dim], above[0, dim] = middle, middle + 1
        return [below, above]
