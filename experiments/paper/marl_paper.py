"""The paper's own agents, without what this project added to them, beside ``marl``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from experiments.paper.frame import Item, searches
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

    def runs(self) -> Iterator[Run]:
        scale = self.scale
        for hardware in scale.hardware:
            yield from searches(
                scale.layers, scale.objectives, _MAPPERS, scale.seeds, scale.samples, hardware
            )

    def write(self, finished: Mapping[Run, Finished]) -> None:
        arenas = make_arenas(finished, self.scale.samples)
        write_costs(self, arenas, _MAPPERS)
        complete = [arena for arena in arenas if arena.has(*_MAPPERS)]
        write_leads(self, complete, {OWN: [OWN]}, len(arenas))
        path = self.results / "table3" / "cells.csv"
        # What ppo ends with in each of Table III's cells: the interquartile mean.
        ends = select(read_rows(path), mapper=_SLOW) if path.exists() else []
        targets = {
            tuple(row[key] for key in ARENA_COLUMNS): float(row[f"iqm_{self.scale.samples}"])
            for row in ends
        }
        needed = (
            _samples_to(each, targets[each.keys]) for each in complete if each.keys in targets
        )
        self.put(_TO_PPO, (*ARENA_COLUMNS, "target", "budget", *_MAPPERS), needed)

    def view(self) -> dict[str, Any]:
        rows = self.rows(_TO_PPO)
        finite = [row for row in rows if np.isfinite(float(row["target"]))]
        return {
            "fewer": {
                mapper: [float(row["budget"]) / float(row[mapper]) for row in finite]
                for mapper in _MAPPERS
            },
            "cells": len(finite),
            "of": len(rows),
            "verdicts": {},
        }


def _samples_to(arena: Arena, target: float) -> list[object]:
    """Return a target, the budget, and the samples that each mapper's median search needs."""
    needed = [samples_to_cost(arena.searches[mapper], target).median for mapper in _MAPPERS]
    return [*arena.keys, f"{target:.6g}", arena.samples, *needed]
