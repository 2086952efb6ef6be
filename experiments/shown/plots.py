"""What all pictures share: files, colours, frames."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from maestro_env.base.errors import MaestroEnvError
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import replacing
from maestro_env.experiments.shell.flags import PROGRAM
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.tables import printable_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, told apart by colour-blind readers; line styles tell the rest apart.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_LINES = ("-", "--", "-.")
STYLES = tuple((colour, line) for line in _LINES for colour in _COLOURS)
GREY = "#555555"


def plot(
    png: Path, draw: Callable[[], Figure], svg: bool = False, again: Path | None = None
) -> None:
    """Draw a figure to a PNG file, last of all, and print where; ``again`` as below."""
    if drawn(lambda: save(draw(), png, svg), again):
        print_lines(f"plot: {png}")


def drawn(draw: Callable[[], object], again: Path | None = None) -> bool:
    """Draw results that are written by then; say whether it could be done, or in a line why not.

    ``again`` is the directory whose records ``report`` draws. Ctrl-C waits for the end. A
    ``MaestroEnvError``, such as that a file cannot be written, is raised.
    """
    try:
        with cli.deferred():
            draw()
    except MaestroEnvError:
        raise
    # What libraries raise while they draw is of any kind, StopIteration too; all of it is told.
    except Exception as error:  # noqa: BLE001
        way_out = f"; `{PROGRAM} report {quote(str(again))}` draws it again" if again else ""
        print_errors(f"the plot could not be drawn: {printable_name(repr(error))}{way_out}")
        return False
    return True


def new_figure(size: tuple[float, float]) -> Figure:
    """Return an empty figure of a width and height in inches."""
    from matplotlib.figure import Figure  # It takes half a second, which --help need not.

    return Figure(figsize=size, layout="constrained")


def save(figure: Figure, png: Path, svg: bool = False) -> None:
    """Write a figure to a PNG file and, if asked for, to an SVG file beside it."""
    import matplotlib as mpl

    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = axis.get_view_interval()
        # Marks between decades take a quarter of the time; within one there may be no others.
        if axis.get_scale() == "log" and high > 10 * low:
            axis.minorticks_off()
    with replacing(png) as temporary:
        figure.savefig(temporary, format="png", dpi=150)
    if svg:
        # No date and a fixed salt, so that the same run makes the same file.
        salt = mpl.rc_context({"svg.hashsalt": "maestro-env"})
        with replacing(png.with_suffix(".svg")) as temporary, salt:
            figure.savefig(temporary, format="svg", metadata={"Date": None})


def scale_y(axes: Axes) -> None:
    """Make the y-axis logarithmic, with room around values that are equal but for rounding."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    if high < (1 + 1e-9) * low:
        axes.set_ylim(low / 1.1, 1.1 * high)


def tidy(axes: Axes) -> None:
    """Draw a light grid and no frame at the top and right."""
    axes.grid(which="major", color="#DDDDDD", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)


def in_picture(name: str) -> str:
    """Return a name as a picture shows it: no part of it is mathematics."""
    return printable_name(name).replace("$", r"\$")
