"""The paper's own agents, without what this project added to them, beside ``marl``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper.frame import Item, Places, Scale, searches
from experiments.paper.ledger import ARENA_COLUMNS, Arena, Finished, Run, make_arenas
from experiments.paper.printed import MARL
from experiments.paper.reach import samples_to_cost
from experiments.paper.rows import read_rows, select
from experiments.paper.table3 import write_costs, write_leads
from experiments.paper.table3_view import OWN

_MAPPERS = (MARL, OWN, "random_log")
_SLOW = "ppo"
_TO_PPO = "to_ppo.csv"


class MarlPaper(Item):
    """Searches of ``marl_paper`` and others on Table III's cells, from the same seeds.

    ``marl`` and ``random_log`` are run again here, as result files keep no searches: from the same
    seeds they find the same. How soon they find what ``ppo`` ends with is told by Table III's file.
    """

    name = OWN

    def runs(self, scale: Scale) -> Iterator[Run]:
        for hardware in scale.hardware:
            yield from searches(
                scale.layers, scale.objectives, _MAPPERS, scale.seeds, scale.samples, hardware
            )

    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        arenas = make_arenas(finished, scale.samples)
        write_costs(self, places, arenas, _MAPPERS, scale.checkpoints)
        complete = [arena for arena in arenas if arena.has(*_MAPPERS)]
        against = {OWN: [OWN]}
        write_leads(self, places, complete, against, scale.checkpoints, len(arenas))
        targets = _targets(places.results, scale.samples)
        needed = (
            _samples_to(each, targets[each.keys]) for each in complete if each.keys in targets
        )
        self.put(places, _TO_PPO, (*ARENA_COLUMNS, "target", "budget", *_MAPPERS), needed)

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
    return {tuple(row[key] for key in ARENA_COLUMNS): float(row[f"iqm_{samples}"]) for row in rows}


def _samples_to(arena: Arena, target: float) -> list[object]:
    """Return a target, the budget, and the samples that each mapper's median search needs."""
    needed = [samples_to_cost(arena.searches(mapper), target).median for mapper in _MAPPERS]
    return [*arena.keys, f"{target:.6g}", arena.samples, *needed]
