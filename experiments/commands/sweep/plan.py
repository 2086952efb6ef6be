"""What is printed of a sweep before it runs: its cells and how long they will take."""

from __future__ import annotations

import math
from collections.abc import Mapping

from maestro_env.experiments.shown.tables import Sheet, significant
from maestro_env.experiments.study.sweep.axes import Sweep


def print_plan(sweep: Sweep, sizes: Mapping[str, int], seconds: Mapping[str, float]) -> None:
    """Print the cells and chunks of a sweep, and the core-hours they take."""
    cells = sweep.cells_of_mapper
    rows = [
        (
            mapper,
            f"{cells:,}",
            f"{math.ceil(cells / sizes[mapper]):,}",
            significant(seconds[mapper], 3),
            significant(cells * seconds[mapper] / 3600, 3),
        )
        for mapper in sweep.mappers
    ]
    total = cells * sum(seconds.values()) / 3600
    _, layers, hardware, objectives, seeds = sweep.shape
    title = (
        f"{sweep.cells:,} cells: {layers} layers x {hardware} accelerators x {objectives} "
        f"objectives x {len(sweep.mappers)} mappers x {seeds} seeds"
    )
    note = (
        f"{significant(total, 3)} core-hours, from a few short searches on this machine. "
        "A mapper without an estimate failed in them."
    )
    columns = ("cells", "chunks", "CPU seconds\nper cell", "core-hours")
    Sheet(title, ("mapper",), columns, rows, note).print()
