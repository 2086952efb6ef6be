"""What bounds the latency of a mapping: the resources of which more would save cycles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

from maestro_env.accelerators.technologies import DEFAULT
from maestro_env.base.checks import MAX_INT, require_type
from maestro_env.base.errors import MappingError, ModelError
from maestro_env.base.registry import by_name
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import MapSpace

EXPLAINED = "exact"
"""The model whose costs are explained; ``maestro`` has no figures that add up to its totals."""


@dataclass(frozen=True)
class Resource:
    """A resource of an accelerator.

    Args:
        name: in tables.
        field: of ``Hardware``.
        unlimited: the best value of that field.
    """

    name: str
    field: str
    unlimited: int


RESOURCES = by_name(
    Resource("compute", "simd_lanes", MAX_INT),
    Resource("network bandwidth", "noc_bw", MAX_INT),
    Resource("network latency", "noc_hop_latency", 0),
    Resource("off-chip bandwidth", "offchip_bw", MAX_INT),
    Resource("L2 size", "l2_bytes", MAX_INT),
)
"""The resources by name; under ``exact``, more of one never makes a mapping slower.

More compute means more MACs of a PE per cycle: more PEs would be dealt other tiles. More L1 changes
nothing once a mapping fits.
"""


@dataclass(frozen=True)
class Bottleneck:
    """What bounds the latency of a mapping.

    Args:
        latency_cycles: of the mapping.
        saved_cycles: by resource, saved without a limit on this resource; no amount of it saves
            more.
        names: the resources that save cycles, the one that saves most first. If none saves any
            by itself, because others are as slow, then the fewest that save some together, those
            that save most. Empty if no resource saves a cycle.
        saved_together: cycles saved without a limit on all of ``names``.
    """

    latency_cycles: float
    saved_cycles: dict[str, float]
    names: tuple[str, ...]
    saved_together: float

    @property
    def tied(self) -> bool:
        """Whether ``names`` save cycles only together."""
        return bool(self.names) and not any(self.saved_cycles.values())


def cost_of(problem: Problem, mapping: Mapping, **changes: Any) -> Cost:
    """Return the cost of a valid mapping, on the accelerator with some fields changed.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        ModelError: a problem of another model than ``exact``.
        MappingError: an invalid mapping; the message says why.
    """
    require_type("problem", problem, Problem, "of a layer on some hardware")
    if problem.model != EXPLAINED:
        raise ModelError(
            f"model {problem.model} has no figures that add up to its totals; allowed: {EXPLAINED}"
        )
    if changes:
        hardware = replace(problem.hardware, **changes)
        space = MapSpace(problem.layer, hardware, problem.space.schema, problem.space.tiles)
        problem = replace(problem, space=space)
    cost, status = problem.evaluate_mapping(mapping)
    if cost is None or status != "ok":
        raise MappingError(problem.explain(mapping))
    return cost


def find_bottleneck(problem: Problem, mapping: Mapping) -> Bottleneck:
    """Find what bounds the latency of a valid mapping, by evaluating it without each limit.

    Raises:
        ModelError, MappingError: as ``cost_of``.
    """

    def latency_without(names: Collection[str]) -> float:
        limits = {RESOURCES[name].field: RESOURCES[name].unlimited for name in names}
        # No latency depends on a technology, and one with energies by size needs a size.
        return cost_of(problem, mapping, technology=DEFAULT, **limits).latency_cycles

    return bottleneck_among(tuple(RESOURCES), latency_without)


def bottleneck_among(
    resources: Sequence[str], latency_without: Callable[[Collection[str]], float]
) -> Bottleneck:
    """Find what bounds the latency among resources of which more makes no mapping slower.

    Args:
        resources: by name.
        latency_without: cycles without a limit on some of them.
    """
    latency = latency_without(())

    def saved_without(names: Collection[str]) -> float:
        return latency - latency_without(names)

    saved = {name: saved_without([name]) for name in resources}
    helping = sorted((name for name in saved if saved[name]), key=saved.__getitem__, reverse=True)
    if helping:
        return Bottleneck(latency, saved, tuple(helping), saved_without(helping))
    # All together save as much as any of them.
    most = len(resources) if saved_without(resources) else 0
    for count in range(2, most + 1):
        together = {names: saved_without(names) for names in combinations(resources, count)}
        best = max(together, key=together.__getitem__)
        if together[best]:
            return Bottleneck(latency, saved, best, together[best])
    return Bottleneck(latency, saved, (), 0.0)
