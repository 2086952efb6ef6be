"""The table of ``maestro_env.optimum.known``: its lines, made of what was found."""

from __future__ import annotations

from collections.abc import Iterable

from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell.files import write_csv
from maestro_env.experiments.store.claims import claimed
from maestro_env.optimum.known import COLUMNS, KEY, TABLE, KnownOptimum, read_table


def write_table(found: Iterable[tuple[Goal, KnownOptimum]]) -> int:
    """Add lines to the table, or replace those of the same goals; return how many it then has."""
    with claimed(TABLE):
        lines = [*(read_table() if TABLE.exists() else ()), *(_line(*each) for each in found)]
        by_key = {tuple(line[name] for name in KEY): line for line in lines}
        rows = [[line[name] for name in COLUMNS] for _, line in sorted(by_key.items())]
        write_csv(TABLE, COLUMNS, rows)
    return len(rows)


def _line(goal: Goal, optimum: KnownOptimum) -> dict[str, str]:
    space = goal.require("levels").space
    return {
        "layer": space.layer.shape,
        "hardware": space.hardware.name,
        "schema": space.schema,
        "tiles": space.tiles,
        "objective": goal.objective.name,
        "value": repr(optimum.value),
        "bound": repr(optimum.bound),
        "point": " ".join(map(str, optimum.point.tolist())),
        "nodes": str(optimum.nodes),
        "seconds": f"{optimum.seconds:.2f}",
        "certificate": optimum.certificate,
    }
