"""The figures of one evaluated mapping."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from maestro_env._native import METRICS


@dataclass(frozen=True)
class Cost:
    """What one layer costs under one mapping; one field per column of a batch's metrics.

    Energy comes in two forms. ``energy_nj`` charges every MAC and every access of L1 and L2;
    ``csv_energy_nj`` is what the MAESTRO binary prints, which leaves most of them out. Likewise
    ``area_um2`` (GAMMA's and ArchGym's blocks of the buffers a mapping needs) and
    ``maestro_area_um2``, ``power_mw`` (average, ``energy_nj`` per cycle at 1 GHz) and
    ``maestro_power_mw``. The delays are those of one step of the outermost level.
    """

    latency_cycles: float
    energy_nj: float
    power_mw: float
    area_um2: float
    csv_energy_nj: float
    maestro_power_mw: float
    maestro_area_um2: float
    macs: float
    macs_per_cycle: float
    utilization: float
    active_pes: float
    arithmetic_intensity: float
    l1_bytes: float
    l2_bytes: float
    input_l1_reads: float
    input_l1_writes: float
    input_l2_reads: float
    input_l2_writes: float
    filter_l1_reads: float
    filter_l1_writes: float
    filter_l2_reads: float
    filter_l2_writes: float
    output_l1_reads: float
    output_l1_writes: float
    output_l2_reads: float
    output_l2_writes: float
    noc_peak_words_per_cycle: float
    noc_avg_words_per_cycle: float
    offchip_words_per_cycle: float
    ingress_min_cycles: float
    ingress_max_cycles: float
    ingress_avg_cycles: float
    egress_min_cycles: float
    egress_max_cycles: float
    egress_avg_cycles: float
    compute_min_cycles: float
    compute_max_cycles: float
    compute_avg_cycles: float

    @classmethod
    def from_row(cls, row: Sequence[float]) -> Cost:
        """Build a cost from one row of metrics, in the order of ``METRICS``."""
        return cls(**dict(zip(METRICS, map(float, row), strict=True)))

    def as_dict(self) -> dict[str, float]:
        return asdict(self)
