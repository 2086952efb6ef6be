"""Writes and prints what was found: tables, the front, its accelerators as files, a picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.technologies import technology_text
from maestro_env.experiments.commands.codesign.designs import (
    Design,
    above_bound,
    front_of,
    workloads,
)
from maestro_env.experiments.commands.codesign.flags import Config
from maestro_env.experiments.commands.codesign.grid import Grid
from maestro_env.experiments.shell.files import (
    distinct_name,
    ensure_directory,
    write_csv,
    write_record,
    write_text,
)
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.plots import GREY, STYLES, in_picture, new_figure, plot, tidy
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.shown.tables import printable_name
from maestro_env.experiments.study.sweep.axes import Sweep
from maestro_env.experiments.study.sweep.fronts import (
    ACCELERATORS,
    RECORD,
    UM2_A_MM2,
    Axis,
    axes_of,
    front_table,
    header_of,
    pictured,
    some_of,
)
from maestro_env.models import accelerator_record

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


_MOST_LINES = 10


@dataclass(frozen=True, eq=False)
class Explored:
    """What was found.

    Args:
        config: what was asked for.
        grid: the accelerators that could be.
        sweep: of all of them.
        designs: of those that were looked at, for every workload.
    """

    config: Config
    grid: Grid
    sweep: Sweep
    designs: Sequence[Design]

    @cached_property
    def workload(self) -> str:
        """The name of all networks together."""
        return workloads(self.sweep)[-1].name

    @cached_property
    def by_workload(self) -> dict[str, list[Design]]:
        """The designs of every workload, in the order of the grid."""
        order = {each.name: place for place, each in enumerate(self.sweep.hardware)}
        ranked = sorted(self.designs, key=lambda each: order[each.hardware.name])
        names = [part.name for part in workloads(self.sweep)]
        return {name: [each for each in ranked if each.workload == name] for name in names}

    @cached_property
    def fronts(self) -> dict[str, list[Design]]:
        """The front of every workload, the fastest first."""
        return {name: front_of(designs) for name, designs in self.by_workload.items()}

    @cached_property
    def chosen(self) -> dict[str, set[Accelerator]]:
        """The accelerators on the front of every workload."""
        return {name: {each.hardware for each in front} for name, front in self.fronts.items()}

    @property
    def front(self) -> list[Design]:
        """The front of all networks together, the fastest first."""
        return self.fronts[self.workload]


def report(outcome: Explored, directory: Path) -> None:
    """Write everything into a directory, and print the front."""
    rows = [_row(each, outcome) for each in _all(outcome)]
    header = header_of(outcome.grid.axes)
    write_csv(directory / ACCELERATORS, header, rows)
    write_csv(directory / "front.csv", header, [_row(each, outcome) for each in outcome.front])
    folder = directory / "hardware"
    ensure_directory(folder)
    for design in outcome.front:
        name = distinct_name(design.hardware.name)
        write_text(folder / f"{name}.yaml", outcome.grid.room.file_text(design.hardware))
    entry = _described(outcome)
    write_record(directory / RECORD, entry)
    _tell_unmapped(outcome)
    table = front_table(entry)
    write_text(directory / "front.md", table.markdown())
    table.print()
    print_lines("", f"accelerators: {directory / ACCELERATORS}")
    front = directory / "front.csv"
    print_lines(f"front: {front}; its accelerators, for --hardware: {folder}")
    if outcome.front:
        named = {each["hardware"] for each in some_of(entry["front"])[0]}
        told = [each for each in outcome.front if each.hardware.name in named]
        designs = outcome.by_workload[outcome.workload]
        axes = axes_of(outcome.grid.axes)
        drawn = designs, outcome.front, told, axes, table.title
        plot(directory / "front.png", lambda: draw_front(*drawn), outcome.config.svg, directory)


def _all(outcome: Explored) -> Iterator[Design]:
    for designs in outcome.by_workload.values():
        yield from designs


def _row(design: Design, outcome: Explored) -> list[Any]:
    hardware = design.hardware
    figures = (design.latency_cycles, design.energy_nj, design.edp)
    return [
        *(design.workload, hardware.name, *design.sizes.values()),
        *(design.area_um2, *(each if math.isfinite(each) else None for each in figures)),
        int(hardware in outcome.chosen[design.workload]),
        ";".join(design.unmapped),
    ]


def _described(outcome: Explored) -> dict[str, Any]:
    config, grid = outcome.config, outcome.grid
    return {
        "schema": "maestro-env/codesign/1",
        "networks": [part.name for part in outcome.sweep.sets],
        **{name: getattr(config, name) for name in ("objective", "mapper", "samples", "seed")},
        "search": config.search,
        "technology": technology_text(grid.technology),
        "own_energies": grid.room.has_energies(grid.base),
        "base": accelerator_record(grid.base),
        "grid": {name: list(values) for name, values in grid.axes.items()},
        "budget_um2": grid.budget_um2,
        "over_budget": grid.size - len(grid.fitting),
        "looked_at": len(outcome.by_workload[outcome.workload]),
        "front": [
            {
                **dict(zip(header_of(grid.axes), _row(each, outcome), strict=True)),
                "gap": each.gap,
                "above_bound": above_bound(each, outcome.sweep),
            }
            for each in outcome.front
        ],
    }


def _tell_unmapped(outcome: Explored) -> None:
    """Say which layers have no valid mapping on how many accelerators."""
    looked = outcome.by_workload[outcome.workload]
    counts = Counter(each.unmapped for each in looked if each.unmapped)
    for names, times in counts.most_common(_MOST_LINES):
        print_errors(
            f"no valid mapping of {printable_name(', '.join(names))} was found on {times:,} of "
            f"{len(looked):,} accelerators; accelerators.csv names them"
        )
