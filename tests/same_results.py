"""Digests of what the commands write, to show that a change of structure changes no result.

``data/same_results.json`` holds them. ``python tests/same_results.py`` runs the commands again, in
two minutes, and lists what differs; with ``--write`` the new digests replace the file.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
DIGESTS = Path(__file__).parent / "data" / "same_results.json"
ENTRIES = sorted((ROOT / "experiments" / "results" / "benchmark").iterdir())
TIMES = ("seconds", "model_seconds", "seconds_of_improvements", "cpu_seconds")
SWEEP = """\
layers: [resnet18_l2, 'gemm:M=64,N=48,K=32']
networks: [alexnet]
hardware: [edge, unlimited]
objectives: [edp, latency]
mappers: [ga_log, marl, prior]
samples: 200
seeds: 2
"""
# Arguments by the name of the directory, and the files of it that count.
COMMANDS = {
    "traces-edge": (
        "run --layer resnet18_l2 --hardware edge --mapper ga_log,gamma,marl,prior --samples 1000 "
        "--seeds 10",
        ("trace.csv.gz", "best_mapping.json", "best_cost.json"),
    ),
    "traces-unlimited": (
        "run --layer gpt2_l4 --objective latency --mapper ga_log,gamma,marl,prior --samples 500 "
        "--seeds 10",
        ("trace.csv.gz", "best_mapping.m"),
    ),
    "traces-gemmini": (
        "run --layer resnet18_l2 --hardware gemmini --mapper ga_log,marl,random_log --samples 300 "
        "--seeds 10",
        ("trace.csv.gz", "best_mapping.json", "best_cost.json"),
    ),
    "traces-maddpg": (
        "run --layer resnet18_l2 --hardware edge --mapper maddpg --samples 200 --seeds 10",
        ("trace.csv.gz", "best_mapping.json"),
    ),
    "compare-gemmini": (
        "compare --layers resnet18_l2,gpt2_l4 --hardware gemmini --samples 200 --seeds 2 "
        "--mappers random,random_log,ga_log,marl",
        ("table.csv", "ledger.csv"),
    ),
    "map-gemmini": (
        "map alexnet --hardware gemmini --samples 300",
        ("layers.csv", "mappings/*"),
    ),
    "scores": ("benchmark score ENTRIES", ("problems.csv",)),
    "compare": (
        "compare --layers resnet18_l2,gpt2_l4 --hardware edge --samples 300 --seeds 3 "
        "--mappers random,random_log,ga_log,pbil,marl,prior,library",
        ("table.csv", "ledger.csv"),
    ),
    "sweep": ("sweep FILE", ("results.csv", "summary.csv")),
    "map": ("map resnet18 --hardware edge --nodes 100000", ("layers.csv",)),
    "codesign": (
        "codesign alexnet --num-pes 64,128 --l1-bytes 256,512 --l2-bytes 54000,108000 "
        "--area 10 --samples 50 --schema legal13 --technology maestro",
        ("accelerators.csv", "front.csv"),
    ),
    "optima": (
        "optima --layers alexnet_l2,resnet18_l2,resnet18_l16,gpt2_l4,mobilenetv2_l2 "
        "--hardware edge,unlimited --objectives edp,latency",
        ("cells/*/*.certificate.gz",),
    ),
}


def rows(data: bytes) -> bytes:
    """Return a CSV file without its columns of times."""
    table = list(csv.reader(io.StringIO(data.decode())))
    kept = [place for place, name in enumerate(table[0]) if name not in TIMES]
    return json.dumps([[row[place] for place in kept] for row in table]).encode()


def content(path: Path) -> bytes:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    return rows(data) if ".csv" in path.suffixes else data


def digests(scratch: Path) -> Iterator[tuple[str, str]]:
    """Run every command; yield the name of each file with its digest."""
    (scratch / "sweep.yaml").write_text(SWEEP)
    for name, (arguments, patterns) in COMMANDS.items():
        out = scratch / name
        texts = {"FILE": str(scratch / "sweep.yaml"), "ENTRIES": " ".join(map(str, ENTRIES))}
        given = [word for each in arguments.split() for word in texts.get(each, each).split()]
        command = [sys.executable, "-m", "experiments", *given, "--out", str(out)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        for pattern in patterns:
            found = sorted(out.glob(pattern))
            assert found, f"{name} wrote no {pattern}"
            for path in found:
                digest = hashlib.sha256(content(path)).hexdigest()[:16]
                yield f"{name}/{path.relative_to(out)}", digest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"replace {DIGESTS.name}")
    write = parser.parse_args().write
    with TemporaryDirectory() as scratch:
        made = dict(digests(Path(scratch)))
    if write:
        DIGESTS.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")
    known = json.loads(DIGESTS.read_text(encoding="utf-8"))
    names = sorted({*known, *made})
    differing = [name for name in names if known.get(name) != made.get(name)]
    sys.stdout.write(f"{len(names)} files, differing: {differing}\n")
    sys.exit(bool(differing))


if __name__ == "__main__":
    main()
