"""Writes and prints what was found: tables, the front, its accelerators as files, a picture."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

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
from maestro_env.experiments.commands.codesign.plots import draw_front
from maestro_env.experiments.shell.files import (
    distinct_name,
    ensure_directory,
    write_csv,
    write_record,
    write_text,
)
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.shown.tables import printable_name
from maestro_env.experiments.study.sweep.axes import Sweep
from maestro_env.experiments.study.sweep.fronts import (
    ACCELERATORS,
    RECORD,
    axes_of,
    front_table,
    header_of,
    some_of,
)
from maestro_env.models import accelerator_record

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
