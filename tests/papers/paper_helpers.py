"""Finished searches made up by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.experiments.papers.paper.items import QUICK, Folder, Item, Scale
from maestro_env.experiments.papers.paper.ledger import Arena, Run, goal, make_arenas
from maestro_env.experiments.search.cells import Finished, Windows

LONG, SHORT = 1000, 100
PPO = Run("vgg16_l2", "latency", "ppo", 0, LONG)
MARL = replace(PPO, mapper="marl", samples=SHORT)
Found = dict[int, float]
"""What a search finds, by evaluation."""


def made_up(
    run: Run,
    found: Found,
    returns: Sequence[float] = (1.0,),
    choices: Sequence[Sequence[float]] = (),
    spreads: Sequence[Sequence[float]] = (),
    warm_up: int = 0,
) -> Finished:
    """A search that found these bests at these evaluations, and did this in equal windows."""
    wide = np.zeros((len(returns), 1))
    windows = Windows(
        np.arange(1, len(returns) + 1) * run.samples // len(returns),
        np.array(returns, dtype=np.float64),
        np.array(choices) if choices else wide,
        np.array(spreads) if spreads else wide,
    )
    return Finished(
        run.cell,
        evaluations=run.samples,
        invalid=0,
        unique=run.samples,
        warm_up=warm_up,
        at=np.array(list(found), dtype=np.int64),
        values=np.array(list(found.values()), dtype=np.float64),
        after=np.array(list(found), dtype=np.float64),
        best_point=(0,) if found else None,
        seconds=1.0,
        model_seconds=0.5,
        versions={"commit": "0"},
        windows=windows,
    )


def arena(searches: Mapping[str, Sequence[Found]]) -> Arena:
    """A problem with these searches of each mapper."""
    runs = {
        replace(MARL, mapper=mapper, seed=seed): found
        for mapper, each in searches.items()
        for seed, found in enumerate(each)
    }
    (made,) = make_arenas({run: made_up(run, found) for run, found in runs.items()}, SHORT)
    return made


def ends(*values: float) -> list[Found]:
    """Searches that find these values at once and nothing else."""
    return [{1: value} for value in values]


def searched(run: Run) -> Finished:
    """A search of a run that finds something, more or less late."""
    columns = len(goal(run).problem.space.parameters)
    still = np.full((4, columns), 0.1).tolist()
    found = {1: 200.0, run.samples // 2: 100.0 - run.seed}
    return made_up(run, found, [1.0, 2.0, 3.0, 3.0], still, still)


def make_folder(item: Item, directory: Path, scale: Scale = QUICK) -> Folder:
    """The files of an item in a directory."""
    places = (directory / name for name in ("out", "results", "images"))
    return Folder(item, scale, *places)


def view(item: Item, directory: Path, finished: Mapping[Run, Finished]) -> dict[str, Any]:
    """What the page shows of an item after these searches."""
    folder = make_folder(item, directory)
    folder.write(finished)
    return item.view(folder)
