"""Explains the status of a mapping in one line: the loop at fault and the fix."""

from __future__ import annotations

from maestro_env.accelerators.hardware import Hardware
from maestro_env.compat.binary import ENDS
from maestro_env.evaluation.cost import Cost
from maestro_env.mapspace.mapping import Mapping

_MEANINGS = {
    "ok": "the mapping is valid",
    "bad_hw": "a number of the hardware is out of range; Hardware lists what is allowed",
    "bad_layer": "the model does not support the operator; docs/models.md lists those it does",
    "bad_tile": "the layer has no such dimension, or the level already has a loop over it",
    "too_many_levels": "more than 4 levels; leave out a cluster",
    "cluster_exceeds_pes": "the clusters need more PEs than there are; make them smaller",
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
    "below_compulsory": "the model counts fewer accesses than every mapping has",
}


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
        needs = f" (needed {cost.l1_bytes:,.0f} B a PE, there are {hardware.l1_bytes:,} B)"
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
