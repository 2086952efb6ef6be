"""The picture of a front: latency, energy and area of all accelerators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.commands.codesign.designs import Design
from experiments.shown.plots import GREY, STYLES, in_picture, new_figure, save, tidy
from experiments.shown.statistics import Floats
from experiments.study.sweep.fronts import UM2_A_MM2

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

_SIZE = (11, 4.8)
_OTHERS: dict[str, Any] = {"s": 22, "color": "#BBBBBB", "linewidths": 0, "zorder": 2}
_FRONT: dict[str, Any] = {"s": 34, "cmap": "viridis_r", "zorder": 3}
_LEAST: dict[str, Any] = {
    "s": 130,
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


def draw_front(
    designs: Sequence[Design], front: Sequence[Design], title: str, directory: Path
) -> None:
    """Draw a front among all designs, to ``front.png`` and ``front.svg``.

    Left is energy against latency, right EDP against area. Designs with unmapped layers are left
    out; the front has one at least.
    """
    figure = new_figure(_SIZE)
    best = min(front, key=lambda each: each.edp)
    least = (
        f"least EDP with {best.hardware.num_pes:,} PEs, {best.hardware.l1_bytes:,} B of L1 each, "
        f"on {best.area_um2 / UM2_A_MM2:.1f} mm$^2$"
    )
    figure.suptitle(
        f"{in_picture(title)}:\n{least}", x=0.01, ha="left", fontsize=11, fontweight="bold"
    )
    left, right = figure.subplots(1, 2)
    chosen = {each.hardware for each in front}
    others = [each for each in designs if not each.unmapped and each.hardware not in chosen]
    _draw(left, "latency", "energy", _figures(front), _figures(others))
    points = _draw(right, "area", "edp", _figures(front), _figures(others))
    left.set_xscale("log")
    figure.colorbar(points, ax=[left, right], label=_LABELS["area"], pad=0.01)
    left.legend(frameon=False, labelcolor=GREY)
    save(figure, directory / "front.png")


def _draw(
    axes: Axes, x: str, y: str, front: dict[str, Floats], others: dict[str, Floats]
) -> PathCollection:
    """Draw two figures of all designs; return the points of the front, coloured by area."""
    axes.scatter(others[x], others[y], label="not on the front", **_OTHERS)
    points = axes.scatter(front[x], front[y], c=front["area"], label="front", **_FRONT)
    best = int(np.argmin(front["edp"]))
    axes.scatter(front[x][best], front[y][best], label="least EDP", **_LEAST)
    axes.set(yscale="log", xlabel=_LABELS[x], ylabel=_LABELS[y])
    tidy(axes)
    return points


def _figures(designs: Sequence[Design]) -> dict[str, Floats]:
    return {
        "latency": np.array([each.latency_cycles for each in designs]),
        "energy": np.array([each.energy_nj for each in designs]),
        "edp": np.array([each.edp for each in designs]),
        "area": np.array([each.area_um2 / UM2_A_MM2 for each in designs]),
    }
