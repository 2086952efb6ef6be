"""Mappings on any memories to begin a search with: paths through the relaxed program."""

from __future__ import annotations

import math

import numpy as np

from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.hierarchy.relaxed import HANDY, Relaxation, Weights
from maestro_env.hierarchy.units import Numbers, UnitBox, UnitTuples
from maestro_env.mapspace.space import Points
from maestro_env.optimum.line_bounds import LineBounds, weighed

COARSE, FINE = 2.0, 1.25
"""Ratios of merged classes: to compare many units, and to find a mapping."""

_BEAM = 3
# A trace keeps ten times the memory of a bound.
_MOST_STATES = 200_000
# Trades that are tried: of energy for latency, about what they are of either, and of ports.
_TRADES = (0.5, 2.0)
_PORTS = 2


class FirstMappings:
    """Promising units, and mappings with them whose tiles divide what they cut.

    Args:
        problem: of the mappings.
        units: of its fan-outs.
        bounds: of dividing tiles.
    """

    def __init__(self, problem: HierarchyProblem, units: UnitTuples, bounds: LineBounds) -> None:
        self._problem, self._units, self._bounds = problem, units, bounds

    def best_units(self, ratio: float) -> list[Numbers]:
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

    def points(self, numbers: Numbers) -> Points:
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
