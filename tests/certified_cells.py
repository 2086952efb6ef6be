"""How close bounds come to mappings on chips: cells of the zoo's layers, drawn once.

A script, not a part of the suite:

    python tests/certified_cells.py [--cells 400] [--seconds 60] [--free] [--certify]

Each cell is a layer's shape on a chip for an objective, searched by one thread until it is
proven, the end of its boxes, or so many CPU-seconds. The file has a line for each, with the commit;
those that are there are not searched again. The table is printed at the end, and with --table
alone. Under --certify the certificate of each is written and checked too.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.objectives import find_objective
from maestro_env.experiments.commands.verify import verify
from maestro_env.experiments.store.records import versions
from maestro_env.models import room_of
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.memories import MemoriesSearch
from maestro_env.optimum.search import OptimumError
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.zoo import models

CHIPS = ("gemmini", "simba", "nvdla", "eyeriss", "tpu_v1")
OBJECTIVES = ("latency", "energy", "edp")
PROVEN = 1e-9
GAPS = {"proven": PROVEN, "<= 0.01 %": 1e-4, "<= 1 %": 0.01, "<= 3 %": 0.03}
OUT = Path(__file__).parent / "data" / "certified_cells.jsonl"

Cell = tuple[str, str, str]
"""A layer, a chip, an objective."""


def shapes() -> dict[str, Layer]:
    """Return the layers of the zoo, one of each shape, by name."""
    found: dict[str, Layer] = {}
    for layers in models().values():
        for layer in layers:
            found.setdefault(layer.shape, layer)
    return {layer.name: layer for layer in found.values()}


def drawn(count: int) -> list[Cell]:
    """Return so many cells, the same for every call with more of them at the end."""
    cells = [*product(sorted(shapes()), CHIPS, OBJECTIVES)]
    random.Random(0).shuffle(cells)
    return cells[:count]


def certified(search: MemoriesSearch) -> dict[str, Any]:
    """Write and check the certificate of what was found; return what both take, in CPU-seconds."""
    with tempfile.TemporaryDirectory() as folder:
        path, began = Path(folder) / "certificate.gz", time.process_time()
        try:
            claim = (search.best, search.best_point, search.bound)
            made = certify(search.problem, search.objective, *claim, path)
        except OptimumError as error:
            return {"refused": str(error)}
        written = time.process_time()
        verify(path)
        checked = time.process_time() - written
        return {
            "bytes": made.bytes,
            "leaves": made.boxes,
            "write": written - began,
            "check": checked,
        }


def searched(
    cell: Cell, layer: Layer, seconds: float, free: bool, certify_it: bool
) -> dict[str, Any]:
    """Search a cell and return what was found, in CPU-seconds."""
    name, chip, goal = cell
    room, objective = room_of("hierarchy"), find_objective(goal)
    began, reached = time.process_time(), {}
    accelerator = room.with_energies(room.constrained(room.find(chip), "none" if free else None))
    (problem,) = room.problems([layer], accelerator)
    assert isinstance(problem, HierarchyProblem)
    search = MemoriesSearch(problem, objective)

    def spent() -> float:
        return time.process_time() - began

    def told(points: Any) -> None:
        search.tell(points, problem.score(points, objective)[0])

    for points in search.opening():
        told(points)
    found = spent()
    gap = float("inf")
    while not search.finished and spent() < seconds and gap > PROVEN:
        if len(points := search.ask()):
            told(points)
        gap = search.best / search.bound - 1 if search.bound else gap
        for share in (0.03, 0.01, 0.001):
            if gap <= share:
                reached.setdefault(str(share), spent())
    ended = spent()
    return {
        "cell": [name, chip, goal, free],
        "best": search.best,
        "bound": search.bound,
        "gap": gap,
        "seconds": ended,
        "opening": found,
        "reached": reached,
        "finished": search.finished,
        "commit": versions()["commit"],
        **({"certificate": certified(search)} if certify_it else {}),
    }


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a table by chip and objective: shares of cells within gaps, medians."""
    titles = ["cells", "n", *GAPS, "median gap", "median s to 1 %", "median s"]
    yield f"| {' | '.join(titles)} |"
    yield "|---|" + "---:|" * (len(titles) - 1)
    kinds: list[tuple[str, Iterable[dict[str, Any]]]] = [("all", rows)]
    kinds += [(chip, [r for r in rows if r["cell"][1] == chip]) for chip in CHIPS]
    kinds += [(goal, [r for r in rows if r["cell"][2] == goal]) for goal in OBJECTIVES]
    first = [r for r in rows if r["cell"][1] in CHIPS[:3]]
    for name, some in [*kinds, ("gemmini, simba, nvdla", first)]:
        chosen = list(some)
        if not chosen:
            continue
        within = [
            f"{sum(r['gap'] <= gap for r in chosen) / len(chosen):.0%}" for gap in GAPS.values()
        ]
        to_one = [r["reached"].get("0.01", float("inf")) for r in chosen]
        figures = [
            f"{statistics.median(r['gap'] for r in chosen):.2%}",
            f"{statistics.median(to_one):.2f}".replace("inf", "more"),
            f"{statistics.median(r['seconds'] for r in chosen):.2f}",
        ]
        yield f"| {name} | {len(chosen)} | {' | '.join([*within, *figures])} |"


def certificates(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how large certificates are, and what it takes to write and to check them."""
    some = [row for row in rows if "bytes" in row.get("certificate", {})]
    if not some:
        return
    figures = {
        "bytes": [row["certificate"]["bytes"] for row in some],
        "leaves": [row["certificate"]["leaves"] for row in some],
        "s to find": [row["seconds"] for row in some],
        "s to write": [row["certificate"]["write"] for row in some],
        "s to check": [row["certificate"]["check"] for row in some],
    }
    refused = sum("refused" in row.get("certificate", {}) for row in rows)
    yield f"{len(some)} certificates, all verified; {refused} refused"
    for name, values in figures.items():
        yield f"| {name} | {statistics.median(values):,.2f} | {max(values):,.2f} |"


def main() -> None:
    """Search what is not there yet, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--cells", type=int, default=400)
    parser.add_argument("--skip", type=int, default=0, help="so many of them, the first ones")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--free", action="store_true")
    parser.add_argument("--certify", action="store_true")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    rows = [json.loads(line) for line in lines]
    there = {tuple(row["cell"]) for row in rows}
    layers, cells = shapes(), drawn(given.skip + given.cells)[given.skip :]
    for cell in () if given.table else cells:
        if (*cell, given.free) in there:
            continue
        row = searched(cell, layers[cell[0]], given.seconds, given.free, given.certify)
        rows.append(row)
        with given.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        sys.stdout.write(f"{' '.join(cell)} {row['gap']:.3%} {row['seconds']:.1f} s\n")
        sys.stdout.flush()
    wanted = {(*cell, given.free) for cell in cells}
    of_space = [row for row in rows if tuple(row["cell"]) in wanted]
    sys.stdout.write("\n".join([*table(of_space), *certificates(of_space)]) + "\n")


if __name__ == "__main__":
    main()
