"""First mappings of a search on any memories: of the relaxed program, and random ones."""

from __future__ import annotations

import math
from collections.abc import Generator

import numpy as np
from numpy.typing import NDArray

from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.hierarchy.relaxed import HANDY, Relaxation, Weights
from maestro_env.hierarchy.units import Numbers, UnitBox, UnitTuples
from maestro_env.mapspace.space import Points
from maestro_env.optimum.descent import descent
from maestro_env.optimum.line_bounds import LineBounds, weighed
from maestro_env.optimum.search import ProofSearch

COARSE, FINE = 2.0, 1.25
"""Ratios of merged classes: to compare many units, and to find a mapping."""

_BEAM = 3
# A trace keeps ten times the memory of a bound.
_MOST_STATES = 200_000
# Trades that are tried: of energy for latency, about what they are of either, and of ports.
_TRADES = (0.5, 2.0)
_PORTS = 2
# Random mappings, and how many of them are descended from.
_SAMPLES, _STARTS = 5000, 4
# Values that a descent asks for, a first one from those, and how far above the best it may begin.
_DESCENT, _SHORT = 12_000, 3000
_HOPEFUL = 10.0

Asking = Generator[Points, NDArray[np.float64], None]
"""Yields int32[N, D] vectors, and is sent their values, float64[N], once the search has them."""


class FirstMappings:
    """Mappings with promising units, and random ones, from which a search descends.

    Args:
        problem: of the mappings.
        units: of its fan-outs.
        bounds: of dividing tiles.
    """

    def __init__(self, problem: HierarchyProblem, units: UnitTuples, bounds: LineBounds) -> None:
        self._problem, self._units, self._bounds = problem, units, bounds

    def begin(self, search: ProofSearch) -> Asking:
        """Descend from what is told, from mappings with promising units, and from random ones."""
        if search.best_point is not None:
            yield from self._descend(search.best_point[np.newaxis], search)
        # Merged classes may promise a mapping where there is none.
        for ratio in (COARSE, HANDY):
            for each in self._best_units(ratio):
                yield from self.probe(each, search)
            if math.isfinite(search.best):
                break
        yield from self._sample(search)
        if math.isinf(search.best):
            # The smallest tiles fit, if any do.
            smallest = np.zeros((1, len(self._problem.space.parameters)), dtype=np.int32)
            yield from self._descend(smallest, search)

    def probe(self, tuples: Numbers, search: ProofSearch) -> Asking:
        """Descend from the best of some mappings with one tuple of units."""
        points = self._points(tuples)
        if len(points):
            yield from self._descend(points, search)

    def _sample(self, search: ProofSearch) -> Asking:
        """Descend from random mappings, as what the program promises may be far off."""
        points = self._problem.space.sample(_SAMPLES, np.random.default_rng(0))
        values = yield points
        for start in values.argsort(kind="stable")[:_STARTS]:
            yield from self._descend(points[[start]], search, _SHORT)
        if search.best_point is not None:
            yield from self._descend(search.best_point[np.newaxis], search)

    def _descend(self, points: Points, search: ProofSearch, budget: int = _DESCENT) -> Asking:
        """Ask for the values of some vectors, and descend from the best."""
        values = yield points
        best = int(values.argmin())
        if values[best] <= _HOPEFUL * search.best and math.isfinite(values[best]):
            yield from descent(self._problem.space, points[best], float(values[best]), budget)

    # ---- Paths through the program --------------------------------------------------------------

    def _best_units(self, ratio: float) -> list[Numbers]:
        """Follow the most promising halves of all units down to some tuples."""
        beam = [np.arange(len(self._units.tuples))] if len(self._units.tuples) else []
        while any(len(each) > 1 for each in beam):
            halves = [half for each in beam for half in self._units.halves(each)]
            beam = sorted(halves, key=lambda half: self._promise(half, ratio))[:_BEAM]
        return beam

    def _promise(self, numbers: Numbers, ratio: float) -> float:
        """Return about what the best mapping with some tuples of units costs."""
        box, (latency, energy) = self._box(numbers), self._bounds.powers
        cycles, least = box.compute_cycles, self._bounds.line(box, ratio, 1.0, 0.0).bound
        if latency and self._relaxed.ports:
            cycles = max(cycles, self._bounds.evenly(box, ratio).bound)
        # Where latency does not count, units that share words are many, too.
        return float(least ** max(0.1, energy) * cycles ** max(0.1, latency))

    def _points(self, numbers: Numbers) -> Points:
        """Return vectors of mappings with one tuple of units, int32[N, D]."""
        box, found = self._box(numbers), list[Points]()
        # Where no handy tiles fit, others may.
        for ratio in (HANDY, FINE, COARSE):
            if self._relaxed.states(ratio, box) > _MOST_STATES:
                continue
            for weights in self._trials(box, ratio):
                if len(loops := self._relaxed.trace(box, weights, ratio)):
                    found.append(self._problem.space.native.encode(loops.tolist()))
            if found:
                break
        width = len(self._problem.space.parameters)
        return np.unique(np.array(found, dtype=np.int32).reshape(-1, width), axis=0)

    def _trials(self, box: UnitBox, ratio: float) -> list[Weights]:
        """Return trades of latency for energy."""
        least = self._bounds.line(box, ratio, 1.0, 0.0).bound
        if not self._bounds.powers[0] or not self._relaxed.ports or math.isinf(least):
            return [Weights()]
        timed = self._bounds.timed(box, COARSE)
        trades = [(1.0, trade * least / box.compute_cycles) for trade in _TRADES]
        found = [
            weighed(*trade, each.shares)
            for trade in [*trades, (0.0, 1.0)]
            for each in timed[:_PORTS]
        ]
        return [Weights(), *found]

    @property
    def _relaxed(self) -> Relaxation:
        return self._bounds.relaxed

    def _box(self, numbers: Numbers) -> UnitBox:
        return self._units.box(self._units.tuples[numbers])
