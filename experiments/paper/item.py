"""What every table and figure of the paper is: searches, result files, a section of the page."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from experiments.cells import Cell, Finished
from experiments.files import distinct_name


@dataclass(frozen=True)
class Scale:
    """How much is run.

    Args:
        name: what flags and result files call it.
        layers: reported on.
        hardware: presets.
        objectives: of the tables.
        seeds: of a search that costs seconds.
        few_seeds: of one that costs minutes.
        samples: of a search.
        checkpoints: numbers of samples that tables have columns for, five; the last is ``samples``.
        long_samples: of the long searches that only say what the best known is.
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
    long_samples: int
    single_agent_samples: int
    agents: tuple[int, ...]


FULL = Scale(
    name="full",
    layers=(
        "mobilenetv2_l2",
        "mobilenetv2_l3",
        "mobilenetv2_l51",
        "vgg16_l1",
        "vgg16_l2",
        "vgg16_l8",
        "resnet50_l2",
        "bert_base_l4",
    ),
    hardware=("paper", "edge"),
    objectives=("latency", "edp"),
    seeds=10,
    few_seeds=3,
    samples=20_000,
    checkpoints=(500, 1_000, 2_000, 5_000, 20_000),
    long_samples=300_000,
    single_agent_samples=200_000,
    agents=(2, 3, 6, 9, 10),
)

QUICK = Scale(
    name="quick",
    layers=("mobilenetv2_l2", "vgg16_l2"),
    hardware=("paper", "edge"),
    objectives=("latency", "edp"),
    seeds=2,
    few_seeds=1,
    samples=256,
    checkpoints=(16, 32, 64, 128, 256),
    long_samples=1_024,
    single_agent_samples=512,
    agents=(6,),
)


@dataclass(frozen=True)
class Run:
    """One search, which several items may ask for.

    Args:
        layer: a name of the zoo.
        objective: name of what is minimised.
        mapper: its name and changes of its settings; a ``groups`` file is named by its place in the
            directory of the runs.
        seed: the search begins with.
        samples: to spend.
        hardware: a preset.
        model: a cost model.
        schema: the parameters of a mapping.
    """

    layer: str
    objective: str
    mapper: str
    seed: int
    samples: int
    hardware: str = "paper"
    model: str = "exact"
    schema: str = "legal13"

    def __str__(self) -> str:
        return f"{self.cell} ({self.setting})"

    @property
    def cell(self) -> Cell:
        """The same as a cell of a comparison."""
        return Cell(self.layer, self.objective, self.mapper, self.seed)

    @property
    def setting(self) -> str:
        """What a comparison has one of, as part of a file name."""
        parts = (self.model, self.hardware, self.schema, str(self.samples))
        return "-".join(distinct_name(part) for part in parts)


@dataclass(frozen=True)
class Places:
    """Where an item's files lie.

    Args:
        work: its directory beside the runs, for what need not be published.
        results: its directory of small CSV and JSON files.
        images: the directory of the pictures of all items.
        link: the latter, as the page refers to it.
    """

    work: Path
    results: Path
    images: Path
    link: str


@dataclass(frozen=True)
class Claim:
    """What the paper says, and what was found.

    Args:
        paper: the claim, a sentence.
        holds: whether it does; None where what was run does not decide it.
        found: the numbers that decide it, a sentence.
    """

    paper: str
    holds: bool | None
    found: str


@dataclass(frozen=True)
class Section:
    """What the page says of an item.

    Args:
        claims: of the paper that the item tests.
        body: Markdown under the item's heading, whose own headings begin at the third level.
    """

    claims: Sequence[Claim]
    body: str


class Item(ABC):
    """A table or figure. It holds nothing: all it knows lies in files."""

    name: ClassVar[str]
    """What flags, directories and files call it."""
    title: ClassVar[str]
    """Heading of its section."""

    def prepare(self, scale: Scale, places: Places) -> None:  # noqa: B027 (few items need it)
        """Make the files that the searches need, the same ones always."""

    def runs(self, scale: Scale) -> Iterable[Run]:
        """Yield the searches it needs; other items may need them too."""
        return ()

    @abstractmethod
    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        """Write its result files.

        Args:
            finished: those of its searches that have ended, some or all.
            scale: of what was run.
            places: of its files.

        Raises:
            RecordError: a file cannot be written.
        """

    @abstractmethod
    def section(self, places: Places) -> Section:
        """Make its section, and its pictures, from its result files alone.

        Raises:
            RecordError: a file cannot be read or written.
        """
