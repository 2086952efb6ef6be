"""What tiles gain on chips if they need not divide what they cut.

A script, not a part of the suite:

    python tests/ragged_tiles.py --out ragged.jsonl

The layers of a network with the most MACs, one of each shape, on the chips with their rules: the
best mapping with any integers as tiles beside the best in which all tiles and units divide, and
the bounds of both. The file has a line for each cell; those that are there are not searched again.
The table is printed at the end, and with --table alone.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from dividing import Search, dividing

from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.objectives import find_objective
from maestro_env.hierarchy.evaluation import Conventions
from maestro_env.models import room_of
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.zoo import models

CHIPS = ("gemmini", "eyeriss", "simba", "nvdla", "tpu_v1")
NETWORKS = ("resnet18", "mobilenetv2", "bert_base")
OBJECTIVES = ("edp", "energy")

Row = dict[str, Any]


def heaviest(network: str, count: int) -> list[Layer]:
    """Return the shapes that have the most MACs of a network, by their first layers."""
    layers, first = models()[network], dict[str, Layer]()
    macs = Counter[str]()
    for layer in layers:
        first.setdefault(layer.shape, layer)
        macs[layer.shape] += layer.macs
    return [first[shape] for shape, _ in macs.most_common(count)]


def searched(chip: str, layer: Layer, goal: str, starts: int, seconds: float) -> Row:
    """Search with both kinds of tiles, each from the best mappings of the other, too."""
    room, objective = room_of("hierarchy"), find_objective(goal)
    (problem,) = room.problems([layer], room.with_energies(room.find(chip)))
    assert isinstance(problem, HierarchyProblem)
    any_tiles = Search(problem, objective)
    any_tiles.begin()
    limited = dividing(layer, problem.hardware, Conventions())
    dividing_tiles = Search(limited, objective)
    dividing_tiles.begin(map(limited.space.dividing, any_tiles.trail[-1:-5:-1]), starts)
    any_tiles.begin([limited.space.dividing(each) for each in dividing_tiles.trail[-1:]])
    row: Row = {}
    for name, search in (("ragged", any_tiles), ("dividing", dividing_tiles)):
        search.bound_for(seconds)
        row[name] = {"best": search.best, "bound": search.bound, "seconds": search.seconds}
    row["ragged"]["best"] = min(row[name]["best"] for name in row)
    return row


def table(rows: list[Row]) -> Iterator[str]:
    """Yield what ragged tiles save by chip and network: geometric means over layers."""
    yield "| chip | objective | " + " | ".join([*NETWORKS, "all", "most", "certified"]) + " |"
    yield "|---|---|" + "---:|" * (len(NETWORKS) + 3)
    for chip, goal in product(CHIPS, OBJECTIVES):
        own = [row for row in rows if row["chip"] == chip and row["goal"] == goal]
        if not own:
            continue
        groups = [[row for row in own if row["network"] == each] for each in NETWORKS]
        cells = [f"{saved(group):.1%}" for group in [*groups, own]]
        cells.append(f"{max(saved([row]) for row in own):.1%}")
        low = saved(own, divided="bound")
        high = saved(own, ragged="bound")
        yield f"| {chip} | {goal} | {' | '.join(cells)} | {max(0.0, low):.1%} to {high:.1%} |"


def saved(rows: list[Row], ragged: str = "best", divided: str = "best") -> float:
    """Return the share that ragged tiles save of what dividing ones cost, as a geometric mean."""
    ratios = [row["ragged"][ragged] / row["dividing"][divided] for row in rows]
    return 1 - math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def main() -> None:
    """Search what is not there yet, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--starts", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=Path("ragged.jsonl"))
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.open()] if given.out.exists() else []
    there = {(row["layer"], row["chip"], row["goal"]) for row in rows}
    layers = [(network, each) for network in NETWORKS for each in heaviest(network, given.layers)]
    for goal, chip, (network, layer) in () if given.table else product(OBJECTIVES, CHIPS, layers):
        if (layer.name, chip, goal) in there:
            continue
        row = searched(chip, layer, goal, given.starts, given.seconds)
        row |= {"network": network, "layer": layer.name, "chip": chip, "goal": goal}
        rows.append(row)
        with given.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        sys.stdout.write(f"{layer.name} {chip} {goal} saves {saved([row]):.2%}\n")
        sys.stdout.flush()
    sys.stdout.write("\n".join(table(rows)) + "\n")


if __name__ == "__main__":
    main()
