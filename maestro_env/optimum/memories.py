"""The search for the best mapping on any memories, with a bound of all others (docs/optimum.md)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.base.checks import require_type
from maestro_env.evaluation.evaluator import Best
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.objectives import Objective
from maestro_env.hierarchy.relaxed import HANDY, Limits, Relaxation, UnitBox, Weights
from maestro_env.mapspace.space import Points
from maestro_env.optimum.descent import descent
from maestro_env.optimum.lines import Line, Shares, least_product, powers_of
from maestro_env.optimum.search import OptimumError

RATIOS = (4.0, 2.0, 1.5, 1.25, 1.1, 1.0)
"""Ratios up to which classes of tiles are merged, coarse ones first."""

# Of more tuples of units than that, of more than one, of one: the finest classes worth their time.
_MANY, _MANY_FINEST, _SOME_FINEST = 64, 1, 3
_MOST_STATES = 2_000_000
# A trace keeps ten times the memory.
_MOST_TRACED = 200_000
# Lines that bound one tuple, and several.
_LINES, _LINES_OF_SEVERAL = 6, 1
# A line that raises the bound by less is the last.
_WORTHWHILE = 1 + 1e-4
_BEAM = 3
_PROBES = 12
# Of outer tiles: more take long.
_MOST_SPLITS = 2000
_TRIED = 2
_DESCENT = 12_000
_HOPEFUL = 1.5
# Bounds and figures are rounded differently.
_ROUNDING = 1 + 1e-9
_STATES_A_NODE = 1000
# Units of these are told apart as products too: each shares words of another tensor.
_GROUPS = tuple(tuple(map(DIMS.index, dims)) for dims in ("K", "NPQ", "CRS"))
# Of a cycle, as shares of what energy and latency are about: trades that descents begin with.
_SLOPES = (0.5, 2.0)

_Opening = Generator[Points, NDArray[np.float64], None]
_Asked = Generator[Points | None, NDArray[np.float64], None]


@dataclass(frozen=True)
class Node:
    """Mappings with some tuples of units.

    Args:
        bound: none of them has less.
        rank: of two nodes of equal bounds the lower comes first.
        fineness: of the classes that the bound is from, an index of ``RATIOS``.
        tuples: their numbers.
        outer: least and most of the tiles that the first memory's loops leave, int64[2, 8].
    """

    bound: float
    rank: int
    fineness: int
    tuples: NDArray[np.int64]
    outer: NDArray[np.int64]

    def __lt__(self, other: Node) -> bool:
        return (self.bound, self.rank) < (other.bound, other.rank)


@dataclass(frozen=True, eq=False)
class Leaf:
    """Mappings with some units, and lines that none of them is below.

    Args:
        least, most: of each feature of their units, as ``left`` has them.
        outer: of the tiles that the first memory's loops leave.
        ratio: of the classes of tiles.
        lines: the first one is that of the MACs.
    """

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    outer: NDArray[np.int64]
    ratio: float
    lines: list[Line]


class MemoriesSearch:
    """The search for the best mapping of a layer on an accelerator with any memories.

    It is used as ``OptimumSearch`` is. Best first, it splits the tuples of units that fan-outs may
    have at work, and bounds all mappings of some by the relaxed program over tiles and orders. The
    path through the tables is a mapping, from which it descends.

    Attributes:
        problem, objective: what is searched.
        best: the lowest value so far; infinite if none.
        best_point: a vector of this value, int32[D]; None if none.

    Args:
        problem: under the model ``hierarchy``.
        objective: a product of latency and energy, each as often as wanted.

    Raises:
        OptimumError: another objective.
    """

    def __init__(self, problem: HierarchyProblem, objective: Objective) -> None:
        require_bounded_memories(problem, objective)
        self.problem, self.objective = problem, objective
        self.best = math.inf
        self.best_point: Points | None = None
        self._powers = powers_of(objective)
        self._relaxed = Relaxation(problem.space.evaluator)
        self._dividing = Relaxation(problem.space.evaluator, dividing=True)
        # Of all mappings: no search is needed for it.
        self._least = problem.bound(objective) or 0.0
        self._tuples = self._relaxed.tuples
        self._cycles = self._relaxed.compute_cycles(self._tuples)
        fit = [self._relaxed.states(ratio) <= _MOST_STATES for ratio in RATIOS]
        self._finest = max(place for place, fits in enumerate(fit) if fits or not place)
        self._ranks = count()
        self._open: list[Node] = []
        self._final: list[Node] = []
        self._covered = False  # whether open and final nodes have all mappings
        self._states = self._splits = 0
        self._values: NDArray[np.float64] | None = None
        self._waits = False  # for values that were asked for
        self._steps = self._look()
        self.finished = False

    # ---- As of every search ---------------------------------------------------------------------

    @property
    def bound(self) -> float:
        """No mapping has a lower value; infinite if none is valid."""
        if not self._covered:
            return self._least
        bound = min((each.bound for each in (*self._open[:1], *self._final)), default=math.inf)
        if not self._relaxed.complete:
            bound = min(bound, self._least)
        return self.best if bound * _ROUNDING >= self.best else bound

    @property
    def nodes(self) -> int:
        """Thousands of states of relaxed programs that were computed."""
        return self._states // _STATES_A_NODE

    @property
    def left(self) -> NDArray[np.int32]:
        """Boxes that may hold a lower value than the best.

        A row has the fineness, the least and the most of each feature of the units, and of the
        tiles that the first memory's loops leave.
        """
        # Before it has begun, all are left.
        waiting = (*self._open, *self._final) if self._covered else (self._root,)
        nodes = [each for each in waiting if each.bound < self.best]
        rows = [
            np.concatenate(
                [[each.fineness], features.min(axis=0), features.max(axis=0), each.outer.ravel()]
            )
            for each in nodes
            if len(features := self._features(each.tuples))
        ]
        return np.array(rows, dtype=np.int32).reshape(-1, self._width)

    def resume(
        self, best_point: ArrayLike | None, best: float | None, left: NDArray[np.int32]
    ) -> None:
        """Continue another search of the same problem.

        Raises:
            OptimumError: rows that are no boxes of this problem.
        """
        features = self._features(np.arange(len(self._tuples)))
        if left.ndim != 2 or left.shape[1] != self._width:
            raise OptimumError(f"boxes have {self._width} numbers, got an array {left.shape}")
        if best is not None:
            self.tell(np.array([best_point], dtype=np.int32), np.array([best]))
        whole = self._relaxed.all_tiles
        for row in left.astype(np.int64):
            fineness, least, most, outer = np.split(row, [1, 1 + features.shape[1], -whole.size])
            within = (features >= least) & (features <= most)
            tuples, tiles = np.flatnonzero(within.all(axis=1)), outer.reshape(whole.shape)
            known = 0 <= fineness[0] < len(RATIOS) and (tiles[0] <= tiles[1]).all()
            if not len(tuples) or not known or (tiles[0] < 1).any() or (tiles[1] > whole[1]).any():
                raise OptimumError("a box has no units or tiles of this problem")
            self._push(tuples, int(fineness[0]), 0.0, tiles)
        self._covered = True

    @property
    def _width(self) -> int:
        """Numbers of a row of ``left``."""
        features = self._features(np.arange(min(1, len(self._tuples)))).shape[1]
        return int(1 + 2 * features + self._relaxed.all_tiles.size)

    def opening(self) -> Iterator[Points]:
        """Yield vectors of good mappings, int32[N, D], whose values are to be told in turn.

        The program's boxes for them are none of ``nodes``. There are none after ``resume``.
        """
        if self._covered:
            return
        steps = self._begin()
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

    def leaves(self, bound: float) -> Iterator[Leaf]:
        """Yield boxes of all mappings, and for each the lines that show its bound.

        Args:
            bound: that this search has found, or a lower one.

        Raises:
            OptimumError: too many units to list, or a bound that cannot be shown.
        """
        if not self._relaxed.complete:
            raise OptimumError("too many choices of units for a certificate; allow fewer (units)")
        self.best = bound / _ROUNDING
        self._open, self._final, self._splits = [], [], 0
        waiting = [self._root] if len(self._tuples) else []
        while waiting:
            node = waiting.pop()
            lines = self._lines(node.tuples, RATIOS[node.fineness], node.outer)
            if least_product(lines, self._powers)[0] >= self.best:
                features = self._features(node.tuples)
                units = features.min(axis=0), features.max(axis=0)
                yield Leaf(*units, node.outer, RATIOS[node.fineness], lines)
            elif parts := self._parts(node):
                waiting += parts
            else:
                raise OptimumError(f"a bound of {bound:g} cannot be shown")

    def begin_with(self, best: Best | None) -> None:
        """Look only for what is better than a search's best, and begin there."""
        if best is not None:
            self.tell(best.point[np.newaxis], np.array([best.value]))

    def ask(self, nodes: int = 1, threads: int = 1) -> Points:
        """Return vectors whose values are wanted, int32[N, D]; none after a step without any."""
        self._cover()
        values, self._values = self._values, None
        try:
            points = next(self._steps) if values is None else self._steps.send(values)
        except StopIteration:
            points, self.finished = None, True
        self._waits = points is not None
        if points is None:
            return np.empty((0, len(self.problem.space.parameters)), dtype=np.int32)
        return points

    def tell(self, points: Points, values: NDArray[np.float64]) -> None:
        """Learn the values, float64[N], of the vectors asked for, or known beforehand."""
        if not len(values):
            return
        index = int(values.argmin())
        if values[index] < self.best:
            self.best, self.best_point = float(values[index]), points[index].copy()
        if self._waits:
            self._values = values

    # ---- Steps ----------------------------------------------------------------------------------

    def _begin(self) -> _Opening:
        """Descend from what is told, and follow the best halves to some tuples of units."""
        if self.best_point is not None:
            yield from descent(self.problem.space, self.best_point, self.best, _DESCENT)
        # Merged classes may promise a mapping where there is none.
        for ratio in (RATIOS[_MANY_FINEST], HANDY):
            beam = [np.arange(len(self._tuples))] if len(self._tuples) else []
            while any(len(each) > 1 for each in beam):
                halves = [half for each in beam for half in self._halves(each) if len(half)]
                beam = sorted(halves, key=lambda half: self._promise(half, ratio))[:_BEAM]
            for each in beam:
                yield from self._probe(each)
            if math.isfinite(self.best):
                return
        # The smallest tiles fit, if any do.
        smallest = np.zeros((1, len(self.problem.space.parameters)), dtype=np.int32)
        values = yield smallest
        if math.isfinite(values[0]):
            yield from descent(self.problem.space, smallest[0], float(values[0]), _DESCENT)

    def _cover(self) -> None:
        """Let the queue have all mappings, if it has not yet."""
        if self._covered:
            return
        self._covered, self._states = True, 0
        if not self._relaxed.complete:
            # Tuples that are not listed are as good as this, at best.
            box = self._relaxed.everything()
            energy = self._relaxed.least(box, Weights(), RATIOS[_MANY_FINEST])
            cycles = self.problem.lower_bounds["latency_cycles"]
            self._least = max(self._least, cycles ** self._powers[0] * energy ** self._powers[1])
        if len(self._tuples):
            root = self._root
            self._push(root.tuples, root.fineness, 0.0, root.outer)

    def _promise(self, tuples: NDArray[np.int64], ratio: float) -> float:
        """Return about what the best mapping with some tuples of units costs."""
        box = self._relaxed.box(self._tuples[tuples])
        self._states += self._relaxed.states(ratio)
        least = self._dividing.least(box, Weights(), ratio)
        cycles = box.compute_cycles
        if self._powers[0] and (ports := self._relaxed.ports):
            evenly = dict.fromkeys(ports, 1 / len(ports))
            line = self._line(box, ratio, self._dividing, 0.0, 1.0, evenly)
            cycles = max(cycles, line.bound)
        # Where latency does not count, units that share words are many, too.
        return float(least ** max(0.1, self._powers[1]) * cycles ** max(0.1, self._powers[0]))

    def _look(self) -> _Asked:
        """Take the lowest bounds first: bound with finer classes, else halve what is several."""
        probes = _PROBES
        while self._open and self._open[0].bound * _ROUNDING < self.best:
            node = heapq.heappop(self._open)
            parts = self._parts(node)
            for part in parts:
                self._push(part.tuples, part.fineness, node.bound, part.outer)
            if not parts:
                self._final.append(node)
            if len(node.tuples) == 1 and node.fineness == _SOME_FINEST and probes:
                probes -= 1
                yield from self._probe(node.tuples)
            yield None
        self._final += self._open
        self._open = []

    @property
    def _root(self) -> Node:
        everything, tiles = np.arange(len(self._tuples)), self._relaxed.all_tiles
        return Node(0.0, next(self._ranks), _MANY_FINEST, everything, tiles)

    def _parts(self, node: Node) -> list[Node]:
        """Return a node with finer classes, else its halves: of its units, else of its tiles."""
        whole = (node.outer == self._relaxed.all_tiles).all()
        if whole and node.fineness < self._finest_of(node.tuples):
            return [replace(node, fineness=node.fineness + 1)]
        if len(node.tuples) > 1:
            return [
                replace(node, tuples=half, fineness=min(node.fineness, self._finest_of(half)))
                for half in self._halves(node.tuples)
                if len(half)
            ]
        if self._splits >= _MOST_SPLITS or (whole and not self._ragged(node)):
            return []
        self._splits += 1
        fineness = min(self._finest, _SOME_FINEST)
        return [replace(node, fineness=fineness, outer=each) for each in self._cut(node.outer)]

    def _ragged(self, node: Node) -> bool:
        """Say whether the bound would be higher if tiles had to divide what they cut."""
        ratio = RATIOS[node.fineness]
        bounds = [
            least_product(self._lines(node.tuples, ratio, node.outer, each), self._powers)[0]
            for each in (self._relaxed, self._dividing)
        ]
        return bounds[1] > bounds[0] * _WORTHWHILE

    def _cut(self, outer: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Split the tiles of the dimension that has the most different ones: whole ones apart."""
        least, most = outer
        dims = [dim for dim in self._relaxed.outer_dims if least[dim] < most[dim]]
        if not dims:
            return []
        dim = max(dims, key=lambda each: most[each] / least[each])
        middle = int(math.sqrt(float(least[dim] * most[dim])))
        if most[dim] == self._relaxed.extents[dim]:
            middle = int(most[dim]) - 1
        below, above = outer.copy(), outer.copy()
        below[1, dim], above[0, dim] = middle, middle + 1
        return [below, above]

    def _finest_of(self, tuples: NDArray[np.int64]) -> int:
        if len(tuples) == 1:
            return self._finest
        return min(self._finest, _MANY_FINEST if len(tuples) > _MANY else _SOME_FINEST)

    def _push(
        self, tuples: NDArray[np.int64], fineness: int, floor: float, outer: NDArray[np.int64]
    ) -> None:
        """Bound some mappings and put them into the queue, unless none can be better."""
        lines = self._lines(tuples, RATIOS[fineness], outer)
        bound = max(floor, least_product(lines, self._powers)[0])
        if bound * _ROUNDING < self.best:
            node = Node(bound, next(self._ranks), fineness, tuples, outer)
            heapq.heappush(self._open, node)

    def _halves(self, tuples: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Split tuples where units differ most, by their geometric mean."""
        features = self._features(tuples).astype(np.float64)
        most, least = features.max(axis=0), features.min(axis=0)
        # Of equal ratios a product comes first: the groups stand at the end.
        column = len(most) - 1 - int((most / least)[::-1].argmax())
        low = features[:, column] <= math.sqrt(most[column] * least[column])
        return tuples[low], tuples[~low]

    def _features(self, tuples: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return units of each fan-out by dimension and as products, int64[n, features]."""
        units = self._tuples[tuples]
        groups = [units[:, :, dims].prod(axis=2) for dims in _GROUPS]
        return np.concatenate([units.reshape(len(units), -1), *groups], axis=1)

    def _probe(self, tuples: NDArray[np.int64]) -> _Opening:
        """Ask for mappings with one tuple of units, and descend from the best."""
        if not (found := self._traces(tuples)):
            return
        points = np.unique(np.array(found, dtype=np.int32), axis=0)
        values = yield points
        best = int(values.argmin())
        if values[best] <= _HOPEFUL * self.best and math.isfinite(values[best]):
            yield from descent(self.problem.space, points[best], float(values[best]), _DESCENT)

    def _traces(self, tuples: NDArray[np.int64]) -> list[Points]:
        """Return vectors of mappings that the relaxed program finds, with handy tiles if it can."""
        box, found = self._relaxed.box(self._tuples[tuples]), list[Points]()
        ratios = (HANDY, *reversed(RATIOS[: _SOME_FINEST + 1]))
        for ratio in [each for each in ratios if self._relaxed.states(each) <= _MOST_TRACED][:2]:
            for weights in self._trials(box, ratio):
                self._states += self._relaxed.states(ratio)
                if len(loops := self._dividing.trace(box, weights, ratio)):
                    found.append(self.problem.space.native.encode(loops.tolist()))
            if found:
                break
        return found

    def _trials(self, box: UnitBox, ratio: float) -> list[Weights]:
        """Return trades of latency for energy to begin descents with."""
        latency, _ = self._powers
        least = self._dividing.least(box, Weights(), ratio)
        if not latency or not self._relaxed.ports or math.isinf(least):
            return [Weights()]
        coarse = RATIOS[_MANY_FINEST]
        timed = [each.shares for each in self._timed(box, coarse, self._dividing, Limits())]
        trades = [(1.0, slope * least / box.compute_cycles) for slope in _SLOPES]
        found = [
            self._weights(*trade, shares)
            for trade in [*trades, (0.0, 1.0)]
            for shares in timed[:_TRIED]
        ]
        return [Weights(), *found]

    # ---- Bounds ---------------------------------------------------------------------------------

    def _lines(
        self,
        tuples: NDArray[np.int64],
        ratio: float,
        outer: NDArray[np.int64],
        relaxed: Relaxation | None = None,
    ) -> list[Line]:
        """Return lines that no better mapping of some boxes is below."""
        relaxed = relaxed or self._relaxed
        box = relaxed.box(self._tuples[tuples], outer)
        latency, energy = self._powers
        lines = [Line(0.0, 1.0, box.compute_cycles)]
        if energy:
            lines.append(self._line(box, ratio, relaxed, 1.0, 0.0))
        value, _, nanojoules = least_product(lines, self._powers)
        if not latency or not self._relaxed.ports or value >= self.best or math.isinf(value):
            return lines
        limits = self._limits(box, nanojoules)
        timed = self._timed(box, ratio, relaxed, limits)
        lines += timed
        for _ in range(_LINES if len(tuples) == 1 else _LINES_OF_SEVERAL):
            before, cycles, nanojoules = least_product(lines, self._powers)
            if not energy or not cycles or before >= self.best:
                break
            # The product falls most steeply in this direction.
            weight = latency / energy * nanojoules / cycles
            lines += [
                self._line(box, ratio, relaxed, 1.0, weight, each.shares, limits)
                for each in timed[:2]
            ]
            if least_product(lines, self._powers)[0] < before * _WORTHWHILE:
                break
        return lines

    def _timed(self, box: UnitBox, ratio: float, relaxed: Relaxation, limits: Limits) -> list[Line]:
        """Return lines of latency alone, by the ports whose time they weigh, the highest first."""

        def line(shares: Shares) -> Line:
            return self._line(box, ratio, relaxed, 0.0, 1.0, shares, limits)

        ports = relaxed.ports
        evenly = [dict.fromkeys(ports, 1 / len(ports))] if len(ports) > 1 else []
        found = [*map(line, [{}, *({port: 1.0} for port in ports), *evenly])]
        found.sort(key=lambda each: -each.bound)
        halves = [
            line({port: share / 2 for port, share in each.shares.items()})
            for each in found[:2]
            if each.shares
        ]
        return sorted([*found, *halves], key=lambda each: -each.bound)

    def _limits(self, box: UnitBox, nanojoules: float) -> Limits:
        """Return what no better mapping of so much energy at least exceeds (P10)."""
        latency, energy = self._powers
        room = self.best / nanojoules**energy if energy else self.best
        cycles = room ** (1 / latency) * _ROUNDING
        return Limits(cycles - box.compute_cycles, cycles)

    def _line(
        self,
        box: UnitBox,
        ratio: float,
        relaxed: Relaxation,
        energy: float,
        latency: float,
        shares: Shares | None = None,
        limits: Limits | None = None,
    ) -> Line:
        """Return a line of all mappings of a box."""
        self._states += relaxed.states(ratio)
        weights = self._weights(energy, latency, shares or {})
        least = relaxed.least(box, weights, ratio, limits or Limits())
        return Line(energy, latency, least + weights.fill * box.compute_cycles, shares or {})

    @staticmethod
    def _weights(energy: float, latency: float, shares: Shares) -> Weights:
        """Weigh latency as the time of some ports, and the rest as computing and first fills."""
        ports = {port: latency * share for port, share in shares.items()}
        return Weights(energy, ports, latency * (1 - sum(shares.values())))


def require_bounded_memories(problem: HierarchyProblem, objective: Objective) -> None:
    """Refuse an objective without bounds.

    Raises:
        OptimumError: as ``MemoriesSearch`` raises it.
    """
    require_type("problem", problem, HierarchyProblem, "of a HierarchySpace")
    require_type("objective", objective, Objective, "see find_objective")
    if sum(powers_of(objective)) < len(objective.factors):
        raise OptimumError(
            f"objective {objective.name} has no bounds on any memories; allowed: products of "
            "latency_cycles, energy_nj"
        )
    problem.require_figures(objective)
