"""The picture of trails: runtime under maestro against runtime under exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

from experiments.plots import GREY, STYLES
from experiments.trails import Trail

_LIMITS = (0.25, 70)
_TICKS = (0.5, 1, 2, 5, 10, 20, 50)
_SHADE = "#EFEAE2"


def draw_trails(trails: Mapping[str, Sequence[Trail]], subtitle: str) -> Figure:
    """Draw the trails of several layers, given by name, one panel a layer."""
    figure = Figure(figsize=(5 * len(trails), 6), layout="constrained")
    figure.suptitle(
        f"Searched under maestro, the runtime falls below what the machine can compute\n{subtitle}",
        fontsize=11,
    )
    panels = figure.subplots(1, len(trails), sharey=True, squeeze=False)[0]
    for axes, (layer, of_layer), (colour, _) in zip(panels, trails.items(), STYLES, strict=False):
        axes.set_title(layer, fontsize=10)
        _draw_limits(axes)
        _draw_layer(axes, of_layer, colour)
        _scale(axes)
    panels[0].set_ylabel("runtime under exact / roofline")
    panels[0].legend(frameon=False, loc="upper left", bbox_to_anchor=(0.28, 1), fontsize=9)
    return figure


def _draw_layer(axes: Axes, trails: Sequence[Trail], colour: str) -> None:
    for trail in trails:
        axes.plot(
            trail.maestro, trail.exact, ".-", color=colour, linewidth=0.8, markersize=4, alpha=0.5
        )
    axes.plot([], [], ".-", color=colour, label="best so far of one search")
    axes.scatter(
        [trail.maestro[-1] for trail in trails],
        [trail.exact[-1] for trail in trails],
        color=colour,
        marker="D",
        edgecolors="black",
        linewidths=0.8,
        s=45,
        zorder=4,
        label="its end",
    )


def _draw_limits(axes: Axes) -> None:
    axes.axvspan(_LIMITS[0], 1, color=_SHADE, linewidth=0)
    axes.axhspan(_LIMITS[0], 1, color=_SHADE, linewidth=0)
    axes.axvline(1, color=GREY, linewidth=1.2)
    axes.axhline(1, color=GREY, linewidth=1.2)
    axes.plot(_LIMITS, _LIMITS, color=GREY, linestyle=(0, (4, 3)), linewidth=1)
    _note(axes, (0.5, 10), "maestro: faster than\nthe machine can compute", rotation=90)
    _note(axes, (9, 0.5), "exact: faster than\nthe machine can compute")
    _note(axes, (45, 58), "equal", rotation=45)
    _note(axes, (48, 1.12), "roofline")


def _note(axes: Axes, at: tuple[float, float], text: str, rotation: float = 0) -> None:
    axes.text(*at, text, rotation=rotation, color=GREY, fontsize=9, ha="center", va="center")


def _scale(axes: Axes) -> None:
    axes.set(
        xscale="log",
        yscale="log",
        xlim=_LIMITS,
        ylim=_LIMITS,
        aspect="equal",
        xlabel="runtime under maestro / roofline",
    )
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_ticks(_TICKS)
        axis.set_minor_locator(NullLocator())
    axes.spines[["top", "right"]].set_visible(False)
