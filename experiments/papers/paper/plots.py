"""What the pictures of Fig. 5, 6 and 7 share: panels of lines and bands over samples."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from maestro_env.experiments.papers.paper.rows import CsvRows
from maestro_env.experiments.shown.plots import GREY, STYLES, save, tidy
from maestro_env.experiments.shown.statistics import Floats

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
