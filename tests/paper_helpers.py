"""Finished searches made up by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from experiments.cells import Finished
from experiments.files import ensure_directory
from experiments.paper.item import Places, Run
from experiments.windows import Windows

LONG, SHORT = 1000, 100
PPO = Run("vgg16_l2", "latency", "ppo", 0, LONG)
MARL = replace(PPO, mapper="marl", samples=SHORT)


def made_up(
    run: Run,
    improvements: Sequence[tuple[int, float]],
    returns: Sequence[float] = (),
    choices: Sequence[Sequence[float]] = (),
    spreads: Sequence[Sequence[float]] = (),
    warm_up: int = 0,
) -> Finished:
    """A search that found these bests at these evaluations, and did this in equal windows."""
    windows = None
    if returns:
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
        at=np.array([at for at, _ in improvements], dtype=np.int64),
        values=np.array([value for _, value in improvements], dtype=np.float64),
        best_point=(0,) if improvements else None,
        seconds=1.0,
        model_seconds=0.5,
        versions={"commit": "0"},
        windows=windows,
    )


def places_in(directory: Path) -> Places:
    """Directories of an item's files, made."""
    made = Places(directory / "work", directory / "results", directory / "images", "images")
    for each in (made.work, made.results, made.images):
        ensure_directory(each)
    return made
