"""EDP of networks mapped to chips, free of rules: by another checkout of this package and by this.

A script, not a part of the suite:

    python tests/maps_against.py TREE --out maps.jsonl --networks resnet18 bert_base layers.csv

``map`` of either runs with its defaults, in turn, and CPU-seconds are counted; with ``--samples``
the other evaluates so many mappings of each layer. Mappings that the other tree writes are
evaluated here, as constants of chips may differ. The file has a line for each network and chip;
those that are there are not mapped again.
"""

from __future__ import annotations

import argparse
import csv
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from maestro_env import find_network
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.hierarchy.written import read_nest
from maestro_env.models import room_of

WHOLE = "best of the network"
FREE = ("--constraints", "none")
CHIPS = ("gemmini", "simba", "eyeriss", "nvdla", "tpu_v1")


def mapped(tree: Path, network: str, chip: str, out: Path, *flags: str) -> float:
    """Map a network by the command of a tree into a directory; return its CPU-seconds."""
    command = [sys.executable, "-m", "experiments", "map", network, "--hardware", chip, *flags]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, "--out", out], cwd=tree, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def edp(network: str, chip: str, directory: Path) -> float:
    """Return the EDP of the mappings in a directory of ``map``, as this tree evaluates them."""
    room = room_of("hierarchy")
    accelerator = room.with_energies(room.constrained(room.find(chip), "none"))
    assert isinstance(accelerator, Hierarchy)
    layers = {layer.name: layer for layer in find_network(network).layers}
    cycles = energy = 0.0
    with (directory / "layers.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row.get("choice", WHOLE) == WHOLE]
    for row in rows:
        path = directory / "mappings" / f"{row['layer']}.json"
        mapping, layer = read_nest(path.read_text(), accelerator, str(path)), layers[row["layer"]]
        cost, status = HierarchyEvaluator(layer, accelerator).evaluate(mapping)
        assert cost is not None, status
        # Of some networks the other tree may have one block of many.
        cycles += layer.count * cost.latency_cycles
        energy += layer.count * cost.energy_nj
    return cycles * energy


def compared(tree: Path, network: str, chip: str, others: tuple[str, ...]) -> dict[str, Any]:
    """Map a network to a chip by both trees, by the other one with some flags."""
    here = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        old, new = Path(folder) / "old", Path(folder) / "new"
        seconds = (
            mapped(tree, network, chip, old, *others),
            mapped(here, network, chip, new, *FREE),
        )
        return {
            "cell": [network, chip],
            "edp": [edp(network, chip, each) for each in (old, new)],
            "cpu": seconds,
        }


def table(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield how many times better this tree's EDP is, by network and chip, and its CPU-seconds."""
    better = {tuple(row["cell"]): row["edp"][0] / row["edp"][1] for row in rows}
    slower = {tuple(row["cell"]): row["cpu"][1] / row["cpu"][0] for row in rows}
    networks = list(dict.fromkeys(network for network, _ in better))
    yield f"| EDP, other / this; (CPU-s, this / other) | {' | '.join(CHIPS)} |"
    yield "|---|" + "---:|" * len(CHIPS)
    for network in networks:
        cells = [(network, chip) for chip in CHIPS]
        shown = [
            f"{better[each]:.3f} ({slower[each]:.2f})" if each in better else "" for each in cells
        ]
        yield f"| {Path(network).stem} | {' | '.join(shown)} |"
    of_chips = [[ratio for (_, name), ratio in better.items() if name == chip] for chip in CHIPS]
    means = [f"{statistics.geometric_mean(each):.3f}" if each else "" for each in of_chips]
    yield f"| geometric mean | {' | '.join(means)} |"
    totals = [sum(row["cpu"][side] for row in rows) for side in (0, 1)]
    yield f"CPU-seconds in all: {totals[0]:.0f} and {totals[1]:.0f}"


def main() -> None:
    """Map what is not there yet, and print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    parser.add_argument("--out", type=Path, default=Path("maps.jsonl"))
    parser.add_argument("--samples", help="of the other checkout")
    parser.add_argument("--networks", nargs="+", default=["resnet18", "mobilenetv2", "bert_base"])
    given = parser.parse_args()
    lines = given.out.read_text().splitlines() if given.out.exists() else []
    rows = [json.loads(line) for line in lines]
    there = {tuple(row["cell"]) for row in rows}
    others = ("--samples", given.samples) if given.samples else ()
    for cell in product(given.networks, CHIPS):
        if cell in there:
            continue
        rows.append(compared(given.tree, *cell, others))
        with given.out.open("a") as file:
            file.write(json.dumps(rows[-1]) + "\n")
        sys.stdout.write(f"{' '.join(cell)} {rows[-1]['edp']} {rows[-1]['cpu']}\n")
        sys.stdout.flush()
    sys.stdout.write("\n".join(table(rows)) + "\n")


if __name__ == "__main__":
    main()
