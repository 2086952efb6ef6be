"""All trainings of a comparison: what they are made from, which there are, and their report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

from maestro_env.base.registry import look_up
from maestro_env.experiments.papers.sparse.curves import CURVES, draw_curves
from maestro_env.experiments.papers.sparse.transformer.pretraining import (
    Pretraining,
    Setup,
    Size,
    Trained,
)
from maestro_env.experiments.papers.sparse.transformer.quality import (
    CONTROLS,
    Control,
    ControlSetup,
    Quality,
)
from maestro_env.experiments.papers.sparse.transformer.shards import Source, shards
from maestro_env.experiments.papers.sparse.transformer.tables import print_tables
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.store.running import run_setups
from maestro_env.experiments.store.versions import Versions


@dataclass(frozen=True)
class Pretrainings:
    """What is trained: each arm from each seed.

    Args:
        others: as in ``Setup``.
    """

    arms: Sequence[str]
    seeds: Sequence[int]
    steps: int
    rate: float
    size: Size
    source: Source

    def setups(self) -> list[Setup]:
        """Return all trainings, seed by seed, so that a part of them treats all arms alike.

        Raises:
            SparsityError, TransformerError, UnknownNameError, UsageError: some cannot be.
        """
        self.source.require()
        known = self.size.arms(self.steps)
        for arm in self.arms:
            look_up("arm", arm, known)
        return [
            Setup(arm, seed, self.steps, self.rate, self.size, self.source)
            for seed, arm in product(self.seeds, self.arms)
        ]

    def controls(self, directory: Path, versions: Versions) -> list[Control]:
        """Return what trainings are compared with."""
        return [
            Control(
                ControlSetup(control, seed, self.source.held),
                directory=directory,
                versions=versions,
            )
            for seed, control in product(self.seeds, CONTROLS)
        ]


def conduct(trainings: Pretrainings, config: Any) -> int:
    """Train what is not there yet, print tables, and return the exit status."""
    return run_setups(
        "sparse",
        config,
        asdict(trainings.source) | asdict(trainings.size),
        ("torch",),
        Pretraining,
        trainings.setups(),
        lambda works: _report(trainings, works, config.svg),
        lambda directory, here: [
            *shards(trainings.source, directory, here),
            *trainings.controls(directory, here),
        ],
    )


def _report(trainings: Pretrainings, works: Sequence[Pretraining], svg: bool) -> None:
    found: dict[str, list[Trained]] = {}
    for work in works:
        if (trained := work.read()) is not None:
            found.setdefault(work.setup.arm, []).append(trained)
    controls: dict[str, list[Quality]] = {}
    for control in trainings.controls(works[0].directory, works[0].versions):
        if (measured := control.read()) is not None:
            controls.setdefault(control.setup.control, []).append(measured)
    if found:
        print_tables(trainings.size.arms(trainings.steps), found, controls)
        curves = {arm: [each.curve for each in trained] for arm, trained in found.items()}
        png = works[0].directory / CURVES
        plot(png, lambda: draw_curves({"": curves}, "loss in training"), svg)
