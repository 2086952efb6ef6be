"""The paper's own agents, without what this project added to them, beside ``marl``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper.frame import Item, Places, Scale, read_rows, select
from experiments.paper.ledger import Arena, Finished, Run, make_arenas
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
)
from experiments.paper.table3_view import OWN

_MAPPERS = (MARL, OWN, "random_log")
_SLOW = "ppo"
_TO_PPO = "to_ppo.csv"
_KEYS = ("model", "hardware", "layer", "objective")


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
        self.put(places, "cells.csv", cells_header(at), cells(arenas, _MAPPERS, at))
        self.put(places, "networks.csv", NETWORKS, networks(arenas, _MAPPERS))
        self.put(places, "ratios.csv", RATIOS, ratios(arenas, _MAPPERS, at))
        lead = [(each, [leads(a, [OWN], each) for a in arenas if a.has(*_MAPPERS)]) for each in at]
        rows = ((OWN, samples, sum(yes), len(yes), len(arenas)) for samples, yes in lead)
        self.put(places, "leads.csv", ("against", "samples", "yes", "counted", "cells"), rows)
        targets = _targets(places.results, scale.samples)
        there = [arena for arena in arenas if arena.keys in targets and arena.has(*_MAPPERS)]
        needed = ([*arena.keys, *_samples_to(arena, targets[arena.keys])] for arena in there)
        self.put(places, _TO_PPO, (*_KEYS, "target", "budget", *_MAPPERS), needed)

    def view(self, results: Path) -> dict[str, Any]:
        rows = self.rows(results, _TO_PPO)
        finite = [row for row in rows if np.isfinite(float(row["target"]))]
        fewer = {
            mapper: [float(row["budget"]) / float(row[mapper]) for row in finite]
            for mapper in _MAPPERS
        }
        return {
            # Medians over cells.
            "fewer": {
                name: f"{np.median(each):.3g}" if each else "-" for name, each in fewer.items()
            },
            "cells": len(finite),
            "of": len(rows),
            "verdicts": {},
        }


def _targets(results: Path, samples: int) -> dict[tuple[str, ...], float]:
    """Return what ``ppo`` ends with in each of Table III's cells: the interquartile mean."""
    path = results / "table3" / "cells.csv"
    rows = select(read_rows(path), mapper=_SLOW) if path.exists() else []
    return {tuple(row[key] for key in _KEYS): float(row[f"iqm_{samples}"]) for row in rows}


def _samples_to(arena: Arena, target: float) -> Iterator[object]:
    """Yield a target, the budget, and the samples that each mapper's median search needs."""
    yield f"{target:.6g}"
    yield arena.samples
    for mapper in _MAPPERS:
        yield samples_to_cost(arena.searches(mapper), target).median
