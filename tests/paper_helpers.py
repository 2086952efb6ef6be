"""Finished searches made up by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.paper.frame import QUICK, Item, Scale
from experiments.paper.ledger import Arena, Run, make_arenas
from experiments.search.cells import Finished
from experiments.search.windows import Windows
from experiments.shell.files import ensure_directory

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
        best_point=(0,) if found else None,
        seconds=1.0,
        model_seconds=0.5,
        versions={"commit": "0"},
        windows=windows,
    )


def arena(searches: Mapping[str, Sequence[Found]], hardware: str = "paper") -> Arena:
    """A problem with these searches of each mapper."""
    runs = {
        replace(MARL, mapper=mapper, seed=seed, hardware=hardware): found
        for mapper, each in searches.items()
        for seed, found in enumerate(each)
    }
    (made,) = make_arenas({run: made_up(run, found) for run, found in runs.items()}, SHORT)
    return made


def ends(*values: float) -> list[Found]:
    """Searches that find these values at once and nothing else."""
    return [{1: value} for value in values]


def make_item(kind: type[Item], directory: Path, scale: Scale = QUICK) -> Item:
    """An item whose files are in a directory, which is made."""
    made = kind(scale, directory / "work", directory / "results", directory / "images")
    for each in (made.work, made.results / made.name, made.images):
        ensure_directory(each)
    return made
