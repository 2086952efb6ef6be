"""What mappers miss: their costs against the proven optimum of every cell of Table III."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from itertools import chain, product
from typing import Any

import numpy as np

from maestro_env.evaluation.models import MODELS
from maestro_env.experiments.papers.paper.items import (
    FilledFolder,
    Folder,
    Item,
    Lines,
    Scale,
    marl_paper,
    table3,
)
from maestro_env.experiments.papers.paper.items.table3 import (
    MAPPERS,
    MARL,
    OWN,
    iqm_columns,
    iqm_figures,
    labels,
    most_seeds,
)
from maestro_env.experiments.papers.paper.ledger import ARENA_COLUMNS, Run
from maestro_env.experiments.papers.paper.ratios import (
    Ratio,
    group_lines,
    group_tables,
    groups_of,
    number,
)
from maestro_env.experiments.papers.paper.results import CsvRow, CsvRows, grouped, pivot
from maestro_env.experiments.shown.tables import significant

_MAPPERS = (*MAPPERS, OWN)
_EARLY = 100
"""A number of samples below all of Table III."""
_PERCENTS = (5, 2, 1, 0)
"""Above the optimum is near it, or is the optimum itself."""
_SHOWN = (MARL, "ga_log", "gamma", "random_log")
"""Mappers whose regrets are shown for every cell."""
_APART = 0.01
"""A cell tells two mappers apart if this share of its optimum lies between their intervals."""
_SOLVED = 0.9
"""A mapper solves a cell if this share of its searches finds the optimum."""


def _runs(scale: Scale) -> Iterator[Run]:
    runs = chain(table3.ITEM.runs(scale), marl_paper.ITEM.runs(scale))
    return (run for run in runs if "proof" in MODELS[run.model].abilities)


def _checkpoints(found: FilledFolder) -> list[int]:
    return sorted({_EARLY, *found.scale.checkpoints})


def _arrivals(found: FilledFolder) -> Lines:
    """Yield after how many samples the median search of a mapper is near the optima of a group."""
    yield ("group", "mapper", "percent", "searches", "median", "share")
    groups = groups_of(found.arenas).items()
    for (name, group), mapper, percent in product(groups, _MAPPERS, _PERCENTS):
        needed = [
            arena.samples_to_within(mapper, percent).samples for arena in group if arena.has(mapper)
        ]
        if needed:
            pooled = np.concatenate(needed)
            figures = float(np.median(pooled)), float(np.mean(np.isfinite(pooled)))
            yield [name, mapper, percent, len(pooled), *map(number, figures)]


def _cells(found: FilledFolder) -> Lines:
    """Yield every mapper's regrets in every cell, and how many of its searches find the optimum."""
    checkpoints = _checkpoints(found)
    header = (*ARENA_COLUMNS, "optimum", "lower_bound", "mapper", "seeds", "arrived")
    yield (*header, *iqm_columns("regret", checkpoints))
    for arena, mapper in product(found.arenas, _MAPPERS):
        if arena.has(mapper):
            regrets = arena.bests(mapper, np.array(checkpoints)) / arena.least - 1
            arrived = np.count_nonzero(np.isfinite(arena.samples_to_within(mapper, 0).samples))
            least = arena.least, arena.goal.lower_bound
            yield [*arena.keys, *least, mapper, len(regrets), arrived, *iqm_figures(regrets)]


def _view(folder: Folder) -> dict[str, Any]:
    cells, ratios, arrivals = map(folder.rows, ("cells.csv", "ratios.csv", "arrivals.csv"))
    label = labels(cells)

    def regret(row: CsvRow) -> str:
        return Ratio.of(row).told(lambda ratio: _percent(ratio - 1))

    def arrival(row: CsvRow) -> str:
        samples = float(row["median"])
        told = "never" if math.isinf(samples) else f"{samples:,.0f}"
        return f"{told} ({float(row['share']):.0%})"

    near = [
        {**row, "percent": f"{row['percent']} %" if row["percent"] != "0" else "optimum"}
        for row in arrivals
        if row["group"] == "exact" or row["percent"] in ("2", "0")
    ]
    # Half-way through the columns of Table III, and the last one.
    checkpoints = folder.scale.checkpoints
    judged = checkpoints[len(checkpoints) // 2], checkpoints[-1]
    found = [_cell(rows, judged) for rows in grouped(cells, *ARENA_COLUMNS).values()]
    kinds = Counter((cell["hardware"], cell["objective"]) for cell in found)
    return {
        "seeds": most_seeds(cells),
        "ratios": group_tables(ratios, regret, label),
        "arrivals": pivot("mapper", near, ("group", "percent"), arrival, label),
        "cells": found,
        "kinds": list(kinds.items()),
        "shown": [label({"mapper": each}) for each in _SHOWN],
        "judged": judged,
        "verdicts": {},
    }


def _percent(regret: float) -> str:
    return f"{100 * regret:z,.{0 if regret >= 0.1 else 2}f}"


def _cell(rows: CsvRows, judged: tuple[int, int]) -> dict[str, Any]:
    """Return what the page shows of a cell, from the rows of its mappers."""
    first, mappers = rows[0], {row["mapper"]: row for row in rows}
    optimum, bound = float(first["optimum"]), float(first["lower_bound"])
    arrived, seeds = (sum(int(row[name]) for row in rows) for name in ("arrived", "seeds"))
    own = mappers.get(MARL)
    return {
        **{name: first[name] for name in ARENA_COLUMNS},
        "optimum": optimum,
        "above": optimum - bound,
        "excess": significant(100 * (optimum / bound - 1), 3),
        "regrets": [
            _percent(float(mappers[each][f"regret_{judged[0]}"])) if each in mappers else "-"
            for each in _SHOWN
        ],
        "found": arrived / seeds,
        "apart": [_apart(rows, samples) for samples in judged],
        "solved": own is not None and int(own["arrived"]) >= _SOLVED * int(own["seeds"]),
    }


def _apart(rows: CsvRows, samples: int) -> bool:
    """Say whether a cell tells its best and its median mapper apart after so many samples.

    Their intervals have to lie ``_APART`` from each other. One search has no interval.
    """
    names = [f"{kind}_{samples}" for kind in ("regret", "low", "high")]
    several = (row for row in rows if row["seeds"] != "1")
    regrets = sorted([float(row[name]) for name in names] for row in several)
    return bool(regrets) and regrets[len(regrets) // 2][1] - regrets[0][2] > _APART


ITEM = Item(
    "optima",
    runs=_runs,
    files={
        "ratios.csv": lambda found: group_lines(found.arenas, _MAPPERS, None, _checkpoints(found)),
        "arrivals.csv": _arrivals,
        "cells.csv": _cells,
    },
    view=_view,
)
