"""AccelForge's mapper on its own eyeriss and simba, beside ours with its conventions.

A script, not a part of the suite. AccelForge needs Python 3.12 (pip install accelforge==1.0.467).
SRAM is priced by its CACTI, whose program may have to be built again (make opt)::

    python tests/accelforge_chips.py --accelforge PYTHON --out chips.jsonl

Both tools read the same file of a chip: AccelForge's, with the numbers of its component models. All
tiles divide. The file has a line for each cell; those that are there are not searched again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any

from dividing import Search, dividing

from maestro_env import MappingError, find_layer, find_objective
from maestro_env.accelerators.elements import Element, MemoryElement
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.exchange import nest_from_accelforge
from maestro_env.hierarchy.evaluation import Conventions, HierarchyEvaluator
from maestro_env.workloads.files.accelforge import workload_text

CHIPS = ("eyeriss", "simba")
LAYERS = (
    *("gemm:M=256,N=256,K=256", "gemm:M=512,N=512,K=512", "gemm:M=128,N=768,K=768"),
    *("gemm:M=1,N=4096,K=4096", "mobilenetv2_l5", "resnet18_l2"),
)
GOALS = ("energy", "edp")
WAYS = ("even", "uneven")
"""Of AccelForge: whether a memory holds tensors at two places of the loops at most, or at any."""

CONVENTIONS = Conventions(share="tiles", exposed=False, halo="innermost")
SIDE = str(Path(__file__).with_name("accelforge_side.py").absolute())

Found = dict[str, Any]


def forgetting(hierarchy: Hierarchy) -> Hierarchy:
    """Let memories of one tensor load their tile in each step, as AccelForge's in turn do."""

    def cold(each: Element) -> Element:
        if isinstance(each, MemoryElement) and len(each.keeps) == 1:
            return replace(each, forgets=each.keeps)
        return each

    return replace(hierarchy, elements=[*map(cold, hierarchy.elements)])


def choices(hierarchy: Hierarchy) -> Iterator[Hierarchy]:
    """Yield the accelerator with each choice of what its second memory keeps, if it may bypass."""
    first, buffer, *rest = hierarchy.elements
    assert isinstance(buffer, MemoryElement)
    least = 0 if len(buffer.keeps) == 3 else len(buffer.keeps)
    for count in range(least, len(buffer.keeps) + 1):
        for keeps in combinations(buffer.keeps, count):
            kept = [replace(buffer, keeps=keeps)] if keeps else []
            yield replace(hierarchy, elements=[first, *kept, *rest])


def ours(chip: str, name: str, goal: str, stays: bool) -> Found:
    """Search, as AccelForge counts or, if words may stay, with a history, and bound that."""
    began, searches = time.process_time(), []
    for choice in choices(find_hierarchy(chip)):
        hardware = choice if stays else forgetting(choice)
        problem = dividing(find_layer(name), hardware, CONVENTIONS)
        searches.append(Search(problem, find_objective(goal)))
        searches[-1].begin(more=2)
    for search in searches:
        search.best = min(each.best for each in searches)
        search.bound_for(2.0 * stays)
    value, bound = (min(getattr(each, key) for each in searches) for key in ("best", "bound"))
    return {"value": value, "bound": bound, "seconds": time.process_time() - began}


def theirs(python: str, chip: str, name: str, goal: str, way: str, seconds: float) -> Found | None:
    """Let AccelForge map a layer, and price its mapping here; None beyond the limit."""
    layer, hierarchy, file = find_layer(name), find_hierarchy(chip), Path(f"{chip}.af.yaml")
    file.write_text(Path(chip).read_text() + workload_text(layer))
    command = [python, SIDE, "map", str(file), goal, way, str(seconds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, cwd=file.parent)
    if done.returncode < 0:
        return None
    done.check_returncode()
    found: Found = json.loads(done.stdout.splitlines()[-1])
    found["value"] *= 1e15 * (hierarchy.clock_mhz or 0) if goal == "edp" else 1e9
    try:
        back = nest_from_accelforge(found["mapping"], layer, hierarchy)
    except MappingError as error:
        return found | {"refused": str(error)}
    evaluator = HierarchyEvaluator(layer, forgetting(back.hierarchy), CONVENTIONS)
    if cost := evaluator.evaluate(back.mapping)[0]:
        found["here"] = cost.energy_nj * (cost.latency_cycles if goal == "edp" else 1)
    return found


def table(rows: list[Found]) -> Iterator[str]:
    """Yield values, and how far others are from ours, with CPU-seconds."""
    yield "| chip | layer | goal | ours | even | uneven | s | even s | uneven s | stays | gap | s |"
    yield "|---|---|---|" + "---:|" * 9
    for row in rows:
        value, stays, runs = row["ours"]["value"], row["stays"], [row.get(way) for way in WAYS]
        parts = [f"{run['value'] / value - 1:+.2%}" if run else "" for run in runs]
        times = [f"{run['seconds']:.1f}" if run else "" for run in runs]
        own = [f"{stays['value'] / value - 1:+.2%}", f"{stays['value'] / stays['bound'] - 1:.2%}"]
        first, last = (f"{row[run]['seconds']:.1f}" for run in ("ours", "stays"))
        cells = [*row["cell"], f"{value:.6g}", *parts, first, *times, *own, last]
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Search what is not there yet, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--accelforge", metavar="PYTHON", help="a Python that has AccelForge")
    parser.add_argument("--seconds", type=float, default=600.0)
    for name, all_of in (("layers", LAYERS), ("goals", GOALS), ("ways", WAYS)):
        parser.add_argument(f"--{name}", nargs="*", default=all_of)
    parser.add_argument("--out", type=Path, default=Path("chips.jsonl"))
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.open()] if given.out.exists() else []
    folder = given.out.absolute().parent
    (folder / "layer.yaml").write_text(workload_text(find_layer(given.layers[0])))
    subprocess.run([given.accelforge, SIDE, "chips", "layer.yaml"], check=True, cwd=folder)
    for layer, chip, goal in product(given.layers, CHIPS, given.goals):
        if [chip, layer, goal] in [row["cell"] for row in rows]:
            continue
        file = str(folder / f"{chip}.yaml")
        row: Found = {"cell": [chip, layer, goal]}
        row |= {run: ours(file, layer, goal, run == "stays") for run in ("ours", "stays")}
        for way in given.ways:
            row[way] = theirs(given.accelforge, file, layer, goal, way, given.seconds)
        rows.append(row)
        with given.out.open("a") as out:
            out.write(json.dumps(row) + "\n")
    sys.stdout.write("\n".join(table(rows)) + "\n")


if __name__ == "__main__":
    main()
