"""Searches of mappings in which every tile, and what a unit gets, divides what it cuts.

With `--tiles divisors` tiles divide the extents of a layer, but 12 units may share 96 of 256. Here
such a vector stands for the nearest mapping that divides everywhere. For scripts.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.elements import FanoutElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import MappingError, MapSpaceError
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.objectives import Objective
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import FIGURES, STATUSES, Conventions, HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.mapspace.space import Points
from maestro_env.optimum.descent import descent, follow
from maestro_env.optimum.lines import powers_of
from maestro_env.optimum.memories import MemoriesSearch
from maestro_env.workloads.layer import Layer

Loops = Sequence[Sequence[int]]
"""Element, dimension (of ``DIMS``) and tile of each loop."""

OURS = Conventions()
ENOUGH = 1e-4
_DESCENT, _SAMPLES = 3000, 10_000


@cache
def divisors(number: int) -> list[int]:
    return [each for each in range(1, number + 1) if number % each == 0]


def largest(number: int, most: int) -> int:
    """Return the largest divisor up to a limit."""
    return max(each for each in divisors(number) if each <= most)


@dataclass(frozen=True)
class ToolSpace(HierarchySpace):
    """A space whose costs follow the conventions of a tool."""

    conventions: Conventions = OURS

    @cached_property
    def evaluator(self) -> HierarchyEvaluator:
        return HierarchyEvaluator(self.layer, self.hardware, self.conventions)

    def dividing(self, loops: Loops) -> list[tuple[int, int, int]]:
        """Return loops with tiles that divide: lower ones at memories, higher ones for units."""
        box, found = list(self.evaluator.shape.native()), []
        for element, dim, tile in loops:
            if tile < box[dim]:
                if isinstance(self.hardware.elements[element], FanoutElement):
                    tile = min(each for each in divisors(box[dim]) if each >= tile)
                tile = largest(box[dim], tile)
                found += [(element, dim, tile)] if tile < box[dim] else []
                box[dim] = tile
        return found


@dataclass(frozen=True)
class Dividing(HierarchyProblem):
    """Mappings that divide: each vector stands for the one that its space makes of it."""

    space: ToolSpace

    @cached_property
    def lower_bounds(self) -> dict[str, float]:
        bounds = lower_bound(self.layer, self.hardware, self.space.conventions)
        return {"latency_cycles": bounds.latency_cycles, "energy_nj": bounds.energy_nj}

    def score(self, points: Points, objective: Objective, *others: Any) -> Any:
        """Score as every problem does, but the mappings that divide."""
        values, *rest = super().score(points, objective, *others)
        values = values.copy()
        decoded = [list(map(tuple, self.space.native.decode(each))) for each in points]
        loops = [self.space.dividing(each) for each in decoded]
        rows = [n for n, each in enumerate(loops) if each != decoded[n]]
        if rows:
            values[rows] = self._values([loops[row] for row in rows], objective)
        return values, *rest

    def _values(
        self, loops: list[list[tuple[int, int, int]]], objective: Objective
    ) -> NDArray[np.float64]:
        width = max(map(len, loops)) or 1
        padded = [[*each, *[(-1, 0, 0)] * (width - len(each))] for each in loops]
        figures, statuses = self.space.evaluator.evaluate_batch(np.array(padded, dtype=np.int32))
        latency, energy = powers_of(objective)
        found = figures[:, 0] ** latency * figures[:, FIGURES.index("energy_nj")] ** energy
        found[statuses != STATUSES.index("ok")] = np.inf
        return found


def dividing(layer: Layer, hardware: Hierarchy, conventions: Conventions) -> Dividing:
    """Return the mappings that divide; fan-outs have units that divide extents at most."""
    sizes, elements = Shape.of(layer).sizes, []
    for each in hardware.elements:
        if isinstance(each, FanoutElement):
            rules, most = each.rules, each.size or max(sizes.values())
            limits = {dim: min(most, rules.units.get(dim, most)) for dim in sizes}
            units = {dim: largest(size, limits[dim]) for dim, size in sizes.items() if size > 1}
            each = replace(each, rules=replace(rules, units=units))
        elements.append(each)
    limited = replace(hardware, elements=elements)
    return Dividing(ToolSpace(layer, limited, "divisors", conventions))


class Search(MemoriesSearch):
    """A search for so many CPU-seconds; of ``Dividing`` its bound is of tiles that divide."""

    def __init__(self, problem: HierarchyProblem, objective: Objective) -> None:
        super().__init__(problem, objective)
        self.seconds, self.trail = 0.0, list[Loops]()
        if isinstance(problem, Dividing):
            if not problem.space.conventions.exposed:
                # The first fills take no time of their own.
                self._dividing.relaxed.__dict__["_exposed"] = 0 * self._dividing.relaxed._exposed
            self._bounds = self._dividing

    def begin(self, starts: Iterable[Loops] = (), more: int = 0) -> None:
        """Take the first mappings, and descend from others: given, and the best of random ones."""
        began = time.process_time()
        for points in self.opening():
            self._score(points)
        self._waits = False
        for loops in starts:
            self._start(loops)
        if more:
            points = self.problem.space.sample(_SAMPLES, np.random.default_rng(1))
            values = self._score(points)
            for place in values.argsort(kind="stable")[:more]:
                self._descend(points[place], float(values[place]))
        self.seconds += time.process_time() - began

    def bound_for(self, seconds: float) -> None:
        """Raise the bound, and find better mappings on the way."""
        began = time.process_time()
        while not self.finished and time.process_time() - began < seconds and self.gap > ENOUGH:
            self._score(self.ask())
        self.seconds += time.process_time() - began

    def _start(self, loops: Loops) -> None:
        space = self.problem.space
        try:
            names = space.evaluator.decode(np.array([*loops, (-1, 0, 0)], dtype=np.int32))
            point = space.encode(names)
        except (MappingError, MapSpaceError):
            return
        self._descend(point, float(self._score(point[np.newaxis])[0]))

    def _descend(self, point: Points, value: float) -> None:
        if np.isfinite(value):
            follow(descent(self.problem.space, point, value, _DESCENT), self._score)

    def _score(self, points: Points) -> NDArray[np.float64]:
        before = self.best
        if not len(points):
            return np.empty(0)
        values: NDArray[np.float64] = self.problem.score(points, self.objective)[0]
        self.tell(points, values)
        if self.best < before and self.best_point is not None:
            self.trail.append(self.problem.space.native.decode(self.best_point))
        return values
