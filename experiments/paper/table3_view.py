"""What the page shows of Table III, from its result files and those of the paper's own agents."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from experiments.paper.frame import Item
from experiments.paper.ledger import ARENA_COLUMNS
from experiments.paper.printed import MARL, OWN, PAPERS
from experiments.paper.ratios import Ratio
from experiments.paper.reach import interval
from experiments.paper.rows import Row, Rows, Table, grouped, pivot, read_rows, select
from experiments.paper.verdicts import at_least, everywhere

_MISPRINT = 0.01
_LEVEL = 0.01
_FEWER = 30
_RESNET18_TWIN = dict(zip(ARENA_COLUMNS, ("exact", "paper", "resnet50_l2", "latency"), strict=True))
"""The reporting cell with the shape of resnet18_l2."""
_RESNET18_LOWER = 1.5


def view(item: Item) -> dict[str, Any]:
    """Return what the template shows."""
    # Files that the item of the paper's own agents has too.
    shared = ("networks", "ratios", "leads", "cells")
    networks, ratios, leads, cells = (_with_own_agents(item, name) for name in shared)
    fewer = item.rows("fewer.csv")
    most = most_seeds(cells)
    label = partial(mapper_label, cells)
    whole = select(networks, model="exact", layer="")
    printed = [row for row in whole if row["printed"]]
    sums = [row for row in printed if row["ratio"]]
    ahead = [Ratio.of(row).worse for row in sums]
    margins = list(map(_reaches, sums))
    compared = [row for row in ratios if row["of"] != "0"]
    soon = [Ratio.of(r).worse for r in select(compared, group="exact") if r["mapper"] in PAPERS]
    own, resnet18, everyone = _own_agents(ratios), _resnet18(cells, fewer), everywhere(soon)
    slow = select(fewer, single_agent="ppo")
    times = _times(slow)
    median = interval([np.array(times)], lambda drawn: np.median(drawn[0], axis=0))
    return {
        "networks": pivot("mapper", whole, ("network", "objective"), _beside_printed, label),
        "ratios": ratio_tables(compared, Ratio.of, label),
        "leads": pivot("against", leads, ("samples",), "{0[yes]} of {0[counted]}".format, label),
        "seeds": most,
        "misprints": [
            row
            for row in printed
            if abs(float(row["printed"]) / float(row["recomputed"]) - 1) > _MISPRINT
        ],
        "sums": len(sums),
        "ahead": ahead.count(True),
        "not_ahead": sorted({row["mapper"] for row in sums if not Ratio.of(row).worse}),
        "level": sum(abs(math.log(float(row["ratio"]))) <= _LEVEL for row in sums),
        "reached": margins.count(True),
        "largest": max((float(row["ratio"]) for row in sums), default=None),
        "soon": (soon.count(True), len(soon)),
        "own": own,
        # How many times fewer samples MARL needs than single agents, by cell.
        "fewer": {
            "ppo": times,
            "box": _times(select(fewer, single_agent="ppo_box")),
            "hardware": {name: _times(rows) for (name,), rows in grouped(slow, "hardware").items()},
            "interval": median,
            "of": len(slow),
        },
        "resnet18": resnet18,
        "verdicts": {
            "ahead": everywhere(ahead),
            "margins": everywhere(margins),
            # Our MARL may beat the other mappers where the paper's own agents do not.
            "budgets": f"`{MARL}` only" if everyone and own[1] else everyone,
            "fewer": at_least(*median, _FEWER),
            "resnet18": resnet18["verdict"] if resnet18 else None,
        },
    }


def _with_own_agents(item: Item, name: str) -> Rows:
    """Return the rows of a file, and those of the paper's own agents if they were searched."""
    path = item.results / OWN / f"{name}.csv"
    beside = read_rows(path) if path.exists() else []
    own = [row for row in beside if OWN in (row.get("mapper"), row.get("against"))]
    return [*item.rows(f"{name}.csv"), *own]


def ratio_tables(
    ratios: Rows, cell: Callable[[Row], object], label: Callable[[Row], str]
) -> list[tuple[str, Table]]:
    """Return a titled table of ratios for each group of cells."""
    return [
        (f"{group} ({rows[0]['cells']} cells)", pivot("mapper", rows, ("samples",), cell, label))
        for (group,), rows in grouped(ratios, "group").items()
    ]


def most_seeds(cells: Rows) -> int:
    """Return how many seeds the mappers with most of them have."""
    return max((int(row["seeds"]) for row in cells), default=0)


def mapper_label(cells: Rows, row: Row) -> str:
    """Return what names a row: its mapper, and its seeds if it has fewer than the most."""
    mapper = row.get("mapper") or row["against"]
    model = row.get("group", "exact").partition(",")[0]
    seeds = [int(cell["seeds"]) for cell in select(cells, model=model, mapper=mapper)]
    if not seeds or min(seeds) == most_seeds(cells):
        return mapper
    told = " to ".join(map(str, sorted({min(seeds), max(seeds)})))
    return f"{mapper} ({told} seed{'s' if max(seeds) > 1 else ''})"


def _beside_printed(row: Row) -> str:
    paper = f" (paper: {float(row['recomputed']):.2f})" if row["recomputed"] else ""
    return f"{Ratio.of(row)}{paper}"


# --- Claims -------------------------------------------------------------------------------------


def _reaches(row: Row) -> bool | None:
    ratio = Ratio.of(row)
    return at_least(ratio.low, ratio.high, float(row["recomputed"]))


def _own_agents(ratios: Rows) -> tuple[int, int, int]:
    """Compare the paper's own agents with its other mappers by their costs relative to MARL's.

    Returns:
        Numbers of comparisons in which they cost less, more, and of all, on ``paper`` hardware,
        where every mapper finds valid mappings. Two differ if their intervals do not overlap.
    """
    there = [row for row in select(ratios, group="exact, paper") if row["ratio"]]
    own = {row["samples"]: Ratio.of(row) for row in select(there, mapper=OWN)}
    rivals = [row for row in there if row["mapper"] in PAPERS and row["samples"] in own]
    pairs = [(own[row["samples"]], Ratio.of(row)) for row in rivals]
    better = sum(ours.high < rival.low for ours, rival in pairs)
    return better, sum(rival.high < ours.low for ours, rival in pairs), len(pairs)


def _times(fewer: Rows) -> list[float]:
    return [float(row["times"]) for row in fewer if row["times"]]


def _resnet18(cells: Rows, fewer: Rows) -> dict[str, Any] | None:
    """Return the figures of the layer with the shape of resnet18_l2, against ``ppo``.

    The interval of the ratio is that of the ends of both interquartile means' intervals.
    """
    found = {row["mapper"]: row for row in select(cells, **_RESNET18_TWIN)}
    times = select(fewer, single_agent="ppo", **_RESNET18_TWIN)
    if not times or not {MARL, "ppo"} <= found.keys():
        return None
    columns = [name for name in cells[0] if name.startswith(("iqm_", "low_", "high_"))][-3:]
    slow, fast = ([float(found[who][name]) for name in columns] for who in ("ppo", MARL))
    return {
        "fewer": float(times[0]["times"]),
        "lower": slow[0] / fast[0],
        "verdict": at_least(slow[1] / fast[2], slow[2] / fast[1], _RESNET18_LOWER),
    }
