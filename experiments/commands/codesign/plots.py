"""The picture of a front: what all accelerators take, their PEs and their buffers."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from maestro_env.experiments.commands.codesign.designs import Design
from maestro_env.experiments.shown.plots import GREY, STYLES, in_picture, new_figure, tidy
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.study.sweep.fronts import UM2_A_MM2, Axis, pictured

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIZE = (11, 5.2)
# Characters of a line of the title.
_WIDTH = 110
_OTHERS: dict[str, Any] = {"color": "#CCCCCC", "linewidths": 0, "zorder": 2}
_FRONT: dict[str, Any] = {"cmap": "viridis_r", "linewidths": 0, "zorder": 3}
_LEAST: dict[str, Any] = {
    "facecolors": "none",
    "edgecolors": STYLES[1][0],
    "linewidths": 1.8,
    "zorder": 4,
}
_LABELS = {
    "latency": "latency (cycles)",
    "energy": "energy (nJ)",
    "edp": "EDP (cycles x nJ)",
    "area": "area of PEs and buffers (mm$^2$)",
}
# Points of the largest accelerator and of the smallest, in square points.
_LARGEST, _SMALLEST = 160, 12


def draw_front(
    designs: Sequence[Design],
    front: Sequence[Design],
    told: Sequence[Design],
    axes: Sequence[Axis],
    title: str,
) -> Figure:
    """Draw a front among all designs.

    Left is energy against latency, right EDP against area; points are larger the more units, and
    darker the larger a memory (``pictured``). Those that are told have labels: all that changes
    their area. Designs with unmapped layers are left out; the front has one at least.
    """
    figure = new_figure(_SIZE)
    sized, pictures = [axis for axis in axes if axis.said], pictured(axes)
    units, capacity = (pictures.get(name) for name in ("units", "capacity"))
    best = min(front, key=lambda each: each.edp)
    said = (
        f"least EDP with {_said(best, sized)} on {best.area_um2 / UM2_A_MM2:.3g} mm$^2$; "
        f"labels are {in_picture(' / '.join(axis.label for axis in sized))}"
    )
    figure.suptitle(
        f"{in_picture(title)}:\n{fill(said, _WIDTH)}",
        x=0.01,
        ha="left",
        fontsize=10,
        fontweight="bold",
    )
    left, right = figure.subplots(1, 2)
    chosen = {each.hardware for each in front}
    others = [each for each in designs if not each.unmapped and each.hardware not in chosen]
    for place, x, y in ((left, "latency", "energy"), (right, "area", "edp")):
        _draw(place, x, y, front, others, units, capacity)
    for each in told:
        _label(right, each, sized)
    left.set_xscale("log")
    if capacity is not None:
        label = in_picture(capacity.label)
        bar = figure.colorbar(right.collections[1], ax=[left, right], label=label, pad=0.01)
        sizes = sorted({each.sizes[capacity.name] for each in front})
        bar.set_ticks(sizes, labels=[capacity.short(size) for size in sizes])
        bar.minorticks_off()
    left.legend(frameon=False, labelcolor=GREY)
    return figure


def _draw(
    axes: Axes,
    x: str,
    y: str,
    front: Sequence[Design],
    others: Sequence[Design],
    units: Axis | None,
    capacity: Axis | None,
) -> None:
    """Draw two figures of all designs; the second collection is the front, coloured by capacity."""
    from matplotlib.colors import LogNorm

    most = max(_values((*front, *others), units))
    colours = _values(front, capacity)
    axes.scatter(
        _figures(others, x),
        _figures(others, y),
        s=_points(others, units, most),
        label="not on the front",
        **_OTHERS,
    )
    axes.scatter(
        _figures(front, x),
        _figures(front, y),
        s=_points(front, units, most),
        c=colours,
        norm=LogNorm(min(colours) / 1.01, max(colours) * 1.01),
        label="front" if units is None else f"front; larger: more {in_picture(units.label)}",
        **_FRONT,
    )
    best = [min(front, key=lambda each: each.edp)]
    rings = _points(best, units, most) + 60
    axes.scatter(_figures(best, x), _figures(best, y), s=rings, label="least EDP", **_LEAST)
    axes.set(yscale="log", xlabel=_LABELS[x], ylabel=_LABELS[y])
    axes.tick_params(which="both", labelsize=8)
    tidy(axes)


def _label(axes: Axes, design: Design, sized: Sequence[Axis]) -> None:
    """Write the sizes of a design beside it."""
    place = design.area_um2 / UM2_A_MM2, design.edp
    text = " / ".join(axis.short(design.sizes[axis.name]) for axis in sized)
    axes.annotate(
        text,
        place,
        xytext=(5, 5),
        textcoords="offset points",
        fontsize=6,
        color=GREY,
        zorder=5,
    )


def _said(design: Design, sized: Sequence[Axis]) -> str:
    """Return the sizes of a design as a sentence has them."""
    parts = (f"{axis.short(design.sizes[axis.name])} {axis.said}" for axis in sized)
    return in_picture(", ".join(parts))


def _values(designs: Sequence[Design], axis: Axis | None) -> list[int]:
    """Return the values of an axis; 1 for each without one."""
    return [1 if axis is None else each.sizes[axis.name] for each in designs]


def _points(designs: Sequence[Design], units: Axis | None, most: int) -> Floats:
    sizes = np.array(_values(designs, units), dtype=np.float64)
    return _SMALLEST + (_LARGEST - _SMALLEST) * sizes / most


def _figures(designs: Sequence[Design], name: str) -> Floats:
    figures = {
        "latency": [each.latency_cycles for each in designs],
        "energy": [each.energy_nj for each in designs],
        "edp": [each.edp for each in designs],
        "area": [each.area_um2 / UM2_A_MM2 for each in designs],
    }
    return np.array(figures[name])
