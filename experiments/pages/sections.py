"""What a report tells: one section for every mapped network, or directory of searches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.objectives import find_objective
from maestro_env.experiments.pages.found import Found
from maestro_env.experiments.shown.tables import Sheet
from maestro_env.experiments.store.versions import Versions

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
    tables: tuple[Sheet, ...] = ()
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
