"""What a report tells: one section for every mapped network, or directory of searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.errors import ModelError
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.objectives import find_objective
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.search.printed_result import within
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.records import Versions
from maestro_env.models import room_of
from maestro_env.optimum.known import optimum_in_table


@dataclass(frozen=True)
class Curve:
    """The best so far of a search.

    Args:
        name: of the search.
        improvements: samples that found a new best: the 1-based number, rising, and its value.
            Of a proof, seconds.
        samples: of the search.
    """

    name: str
    improvements: Sequence[tuple[float, float]]
    samples: float


@dataclass(frozen=True, eq=False)
class Found:
    """A mapping, and the searches that it comes from.

    Args:
        name: of the layer, as it was called.
        goal: what was searched for.
        vector: of the mapping.
        best: least value of the objective that was found, by this mapping or another one.
        bound: no mapping has a lower value of the objective; None where none is known.
        by: the mapper that found it, or what proved it.
        samples: evaluated for it in all.
        count: executions of the layer.
        curves: of the searches.
        over: what ``curves`` count: ``seconds`` where they are the best and the bound.
    """

    name: str
    goal: Goal
    vector: Sequence[int]
    best: float
    bound: float | None
    by: str
    samples: int
    count: int
    curves: tuple[Curve, ...]
    over: str = "samples"

    @cached_property
    def mapping(self) -> Any:
        """The loop nest, as the space decodes it."""
        return self.goal.problem.space.decode(np.array(self.vector, dtype=np.int32))

    @cached_property
    def cost(self) -> Cost:
        """What one execution takes."""
        cost, _ = self.goal.problem.evaluate_mapping(self.mapping)
        assert cost is not None
        return cost

    @cached_property
    def real(self) -> RealFigures:
        """The same in real units."""
        return self.goal.problem.real(self.mapping)

    @property
    def value(self) -> float:
        """The objective of one execution."""
        points = np.array([self.vector], dtype=np.int32)
        return float(self.goal.problem.score(points, self.goal.objective)[0][0])

    @property
    def gap(self) -> float | None:
        """How far this mapping is above the bound, as a share of it; 0 is proven."""
        return max(self.value / self.bound - 1, 0.0) if self.bound else None

    @property
    def above(self) -> str:
        """How far it is above the optimum, as people read it; empty where no bound is known."""
        return "" if self.gap is None else within(self.gap)

    @property
    def bottleneck(self) -> str:
        """The resource of which more would save most cycles."""
        return bottleneck(self.goal.problem, self.mapping)

    @property
    def nest(self) -> str:
        """The loop nest as people read it."""
        return self.goal.problem.show(self.mapping)

    @cached_property
    def explanation(self) -> str:
        """Why the mapping costs what it does; the loop nest alone under a model that cannot say."""
        problem, objective = self.goal.problem, self.goal.objective
        try:
            return str(room_of(problem.model).explain(problem, self.mapping, objective))
        except ModelError:
            return self.nest

    @property
    def intensity(self) -> float | None:
        """MACs per word of main memory; None where the model has no such words."""
        problem = self.goal.problem
        words = room_of(problem.model).offchip_words(problem, self.mapping)
        return problem.layer.macs / words if words else None

    @property
    def macs_per_cycle(self) -> float:
        """The throughput."""
        return self.goal.problem.layer.macs / self.cost.latency_cycles

    @cached_property
    def energy(self) -> Mapping[tuple[str, str], float]:
        """Parts of the energy of one execution in nJ, by memory and tensor, from the PEs outwards.

        They add up to all of it. Empty for a model whose figures do not.
        """
        problem = self.goal.problem
        return room_of(problem.model).energy(problem, self.mapping)

    @property
    def places(self) -> tuple[str, ...]:
        """Where energy may go on this accelerator, from the PEs outwards."""
        problem = self.goal.problem
        return room_of(problem.model).places(problem.hardware)


def known_bound(goal: Goal, proven: float | None = None) -> float | None:
    """Return the best bound that is known of a goal; None where none is.

    Args:
        goal: what was searched for.
        proven: a bound that the search has proven; None for none.
    """
    known = optimum_in_table(goal.problem, goal.objective)
    bounds = (goal.lower_bound, known.bound if known else None, proven)
    return max((each for each in bounds if each is not None), default=None)


def bottleneck(problem: AnyProblem, mapping: Any) -> str:
    """Return the resource of which more would save most cycles; ``-`` where none is known."""
    return room_of(problem.model).bottleneck(problem, mapping)


OTHER, FRONT, LEAST = "not on the front", "front", "least EDP"
"""Kinds of the accelerators of a co-design."""


@dataclass(frozen=True, eq=False)
class Choice:
    """One mapping for every layer of a network that has one, and what they take together.

    Args:
        name: how they were chosen.
        costs: of one execution of every layer.
        vectors: of every layer, int32[D].
        latency_cycles: of all executions, one after the other.
        energy_nj: of all executions.
        real: both in real units, and the bandwidths of the memories.
        l1_bytes: the most a layer needs of a PE's L1; None where there are other memories.
        l2_bytes: the most a layer needs of L2; likewise.
        area_um2: of one accelerator with such buffers; likewise.
    """

    name: str
    costs: tuple[Cost, ...]
    vectors: tuple[tuple[int, ...], ...]
    latency_cycles: float
    energy_nj: float
    real: RealFigures
    l1_bytes: float | None
    l2_bytes: float | None
    area_um2: float | None

    @property
    def edp(self) -> float:
        """Latency times energy, in cycles x nJ."""
        return self.latency_cycles * self.energy_nj

    def value(self, objective: str) -> float:
        """Return the objective of the network: a product of its latency and its energy."""
        totals = {"latency_cycles": self.latency_cycles, "energy_nj": self.energy_nj}
        return find_objective(objective).of(totals)


@dataclass(frozen=True, eq=False)
class Section:
    """A mapped network, or the searches of a directory.

    Args:
        title: of the section.
        hardware: what ``found`` is mapped to; None where there are several accelerators.
        found: the mappings, in the order of the layers.
        notes: what is approximated or left out, one sentence each.
        command: makes the same again; empty if none does.
        settings: that decide the result, by name.
        versions: of what computed it, one for every combination.
        objective: what was minimised for a network; None for searches, which may differ in it.
        choices: mappings for the whole network, those of ``found`` last; empty for searches.
        bound: of the network's objective; None where none is known.
        macs: of the network; None for searches.
        tables: what comes first, with cells of ``Keyed``.
        designs: accelerators of a co-design: ``hardware``, ``latency_cycles``, ``energy_nj``,
            ``edp``, ``area_um2``, their ``kind``: ``OTHER``, ``FRONT`` or ``LEAST``, and what
            ``design_sizes`` name.
        design_sizes: headers of the sizes of ``designs`` that size and darken their points,
            ``units`` and ``capacity``; those that they have.
    """

    title: str
    hardware: Accelerator | None
    found: tuple[Found, ...]
    notes: tuple[str, ...]
    command: str
    settings: Mapping[str, Any]
    versions: tuple[Versions, ...]
    objective: str | None = None
    choices: tuple[Choice, ...] = ()
    bound: float | None = None
    macs: int | None = None
    tables: tuple[Table, ...] = ()
    designs: tuple[Mapping[str, Any], ...] = ()
    design_sizes: Mapping[str, str] = field(default_factory=dict)

    @property
    def total(self) -> Choice | None:
        """What the network takes with the mappings of ``found``; None for searches."""
        return self.choices[-1] if self.choices else None

    def gap(self, choice: Choice) -> float | None:
        """How far a choice is above the bound, as a share of it; None where none is known."""
        if not self.bound or self.objective is None:
            return None
        return max(choice.value(self.objective) / self.bound - 1, 0.0)


def distinct(versions: list[Versions]) -> tuple[Versions, ...]:
    """Return every combination of versions once, in the order of first use."""
    found: list[Versions] = []
    for each in versions:
        if each and each not in found:
            found.append(each)
    return tuple(found)
