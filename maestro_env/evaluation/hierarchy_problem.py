"""Mapping a layer to an accelerator with any number of memories, as mappers see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.finding import find_hardware, find_hierarchy
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.checks import require_type
from maestro_env.base.errors import MapSpaceError, ModelError, quoted
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.models import DEFAULT_MODEL, MODELS
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import AUTO, AnyProblem, Problem, computed_figures, find_schema
from maestro_env.evaluation.status import STATUSES, Rows
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import NestMapping
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.workloads.layer import Layer

MODEL = "hierarchy"
"""Name of the cost model (docs/spec/hierarchy.md)."""


def make_problems(
    layers: Sequence[Layer],
    hardware: str | Hardware | Hierarchy,
    model: str = DEFAULT_MODEL,
    schema: str = AUTO,
    tiles: str = "integers",
    guard: bool = True,
) -> list[AnyProblem]:
    """Return a problem for each of some layers, on one accelerator under any cost model.

    Args:
        layers: to be mapped.
        hardware: of the kind that the model knows, or text for ``find_hardware`` or
            ``find_hierarchy``.
        model: a name of ``MODELS``, or ``hierarchy``.
        schema: text for ``find_schema``; for mappings of two levels alone.
        tiles: a name of ``TILES``.
        guard: as in ``Problem``.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is allowed.
    """
    if model != MODEL:
        if isinstance(hardware, Hierarchy):
            raise ModelError(
                f"model {model} does not know accelerators of any memories, such as "
                f"{hardware.name}; allowed: a Hardware, or model {MODEL}"
            )
        found = find_hardware(hardware)
        name = find_schema(schema, layers, found, tiles, model)
        return [Problem(MapSpace(each, found, name, tiles), model, guard) for each in layers]
    if isinstance(hardware, Hardware):
        raise ModelError(
            f"model {MODEL} does not know accelerators of two buffers, such as {hardware.name}; "
            f"allowed: a Hierarchy, or model {', '.join(MODELS)}"
        )
    if schema != AUTO:
        raise MapSpaceError(f"schema is {quoted(schema)}; allowed under {MODEL}: {AUTO}")
    accelerator = find_hierarchy(hardware)
    return [HierarchyProblem(HierarchySpace(each, accelerator, tiles)) for each in layers]


@dataclass(frozen=True)
class HierarchyProblem(AnyProblem):
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

    def __post_init__(self) -> None:
        require_type("space", self.space, HierarchySpace, "a layer's on some accelerator")

    @property
    def model(self) -> str:
        """Name of the cost model."""
        return MODEL

    @property
    def hardware(self) -> Hierarchy:
        """What it is mapped to."""
        return self.space.hardware

    def evaluate_mapping(self, mapping: NestMapping) -> tuple[Cost | None, str]:
        """Evaluate any mapping, from the space or not: its cost (None without one) and status."""
        row, status = self._native.evaluate_mapping(self.space.evaluator.loops(mapping))
        return (None if np.isnan(row[0]) else Cost.from_row(row.tolist())), status

    def violations(self, points: Points, rows: Rows) -> NDArray[np.float64]:
        """Return how much evaluated int32[N, D] vectors lack to be valid, float64[N].

        It is the sum of the missing shares of all capacities; 1 for any other error.
        """
        found, wrong = np.zeros(len(points)), rows.status != STATUSES.index("ok")
        found[wrong] = self._native.violations(self.space.native, points[wrong])
        return found

    @cached_property
    def figures(self) -> frozenset[str]:
        """Names of the metrics that the model computes."""
        return computed_figures(self)

    @cached_property
    def least(self) -> Mapping[str, float]:
        """Lower bounds of figures that the hardware sets, by name (H10)."""
        bounds = lower_bound(self.layer, self.hardware)
        return {"latency_cycles": bounds.latency_cycles, "energy_nj": bounds.energy_nj}

    @property
    def masks_complete(self) -> bool:
        """Whether what masks allow is always valid in the end."""
        return True

    @property
    def native_masks(self) -> _native.HierarchyMasks:
        """What ``Masks`` asks in the C++ core."""
        return _native.HierarchyMasks(self.space.native, *self.space.evaluator.native())

    def why_nothing_fits(self) -> str:
        """Say which memories are too small for single words; empty if some mapping fits."""
        smallest = self.space.decode(np.zeros(len(self.space.parameters), dtype=np.int32))
        cost, status = self.space.evaluator.evaluate(smallest)
        if cost is None or status == "ok":
            return ""
        # The first memory has room for all.
        needs = [f"{name} {bits:,.0f}" for name, bits in list(cost.needed_bits.items())[1:]]
        return (
            f"no mapping fits: the smallest tiles take these bits: {', '.join(needs)}; raise the "
            f"capacities of {self.hardware.name or 'the accelerator'}"
        )

    def columns_of(self, objective: Objective) -> tuple[int, ...]:
        """Return the factors of an objective that this model can have, as indices of metrics."""
        missing = [name for name in objective.factors if name not in self.figures]
        if missing:
            raise ModelError(
                f"objective {objective.name} needs {missing[0]}, which model {MODEL} does not "
                f"compute for {self.hardware.name or 'this accelerator'}; allowed: objectives of "
                f"{', '.join(sorted(self.figures))}, or an accelerator with energies"
            )
        return objective.columns

    @cached_property
    def _native(self) -> _native.HierarchyEvaluator:
        return _native.HierarchyEvaluator(*self.space.evaluator.native())
