"""What all pictures share: files, colours, curves, titles."""

from __future__ import annotations

from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from experiments.files import replacing
from experiments.stats import Floats, bootstrap_interval, iqm
from experiments.texts import in_picture

# Okabe and Ito's colours, told apart by colour-blind readers; line styles tell the rest apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", "-.")
STYLES = tuple((colour, line) for line in _LINES for colour in _COLOURS)
GREY = "#555555"
_LABEL_WIDTH = 28


def save(figure: Figure, png: Path) -> None:
    """Write a figure to a PNG file and to an SVG file beside it."""
    with replacing(png) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
    # No date and a fixed salt, so that the same run makes the same file.
    with (
        replacing(png.with_suffix(".svg")) as temporary,
        mpl.rc_context({"svg.hashsalt": "maestro-env"}),
    ):
        figure.savefig(temporary, format="svg", metadata={"Date": None})


def draw_curves(
    axes: Axes,
    mapper: str,
    grid: NDArray[np.int64],
    curves: Floats,
    colour: str,
    line: str,
    each: bool = False,
) -> None:
    """Draw a mapper's best so far: interquartile mean and interval.

    Args:
        axes: drawn on.
        mapper: its name.
        grid: int64[N], numbers of evaluations.
        curves: float64[S, N], best so far of each search; infinite if nothing is valid yet.
        colour: of all lines.
        line: their style.
        each: whether to draw every search too.
    """
    style: dict[str, Any] = {"color": colour, "linestyle": line, "drawstyle": "steps-post"}
    axes.plot(grid, _finite(iqm(curves)), label=in_picture(mapper), linewidth=2, **style)
    if each and len(curves) > 1:
        axes.plot(grid, _finite(curves).T, linewidth=0.6, alpha=0.5, **style)
    found = np.isfinite(curves).all(axis=0)
    if len(curves) > 1 and found.any():
        low, high = bootstrap_interval(curves[:, found])
        axes.fill_between(grid[found], low, high, step="post", color=colour, alpha=0.2, linewidth=0)


def draw_bound(axes: Axes, bound: float | None) -> None:
    """Draw a lower bound, if there is one."""
    if bound is not None:
        axes.axhline(bound, color=GREY, linestyle=(0, (4, 3)), linewidth=1.2, label="lower bound")


def set_title(axes: Axes, title: str, facts: str) -> None:
    """Put a title above axes, and a line of facts between them."""
    axes.set_title(in_picture(title), loc="left", fontweight="bold", pad=22)
    axes.annotate(
        in_picture(facts),
        (0, 1),
        xytext=(0, 8),
        xycoords="axes fraction",
        textcoords="offset points",
        color=GREY,
        fontsize=9,
    )


def tidy(axes: Axes) -> None:
    """Draw a light grid and no frame at the top and right."""
    axes.grid(which="major", color="#DDDDDD", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def add_legend(axes: Axes) -> None:
    """Put the legend beside the axes, where it hides nothing however many mappers there are."""
    if axes.lines:
        handles, names = axes.get_legend_handles_labels()
        # Settings make names long, which would leave the axes no room.
        labels = ["\n".join(wrap(name, _LABEL_WIDTH)) for name in names]
        axes.legend(
            handles,
            labels,
            frameon=False,
            loc="upper left",
            bbox_to_anchor=(1, 1),
            labelcolor=GREY,
        )


def _finite(values: Floats) -> Floats:
    return np.where(np.isfinite(values), values, np.nan)
