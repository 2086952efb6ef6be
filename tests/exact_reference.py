"""Rows of a reference implementation of the exact model."""

from __future__ import annotations

import json
import lzma
from functools import cache
from pathlib import Path
from typing import Any

Row = dict[str, Any]

DATA = Path(__file__).parent / "data" / "exact_rows.jsonl.xz"
INPUTS = ("type", "stride", "dims", "dataflow", "hw")


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
