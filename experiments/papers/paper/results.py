"""Result files: their rows, and the tables and pictures that items make of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maestro_env.experiments.shell.files import RecordError, read_csv
from maestro_env.experiments.shown.plots import GREY, STYLES, save, tidy
from maestro_env.experiments.shown.statistics import Floats

CsvRow = Mapping[str, str]
CsvRows = Sequence[CsvRow]


def read_rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a result file by the names of its header.

    Raises:
        RecordError: it cannot be read, or is incomplete.
    """
    rows = read_csv(path)
    whole = path.read_text(encoding="utf-8").endswith("\n")
    # A row that is too short lacks values; one that is too long has some without a name.
    if not whole or any(None in row or None in row.values() for row in rows):
        raise RecordError(f"cannot read {path}: incomplete; the command that made it writes it")
    return rows


def select(rows: CsvRows, **values: str) -> CsvRows:
    """Return the rows with these values in some columns."""
    return [row for row in rows if all(row[name] == value for name, value in values.items())]


def grouped(rows: CsvRows, *keys: str) -> Mapping[tuple[str, ...], CsvRows]:
    """Return rows that agree in some columns together, by these."""
    found: dict[tuple[str, ...], list[CsvRow]] = {}
    for row in rows:
        found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


CsvTable = tuple[Sequence[str], Sequence[Sequence[object]]]
"""Headers and rows, which a macro of the template shows."""


def pivot(
    left: str,
    rows: CsvRows,
    across: Sequence[str],
    cell: Callable[[CsvRow], object],
    label: Callable[[CsvRow], object],
) -> CsvTable:
    """Return a table: a line for each label, a column for each value of some columns together."""
    columns: dict[str, None] = {}
    lines: dict[object, dict[str, object]] = {}
    for row in rows:
        values = (f"{int(row[key]):,}" if row[key].isdigit() else row[key] for key in across)
        column = ", ".join(values)
        columns[column] = None
        lines.setdefault(label(row), {})[column] = cell(row)
    table = [[name, *(line.get(each, "-") for each in columns)] for name, line in lines.items()]
    return [left, *columns], table


COLOURS = [colour for colour, _ in STYLES]
SAMPLES = {"xscale": "log", "xlabel": "samples"}
"""The axis of samples."""


def columns_of(rows: CsvRows, *keys: str) -> list[Floats]:
    """Return some columns as numbers."""
    return [np.array([float(row[key]) for row in rows]) for key in keys]


def make_panels(
    size: tuple[float, float], count: int, columns: int = 3, **shared: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure of some axes, at least one."""
    figure = Figure(figsize=size, layout="constrained")
    count = max(1, count)
    panels = list(figure.subplots(-(-count // columns), columns, squeeze=False, **shared).flat)
    for unused in panels[count:]:
        unused.set_visible(False)
    return figure, panels[:count]


def draw_band(
    axes: Axes, band: Sequence[Floats], colour: str, label: str, alpha: float = 0.15
) -> None:
    """Draw figures against samples, and a band between their lower and upper ends."""
    samples, figures, low, high = band
    axes.plot(samples, figures, color=colour, label=label)
    # A band that nowhere has two ends would leave a logarithmic axis without limits.
    if np.isfinite([low, high]).all(axis=0).any():
        axes.fill_between(samples, low, high, color=colour, alpha=alpha, linewidth=0)


def finish(axes: Axes, title: str, weight: str = "bold", **settings: Any) -> None:
    """Give a panel its title and the settings of its axes."""
    axes.set_title(title, loc="left", fontsize=10, fontweight=weight)
    axes.set(**settings)
    tidy(axes)


def save_panels(
    figure: Figure, path: Path, place: Any = "outside lower center", columns: int = 5
) -> None:
    """Write a figure with the legend of its first panel, and an SVG file beside the PNG file."""
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc=place, ncols=columns, frameon=False, labelcolor=GREY)
    save(figure, path, svg=True)
