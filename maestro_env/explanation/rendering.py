"""Shows a mapping, as the text of its loop nest and as tiles on PEs; pictures of explanations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.elements import TENSORS
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MappingError
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.explanation.explanation import Explanation
from maestro_env.explanation.hierarchy import HierarchyExplanation
from maestro_env.mapspace.mapping import Mapping
from maestro_env.workloads.layer import Layer

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Image = NDArray[np.uint8]
Indices = NDArray[np.int64]

_FIGURES = {
    "latency_cycles": "cycles",
    "energy_nj": "nJ",
    "area_um2": "um^2",
    "utilization": "of peak throughput",
    "l1_bytes": "bytes",
    "l2_bytes": "bytes",
}
_INCHES, _DPI = 5, 96
# Of larger machines the first PEs are shown.
_MOST_PES = 2**16
# With more PEs a tile's indices would not be legible, or gaps between PEs would take the space.
_MOST_LABELS, _MOST_GAPS = 16, 4096
_WHITE, _GREY = 1.0, 0.85
# Okabe and Ito's colours, told apart by colour-blind readers.
_COLOURS = ("#0072B2", "#E69F00", "#009E73")
_OF_OTHERS = "#555555"


def text(mapping: Mapping, cost: Cost | None = None) -> str:
    """Return the loop nest, outermost loop first, and below it the main figures of a cost."""
    figures = {} if cost is None else cost.figures()
    lines = [
        f"{name:<14} {figures[name]:>15,.6g} {unit}"
        for name, unit in _FIGURES.items()
        if name in figures
    ]
    return "\n".join([str(mapping), *([""] if lines else []), *lines])


@dataclass(frozen=True)
class FirstStep:
    """What PEs work on in the first step of all levels, cluster by cluster.

    Args:
        clusters: of the outermost level; the last ones are missing if there are more PEs.
        cluster_size: PEs of a cluster, one after the other.
        active: bool[PEs], whether a PE has work.
        tiles: of every parallel dimension, the first index of each PE's tile and the one behind its
            last, int64[2, PEs]; those of idle PEs mean nothing.
    """

    clusters: int
    cluster_size: int
    active: NDArray[np.bool_]
    tiles: dict[str, Indices]


def first_step(mapping: Mapping, hardware: Hardware, layer: Layer) -> FirstStep:
    """Deal the tiles of the parallel loops to the PEs, at most 65,536 of them.

    Raises:
        MappingError: clusters of more PEs than there are, or a dimension that the layer lacks.
    """
    inner = [level.cluster_size or 1 for level in mapping.levels[1:]]
    cluster_size = math.prod(inner)
    clusters = hardware.num_pes // cluster_size
    if clusters == 0:
        raise MappingError(f"clusters have {cluster_size} PEs; allowed: at most {hardware.num_pes}")
    whole = max(_MOST_PES // cluster_size, 1) * cluster_size
    pes = np.arange(min(clusters * cluster_size, whole, _MOST_PES))
    active = np.ones(len(pes), dtype=bool)
    extents = {**layer.extents, **layer.loop_extents}
    tiles = {dim: np.stack([0 * pes, extent + 0 * pes]) for dim, extent in extents.items()}
    parallel: list[str] = []
    for level, unit in zip(mapping.levels, np.unravel_index(pes, (clusters, *inner)), strict=True):
        for loop in level.loops:
            if loop.dim not in tiles:
                raise MappingError(f"the layer {layer} has no dimension {loop.dim}")
            first, end = tiles[loop.dim]
            if loop.spatial:
                parallel += [loop.dim] if loop.dim not in parallel else []
                first += unit * loop.offset
                # Tiles of input rows overlap: one has work if some of its rows are its own.
                active &= (unit == 0) | (first + max(loop.size - loop.offset, 0) < end)
            np.minimum(end, first + loop.size, out=end)
    return FirstStep(clusters, cluster_size, active, {dim: tiles[dim] for dim in parallel})


def picture(mapping: Mapping, hardware: Hardware, layer: Layer) -> Image:
    """Draw the clusters and their PEs, coloured by the tile that each works on first.

    Returns uint8[480, 480, 3]. Clusters differ in hue, the PEs of one in saturation; PEs without
    work are grey. On up to 16 PEs the tiles' indices along the parallel dimensions are written.

    Raises:
        MappingError: as ``first_step``.
    """
    # Matplotlib takes longer to import than all else here.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    step = first_step(mapping, hardware, layer)
    rows, columns, side = _grid(step)
    figure = Figure(figsize=(_INCHES, _INCHES), dpi=_DPI)
    canvas = FigureCanvasAgg(figure)
    figure.text(0.02, 0.98, _title(mapping, step), va="top", fontsize=9)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.96 - 0.04 * (len(mapping.levels) + 2)))
    axes.axis("off")
    axes.imshow(_image(step, rows, columns, side), interpolation="nearest")
    if len(step.active) <= _MOST_LABELS:
        for pe in np.flatnonzero(step.active):
            spans = [f"{dim} {tile[0, pe]}-{tile[1, pe] - 1}" for dim, tile in step.tiles.items()]
            x, y = columns[pe] + (side - 1) / 2, rows[pe] + (side - 1) / 2
            axes.text(x, y, "\n".join(spans), ha="center", va="center", fontsize=8)
    rgba, (width, height) = canvas.print_to_buffer()  # type: ignore[no-untyped-call]
    return np.frombuffer(rgba, np.uint8).reshape(height, width, 4)[..., :3].copy()


def _grid(step: FirstStep) -> tuple[Indices, Indices, int]:
    """Place the PEs: the row and the column of each, and the side of its square, in pixels."""
    cluster, place = np.divmod(np.arange(len(step.active)), step.cluster_size)
    side, gap = (12, 1) if len(cluster) <= _MOST_GAPS else (1, 0)
    clusters, places = int(cluster[-1]) + 1, int(place.max()) + 1
    wide = math.ceil(math.sqrt(places))
    high = math.ceil(places / wide)
    clusters_wide = math.ceil(math.sqrt(clusters * high / wide))

    between = 4 if gap else int(places > 1)

    def pixels(cluster: Indices, place: Indices, places: int) -> Indices:
        return cluster * (places * (side + gap) + between) + place * (side + gap)

    rows = pixels(cluster // clusters_wide, place // wide, high)
    columns = pixels(cluster % clusters_wide, place % wide, wide)
    return rows, columns, side


def _image(step: FirstStep, rows: Indices, columns: Indices, side: int) -> NDArray[np.float64]:
    from matplotlib.colors import hsv_to_rgb

    cluster, place = np.divmod(np.arange(len(rows)), step.cluster_size)
    hue = 0.85 * cluster / (cluster[step.active].max() + 1)
    saturation = 0.3 + 0.6 * place / (place[step.active].max() + 1)
    colours = hsv_to_rgb(np.stack([hue % 1, saturation.clip(0, 1), np.full(len(rows), 0.95)], 1))
    colours[~step.active] = _GREY
    image = np.full((rows.max() + side, columns.max() + side, 3), _WHITE)
    square = np.arange(side)
    image[rows[:, None, None] + square[:, None], columns[:, None, None] + square] = colours[
        :, None, None
    ]
    return image


def _title(mapping: Mapping, step: FirstStep) -> str:
    outermost, *inner = mapping.levels
    parts = [(outermost, f"{step.clusters:,} clusters" if inner else f"{step.clusters:,} PEs")]
    for level in inner:
        units = "PEs" if level is inner[-1] else "clusters"
        parts.append((level, f"{level.cluster_size:,} {units} each"))
    lines = []
    for level, units in parts:
        dealt = [f"{loop.dim} in tiles of {loop.size:,}" for loop in level.loops if loop.spatial]
        lines.append(f"{units}, parallel over {', '.join(dealt) or 'nothing'}")
    shown = len(step.active)
    which = "" if shown == step.clusters * step.cluster_size else "first "
    busy = np.count_nonzero(step.active)
    work = f"first step: {busy:,} of the {which}{shown:,} PEs have work"
    idle = "" if busy == shown else "; grey: no work"
    return "\n".join([*lines, work, f"colour: cluster; darker: later PE of it{idle}"])


def traffic_figure(explanation: Explanation | HierarchyExplanation) -> Figure:
    """Draw the words that each memory reads and writes, and their energy, by tensor."""
    figure, (words_axes, energy_axes) = _panels()
    traffic, energy = explanation.traffic, explanation.energy
    places = np.arange(len(traffic.memories))
    for number, (tensor, colour) in enumerate(zip(TENSORS, _COLOURS, strict=True)):
        high = 0.8 / len(TENSORS)
        middle = places + (number - 1) * high
        words_axes.barh(middle, traffic.words[:, number], high, color=colour, label=tensor)
        before = energy.accesses[:, :number].sum(axis=1)
        energy_axes.barh(range(len(before)), energy.accesses[:, number], left=before, color=colour)
    others = {"MACs": energy.macs} | ({"leakage": energy.leakage} if energy.leakage else {})
    rows = len(energy.memories) + np.arange(len(others))
    energy_axes.barh(rows, list(others.values()), color=_OF_OTHERS)
    words_axes.set_xscale("log")
    words_axes.set_xlabel("words read and written")
    words_axes.legend(frameon=False)
    energy_axes.set_xlabel("energy (nJ)")
    _name_rows(words_axes, list(traffic.memories))
    _name_rows(energy_axes, [*energy.memories, *others])
    return figure


def time_figure(explanation: Explanation) -> Figure:
    """Draw where the cycles go, and what a step of L2 takes: the mean, from least to most."""
    figure, (parts_axes, steps_axes) = _panels()
    _draw_parts(parts_axes, explanation.cycles.parts)
    steps = explanation.steps
    delays = (steps.ingress, steps.compute, steps.egress)
    means = [each.mean for each in delays]
    # Where all are equal, the mean may be beside them by rounding.
    below = [max(each.mean - each.least, 0.0) for each in delays]
    above = [max(each.most - each.mean, 0.0) for each in delays]
    places = range(len(delays))
    steps_axes.barh(places, means, xerr=[below, above], color=_COLOURS[0], capsize=4)
    steps_axes.set_xlabel(f"cycles of a step of L2 (of {steps.steps:,})")
    _name_rows(steps_axes, ["words in", "compute", "outputs out"])
    return figure


def port_figure(explanation: HierarchyExplanation) -> Figure:
    """Draw where the cycles go, and those that each limit of a port takes, next to computing."""
    figure, (parts_axes, ports_axes) = _panels()
    _draw_parts(parts_axes, dict(explanation.cycles))
    busy = {"compute": explanation.cycles["compute"], **explanation.port_cycles}
    ports_axes.barh(range(len(busy)), list(busy.values()), color=_COLOURS[0])
    ports_axes.set_xlabel("cycles, each alone")
    _name_rows(ports_axes, list(busy))
    return figure


def _panels() -> tuple[Figure, Any]:
    """Return a figure with two panels side by side."""
    # Matplotlib takes longer to import than all else here.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 4), layout="constrained")
    return figure, figure.subplots(1, 2)


def _draw_parts(axes: Axes, parts: dict[str, float]) -> None:
    """Draw the parts of the latency that are not 0, with their shares."""
    named = {name.replace("_", " "): part for name, part in parts.items() if part}
    bars = axes.barh(range(len(named)), list(named.values()), color=_COLOURS[0])
    axes.bar_label(bars, [f"{part / sum(named.values()):.1%}" for part in named.values()])
    axes.margins(x=0.15)
    axes.set_xlabel("cycles")
    _name_rows(axes, list(named))


def _name_rows(axes: Axes, names: list[str]) -> None:
    """Name the bars, the first one on top."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)
