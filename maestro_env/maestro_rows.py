"""Evaluates one row as the MAESTRO binary does: ``out`` (CSV cells by header) or ``error``."""

from __future__ import annotations

import re
from typing import Any

from maestro_env import _native
from maestro_env.binary import EXIT_STATUS, SIGNALS, Machine, equal_nocs, run
from maestro_env.checks import require_integer, require_type
from maestro_env.m_file import ReferenceDeath, parse

_STRIDED = ("Y", "X")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*'?")
_HARDWARE = ("num_pes", "noc_bw", "hop_latency", "offchip_bw", "simd")


def evaluate(row: dict[str, Any]) -> dict[str, Any]:
    """Return ``{"out": cells}``, or ``{"error": {"exit": status, "message": why}}``.

    Raises:
        KeyError: a key is missing.
        ValueError: a value is not of its kind.
    """
    given = hardware_of(row)
    hw = {name: int32(f"hw.{name}", given[name]) for name in _HARDWARE}
    nocs = equal_nocs(hw["noc_bw"], hw["hop_latency"])
    machine = Machine(hw["num_pes"], hw["simd"], hw["offchip_bw"], nocs)
    try:
        (cells,) = run(parse(_text(row)), machine)
    except ReferenceDeath as death:
        code = -SIGNALS[death.kind] if death.kind in SIGNALS else EXIT_STATUS
        return {"error": {"exit": code, "message": str(death)}}
    return {"out": dict(zip(_CELL_NAMES, cells, strict=True))}


def int32(name: str, value: object) -> int:
    """Return an integer as the binary's options and files have them."""
    return require_integer(name, value, ValueError, -(2**31))


def hardware_of(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row's ``hw``."""
    hw: dict[str, Any] = row["hw"]
    require_type("hw", hw, dict, ValueError, "names to numbers")
    return hw


def dims_of(row: dict[str, Any]) -> dict[str, int]:
    """Return a row's ``dims``."""
    dims = row["dims"]
    require_type("dims", dims, dict, ValueError, "names to extents")
    for name in dims:
        if not _NAME.fullmatch(name):
            raise ValueError(f"dims has the name {name!r}; allowed: a letter, letters, digits, '")
    return {name: int32(f"dims.{name}", extent) for name, extent in dims.items()}


def strides_of(row: dict[str, Any]) -> dict[str, int]:
    """Return a row's strides by axis; none if it has none."""
    stride = row["stride"]
    if stride is None:
        return {}
    if not isinstance(stride, list) or len(stride) != len(_STRIDED):
        raise ValueError(f"stride is {stride!r}; allowed: null or [of Y, of X]")
    return {axis: int32("stride", each) for axis, each in zip(_STRIDED, stride, strict=True)}


def dataflow_of(row: dict[str, Any]) -> list[str]:
    """Return a row's directives."""
    dataflow: list[str] = row["dataflow"]
    require_type("dataflow", dataflow, list, ValueError, "of directives")
    for each in dataflow:
        require_type("a directive", each, str, ValueError, "such as TemporalMap(1,1) K;")
    return dataflow


def type_of(row: dict[str, Any]) -> str:
    """Return a row's operator."""
    operator: str = row["type"]
    require_type("type", operator, str, ValueError, "such as CONV")
    return operator


def _text(row: dict[str, Any]) -> str:
    strides = strides_of(row)
    stride = f"Stride {{ {_pairs(strides)} }}" if strides else ""
    flow = "\n".join(dataflow_of(row))
    return (
        f"Network n {{ Layer l {{ Type: {type_of(row)} {stride}\n"
        f"Dimensions {{ {_pairs(dims_of(row))} }}\nDataflow {{\n{flow}\n}} }} }}"
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
