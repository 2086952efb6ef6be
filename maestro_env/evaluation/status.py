"""What is wrong with a mapping: its status, the loop at fault and the fix, how much it misses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.m_file import ENDS
from maestro_env.evaluation.cost import Cost
from maestro_env.mapspace.mapping import Mapping

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
