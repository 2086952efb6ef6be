"""What evaluations return: the figures of a mapping; its status, the loop at fault, and the fix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.m_file import ENDS
from maestro_env.mapspace.mapping import Mapping

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


STATUSES: tuple[str, ...] = _native.STATUSES
"""Results of checking a mapping; a batch's status codes index this tuple, 0 is ``ok``."""

OK = STATUSES.index("ok")
_MEASURED = [STATUSES.index(name) for name in ("l1_overflow", "l2_overflow", "cluster_exceeds_pes")]
_L1_BYTES, _L2_BYTES = (_native.METRICS.index(name) for name in ("l1_bytes", "l2_bytes"))
_MOST_PES = 2**62
# Of what has no measure.
_OTHER = 1.0

_MEANINGS = {
    "ok": "the mapping is valid",
    "bad_hw": "a number of the hardware is out of range; Hardware lists what is allowed",
    "bad_layer": "the model does not support the operator; docs/models.md lists those it does",
    "bad_tile": "the layer has no such dimension, or the level already has a loop over it",
    "too_many_levels": "more than 4 levels; leave out a cluster",
    "cluster_exceeds_pes": "the clusters need more PEs than available; make them smaller",
    "coverage": "tiles of such size and offset miss or repeat MACs; set the offset to the size, "
    "and tile Y and X by no less than a window",
    "bad_spatial": "a level needs exactly one parallel loop",
    "overflow": "the layer is too large to be counted in 64 bits; map a smaller one",
    "l1_overflow": "the tiles do not fit L1; make the L1 tiles smaller",
    "l2_overflow": "the tiles do not fit L2; make the L2 tiles smaller",
    **{status: f"the MAESTRO binary {how} on it" for status, how in ENDS.items()},
    "mac_mismatch": "the model counts more or fewer MACs than the layer has",
    "above_peak": "the model claims more than the peak throughput",
    "below_pe_load": "the model claims fewer cycles than the busiest PE needs",
    "below_compulsory": "the model counts fewer accesses than every mapping needs",
    "fanout_exceeded": "more units than the fan-out has; make the tiles there larger",
    "pool_overflow": "the tiles do not fit a memory; make those above it smaller",
}


@dataclass(frozen=True)
class Rows:
    """A batch's results.

    Args:
        metrics: float64[N, M], one column per name of ``METRICS``; NaN where there is no result.
        status: uint8[N], indices into ``STATUSES``.
    """

    metrics: NDArray[np.float64]
    status: NDArray[np.uint8]


def explain_status(
    status: str, mapping: Mapping, problem: int, cost: Cost | None, hardware: Hardware
) -> str:
    """Describe the status of a mapping; ``problem`` indexes the directive at fault, or is -1."""
    where = _where(mapping, problem) if problem >= 0 else ""
    needs = ""
    if status == "too_many_levels":
        where = f"level {len(mapping.levels) - 1}: "
    elif status == "cluster_exceeds_pes":
        where, needs = _crowded(mapping, hardware)
    elif status == "l1_overflow" and cost is not None:
        needs = f" (needed {cost.l1_bytes:,.0f} B per PE, there are {hardware.l1_bytes:,} B)"
    elif status == "l2_overflow" and cost is not None:
        needs = f" (needed {cost.l2_bytes:,.0f} B, there are {hardware.l2_bytes:,} B)"
    return f"{status}: {where}{_MEANINGS[status]}{needs}"


def _where(mapping: Mapping, problem: int) -> str:
    """Name the loop at fault; for a directive that ends a level, the level."""
    index = 0
    for number, level in enumerate(mapping.levels):
        index += 0 if level.cluster_size is None else 1
        if index <= problem < index + len(level.loops):
            return f"level {number}, '{level.loops[problem - index]}': "
        index += len(level.loops)
        if problem == index:
            return f"level {number}: "
    return ""


def _crowded(mapping: Mapping, hardware: Hardware) -> tuple[str, str]:
    """Name the innermost level whose clusters need too many PEs, and count the PEs needed."""
    where, pes = "", 1
    for number, level in reversed(list(enumerate(mapping.levels))):
        pes *= level.cluster_size or 1
        if pes > hardware.num_pes and not where:
            where = f"level {number}, 'cluster of {level.cluster_size}': "
    return where, f" (needed {mapping.pes:,} PEs, there are {hardware.num_pes:,})"


def violations(rows: Rows, hardware: Hardware, pes: int = 0) -> NDArray[np.float64]:
    """Return the constraint violations of evaluated mappings, float64[N].

    A violation is 0 if and only if the mapping is valid, otherwise positive and finite: the missing
    L1, L2 and PEs, each as a share of what is available, and 1 for any other error.

    Args:
        rows: of ``Problem.evaluate``.
        hardware: with the limits.
        pes: that the clusters of each mapping need.
    """
    missing = (
        _missing(rows.metrics[:, _L1_BYTES], hardware.l1_bytes)
        + _missing(rows.metrics[:, _L2_BYTES], hardware.l2_bytes)
        + max(0, min(pes, _MOST_PES) - hardware.num_pes) / hardware.num_pes
    )
    measured = np.isin(rows.status, _MEASURED) & (missing > 0)
    return np.where(rows.status == OK, 0.0, np.where(measured, missing, _OTHER + missing))


def _missing(needed: NDArray[np.float64], capacity: int) -> NDArray[np.float64]:
    """Return the share of a capacity that is missing; none without a figure."""
    missing: NDArray[np.float64] = np.fmax(needed - capacity, 0) / capacity
    return missing
