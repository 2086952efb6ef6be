"""First mappings of a search on any memories: of the relaxed program, and random ones."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.elements import MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS, INDEXING
from maestro_env.base.errors import MapSpaceError
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.masks import Masks
from maestro_env.hierarchy.relaxed import HANDY, Relaxation, Weights
from maestro_env.hierarchy.units import Numbers, UnitBox, UnitTuples
from maestro_env.mapspace.space import Points
from maestro_env.optimum.descent import descent
from maestro_env.optimum.line_bounds import LineBounds, weighed
from maestro_env.optimum.lines import Line
from maestro_env.optimum.search import ProofSearch

COARSE, FINE = 2.0, 1.25
"""Ratios of merged classes: to compare many units, and to find a mapping."""

_BEAM = 3
# Where tensors stay, less of what is promised holds.
_BEAM_STAYING = 6
# A trace keeps ten times the memory of a bound.
_MOST_STATES = 200_000
# Trades that are tried: of energy for latency, about what they are of either, and of ports.
_TRADES = (0.5, 2.0)
_PORTS = 2
# Random mappings, of any sizes and of those that masks allow, and how many are descended from.
_SAMPLES, _MASKED, _STARTS = 5000, 2000, 4
# Values that a descent asks for, a first one from those, and how far above the best it may begin.
_DESCENT, _SHORT = 12_000, 3000
_HOPEFUL = 10.0

Asking = Generator[Points, NDArray[np.float64], None]
"""Yields int32[N, D] vectors, and is sent their values, float64[N], once the search has them."""

_Asking = Generator[Points, NDArray[np.float64], float]
_Dims = list[frozenset[str]]


class Form(NamedTuple):
    """Mappings whose loops stand where tensors stay, if they have to.

    Args:
        bounds: of these, with dividing tiles.
        first: dimensions whose loops are outside of others of an element.
    """

    bounds: LineBounds
    first: Sequence[frozenset[str]]


class FirstMappings:
    """Mappings with promising units, and random ones, from which a search descends.

    Args:
        problem: of the mappings.
        units: of its fan-outs.
        bounds: of dividing tiles.
    """

    def __init__(self, problem: HierarchyProblem, units: UnitTuples, bounds: LineBounds) -> None:
        self._problem, self._units = problem, units
        evaluator = problem.space.evaluator
        self._forms = [
            Form(
                LineBounds(Relaxation(evaluator, dividing=True, without=each), bounds.powers), first
            )
            for each, first in ways_to_stay(evaluator.hierarchy)
        ] or [Form(bounds, [frozenset[str]()] * len(evaluator.hierarchy.elements))]

    def begin(self, search: ProofSearch) -> Asking:
        """Descend from what is told, from mappings with promising units, and from random ones."""
        if search.best_point is not None:
            yield from self._descend(search.best_point[np.newaxis], search)
        for form in self._forms:
            # Merged classes may promise a mapping where there is none.
            for ratio in (COARSE, HANDY):
                best = math.inf
                for each in self._best_units(form.bounds, ratio):
                    best = min(best, (yield from self._probe(form, each, search)))
                if math.isfinite(best):
                    break
        yield from self._sample(search)
        if math.isinf(search.best):
            # The smallest tiles fit, if any do.
            smallest = np.zeros((1, len(self._problem.space.parameters)), dtype=np.int32)
            yield from self._descend(smallest, search)

    def probe(self, tuples: Numbers, search: ProofSearch) -> Asking:
        """Descend from the best of some mappings with one tuple of units."""
        for form in self._forms:
            yield from self._probe(form, tuples, search)

    def follow(
        self, box: UnitBox, lines: Sequence[Line], ratio: float, search: ProofSearch
    ) -> Asking:
        """Descend from mappings where lines that bound a box are as low as they are."""
        weights = [weighed(each.energy, each.latency, each.shares) for each in lines]
        for form in self._forms:
            relaxed = form.bounds.relaxed
            if relaxed.states(ratio) > _MOST_STATES:
                return
            traces = [relaxed.trace(box, each, ratio) for each in weights]
            points = self._encoded(form, [each for each in traces if len(each)])
            if len(points):
                yield from self._descend(points, search, _SHORT)

    def _probe(self, form: Form, tuples: Numbers, search: ProofSearch) -> _Asking:
        points = self._points(form, tuples)
        return (yield from self._descend(points, search)) if len(points) else math.inf

    def _sample(self, search: ProofSearch) -> Asking:
        """Descend from random mappings, as what the program promises may be far off."""
        rng = np.random.default_rng(0)
        drawn = [self._problem.space.sample(_SAMPLES, rng)]
        with suppress(MapSpaceError):  # Masks know that nothing fits.
            drawn.append(Masks(self._problem).sample(_MASKED, rng).astype(np.int32))
        for points in drawn:
            values = yield points
            for start in values.argsort(kind="stable")[:_STARTS]:
                yield from self._descend(points[[start]], search, _SHORT)
        if search.best_point is not None:
            yield from self._descend(search.best_point[np.newaxis], search)

    def _descend(self, points: Points, search: ProofSearch, budget: int = _DESCENT) -> _Asking:
        """Ask for the values of some vectors, descend from the best, and return its value."""
        values = yield points
        best = int(values.argmin())
        if values[best] <= _HOPEFUL * search.best and math.isfinite(values[best]):
            yield from descent(self._problem.space, points[best], float(values[best]), budget)
        return float(values[best])

    # ---- Paths through the program --------------------------------------------------------------

    def _best_units(self, bounds: LineBounds, ratio: float) -> list[Numbers]:
        """Follow the most promising halves of all units down to some tuples."""
        width = _BEAM if len(self._forms) == 1 else _BEAM_STAYING
        beam = [np.arange(len(self._units.tuples))] if len(self._units.tuples) else []
        while any(len(each) > 1 for each in beam):
            halves = [half for each in beam for half in self._units.halves(each)]
            beam = sorted(halves, key=lambda half: self._promise(bounds, half, ratio))[:width]
        return beam

    def _promise(self, bounds: LineBounds, numbers: Numbers, ratio: float) -> float:
        """Return about what the best mapping with some tuples of units costs."""
        box, (latency, energy) = self._box(numbers), bounds.powers
        cycles, least = box.compute_cycles, bounds.line(box, ratio, 1.0, 0.0).bound
        if latency and bounds.relaxed.ports:
            cycles = max(cycles, bounds.evenly(box, ratio).bound)
        # Where latency does not count, units that share words are many, too.
        return float(least ** max(0.1, energy) * cycles ** max(0.1, latency))

    def _points(self, form: Form, numbers: Numbers) -> Points:
        """Return vectors of mappings with one tuple of units, int32[N, D]."""
        return self._encoded(form, self._traces(form.bounds, self._box(numbers)))

    def _encoded(self, form: Form, traces: list[NDArray[np.int32]]) -> Points:
        """Return vectors of mappings that have such loops, int32[N, D]."""
        found = [
            self._problem.space.native.encode(
                sorted(
                    loops.tolist(),
                    key=lambda loop: (loop[0], DIMS[loop[1]] not in form.first[loop[0]]),
                )
            )
            for loops in traces
        ]
        width = len(self._problem.space.parameters)
        return np.unique(np.array(found, dtype=np.int32).reshape(len(found), width), axis=0)

    def _traces(self, bounds: LineBounds, box: UnitBox) -> list[NDArray[np.int32]]:
        """Return the loops of some mappings, int32[L, 3]."""
        # Where no handy tiles fit, others may.
        for ratio in (HANDY, FINE, COARSE):
            if bounds.relaxed.states(ratio, box) > _MOST_STATES:
                continue
            trials = _trials(bounds, box, ratio)
            traces = [bounds.relaxed.trace(box, weights, ratio) for weights in trials]
            if found := [loops for loops in traces if len(loops)]:
                return found
        return []

    def _box(self, numbers: Numbers) -> UnitBox:
        return self._units.box(self._units.tuples[numbers])


def _trials(bounds: LineBounds, box: UnitBox, ratio: float) -> list[Weights]:
    """Return trades of latency for energy."""
    least = bounds.line(box, ratio, 1.0, 0.0).bound
    if not bounds.powers[0] or not bounds.relaxed.ports or math.isinf(least):
        return [Weights()]
    timed = bounds.timed(box, COARSE)
    trades = [(1.0, trade * least / box.compute_cycles) for trade in _TRADES]
    found = [
        weighed(*trade, each.shares) for trade in [*trades, (0.0, 1.0)] for each in timed[:_PORTS]
    ]
    return [Weights(), *found]


def ways_to_stay(hierarchy: Hierarchy) -> Iterator[tuple[_Dims, _Dims]]:
    """Yield the dimensions without a loop, and those outermost, of each element, as tensors stay.

    Where a tensor stays in a memory, the loops outside it that do not index the tensor are inside
    of those that do. So there is a memory outside of which there are only the latter, and between
    which and its own only the former. Each choice of such memories is a way to stay.
    """
    elements, rules = hierarchy.elements, hierarchy.rules
    memories = [e for e, each in enumerate(elements) if isinstance(each, MemoryElement)]
    staying = [(memory, tensor) for memory in memories for tensor in rules[memory].stays]
    if not staying:
        return
    for between in product(*([e for e in memories if e < memory] for memory, _ in staying)):
        without, first = ([frozenset[str]()] * len(elements) for _ in range(2))
        for (memory, tensor), last in zip(staying, between, strict=True):
            indexing = frozenset(INDEXING[tensor])
            for e in memories:
                if e < memory and e != last:
                    without[e] |= indexing if e > last else frozenset(DIMS) - indexing
            first[last] |= indexing
        yield without, first
