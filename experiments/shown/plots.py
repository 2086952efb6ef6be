"""What all pictures share: files, colours, frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from experiments.shell import cli
from experiments.shell.files import replacing
from experiments.shown.tables import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; line styles tell the rest apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", "-.")
STYLES = tuple((colour, line) for line in _LINES for colour in _COLOURS)
GREY = "#555555"


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure of a width and height in inches."""
    from matplotlib.figure import Figure  # It takes half a second, which --help need not.

    return Figure(figsize=size, layout="constrained")


def save(figure: Figure, png: Path) -> None:
    """Write a figure to a PNG file and to an SVG file beside it; Ctrl-C waits for both."""
    import matplotlib as mpl

    svg = png.with_suffix(".svg")
    with cli.deferred():
        with replacing(png) as temporary:
            figure.savefig(temporary, format="png", dpi=150)
        # No date and a fixed salt, so that the same run makes the same file.
        with replacing(svg) as temporary, mpl.rc_context({"svg.hashsalt": "maestro-env"}):
            figure.savefig(temporary, format="svg", metadata={"Date": None})


def tidy(axes: Axes) -> None:
    """Draw a light grid and no frame at the top and right."""
    axes.grid(which="major", color="#DDDDDD", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def in_picture(name: str) -> str:
    """Return a name as a picture shows it: no part of it is mathematics."""
    return shown(name).replace("$", r"\$")
