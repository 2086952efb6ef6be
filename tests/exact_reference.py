"""Rows the exact model must reproduce: the worked example, and a reference implementation's."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

from maestro_env import Hardware, Layer, Mapping

Row = dict[str, Any]

DATA = Path(__file__).parent / "data" / "exact_rows.jsonl.xz"
INPUTS = ("type", "stride", "dims", "dataflow", "hw")

# The worked example of the specification (E11).
EXAMPLE: Row = {
    "type": "CONV",
    "stride": [1, 1],
    "dims": {"K": 3, "C": 2, "Y": 7, "X": 3, "R": 3, "S": 3},
    "dataflow": ["TemporalMap(1,1) C;", "SpatialMap(1,1) Y';", "TemporalMap(3,3) K;"],
    "hw": {
        "num_pes": 2,
        "noc_bw": 4,
        "hop_latency": 1,
        "offchip_bw": 8,
        "l1": None,
        "l2": None,
        "simd": 1,
    },
}


@cache
def reference() -> list[Row]:
    with lzma.open(DATA, "rt", encoding="utf-8") as file:
        names, *rows = map(json.loads, file)
    for row in rows:
        row["hw"] = dict(zip(names["hw"], row["hw"], strict=True))
        if "out" in row:
            row["out"] = out = dict(zip(names["out"], row["out"], strict=True))
            out["mid"] = [dict(zip(names["mid"], each, strict=True)) for each in out["mid"]]
    return rows


def dataflow_of(mapping: Mapping, names: dict[str, str] | None = None) -> list[str]:
    """Write the directives of a mapping, some dimensions by other names."""
    return [
        f"Cluster({size},P);"
        if kind == "Cluster"
        else f"{kind}({size},{offset}) {(names or {}).get(dim, dim)};"
        for kind, dim, size, offset in mapping.directives
    ]


def row_of(layer: Layer, mapping: Mapping, hardware: Hardware) -> Row:
    return {
        "type": layer.operator,
        "dims": dict(layer.extents),
        "dataflow": dataflow_of(mapping),
        "stride": list(layer.stride) if layer.is_convolution else None,
        "hw": {
            "num_pes": hardware.num_pes,
            "noc_bw": hardware.noc_bw,
            "simd": hardware.simd_lanes,
            "hop_latency": hardware.noc_latency,
            "l1": hardware.l1_bytes,
            "l2": hardware.l2_bytes,
            "offchip_bw": hardware.offchip_bw,
            "offchip_cost": hardware.offchip_cost_macs,
        },
    }


def inputs(row: Row) -> Row:
    return {name: row[name] for name in INPUTS}


def outcome(row: Row) -> Row:
    return {name: row[name] for name in ("status", "out") if name in row}
