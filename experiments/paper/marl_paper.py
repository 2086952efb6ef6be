"""The paper's own agents, without what this project added to them, beside ``marl``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper.frame import Item, Places, Row, Scale, read_rows
from experiments.paper.ledger import Finished, Run, make_arenas
from experiments.paper.printed import MARL
from experiments.paper.reach import samples_to_cost
from experiments.paper.table3 import (
    NETWORKS,
    RATIOS,
    cells,
    cells_header,
    leads,
    networks,
    ratios,
    table_writer,
)
from experiments.paper.table3_view import OWN

_MAPPERS = (MARL, OWN, "random_log")
_SLOW = "ppo"


class MarlPaper(Item):
    """Searches of ``marl_paper`` and others on Table III's cells, from the same seeds.

    ``marl`` and ``random_log`` are run again here, as result files keep no searches: from the same
    seeds they find the same. How soon they find what ``ppo`` ends with is told by Table III's file.
    """

    name = OWN

    def runs(self, scale: Scale) -> Iterator[Run]:
        cells_of = product(scale.hardware, scale.layers, scale.objectives)
        for (hardware, layer, objective), mapper in product(cells_of, _MAPPERS):
            for seed in range(scale.seeds):
                yield Run(layer, objective, mapper, seed, scale.samples, hardware)

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples)
        at = scale.checkpoints
        write = table_writer(self, places.results)
        write("cells", cells_header(at), cells(arenas, _MAPPERS, at))
        write("networks", NETWORKS, networks(arenas, _MAPPERS))
        write("ratios", RATIOS, ratios(arenas, _MAPPERS, at))
        lead = [(each, [leads(a, [OWN], each) for a in arenas if a.has(*_MAPPERS)]) for each in at]
        rows = ((OWN, samples, sum(yes), len(yes), len(arenas)) for samples, yes in lead)
        write("leads", ("against", "samples", "yes", "counted", "cells"), rows)
        targets = _targets(places.results, scale.samples)
        header = ("model", "hardware", "layer", "objective", "target", *_MAPPERS)
        needed = (
            (
                *arena.keys,
                f"{targets[arena.keys]:.6g}",
                *(samples_to_cost(arena.searches(each), targets[arena.keys]).median
                  for each in _MAPPERS),
            )
            for arena in arenas
            if arena.keys in targets and arena.has(*_MAPPERS)
        )  # fmt: skip
        write("to_ppo", header, needed)

    def view(self, results: Path) -> dict[str, Any]:
        rows = self.rows(results, "to_ppo.csv")
        finite = [row for row in rows if np.isfinite(float(row["target"]))]
        samples = max(map(int, _checkpoints(self.rows(results, "ratios.csv"))))
        return {
            "fewer": {mapper: _times_fewer(finite, mapper, samples) for mapper in _MAPPERS},
            "cells": len(finite),
            "of": len(rows),
            "verdicts": {},
        }


def _targets(results: Path, samples: int) -> dict[tuple[str, ...], float]:
    """Return what ``ppo`` ends with in each of Table III's cells: the interquartile mean."""
    path = results / "table3" / "cells.csv"
    return {
        (row["model"], row["hardware"], row["layer"], row["objective"]): float(
            row[f"iqm_{samples}"]
        )
        for row in (read_rows(path) if path.exists() else [])
        if row["mapper"] == _SLOW
    }


def _checkpoints(rows: list[dict[str, str]]) -> set[str]:
    return {row["samples"] for row in rows}


def _times_fewer(rows: list[Row] | list[dict[str, str]], mapper: str, samples: int) -> str:
    """Return how many times fewer samples than ``ppo`` spends, median over cells."""
    times = [samples / float(row[mapper]) for row in rows]
    return f"{np.median(times):.3g}" if times else "-"
