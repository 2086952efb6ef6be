"""Where the cycles of a mapping go, and the resources of which more would save some."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from maestro_env import _native
from maestro_env.accelerators.elements import FanoutElement, MemoryElement
from maestro_env.accelerators.technologies import DEFAULT
from maestro_env.base.checks import MAX_INT, by_name, require_type
from maestro_env.base.errors import MappingError, ModelError
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.problem import Problem
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import cuts_of, units_of
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.two_level_space import MapSpace

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
    if "explanation" not in problem.abilities:
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


PARTS = {
    "compute": "multiply-accumulates of the slowest PE in each step",
    "cluster_networks": "clusters fill, drain or wait for their own networks",
    "network_wait": "steps of L2 that wait for its network",
    "network_fill": "the first tile travels from L2",
    "network_drain": "the last outputs travel to L2",
    "offchip_fill": "the first tile comes from main memory",
    "offchip_drain": "the last outputs go to main memory",
    "offchip_wait": "the rest of the off-chip words",
}
"""Parts of the latency, which are fields of ``Cycles``, and what happens in them."""


@dataclass(frozen=True)
class Cycles:
    """Where the cycles of a mapping go: the fields named by ``PARTS`` add up to the latency.

    Args:
        latency: all cycles.
        compute: see ``PARTS``; so are the next seven.
        pes_busy: share of the PEs at work during computation, from 0 to 1.
        lanes_busy: share of the MACs per cycle that a PE at work does, from 0 to 1.
    """

    latency: float
    compute: float
    cluster_networks: float
    network_wait: float
    network_fill: float
    network_drain: float
    offchip_fill: float
    offchip_drain: float
    offchip_wait: float
    pes_busy: float
    lanes_busy: float

    @cached_property
    def parts(self) -> dict[str, float]:
        """The parts by name."""
        return {name: getattr(self, name) for name in PARTS}

    @property
    def time_busy(self) -> float:
        """Share of the cycles with computation, from 0 to 1."""
        return self.compute / self.latency

    @property
    def utilization(self) -> float:
        """Share of the peak throughput: of time, PEs and lanes together."""
        return self.time_busy * self.pes_busy * self.lanes_busy


@dataclass(frozen=True)
class Delay:
    """What one of the three parts of a step takes, in cycles: the least, the mean and the most."""

    least: float
    mean: float
    most: float


@dataclass(frozen=True)
class StepTimes:
    """What happens at the same time in the steps of L2; the slowest of the three sets the time.

    Args:
        steps: of L2.
        ingress: inputs and filters of the next step come in.
        compute: the clusters, or the PEs if there are no clusters, work.
        egress: outputs of the step before go out.
    """

    steps: int
    ingress: Delay
    compute: Delay
    egress: Delay


def time_steps(cost: Cost) -> StepTimes:
    """Return what a step of L2 takes, from a cost of the model ``exact``."""
    figures = cost.figures()

    def delay(name: str) -> Delay:
        return Delay(*(figures[f"{name}_{each}_cycles"] for each in ("min", "avg", "max")))

    return StepTimes(int(figures["steps"]), delay("ingress"), delay("compute"), delay("egress"))


def count_cycles(problem: Problem, mapping: Mapping) -> Cycles:
    """Say where the cycles of a valid mapping go.

    What computation alone takes is evaluated on the accelerator with networks without limit.

    Raises:
        ModelError, MappingError: as ``cost_of``.
    """
    cost, hardware = cost_of(problem, mapping), problem.hardware
    networks = [RESOURCES["network bandwidth"], RESOURCES["network latency"]]
    ideal = cost_of(problem, mapping, **{each.field: each.unlimited for each in networks})
    figures, alone = cost.figures(), ideal.figures()["compute_sum_cycles"]
    first, last = int(figures["first_in_words"]), int(figures["last_out_words"])
    fill, drain = (_native.network_cycles(hardware.native, words) for words in (first, last))
    onchip, steps = figures["onchip_cycles"], figures["compute_sum_cycles"]
    offchip_fill, offchip_drain = (-(-words // hardware.offchip_bw) for words in (first, last))
    return Cycles(
        latency=cost.latency_cycles,
        compute=alone,
        cluster_networks=steps - alone,
        network_wait=onchip - fill - drain - steps,
        network_fill=fill,
        network_drain=drain,
        offchip_fill=offchip_fill,
        offchip_drain=offchip_drain,
        offchip_wait=cost.latency_cycles - onchip - offchip_fill - offchip_drain,
        pes_busy=figures["busy_pe_cycles"] / (alone * hardware.num_pes),
        lanes_busy=figures["macs"] / (figures["busy_pe_cycles"] * hardware.simd_lanes),
    )


@dataclass(frozen=True)
class Utilization:
    """Shares on any memories that multiply to the share of the peak throughput, each from 0 to 1.

    Args:
        time: of the cycles, in which units compute.
        fanouts: of the instances of each fan-out that are ever at work, by its name; 1 where it has
            no size.
        tiles: of the largest tile, that a tile has on average; ragged ones are shorter or missing.
        lanes: of the MACs that a unit does in a cycle.
        steps: of the computing time, that MACs take; steps take some time at least, and outputs
            after their last MAC (H6).
    """

    time: float
    fanouts: dict[str, float]
    tiles: float
    lanes: float
    steps: float

    @property
    def total(self) -> float:
        """Share of the peak throughput."""
        of_unit = self.tiles * self.lanes * self.steps
        return self.time * math.prod(self.fanouts.values()) * of_unit


def utilization_of(
    evaluator: HierarchyEvaluator, mapping: NestMapping, cost: HierarchyCost
) -> Utilization:
    """Return the shares of a mapping that has this cost."""
    hierarchy = evaluator.hierarchy
    shares, units = {}, 1
    for element, cuts in zip(hierarchy.elements, cuts_of(evaluator.shape, mapping), strict=True):
        if isinstance(element, FanoutElement):
            used = units_of(cuts)
            units *= used
            shares[element.name] = used / (element.size or used)
    free = {"step_cycles": 0, "load_cycles": 0, "finish_cycles": 0.0}
    elements = [
        replace(each, **free) if isinstance(each, MemoryElement) else each  # type: ignore[arg-type]
        for each in hierarchy.elements
    ]

    def macs_alone(simd: int) -> float:
        """Return the cycles that MACs take, whatever steps and outputs take."""
        units = replace(hierarchy, elements=elements, mac=replace(hierarchy.mac, simd=simd))
        found, _ = replace(evaluator, hierarchy=units).evaluate(mapping)
        assert found is not None
        return found.compute_cycles

    simd = hierarchy.mac.simd
    single, alone = macs_alone(1), macs_alone(simd)
    return Utilization(
        time=cost.compute_cycles / cost.latency_cycles,
        fanouts=shares,
        tiles=cost.macs / (single * units),
        lanes=single / (alone * simd),
        steps=alone / cost.compute_cycles,
    )
