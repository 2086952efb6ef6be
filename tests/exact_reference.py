"""Rows the exact model must reproduce: the worked example, and a reference implementation's."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

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


def inputs(row: Row) -> Row:
    return {name: row[name] for name in INPUTS}


def outcome(row: Row) -> Row:
    return {name: row[name] for name in ("status", "out") if name in row}
