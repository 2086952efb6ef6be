"""Mapping a layer to an accelerator with any number of memories, as mappers see it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text
from maestro_env.base.checks import require_type
from maestro_env.evaluation.any_problem import NativeProblem
from maestro_env.evaluation.cost_and_status import STATUSES, Cost, Rows
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import NestMapping, fills_of
from maestro_env.hierarchy.written import nest_lines
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.mapspace.space import Points

MODEL = "hierarchy"
"""Name of the cost model (docs/spec/hierarchy.md)."""


@dataclass(frozen=True)
class HierarchyProblem(NativeProblem):
    """A space of mappings with the cost model ``hierarchy``: what mappers search.

    Rows of metrics have latency, MACs, MACs a cycle and utilization, and energy and power if the
    accelerator has energies. ``space.evaluator`` has the words that a mapping moves.

    Args:
        space: the vectors; it holds layer and accelerator too.

    Raises:
        ArgumentTypeError: no such space; the methods raise it too.
        ModelError: by ``score`` and ``observe``, an objective with a figure that is not computed.
    """

    space: HierarchySpace
    more_figures: ClassVar[str] = ", or, of energy, an accelerator that has energies"

    def __post_init__(self) -> None:
        require_type("space", self.space, HierarchySpace, "a layer's on some accelerator")

    @property
    def model(self) -> str:
        return MODEL

    @property
    def hardware(self) -> Hierarchy:
        return self.space.hardware

    @property
    def seed_text(self) -> str:
        layer, text = self.layer, hierarchy_text(self.hardware)
        facts = (layer.operator, layer.dimensions, layer.stride, text, self.space.tiles, self.model)
        return " ".join(map(str, facts))

    def show(self, mapping: NestMapping) -> str:
        """Return a mapping as a line for each element."""
        return nest_lines(self.hardware, mapping)

    def moved_bits(self, mapping: NestMapping) -> dict[str, float]:
        found, _ = self.space.evaluator.evaluate(mapping)
        return {} if found is None else self.space.evaluator.moved_bits(found)

    def missing_bytes(self, point: Points, metrics: NDArray[np.float64]) -> dict[str, int]:
        cost, _ = self.space.evaluator.evaluate(self.space.decode(point))
        return {
            fill.name: math.ceil((fill.needed_bits - fill.capacity_bits) / 8)
            for fill in (() if cost is None else fills_of(self.hardware, cost))
            if fill.capacity_bits is not None and fill.needed_bits > fill.capacity_bits
        }

    def evaluate_mapping(self, mapping: NestMapping) -> tuple[Cost | None, str]:
        row, status = self.native_batch.evaluate_mapping(self.space.evaluator.loops(mapping))
        return (None if np.isnan(row[0]) else Cost.from_row(row.tolist())), status

    def violations(self, points: Points, rows: Rows) -> NDArray[np.float64]:
        """Return how much evaluated int32[N, D] vectors lack to be valid, float64[N].

        It is the sum of the missing shares of all capacities; 1 for any other error.
        """
        found, wrong = np.zeros(len(points)), rows.status != STATUSES.index("ok")
        found[wrong] = self.native_batch.violations(self.space.native, points[wrong])
        return found

    @cached_property
    def lower_bounds(self) -> Mapping[str, float]:
        """Lower bounds of figures that the hardware sets, by name (H10)."""
        bounds = lower_bound(self.layer, self.hardware)
        return {"latency_cycles": bounds.latency_cycles, "energy_nj": bounds.energy_nj}

    @property
    def masks_complete(self) -> bool:
        return self.space.tiles_decide

    @property
    def native_masks(self) -> _native.HierarchyMasks:
        return _native.HierarchyMasks(self.space.native, *self.space.evaluator.native())

    def why_nothing_fits(self) -> str:
        """Say which memories are too small for single words; empty if some mapping may fit."""
        if not self.space.tiles_decide:
            return ""
        smallest = self.space.decode(np.zeros(len(self.space.parameters), dtype=np.int32))
        cost, status = self.space.evaluator.evaluate(smallest)
        if cost is None or status == "ok":
            return ""
        # The first memory has room for all.
        needs = [f"{name} {bits:,.0f}" for name, bits in list(cost.needed_bits.items())[1:]]
        return (
            f"no mapping fits: the smallest tiles take these bits: {', '.join(needs)}; raise the "
            f"capacities of {self.hardware.name or 'the accelerator'}"
            + (", or allow smaller tiles (whole, tiles, dims)" if any(self.hardware.rules) else "")
        )

    @cached_property
    def native_batch(self) -> _native.HierarchyBatchEvaluator:
        return _native.HierarchyBatchEvaluator(*self.space.evaluator.native())
