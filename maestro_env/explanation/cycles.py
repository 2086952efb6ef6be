"""Where the cycles of a mapping go, and how many of the PEs are at work in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from maestro_env import _native
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation.bottleneck import RESOURCES, cost_of
from maestro_env.mapspace.mapping import Mapping

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
