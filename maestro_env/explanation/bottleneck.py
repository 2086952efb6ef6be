"""What bounds the latency of a mapping: the resources of which more would save cycles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from maestro_env.accelerators.technologies import DEFAULT
from maestro_env.base.checks import MAX_INT
from maestro_env.base.registry import by_name
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation.costs import cost_of
from maestro_env.mapspace.mapping import Mapping


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


def find_bottleneck(problem: Problem, mapping: Mapping) -> Bottleneck:
    """Find what bounds the latency of a valid mapping, by evaluating it without each limit.

    Raises:
        ModelError, MappingError: as ``cost_of``.
    """
    latency = cost_of(problem, mapping).latency_cycles

    def saved_without(names: Iterable[str]) -> float:
        limits = {RESOURCES[name].field: RESOURCES[name].unlimited for name in names}
        # No latency depends on a technology, and one with energies by size needs a size.
        unbound = cost_of(problem, mapping, technology=DEFAULT, **limits)
        return latency - unbound.latency_cycles

    saved = {name: saved_without([name]) for name in RESOURCES}
    helping = sorted((name for name in saved if saved[name]), key=saved.__getitem__, reverse=True)
    if helping:
        return Bottleneck(latency, saved, tuple(helping), saved_without(helping))
    for count in range(2, len(RESOURCES) + 1):
        together = {names: saved_without(names) for names in combinations(RESOURCES, count)}
        best = max(together, key=together.__getitem__)
        if together[best]:
            return Bottleneck(latency, saved, best, together[best])
    return Bottleneck(latency, saved, (), 0.0)
