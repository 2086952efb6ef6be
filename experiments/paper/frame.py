"""The frame of every table and figure: searches, result files, and what the page shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from experiments.csv_files import read_csv, write_csv
from experiments.files import RecordError, cannot_read
from experiments.paper.ledger import Finished, Run

Value = TypeVar("Value")
Row = Mapping[str, str]
Rows = Sequence[Row]
Verdict = bool | str | None
"""Whether a claim holds; None if not decided, a text if it holds in part."""

LAYERS = ("mobilenetv2_l2", "vgg16_l2")
"""The layers of the paper's figures."""

_CURVE_POINTS = 40


class Table(NamedTuple):
    """Texts that the template shows."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]


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
        long_samples: of the long searches that only improve the best known.
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
    layers=("mobilenetv2_l2",),
    hardware=("paper", "edge"),
    objectives=("latency",),
    seeds=2,
    few_seeds=1,
    samples=128,
    checkpoints=(16, 32, 64, 96, 128),
    long_samples=256,
    single_agent_samples=256,
    agents=(6,),
)


@dataclass(frozen=True)
class Places:
    """Where an item's files are.

    Args:
        work: its directory beside the searches, for files that are not published.
        results: directory of the result files of all items.
        images: directory of the pictures of all items.
    """

    work: Path
    results: Path
    images: Path


class Item(ABC):
    """A table or figure; everything it knows is in files."""

    name: ClassVar[str]
    """In flags and file names."""

    def prepare(self, scale: Scale, places: Places) -> None:  # noqa: B027 (few items need it)
        """Make the files that the searches need, always the same ones."""

    def runs(self, scale: Scale) -> Iterable[Run]:
        """Yield the searches it needs; other items may need them too."""
        return ()

    @abstractmethod
    def write(self, finished: Mapping[Run, Finished], scale: Scale, places: Places) -> None:
        """Write its result files from the searches that have ended.

        Raises:
            RecordError: a file cannot be written.
        """

    @abstractmethod
    def view(self, results: Path) -> dict[str, Any]:
        """Return what the template shows of it, from result files alone.

        Its ``verdicts`` are those of the paper's claims by name.

        Raises:
            RecordError: a file cannot be read.
        """

    def draw(self, places: Places) -> None:  # noqa: B027 (few items need it)
        """Draw its pictures, from result files alone."""

    def file(self, results: Path, name: str) -> Path:
        """Return the place of one of its result files."""
        return results / self.name / name

    def put(
        self, places: Places, name: str, header: Iterable[str], rows: Iterable[Iterable[object]]
    ) -> None:
        """Write one of its result files."""
        write_csv(self.file(places.results, name), header, rows)

    def rows(self, results: Path, name: str) -> list[dict[str, str]]:
        """Return the rows of one of its result files."""
        return read_rows(self.file(results, name))


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a result file by the names of its header.

    Raises:
        RecordError: it cannot be read, or is incomplete.
    """
    rows = read_csv(path)
    try:
        whole = path.read_text(encoding="utf-8").endswith("\n")
    except (OSError, ValueError) as error:
        raise cannot_read(path, error) from None
    # A row that is too short lacks values; one that is too long has some without a name.
    if not whole or any(None in row or None in row.values() for row in rows):
        raise RecordError(f"cannot read {path}: incomplete; the command that made it writes it")
    return rows


def unique(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return values without duplicates, in their order."""
    return tuple(dict.fromkeys(values))


def log_spaced(windows: int) -> list[int]:
    """Return the indices of some windows, the last among them, evenly on a logarithmic axis."""
    indices = np.geomspace(1, windows, _CURVE_POINTS).round().astype(int) - 1
    return list(dict.fromkeys(indices.tolist()))


def at_least(low: float, high: float, threshold: float) -> bool | None:
    """Say whether what an interval is of reaches a threshold; None if the threshold is inside."""
    if low >= threshold:
        return True
    return False if high < threshold else None


def everywhere(verdicts: Iterable[bool | None]) -> bool | None:
    """Say whether all hold: False if one does not, otherwise None if one is not decided."""
    found = list(verdicts)
    if False in found:
        return False
    return None if None in found or not found else True


def mostly(yes: int, no: int, of: int) -> bool | None:
    """Say whether more than half hold; None if those not decided could change that."""
    if 2 * yes > of:
        return True
    return False if 2 * no >= of and of else None


def select(rows: Rows, **values: str) -> Rows:
    """Return the rows with these values in some columns."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def grouped(rows: Rows, *keys: str) -> Iterator[tuple[tuple[str, ...], Rows]]:
    """Yield rows that agree in some columns together, by these."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    yield from found.items()


Shown = Callable[[Row], str]


def pivot(left: str, rows: Rows, across: Sequence[str], cell: Shown, label: Shown) -> Table:
    """Return a table: a line for each label, a column for each value of some columns together."""

    def column(row: Row) -> str:
        return ", ".join(f"{int(row[k]):,}" if row[k].isdigit() else row[k] for k in across)

    columns = unique(map(column, rows))
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        lines.setdefault(label(row), {})[column(row)] = cell(row)
    table = [[name, *(line.get(each, "-") for each in columns)] for name, line in lines.items()]
    return Table([left, *columns], table)
