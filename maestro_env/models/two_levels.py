"""The models ``exact`` and ``maestro``: two buffers, mappings of two levels."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.constraints import FREE, TWO_LOOPS, one_line, read_constraints
from maestro_env.accelerators.finding import find_hardware, named_hardware, written_entries
from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.accelerators.technologies import technology_text
from maestro_env.accelerators.technology import Technology
from maestro_env.base.errors import ModelError
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.cost_and_status import Cost, buffer_bytes
from maestro_env.evaluation.models import models_with
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import AUTO, Problem, find_schema
from maestro_env.mapspace.mapping import Mapping as LoopNest
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.models import Room
from maestro_env.workloads.layer import Layer

_LONGEST_NAME = 24


class TwoLevels(Room):
    """A model of accelerators with L1 in every PE and a shared L2."""

    real_units = False

    def find(self, text: str | Hardware) -> Hardware:
        self._require_known(text)
        return find_hardware(text)

    def problems(
        self,
        layers: Sequence[Layer],
        accelerator: str | Hardware,
        schema: str = AUTO,
        tiles: str = "integers",
        guard: bool = True,
        constraints: str | None = None,
    ) -> list[AnyProblem]:
        """Return a ``Problem`` for each layer; of ``auto``, all have one schema."""
        found = self.find(accelerator)
        name = find_schema(schema, layers, found, tiles, self.model)
        kept = [_kept(constraints, each) if constraints else "" for each in layers]
        spaces = (
            MapSpace(layer, found, f"{name}:{each}" if each else name, tiles)
            for layer, each in zip(layers, kept, strict=True)
        )
        return [Problem(space, self.model, guard) for space in spaces]

    def published(self, name: str) -> Hardware | None:
        return named_hardware(name)

    def all_fields(self, accelerator: Hardware) -> str:
        """Return all fields, those that have their defaults too."""
        said = {each.name: getattr(accelerator, each.name) for each in fields(Hardware)}
        said["technology"] = technology_text(accelerator.technology)
        return ",".join(f"{key}={value}" for key, value in said.items() if key != "name")

    def record(self, accelerator: Hardware) -> dict[str, Any]:
        return accelerator.record()

    def text(self, accelerator: Hardware) -> str:
        known = named_hardware(accelerator.name) == accelerator
        return accelerator.name if known else accelerator.text()

    def file_text(self, accelerator: Hardware) -> str:
        """Return its fields, a line each."""
        entries = written_entries(accelerator.text())
        return "".join(f"{key}: {value}\n" for _, key, value in entries)

    def label(self, accelerator: Accelerator) -> str:
        """Return its name, or its PEs where the name is that of all its figures."""
        name = accelerator.name
        fits = 0 < len(name) <= _LONGEST_NAME
        return name if fits else f"{accelerator.peak_macs_per_cycle:,} PEs"

    def summary(self, accelerator: Hardware) -> Iterator[str]:
        """Yield PEs and buffers, and what energies leave out."""
        yield _limits(accelerator)
        free = {
            "main memory": accelerator.technology.offchip_macs + accelerator.offchip_cost_macs,
            "networks": accelerator.technology.noc_macs,
        }
        if left_out := " and ".join(name for name, macs in free.items() if not macs):
            yield f"energy leaves out {left_out}: technology {accelerator.technology.name}"

    def area_um2(self, accelerator: Hardware, technology: Technology) -> float:
        """Return the area of all PEs and of both buffers."""
        priced = replace(accelerator, technology=technology)
        return priced.area_um2(priced.l1_bytes, priced.l2_bytes)

    def buffers(self, accelerator: Hardware, costs: Sequence[Cost]) -> tuple[float | None, ...]:
        """Return the most that some mapping needs of each buffer, and the area with so much."""
        l1, l2 = (max(each) for each in zip(*map(buffer_bytes, costs), strict=True))
        return l1, l2, accelerator.area_um2(l1, l2)

    def explain(
        self, problem: Problem, mapping: LoopNest, objective: Objective | str | None
    ) -> Any:
        from maestro_env.explanation import explain_mapping

        return explain_mapping(problem, mapping, objective or "edp")

    def bottleneck(self, problem: Problem, mapping: LoopNest) -> str:
        from maestro_env.explanation import find_bottleneck

        try:
            return next(iter(find_bottleneck(problem, mapping).names), "-")
        except ModelError:
            return "-"

    def offchip_bw(self, accelerator: Hardware) -> float:
        """Return its words a cycle, infinite from ``UNLIMITED`` on."""
        bandwidth = accelerator.offchip_bw
        return bandwidth if bandwidth < UNLIMITED else math.inf

    def offchip_words(self, problem: Problem, mapping: LoopNest) -> float | None:
        """Return the words read and written; None where the model counts none."""
        cost, _ = problem.evaluate_mapping(mapping)
        assert cost is not None
        return (cost.offchip_read_words or 0) + (cost.offchip_write_words or 0) or None

    def places(self, accelerator: Hardware) -> tuple[str, ...]:
        """Return MACs, memories and networks; none under a model without explanations."""
        from maestro_env.explanation.traffic import MACS, PLACES

        return (MACS, *PLACES) if self.model in models_with("explanation") else ()

    def energy(self, problem: Problem, mapping: LoopNest) -> Mapping[tuple[str, str], float]:
        """Return MACs, and the accesses of each memory, by tensor."""
        from maestro_env.explanation import count_energy

        if "explanation" not in problem.abilities:
            return {}
        cost, _ = problem.evaluate_mapping(mapping)
        assert cost is not None
        return count_energy(cost, problem.hardware).parts

    def _require_known(self, accelerator: object) -> None:
        if isinstance(accelerator, Accelerator) and accelerator.MODEL not in models_with("levels"):
            raise ModelError(
                f"model {self.model} does not know accelerators of any memories, such as "
                f"{accelerator.name}; allowed: a Hardware, or model {accelerator.MODEL}"
            )


def _kept(constraints: str, layer: Layer) -> str:
    """Return what constraints allow of the mappings of a layer, as schemas have it."""
    if constraints == FREE:
        return ""
    if constraints.startswith(TWO_LOOPS):
        return constraints
    if ":" in constraints:
        return one_line(read_constraints(constraints))
    from maestro_env.explanation.dataflows import parallel_loops  # With all explanations.

    outer, inner = parallel_loops(constraints, layer)
    return f"parallel={outer},{inner}".replace("'", "")


def _limits(hardware: Hardware) -> str:
    """Return the PEs, and what limits them."""
    figures = {
        "L1": (hardware.l1_bytes, " B"),
        "L2": (hardware.l2_bytes, " B"),
        "NoC": (hardware.noc_bw, ""),
        "off-chip": (hardware.offchip_bw, " words/cycle"),
    }
    known = [f"{name} {each:,}{unit}" for name, (each, unit) in figures.items() if each < UNLIMITED]
    free = [name for name, (each, _) in figures.items() if each >= UNLIMITED]
    without = f"no limit: {', '.join(free)}" if free else ""
    return "; ".join(filter(None, (f"{hardware.num_pes:,} PEs", ", ".join(known), without)))
