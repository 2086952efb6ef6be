"""Least costs over all tiles and orders of loops, by the units at work.

docs/optimum_memories.md has the lemmas. The C++ core has the program; here is what it weighs:
energy, and the time of ports and first fills.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.elements import TENSORS
from maestro_env.accelerators.loop_rules import DIMS, looping
from maestro_env.base.checks import MAX_INT
from maestro_env.hierarchy.cost_floors import INPUT, OUTPUT, CostFloors, Values
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.hierarchy.units import UnitBox, UnitTuples

EXACT = 1.0
"""The ratio of classes of tiles that are not merged."""

HANDY = 0.0
"""Stands for divisors, halves and equal shares: bounds do not hold for other tiles; for traces."""


@dataclass(frozen=True)
class Weights:
    """What is to be least: energy, and shares of the time of some ports and of first fills.

    Args:
        energy: of a nJ.
        ports: of a cycle of some ports, by element and way.
        fill: of a cycle of computing, first fills and last drains, beside the ports'.
    """

    energy: float = 1.0
    ports: Mapping[tuple[int, int], float] = field(default_factory=dict)
    fill: float = 0.0


@dataclass(frozen=True)
class Limits:
    """What no mapping that counts exceeds, in cycles: of one memory's edges, and in all.

    Its edges are its first fill and its last drain.
    """

    exposed_cycles: float = math.inf
    cycles: float = math.inf


_NO_LIMITS = Limits()


class Relaxation:
    """The relaxed program of a layer on an accelerator.

    Attributes:
        evaluator: the model.
        units: that the fan-outs may have at work.

    Args:
        evaluator: with the default conventions.
        dividing: tiles divide what they cut; else they are any integers.
        without: dimensions that have no loop at each element, besides what its rules say.
    """

    def __init__(
        self,
        evaluator: HierarchyEvaluator,
        dividing: bool = False,
        without: Sequence[Collection[str]] | None = None,
    ) -> None:
        self.evaluator = evaluator
        self._floors = floors = CostFloors(evaluator)
        self.units = UnitTuples(floors)
        hierarchy = evaluator.hierarchy
        self._elements, self._mac = hierarchy.native()
        rules, every = hierarchy.rules, range(len(self._elements))
        missing = [()] * len(self._elements) if without is None else without
        dims = [[dim for dim in looping(rules, e) if dim not in missing[e]] for e in every]
        arguments: list[Any] = [
            *evaluator.native(),
            floors.words,
            [sum(1 << DIMS.index(dim) for dim in each) for each in dims],
            [[rules[e].tiles.get(dim, MAX_INT) for dim in DIMS] for e in every],
            dividing,
        ]
        self._native = _native.RelaxedProgram(*arguments)

    def states(self, ratio: float, box: UnitBox | None = None) -> int:
        """Return the size of the tables if classes are merged up to a ratio of their chunks.

        Args:
            ratio: of the chunks.
            box: with one tuple of units, which ``HANDY`` sizes suit.
        """
        units = [] if box is None else box.least.tolist()
        return self._native.states(self.units.extents.tolist(), ratio, units)

    # ---- Costs ----------------------------------------------------------------------------------

    def least(
        self, box: UnitBox, weights: Weights, ratio: float = EXACT, limits: Limits = _NO_LIMITS
    ) -> float:
        """Return what no mapping of a box within limits is below."""
        return float(self.by_kind(box, weights, ratio, limits).min())

    def by_kind(
        self, box: UnitBox, weights: Weights, ratio: float = EXACT, limits: Limits = _NO_LIMITS
    ) -> Values:
        """Return what no mapping of each kind is below, float64[kinds]; each mapping is of one.

        Kinds are told apart by what the loops of the first memory find open, what rests over them,
        and what they leave open; a box has the same ones for all weights and limits.
        """
        found, _ = self._native.least(ratio, False, *self._task(box, weights, limits))
        rounded = sum(weight * self._rounding[port] for port, weight in weights.ports.items())
        costs: Values = np.array(found) + (weights.energy * self._mac_nj + rounded)
        return costs

    def trace(
        self, box: UnitBox, weights: Weights, ratio: float, limits: Limits = _NO_LIMITS
    ) -> NDArray[np.int32]:
        """Return the loops of a mapping that costs about that, int32[L, 3]; none if none fits."""
        _, loops = self._native.least(ratio, True, *self._task(box, weights, limits))
        return np.array(loops, dtype=np.int32).reshape(-1, 3)

    @cached_property
    def _rounding(self) -> Values:
        """Cycles of each port for beats and lines that runs do not fill, float64[E, 2] (P14)."""
        found: Values = np.tensordot(self._floors.words, self.evaluator.roundings, 1)
        return found

    @property
    def _mac_nj(self) -> float:
        return float(self._mac["pj"] * self._floors.macs / 1000)

    def _task(self, box: UnitBox, weights: Weights, limits: Limits) -> tuple[Any, ...]:
        accesses = np.pad(weights.energy / 1000 * self._floors.energy_prices, ((0, 0), (0, 1)))
        steps = np.zeros(len(self._elements))
        for port, weight in weights.ports.items():
            prices = self._first_prices(box, port)
            accesses += weight * np.column_stack([prices, self._gaps * prices[:, 0]])
            steps += weight * self._steps(port)
        # First fills and last drains hide behind ports that they pass, later fills nowhere (P11).
        latency = weights.fill + sum(weights.ports.values())
        hidden = np.zeros((2, len(self._elements)))
        for port, weight in weights.ports.items():
            hidden += weight * self._passes[:, :, *port]
        fills, drains = np.maximum(0.0, latency - hidden)
        return (
            *(box.least, box.most, box.sharing, accesses, steps, fills, drains, latency),
            (limits.exposed_cycles, limits.cycles),
            self._exposed,
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
    def _gaps(self) -> Values:
        """1 where the first memory's port moves what lies between rows of inputs, float64[B]."""
        gaps = self._elements[0]["gaps"]
        found = [
            (each.tensor, each.parent, each.child) == (INPUT, 0, 1) and gaps
            for each in self._floors.boundaries
        ]
        return np.array(found, dtype=np.float64)

    @cached_property
    def _passes(self) -> NDArray[np.bool_]:
        """Whether first fill and last drain of an element pass a port, bool[2, E, E, 2]."""
        fills, drains = self._edges[:, :OUTPUT].sum(axis=1), self._edges[:, OUTPUT]
        return np.array([fills > 0, drains > 0])

    @cached_property
    def _exposed(self) -> Values:
        """Cycles of one port for a word of each tensor's first or last tile, and in gaps, at least.

        float64[E, 4].
        """
        last = len(self._elements)
        ports = self._edges.reshape(last, len(TENSORS) + 1, -1)
        found: Values = ports[np.arange(last), :, ports[:, :OUTPUT].sum(axis=1).argmax(axis=1)]
        found[:, OUTPUT] = ports[:, OUTPUT].max(axis=1)
        return found

    @cached_property
    def _edges(self) -> Values:
        """Cycles of each port for a word that fills an element (of outputs: leaves), and in gaps.

        float64[E, 4, E, 2].
        """
        last = len(self._elements)
        by_child = np.zeros((last, len(TENSORS) + 1, last, 2))
        for b, each in enumerate(self._floors.boundaries):
            if each.child < last:
                prices = self._port_prices[:, :, b]
                kinds = [1, 2] if each.tensor == OUTPUT else [0, 3]
                by_child[each.child, each.tensor] += prices[:, :, kinds].sum(axis=2)
                by_child[each.child, -1] += self._gaps[b] * prices[:, :, 0]
        return by_child
