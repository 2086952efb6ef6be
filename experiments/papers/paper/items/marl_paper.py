"""The paper's own agents, ``marl_paper``, and others on Table III's cells, from the same seeds.

``marl`` and ``random_log`` are run again here, as result files keep no searches: from the same
seeds they find the same. How soon they find what ``ppo`` ends with is told by Table III's file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from maestro_env.experiments.papers.paper.items import (
    FilledFolder,
    Folder,
    Item,
    Lines,
    Scale,
    searches,
)
from maestro_env.experiments.papers.paper.items.table3 import MARL, OWN, shared_files
from maestro_env.experiments.papers.paper.ledger import ARENA_COLUMNS, Run
from maestro_env.experiments.papers.paper.results import read_rows, select

_MAPPERS = (MARL, OWN, "random_log")


def _runs(scale: Scale) -> Iterator[Run]:
    problems = scale.layers, scale.objectives
    for hardware in scale.hardware:
        yield from searches(*problems, _MAPPERS, scale.seeds, scale.samples, [hardware])


def _to_ppo(found: FilledFolder) -> Lines:
    """Yield the samples to what ``ppo`` ends with in Table III's cells: the interquartile mean."""
    yield (*ARENA_COLUMNS, "target", "budget", *_MAPPERS)
    path = found.results / "table3" / "cells.csv"
    ends = select(read_rows(path), mapper="ppo") if path.exists() else []
    targets = {
        tuple(row[key] for key in ARENA_COLUMNS): float(row[f"iqm_{found.scale.samples}"])
        for row in ends
    }
    for arena in found.arenas:
        target = targets.get(arena.keys)
        if target and arena.has(*_MAPPERS):
            needed = (arena.samples_to(mapper, target).median for mapper in _MAPPERS)
            yield (*arena.keys, f"{target:.6g}", arena.samples, *needed)


def _view(folder: Folder) -> dict[str, Any]:
    rows = folder.rows("to_ppo.csv")
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


ITEM = Item(
    OWN,
    runs=_runs,
    files=shared_files(_MAPPERS, {OWN: [OWN]}) | {"to_ppo.csv": _to_ppo},
    view=_view,
)
