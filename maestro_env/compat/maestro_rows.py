"""Evaluates one row as the MAESTRO binary does: ``out`` (CSV cells by header) or ``error``."""

from __future__ import annotations

from typing import Any

from maestro_env import _native
from maestro_env.base.m_file import ReferenceDeath, parse
from maestro_env.compat.binary import equal_nocs, run
from maestro_env.compat.row_format import Row


def evaluate(given: dict[str, Any]) -> dict[str, Any]:
    """Return ``{"out": cells}``, or ``{"error": {"exit": status, "message": why}}``."""
    row = Row.read(given)
    nocs = equal_nocs(row.hardware("noc_bw"), row.hardware("hop_latency"))
    sizes = [row.hardware(name) for name in ("num_pes", "simd", "offchip_bw")]
    try:
        (cells,) = run(parse(_text(row)), nocs, *sizes)
    except ReferenceDeath as death:
        return {"error": {"exit": death.code, "message": str(death)}}
    return {"out": dict(zip(_CELL_NAMES, cells, strict=True))}


def _text(row: Row) -> str:
    stride = f"Stride {{ {_pairs(row.strides)} }}" if row.strides else ""
    return (
        f"Network n {{ Layer l {{ Type: {row.operator} {stride}\n"
        f"Dimensions {{ {_pairs(row.dims)} }}\nDataflow {{\n{row.dataflow}\n}} }} }}"
    )


def _pairs(values: dict[str, int]) -> str:
    return " ".join(f"{name}: {value}" for name, value in values.items())


def _cell_names() -> list[str]:
    """Headers without network and layer name; the second of two equal ones is the maximum."""
    names = [name.strip() for name in _native.CSV_HEADER.split(",")][2:]
    twice = "Compute Delay (Min)"
    names[names.index(twice, names.index(twice) + 1)] = "Compute Delay (Max)"
    return names


_CELL_NAMES = _cell_names()
