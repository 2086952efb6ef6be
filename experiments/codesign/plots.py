"""The picture of a front: latency, energy and area of all accelerators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import StrMethodFormatter

from experiments.codesign.designs import Design
from experiments.codesign.grid import UM2_A_MM2
from experiments.plots import GREY, STYLES, in_picture, save, tidy
from experiments.stats import Floats

_SIZE = (11, 4.8)
_OTHERS: dict[str, Any] = {"s": 22, "color": "#BBBBBB", "linewidths": 0, "zorder": 2}
_BEST = STYLES[1][0]
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
    figure = Figure(figsize=_SIZE, layout="constrained")
    figure.suptitle(in_picture(title), x=0.01, ha="left", fontsize=11, fontweight="bold")
    left, right = figure.subplots(1, 2)
    others = [each for each in designs if not each.unmapped and each not in front]
    shades = _figures(front)["area"]
    for axes, x, y in ((left, "latency", "energy"), (right, "area", "edp")):
        if others:
            rest = _figures(others)
            axes.scatter(rest[x], rest[y], label="not on the front", **_OTHERS)
        found = _figures(front)
        points = axes.scatter(
            *(found[x], found[y]), c=shades, cmap="viridis_r", s=34, zorder=3, label="front"
        )
        best = int(np.argmin(found["edp"]))
        axes.scatter(
            *(found[x][best], found[y][best]),
            s=130,
            facecolors="none",
            edgecolors=_BEST,
            linewidths=1.8,
            zorder=4,
            label="least EDP",
        )
        axes.set(xscale="log", yscale="log", xlabel=_LABELS[x], ylabel=_LABELS[y])
        tidy(axes)
    for formatting in (right.xaxis.set_major_formatter, right.xaxis.set_minor_formatter):
        formatting(StrMethodFormatter("{x:g}"))
    figure.colorbar(points, ax=[left, right], label=_LABELS["area"], pad=0.01)
    left.legend(frameon=False, labelcolor=GREY)
    save(figure, directory / "front.png")


def _figures(designs: Sequence[Design]) -> dict[str, Floats]:
    return {
        "latency": np.array([each.latency_cycles for each in designs]),
        "energy": np.array([each.energy_nj for each in designs]),
        "edp": np.array([each.edp for each in designs]),
        "area": np.array([each.area_um2 / UM2_A_MM2 for each in designs]),
    }
