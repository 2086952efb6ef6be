"""What the tests of sweeps share."""

from __future__ import annotations

import csv
from pathlib import Path

from commands import sweep as main

CONFIG = """
networks: [alexnet]
layers: ["gemm:M=64,N=64,K=64"]
hardware:
  num_pes: [32, 64]
  l1_bytes: [65536]
  l2_bytes: [4194304]
objectives: [edp, latency]
mappers: [random_log, ga_log]
samples: 60
seeds: 3
seed: 5
"""


def sweep(path: Path, *flags: str, text: str = CONFIG) -> int:
    """Run the sweep of a text, written beside ``path``, into ``path``."""
    config = path.parent / f"{path.name}.yaml"
    config.write_text(text)
    return main([str(config), f"--out={path}", *flags])


def chunks(out: Path) -> list[Path]:
    return sorted(out.glob("chunks/*/*.json"))


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def tables(out: Path) -> dict[str, bytes]:
    return {name: (out / name).read_bytes() for name in ("results.csv", "summary.csv")}
