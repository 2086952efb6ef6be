"""The tables and figures, a file each, which declares it as ``ITEM``; and what they share.

That is the frame of every one: its searches, its result files, and what the page shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.experiments.papers.paper.ledger import Arena, Finished, Run, make_arenas
from maestro_env.experiments.papers.paper.results import CsvRows, read_rows, select
from maestro_env.experiments.shell.files import ensure_directory, write_csv, write_text

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
        return [layer for layer in ("mobilenetv2_l2", "vgg16_l2") if layer in self.layers]


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


Lines = Iterator[Sequence[object]]
"""Of a result file: its header, and its rows."""


@dataclass(frozen=True, eq=False)
class Item:
    """A table or figure; everything it knows is in files.

    Args:
        name: in flags and file names.
        files: result files by name: what yields their lines from the searches that have ended.
        view: returns what the template shows, from result files alone. Its ``verdicts`` are those
            of the paper's claims by name.
        runs: yields the searches it needs; other items may need them too.
        inputs: returns the files that these need, by name; always the same ones.
        draw: draws the pictures, from result files alone.
    """

    name: str
    files: Mapping[str, Callable[[FilledFolder], Lines]]
    view: Callable[[Folder], dict[str, Any]]
    runs: Callable[[Scale], Iterable[Run]] = lambda _: ()
    inputs: Callable[[Folder], Mapping[str, str]] = lambda _: {}
    draw: Callable[[Folder], None] = lambda _: None


@dataclass(frozen=True)
class Folder:
    """The files of an item at a scale.

    Args:
        item: whose.
        scale: how much is run.
        out: where searches are kept.
        results: directory of the result files of all items.
        images: directory of the pictures of all items.
    """

    item: Item
    scale: Scale
    out: Path
    results: Path
    images: Path

    @property
    def work(self) -> Path:
        """Its directory beside the searches, for files that are not published."""
        return self.out / self.item.name

    @property
    def runs(self) -> list[Run]:
        """The searches it needs, each once."""
        return list(dict.fromkeys(self.item.runs(self.scale)))

    def path(self, name: str) -> Path:
        return self.results / self.item.name / name

    def rows(self, name: str, **values: str) -> CsvRows:
        """Return the rows of a result file with these values in some columns."""
        return select(read_rows(self.path(name)), **values)

    def prepare(self, directory: Path) -> None:
        """Write the files that its searches need."""
        for name, text in self.item.inputs(self).items():
            ensure_directory(directory)
            write_text(directory / name, text)

    def write(self, finished: Mapping[Run, Finished]) -> None:
        """Write its result files from the searches that have ended.

        Raises:
            RecordError: a file cannot be written.
        """
        found = FilledFolder(**vars(self), finished=finished)
        ensure_directory(self.path(""))
        self.prepare(self.path(""))
        for name, lines in self.item.files.items():
            header, *rows = lines(found)
            write_csv(self.path(name), map(str, header), rows)


@dataclass(frozen=True)
class FilledFolder(Folder):
    """The same, with the searches of the item that have ended."""

    finished: Mapping[Run, Finished]

    @cached_property
    def arenas(self) -> list[Arena]:
        """The problems with the searches of the scale's budget."""
        return self.of(self.scale.samples)

    def of(self, samples: int) -> list[Arena]:
        """Return the problems with the searches of a budget."""
        return make_arenas(self.finished, samples)


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
