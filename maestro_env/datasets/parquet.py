"""Data sets of mappings with all figures, as Parquet files; needs the extra ``data``.

``maestro-env dataset`` makes them. A data set is a folder: ``dataset.json`` says what was
drawn, a folder for each layer has files of one row group each, whose names begin with their split,
and ``README.md`` describes it all; ``croissant.json`` does so for loaders.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.checks import look_up
from maestro_env.base.errors import ArgumentTypeError, MaestroEnvError, MissingExtraError, quoted
from maestro_env.evaluation.cost_and_status import METRICS, STATUSES, Rows, unit_of
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points, Space
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.datasets.parquet", "pyarrow", "data") from error

RECORD = "dataset.json"
"""The file of a data set that says what was drawn."""

FORMAT = "maestro-env/dataset/2"
SPLITS = {"train": 0.8, "validation": 0.1, "test": 0.1}
"""Shares of the rows of a layer. No file has rows of two splits."""

STATUS = "status"


class DatasetError(MaestroEnvError, ValueError):
    """A data set that is missing or damaged."""


def column_units(space: Space) -> dict[str, str]:
    """Return the unit of every column by name, in order: parameters, ``status`` and ``METRICS``."""
    return {
        **{parameter.name: "choice" for parameter in space.parameters},
        STATUS: "-",
        **{name: unit_of(name) for name in METRICS},
    }


def to_table(space: Space, points: Points, rows: Rows) -> pa.Table:
    """Return mappings as a table of a data set: a NaN, which is no figure, becomes a null.

    Args:
        space: whose vectors they are.
        points: the vectors, int32[N, D].
        rows: of these vectors, as ``Problem.evaluate`` returns them.

    Columns are those of ``column_units``: int32, text, and float64.
    """
    names, status = pa.array(STATUSES), pa.array(rows.status.astype(np.int8))
    arrays = [
        *(pa.array(column) for column in np.ascontiguousarray(points.T)),
        pa.DictionaryArray.from_arrays(status, names),
        *(pa.array(column, from_pandas=True) for column in np.ascontiguousarray(rows.metrics.T)),
    ]
    fields = [
        pa.field(name, array.type, metadata={"unit": unit})
        for (name, unit), array in zip(column_units(space).items(), arrays, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def from_table(space: Space, table: pa.Table) -> tuple[Points, Rows]:
    """Return what ``to_table`` was given; figures whose columns are left out are NaN.

    Raises:
        DatasetError: a parameter or the status is missing, or a status is unknown.
    """
    points = np.empty((table.num_rows, len(space.parameters)), dtype=np.int32)
    metrics = np.full((table.num_rows, len(METRICS)), np.nan)
    try:
        for column, parameter in enumerate(space.parameters):
            points[:, column] = table[parameter.name].to_numpy()
        named = table[STATUS].combine_chunks().dictionary_encode()
        codes = [STATUSES.index(name) for name in named.dictionary.to_pylist()]
    except (KeyError, ValueError) as error:
        raise DatasetError(f"no table of {space.layer}: {error} is missing or unknown") from None
    for column, name in enumerate(METRICS):
        if name in table.column_names:
            metrics[:, column] = table[name].to_numpy()
    return points, Rows(metrics, np.array(codes, dtype=np.uint8)[named.indices.to_numpy()])


@dataclass(frozen=True)
class Dataset:
    """A data set: its problems, and the rows of each as a stream; see ``open_dataset``.

    Args:
        directory: that holds it.
        problems: by the names of their layers.
        facts: its record, as JSON: sections ``problem``, ``draw``, ``layers``, ``versions``.

    Raises:
        DatasetError: by the methods, a damaged file.
        UnknownNameError: by the methods, an unknown layer, column or split.
    """

    directory: Path
    problems: Mapping[str, Problem]
    facts: Mapping[str, Any]

    def files(self, layer: str, split: str | None = None) -> list[Path]:
        """Return the files of a layer, or of a split of it; each has one row group."""
        look_up("layer", layer, self.problems)
        if split is not None:
            look_up("split", split, SPLITS)
        folder = self.directory / self.facts["layers"][layer]["folder"]
        chosen = SPLITS if split is None else (split,)
        return [path for each in chosen for path in sorted(folder.glob(f"{each}-*.parquet"))]

    def count(self, layer: str, split: str | None = None) -> int:
        """Return the number of rows of a layer, or of a split of it."""
        return sum(rows_in(path) for path in self.files(layer, split))

    def tables(
        self, layer: str, columns: Iterable[str] | None = None, split: str | None = None
    ) -> Iterator[pa.Table]:
        """Yield the rows of a layer, one row group at a time, as ``pyarrow.Table``.

        Columns are the parameters (int32, the number of a choice), ``status`` and ``METRICS``
        (float64, null where there is no figure); with ``columns`` only these. ``split`` is one of
        ``SPLITS``; None for all.
        """
        for path in self.files(layer, split):
            yield read_file(path, columns)

    def rows(self, layer: str, split: str | None = None) -> Iterator[tuple[Points, Rows]]:
        """Yield the same as vectors, int32[N, D], and what ``Problem.evaluate`` said of them."""
        space = self.problems[layer].space
        for table in self.tables(layer, split=split):
            yield from_table(space, table)

    def statuses(self, layer: str) -> dict[str, int]:
        """Return how many rows of a layer have each status, those without any left out."""
        counts = np.zeros(len(STATUSES), dtype=np.int64)
        for table in self.tables(layer, [STATUS]):
            for each in table[STATUS].value_counts().to_pylist():
                counts[STATUSES.index(each["values"])] += each["counts"]
        return {name: int(count) for name, count in zip(STATUSES, counts, strict=True) if count}


def open_dataset(directory: str | Path) -> Dataset:
    """Return the data set that a directory holds.

    Raises:
        ArgumentTypeError: neither a text nor a ``Path``.
        DatasetError: the directory holds none, or one that is damaged or of another format.
    """
    if not isinstance(directory, str | Path):
        raise ArgumentTypeError(f"directory is {quoted(directory)}; allowed: a str or a Path")
    path = Path(directory) / RECORD
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts["draw"]["format"] != FORMAT:
            raise DatasetError(f"its format is not {FORMAT}, the one allowed")
        return Dataset(path.parent, _problems(facts), facts)
    except (OSError, AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        problem = f"{error} is missing" if isinstance(error, KeyError) else error
        raise DatasetError(f"{path.parent} holds no data set: {RECORD}: {problem}") from None


def _problems(facts: dict[str, Any]) -> dict[str, Problem]:
    """Make the problem of each layer, by its name."""
    given = facts["problem"]
    hardware, model, guard = Hardware(**given["hardware"]), given["model"], given["guard"]
    layers = {name: Layer(**each["layer"]) for name, each in facts["layers"].items()}
    for name, each in facts["layers"].items():
        if Path(each["folder"]).name != each["folder"]:
            raise DatasetError(f"the folder of {name} is {quoted(each['folder'])}")
    return {
        name: Problem(MapSpace(layer, hardware, given["schema"], given["tiles"]), model, guard)
        for name, layer in layers.items()
    }


def write_file(file: BinaryIO, table: pa.Table) -> None:
    """Write a file of a data set: one row group, the same bytes for the same table."""
    pq.write_table(
        table, file, row_group_size=table.num_rows, compression="zstd", write_page_checksum=True
    )


def read_file(path: Path, columns: Iterable[str] | None = None) -> pa.Table:
    """Read a file of a data set, or some columns of it."""
    with _opened(path) as file:
        there = dict.fromkeys(file.schema_arrow.names)
        names = list(there if columns is None else columns)
        for name in names:
            look_up("column", name, there)
        try:
            return file.read(names)
        except (OSError, pa.ArrowException) as error:
            raise DatasetError(f"cannot read {path}: {error}") from None


def rows_in(path: Path) -> int:
    """Return how many rows a file of a data set has."""
    with _opened(path) as file:
        return int(file.metadata.num_rows)


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except (OSError, pa.ArrowException) as error:
        raise DatasetError(f"cannot read {path}: {error}") from None
