"""The figures of one evaluated mapping."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from maestro_env import _native

METRICS: tuple[str, ...] = _native.METRICS
"""Names of a mapping's figures, and the columns of a batch's metrics in their order.

They are the fields of ``Cost`` but ``clusters``; docs/models.md has their units and meanings.
"""

# The end of a figure's name tells its unit; the first that fits.
_UNITS = {
    "macs_per_cycle": "MACs/cycle",
    "words_per_cycle": "words/cycle",
    "cycles": "cycles",
    "nj": "nJ",
    "mw": "mW",
    "um2": "um^2",
    "bytes": "bytes",
    "pes": "PEs",
    "macs": "MACs",
    "intensity": "MACs/word",
    "reuse": "MACs/word",
    "reads": "words",
    "writes": "words",
    "words": "words",
    "accesses": "words",
}


def unit_of(metric: str) -> str:
    """Return the unit of a figure, a name of ``METRICS``; ``-`` for a count or a ratio."""
    return next((unit for ending, unit in _UNITS.items() if metric.endswith(ending)), "-")


@dataclass(frozen=True)
class ClusterBuffers:
    """The buffers of all clusters of one level, between L2 and L1 (exact model, E5 ``mid``).

    They are pooled from the L1s of the PEs below. Accesses are words over the whole layer,
    ``bytes`` is the double-buffered tile of one cluster.
    """

    input_writes: float
    filter_writes: float
    input_reads: float
    filter_reads: float
    output_writes: float
    output_reads: float
    bytes: float


@dataclass(frozen=True)
class Cost:
    """What one layer costs under one mapping.

    Up to ``clusters`` there is one field per column of a batch's metrics. A field the model has no
    figure for is None; docs/models.md lists the fields of each model and their units, with which
    their names end.

    Energy comes in two forms. ``energy_nj`` charges every MAC and every access of L1 and L2;
    ``csv_energy_nj`` is what the MAESTRO binary prints, which leaves most of them out. Likewise
    ``area_um2`` (GAMMA's and ArchGym's blocks of the buffers a mapping needs) and
    ``maestro_area_um2``, ``power_mw`` (average, ``energy_nj`` per cycle at 1 GHz) and
    ``maestro_power_mw``. Delays (ingress, egress, compute) are those of the steps of the outermost
    level. A word is a byte.
    """

    latency_cycles: float
    energy_nj: float
    power_mw: float
    area_um2: float | None = None
    csv_energy_nj: float | None = None
    maestro_power_mw: float | None = None
    maestro_area_um2: float | None = None
    macs: float | None = None
    macs_per_cycle: float | None = None
    utilization: float | None = None
    active_pes: float | None = None
    arithmetic_intensity: float | None = None
    l1_bytes: float | None = None
    l2_bytes: float | None = None
    input_l1_reads: float | None = None
    input_l1_writes: float | None = None
    input_l2_reads: float | None = None
    input_l2_writes: float | None = None
    filter_l1_reads: float | None = None
    filter_l1_writes: float | None = None
    filter_l2_reads: float | None = None
    filter_l2_writes: float | None = None
    output_l1_reads: float | None = None
    output_l1_writes: float | None = None
    output_l2_reads: float | None = None
    output_l2_writes: float | None = None
    noc_peak_words_per_cycle: float | None = None
    noc_avg_words_per_cycle: float | None = None
    offchip_words_per_cycle: float | None = None
    ingress_min_cycles: float | None = None
    ingress_max_cycles: float | None = None
    ingress_avg_cycles: float | None = None
    egress_min_cycles: float | None = None
    egress_max_cycles: float | None = None
    egress_avg_cycles: float | None = None
    compute_min_cycles: float | None = None
    compute_max_cycles: float | None = None
    compute_avg_cycles: float | None = None
    ingress_sum_cycles: float | None = None
    egress_sum_cycles: float | None = None
    compute_sum_cycles: float | None = None
    steps: float | None = None
    onchip_cycles: float | None = None
    busy_pe_cycles: float | None = None
    first_in_words: float | None = None
    last_out_words: float | None = None
    input_unit_writes: float | None = None
    filter_unit_writes: float | None = None
    output_leaving_words: float | None = None
    output_psum_reads: float | None = None
    offchip_read_words: float | None = None
    offchip_write_words: float | None = None
    l1_accesses: float | None = None
    cluster_accesses: float | None = None
    l2_accesses: float | None = None
    pe_l1_bytes: float | None = None
    cluster_l1_bytes: float | None = None
    l2_used_bytes: float | None = None
    l2_hold_bytes: float | None = None
    l2_resident_tensors: float | None = None
    input_multicast: float | None = None
    filter_multicast: float | None = None
    input_reuse: float | None = None
    filter_reuse: float | None = None
    clusters: tuple[ClusterBuffers, ...] = ()

    @classmethod
    def from_row(cls, row: Sequence[float], clusters: Sequence[Sequence[float]] = ()) -> Cost:
        """Build a cost from one row of metrics, in the order of ``METRICS``."""
        figures = {
            name: None if math.isnan(figure) else float(figure)
            for name, figure in zip(METRICS, row, strict=True)
        }
        buffers = tuple(ClusterBuffers(*each) for each in clusters)
        return cls(**figures, clusters=buffers)  # type: ignore[arg-type]

    def figures(self) -> dict[str, float]:
        """Return the figures that are not None, by name."""
        named = {name: getattr(self, name) for name in METRICS}
        return {name: figure for name, figure in named.items() if figure is not None}

    def as_dict(self) -> dict[str, Any]:
        """Return all fields by name, None included, and ``clusters`` as dicts."""
        return asdict(self)


def buffer_bytes(cost: Cost) -> tuple[float, float]:
    """Return the bytes that the area of a mapping counts, of L1 and of L2."""
    used = cost.l2_bytes if cost.l2_used_bytes is None else cost.l2_used_bytes
    return cost.l1_bytes or 0.0, used or 0.0
