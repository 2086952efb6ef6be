"""What the tests of comparisons share."""

from __future__ import annotations

import csv
from pathlib import Path

from commands import compare as main

LAYER = "gemm:M=64,N=64,K=64"
LAYERS = f"mobilenetv2_l2,{LAYER}"
REPRODUCIBLE = ("table.md", "table.csv", "ledger.csv")


def compare(out: Path, *flags: str, samples: int = 300, seeds: int = 2) -> int:
    """Compare on one layer and objective unless flags say otherwise."""
    defaults = [f"--layers={LAYER}", "--objectives=latency", "--mappers=random,ga"]
    return main([f"--out={out}", f"--samples={samples}", f"--seeds={seeds}", *defaults, *flags])


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in REPRODUCIBLE}


def cells(out: Path) -> list[Path]:
    return sorted(path for path in out.glob("cells/*/*/*/*.json"))


def cell(out: Path, mapper: str, seed: int) -> Path:
    return next(out.glob(f"cells/*/*/{mapper}/{seed}.json"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def section(out: Path, title: str) -> dict[str, list[str]]:
    """Rows of a table of table.md by their first cell."""
    text = (out / "table.md").read_text().split(f"## {title}", 1)[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")][2:]
    cut = [[each.strip() for each in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in cut}
