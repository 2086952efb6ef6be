"""The picture of a front: what all accelerators take, their PEs and their buffers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from experiments.commands.codesign.designs import Design
from experiments.shown.plots import GREY, STYLES, in_picture, new_figure, save, tidy
from experiments.shown.statistics import Floats
from experiments.study.sweep.fronts import UM2_A_MM2
from maestro_env.accelerators.hardware import Hardware

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize

_SIZE = (11, 5.2)
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
    title: str,
    directory: Path,
) -> None:
    """Draw a front among all designs, to ``front.png`` and ``front.svg``.

    Left is energy against latency, right EDP against area; points are larger the more PEs, and
    darker the more L2. Those that are told have labels: PEs, L1 and L2. Designs with unmapped
    layers are left out; the front has one at least.
    """
    figure = new_figure(_SIZE)
    best = min(front, key=lambda each: each.edp)
    figure.suptitle(
        f"{in_picture(title)}:\nleast EDP with {_buffers(best.hardware)} on "
        f"{best.area_um2 / UM2_A_MM2:.3g} mm$^2$; labels are PEs / L1 of each / L2",
        x=0.01,
        ha="left",
        fontsize=10,
        fontweight="bold",
    )
    left, right = figure.subplots(1, 2)
    chosen = {each.hardware for each in front}
    others = [each for each in designs if not each.unmapped and each.hardware not in chosen]
    norm = _colours(front)
    for axes, x, y in ((left, "latency", "energy"), (right, "area", "edp")):
        _draw(axes, x, y, front, others, norm)
    for each in told:
        _label(right, each)
    left.set_xscale("log")
    bar = figure.colorbar(right.collections[1], ax=[left, right], label="L2 (kB)", pad=0.01)
    sizes = sorted({each.hardware.l2_bytes for each in front})
    bar.set_ticks(sizes, labels=[f"{size / 1000:g}" for size in sizes])
    bar.minorticks_off()
    left.legend(frameon=False, labelcolor=GREY)
    save(figure, directory / "front.png")


def _colours(front: Sequence[Design]) -> Normalize:
    from matplotlib.colors import LogNorm

    sizes = [each.hardware.l2_bytes for each in front]
    return LogNorm(min(sizes) / 1.01, max(sizes) * 1.01)


def _draw(
    axes: Axes, x: str, y: str, front: Sequence[Design], others: Sequence[Design], norm: Normalize
) -> None:
    """Draw two figures of all designs; the second collection is the front, coloured by L2."""
    most = max(each.hardware.num_pes for each in (*front, *others))
    axes.scatter(
        _figures(others, x),
        _figures(others, y),
        s=_points(others, most),
        label="not on the front",
        **_OTHERS,
    )
    axes.scatter(
        _figures(front, x),
        _figures(front, y),
        s=_points(front, most),
        c=[each.hardware.l2_bytes for each in front],
        norm=norm,
        label="front; larger: more PEs",
        **_FRONT,
    )
    best = [min(front, key=lambda each: each.edp)]
    rings = _points(best, most) + 60
    axes.scatter(_figures(best, x), _figures(best, y), s=rings, label="least EDP", **_LEAST)
    axes.set(yscale="log", xlabel=_LABELS[x], ylabel=_LABELS[y])
    axes.tick_params(which="both", labelsize=8)
    tidy(axes)


def _label(axes: Axes, design: Design) -> None:
    """Write PEs, L1 and L2 of a design beside it."""
    place = design.area_um2 / UM2_A_MM2, design.edp
    hardware = design.hardware
    text = f"{hardware.num_pes} / {hardware.l1_bytes} / {_kilo(hardware.l2_bytes)}"
    axes.annotate(
        text,
        place,
        xytext=(5, 5),
        textcoords="offset points",
        fontsize=6,
        color=GREY,
        zorder=5,
    )


def _buffers(hardware: Hardware) -> str:
    return (
        f"{hardware.num_pes:,} PEs, {hardware.l1_bytes:,} B of L1 each, "
        f"{_kilo(hardware.l2_bytes)}B of L2"
    )


def _kilo(size: int) -> str:
    return f"{size / 1000:g} k"


def _points(designs: Sequence[Design], most: int) -> Floats:
    pes = np.array([each.hardware.num_pes for each in designs], dtype=np.float64)
    return _SMALLEST + (_LARGEST - _SMALLEST) * pes / most


def _figures(designs: Sequence[Design], name: str) -> Floats:
    figures = {
        "latency": [each.latency_cycles for each in designs],
        "energy": [each.energy_nj for each in designs],
        "edp": [each.edp for each in designs],
        "area": [each.area_um2 / UM2_A_MM2 for each in designs],
    }
    return np.array(figures[name])
