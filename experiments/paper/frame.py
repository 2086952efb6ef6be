"""The frame of every table and figure: searches, result files, and what the page shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from experiments.paper.ledger import Finished, Run
from experiments.paper.rows import Rows, read_rows, select
from experiments.shell.files import write_csv

LAYERS = ("mobilenetv2_l2", "vgg16_l2")
"""The layers of the paper's figures."""

_CURVE_POINTS = 40


@dataclass(frozen=True)
class Scale:
    """How much is run.

    Args:
        name: in flags and result files.
        layers: reported on.
        hardware: presets.
        objectives: of the tables.
        seeds: of a search that costs seconds.
        few_seeds: of one that costs minutes.
        samples: of a search.
        checkpoints: numbers of samples that tables have columns for; the last is ``samples``.
        single_agent_samples: of the single agents of Fig. 5.
        agents: numbers of agents of Fig. 6, without one and all.
    """

    name: str
    layers: tuple[str, ...]
    hardware: tuple[str, ...]
    objectives: tuple[str, ...]
    seeds: int
    few_seeds: int
    samples: int
    checkpoints: tuple[int, ...]
    single_agent_samples: int
    agents: tuple[int, ...]

    @property
    def figure_layers(self) -> list[str]:
        """Those of the paper's figures."""
        return [layer for layer in LAYERS if layer in self.layers]


FULL = Scale(
    name="full",
    layers=(
        *("mobilenetv2_l2", "mobilenetv2_l3", "mobilenetv2_l51"),
        *("vgg16_l1", "vgg16_l2", "vgg16_l8"),
        *("resnet50_l2", "bert_base_l4"),
    ),
    hardware=("paper", "edge"),
    objectives=("latency", "edp"),
    seeds=10,
    few_seeds=3,
    samples=20_000,
    checkpoints=(500, 1_000, 2_000, 5_000, 20_000),
    single_agent_samples=200_000,
    agents=(2, 3, 6, 9, 10),
)

QUICK = Scale(
    name="quick",
    layers=("mobilenetv2_l2",),
    hardware=("paper", "edge"),
    objectives=("latency",),
    seeds=2,
    few_seeds=1,
    samples=128,
    checkpoints=(16, 32, 64, 96, 128),
    single_agent_samples=256,
    agents=(6,),
)


@dataclass(frozen=True)
class Item(ABC):
    """A table or figure; everything it knows is in files.

    Args:
        scale: how much is run.
        work: its directory beside the searches, for files that are not published.
        results: directory of the result files of all items.
        images: directory of the pictures of all items.
    """

    name: ClassVar[str]
    """In flags and file names."""

    scale: Scale
    work: Path
    results: Path
    images: Path

    def prepare(self) -> None:  # noqa: B027 (few items need it)
        """Make the files that the searches need, always the same ones."""

    def runs(self) -> Iterable[Run]:
        """Yield the searches it needs; other items may need them too."""
        return ()

    @abstractmethod
    def write(self, finished: Mapping[Run, Finished]) -> None:
        """Write its result files from the searches that have ended.

        Raises:
            RecordError: a file cannot be written.
        """

    @abstractmethod
    def view(self) -> dict[str, Any]:
        """Return what the template shows of it, from result files alone.

        Its ``verdicts`` are those of the paper's claims by name.

        Raises:
            RecordError: a file cannot be read.
        """

    def draw(self) -> None:  # noqa: B027 (few items need it)
        """Draw its pictures, from result files alone."""

    def path(self, name: str) -> Path:
        return self.results / self.name / name

    def put(self, name: str, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
        write_csv(self.path(name), header, rows)

    def rows(self, name: str, **values: str) -> Rows:
        """Return the rows of a result file with these values in some columns."""
        return select(read_rows(self.path(name)), **values)


def searches(
    layers: Iterable[str],
    objectives: Iterable[str],
    mappers: Iterable[str],
    seeds: int,
    samples: int,
    hardware: Iterable[str] = ("paper",),
) -> Iterator[Run]:
    """Yield the searches of all combinations."""
    for layer, objective, name, mapper, seed in product(
        layers, objectives, hardware, mappers, range(seeds)
    ):
        yield Run(layer, objective, mapper, seed, samples, name)


def log_spaced(windows: int) -> list[int]:
    """Return the indices of some windows, the last among them, evenly on a logarithmic axis."""
    indices = np.geomspace(1, windows, _CURVE_POINTS).round().astype(int) - 1
    return sorted(set(indices.tolist()))
