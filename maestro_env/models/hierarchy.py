"""The model ``hierarchy``: accelerators with any number of memories and fan-outs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.constraints import constrained
from maestro_env.accelerators.elements import MemoryElement
from maestro_env.accelerators.finding import chips_with, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text, read_hierarchy, stated_fields
from maestro_env.accelerators.pricing import area_um2, has_energies, with_usual_energies
from maestro_env.accelerators.technology import Technology
from maestro_env.base.errors import MapSpaceError, ModelError, printable, quoted
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.models import models_with
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import AUTO
from maestro_env.hierarchy.evaluation import NestMapping
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.models import Room
from maestro_env.workloads.layer import Layer

_WIDTH = 80


class AnyMemories(Room):
    """The model of accelerators that are described with all their memories."""

    def find(self, text: str | Hierarchy) -> Hierarchy:
        if isinstance(text, Accelerator) and self.model != text.MODEL:
            raise ModelError(
                f"model {self.model} does not know accelerators of two buffers, such as "
                f"{text.name}; allowed: a Hierarchy, or model {', '.join(models_with('levels'))}"
            )
        return find_hierarchy(text)

    def problems(
        self,
        layers: Sequence[Layer],
        accelerator: str | Hierarchy,
        schema: str = AUTO,
        tiles: str = "integers",
        guard: bool = True,
        constraints: str | None = None,
    ) -> list[AnyProblem]:
        """Return a ``HierarchyProblem`` for each layer; there is one schema, and no guard.

        Constraints are a part of the accelerator.
        """
        found = self.find(accelerator)
        if schema != AUTO:
            raise MapSpaceError(f"schema is {quoted(schema)}; allowed under {self.model}: {AUTO}")
        return [HierarchyProblem(HierarchySpace(each, found, tiles)) for each in layers]

    def constrained(self, accelerator: Hierarchy, rules: str | None) -> Hierarchy:
        """Return the accelerator with these rules too (``accelerators.constraints``)."""
        return constrained(accelerator, rules) if rules else accelerator

    def text(self, accelerator: Hierarchy) -> str:
        name = accelerator.name
        known = name in chips_with("memories") and find_hierarchy(name) == accelerator
        return name if known else hierarchy_text(accelerator)

    def file_text(self, accelerator: Hierarchy) -> str:
        return hierarchy_text(accelerator)

    def published(self, name: str) -> Hierarchy | None:
        chips = (self.with_energies(find_hierarchy(chip)) for chip in chips_with("memories"))
        return next((chip for chip in chips if chip.name == name), None)

    def all_fields(self, accelerator: Hierarchy) -> str:
        """Return its YAML without a name, in a line."""
        return printable(" ".join(hierarchy_text(replace(accelerator, name="")).split()))

    def recorded(self, text: str) -> Hierarchy:
        """Read the YAML, which names no file."""
        return read_hierarchy(text, "recorded accelerator")

    def figures(self, accelerator: Hierarchy) -> dict[str, Any]:
        """Return a text for each element and for the MAC units."""
        parts = {printable(each.name): stated_fields(each) for each in accelerator.elements}
        parts["mac"] = stated_fields(accelerator.mac)
        texts = {
            name: ", ".join(f"{field} {_said(value)}" for field, value in part.items())
            for name, part in parts.items()
        }
        facts = {name: getattr(accelerator, name) for name in ("name", "word_bits", "clock_mhz")}
        return facts | texts

    def summary(self, accelerator: Hierarchy) -> Iterator[str]:
        """Yield the model, the MACs, and the memories from outside, with bytes of an instance."""
        peak = accelerator.peak_macs_per_cycle
        parts = [f"{peak:,.0f} MACs a cycle" if math.isfinite(peak) else "no limit of MACs"]
        held = [each for each in accelerator.elements if isinstance(each, MemoryElement)]
        for memory in (each for each in held if each.pool is None):
            given = memory.capacity_bits
            bits = sum(given.values()) if isinstance(given, Mapping) else given
            parts.append(memory.name if bits is None else f"{memory.name} {bits / 8:,.0f} B")
        yield from wrap(f"model {self.model}: {', '.join(parts)}", _WIDTH)

    def with_energies(self, accelerator: Hierarchy) -> Hierarchy:
        return with_usual_energies(accelerator)

    def has_energies(self, accelerator: Hierarchy) -> bool:
        return has_energies(accelerator)

    def area_um2(self, accelerator: Hierarchy, technology: Technology) -> float:
        """Return the area of all MACs and memories but the first."""
        return area_um2(accelerator, technology)

    def explain(
        self, problem: HierarchyProblem, mapping: NestMapping, objective: Objective | str | None
    ) -> Any:
        from maestro_env.explanation import explain_hierarchy

        return explain_hierarchy(problem.space.evaluator, mapping, objective)

    def bottleneck(self, problem: HierarchyProblem, mapping: NestMapping) -> str:
        from maestro_env.explanation import nest_bottleneck

        return next(iter(nest_bottleneck(problem.space.evaluator, mapping).names), "-")

    def offchip_bw(self, accelerator: Hierarchy) -> float:
        """Return the words a cycle of the first memory, both ways together."""
        first = accelerator.elements[0]
        assert isinstance(first, MemoryElement)
        ways = (first.read_bw or math.inf) + (first.write_bw or math.inf)
        return (first.bw or ways) / accelerator.word_bits

    def offchip_words(self, problem: HierarchyProblem, mapping: NestMapping) -> float | None:
        """Return the bits that the first memory sends and takes, in words of the accelerator."""
        (bits, *_) = problem.moved_bits(mapping).values()
        return bits / problem.hardware.word_bits

    def places(self, accelerator: Hierarchy) -> tuple[str, ...]:
        """Return the MACs, physical memories, and fan-outs whose words cost energy."""
        from maestro_env.explanation.traffic import MACS

        spending = (
            each.name
            for each in reversed(accelerator.elements)
            if (each.pool is None if isinstance(each, MemoryElement) else each.pj_per_bit > 0)
        )
        return (MACS, *spending)

    def energy(
        self, problem: HierarchyProblem, mapping: NestMapping
    ) -> Mapping[tuple[str, str], float]:
        """Return MACs, and the memories and fan-outs that spend energy, by tensor."""
        from maestro_env.explanation.traffic import energy_of

        cost, _ = problem.space.evaluator.evaluate(mapping)
        assert cost is not None
        found = energy_of(problem.hardware, cost)
        return found.parts if found.total else {}


def _said(value: Any) -> str:
    """Return a value of a field as people read it."""
    if isinstance(value, dict):
        value = [f"{name} {each}" for name, each in value.items()]
    if isinstance(value, list):
        return " and ".join(map(str, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
