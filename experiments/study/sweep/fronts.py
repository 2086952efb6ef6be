"""What a directory of ``codesign`` has: a sweep for every round, and the record of the front.

The axes of its grid, as tables and pictures show them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.accelerators.quantities import bits_text
from maestro_env.evaluation.fronts import representatives
from maestro_env.experiments.shell.files import read_record
from maestro_env.experiments.shown.tables import Table, figure, named, shown_gap

RECORD = "codesign.json"
"""The file that has the front."""

SWEEPS = "sweeps"
"""The folder that has a sweep for every round."""

ACCELERATORS = "accelerators.csv"
"""The table of all accelerators, for every workload."""

TOTALS = ("area_um2", "latency_cycles", "energy_nj", "edp")
"""What a workload takes on an accelerator, and the accelerator's area."""

UM2_A_MM2 = 1e6
_COMPARED = ("latency_cycles", "energy_nj", "area_um2")
_MOST_TOLD = 12


BITS, SIZE = "_bits", "_size"
"""What names of axes end with that are the capacity of a memory, or the size of a fan-out."""


@dataclass(frozen=True)
class Axis:
    """What a grid changes, as tables and pictures show it.

    Args:
        name: a field of ``Hardware``, or the name of an element with ``BITS`` or ``SIZE``.
        label: what it is called.
        unit: of its values as tables have them.
        said: what a sentence says after a value; empty of what takes up no area.
    """

    name: str
    label: str
    unit: str = ""
    said: str = ""

    @property
    def header(self) -> str:
        """The head of a column."""
        return f"{self.label}\n{self.unit}" if self.unit else self.label

    def number(self, value: float) -> float:
        """Return a value in the unit."""
        return value / 8 if self.name.endswith(BITS) else value

    def text(self, value: float) -> str:
        """Return a value in the unit as tables have it."""
        return f"{self.number(value):,.10g}"

    def short(self, value: int) -> str:
        """Return a value with as few characters as a picture has room for."""
        if self.name.endswith(BITS):
            return bits_text(value)
        return f"{value / 1000:g} kB" if self.name == "l2_bytes" else str(value)


_FIELDS = (
    Axis("num_pes", "PEs", said="PEs"),
    Axis("l1_bytes", "L1", "B per PE", "B of L1 each"),
    Axis("l2_bytes", "L2", "B", "of L2"),
    Axis("noc_bw", "NoC", "words/cycle"),
    Axis("offchip_bw", "off-chip", "words/cycle"),
)
AXES = tuple(each.name for each in _FIELDS)
"""The fields of ``Hardware`` that a grid changes."""


def axes_of(names: Iterable[str]) -> list[Axis]:
    """Return the axes of a grid."""
    fields = {each.name: each for each in _FIELDS}
    return [fields[name] if name in fields else _of_element(name) for name in names]


def _of_element(name: str) -> Axis:
    if name.endswith(BITS):
        label = name.removesuffix(BITS)
        return Axis(name, label, "B", f"of {label}")
    label = name.removesuffix(SIZE)
    return Axis(name, label, said=label)


def pictured(axes: Sequence[Axis]) -> dict[str, Axis]:
    """Return the axes that size and darken the points of a picture, if there are such.

    They are the first number of ``units``, and the ``capacity`` of L2 or of the first memory.
    """
    kinds = (("units", ("num_pes", SIZE)), ("capacity", ("l2_bytes", BITS)))
    found = {kind: [each for each in axes if each.name.endswith(ends)] for kind, ends in kinds}
    return {kind: each[0] for kind, each in found.items() if each}


def header_of(axes: Iterable[str]) -> tuple[str, ...]:
    """Return the columns of the table of all accelerators, and the keys of those in the record."""
    return ("workload", "hardware", *axes, *TOTALS, "front", "unmapped")


def read_front(directory: Path) -> dict[str, Any]:
    """Read the record of the front.

    Raises:
        RecordError: there is none, or it was changed.
    """
    return read_record(directory / RECORD, "delete it, and --resume writes it again")


def rounds_of(directory: Path) -> list[Path]:
    """Return the directories of the sweeps, in their order."""
    rounds = (path for path in (directory / SWEEPS).iterdir() if path.name.isdecimal())
    return sorted(rounds, key=lambda each: int(each.name))


def least_edp(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the accelerator of a front with the least EDP; None of an empty front."""
    return min(entry["front"], key=lambda each: float(each["edp"]), default=None)


def some_of(front: Sequence[Mapping[str, Any]]) -> tuple[list[Mapping[str, Any]], float]:
    """Return at most a dozen accelerators of a front, in its order, and how near the others are.

    The first of these ``representatives`` has the least EDP; they are farther apart than a search
    may err.
    """
    if not front:
        return [], 0.0
    figures = np.array([[float(each[name]) for name in _COMPARED] for each in front])
    least = int(np.argmin([float(each["edp"]) for each in front]))
    chosen, distance = representatives(figures, least, _MOST_TOLD, error_of(front) or 0.0)
    return [front[each] for each in chosen], distance


def error_of(front: Iterable[Mapping[str, Any]]) -> float | None:
    """Return the largest gap of a front's searches, as ``Design`` has it; None if unknown."""
    gaps = [each["gap"] for each in front]
    return None if None in gaps else max(gaps, default=None)


def front_table(entry: Mapping[str, Any]) -> Table:
    """Return some of the front that a record tells; the title says what was looked at."""
    told, distance = some_of(entry["front"])
    axes = axes_of(entry["grid"])
    rows = [
        (
            named(each["hardware"]),
            *(figure(each[axis.name], axis.text(each[axis.name])) for axis in axes),
            *(figure(each[name]) for name in TOTALS),
            shown_gap(each.get("above_bound", each["gap"])),
        )
        for each in told
    ]
    columns = [axis.header for axis in axes]
    figures = ("area\num^2", "latency\ncycles", "energy\nnJ", "EDP\ncycles x nJ")
    searches = ("above\nbound",)
    title = (
        f"{' + '.join(entry['networks'])}: front of {entry['looked_at']:,} accelerators within "
        f"{entry['budget_um2'] / UM2_A_MM2:.4g} mm^2, technology {entry['technology']}"
    )
    if entry.get("own_energies"):
        title += " where the file has no energies"
    headers = (*columns, *figures, *searches)
    return Table(title, ("hardware",), headers, rows, _note(entry, len(told), distance))


def _note(entry: Mapping[str, Any], told: int, distance: float) -> str:
    front, size = entry["front"], math.prod(map(len, entry["grid"].values()))
    parts = [
        f"Front of latency, energy and area: {len(front):,} accelerators. Of {size:,} in the "
        f"grid {entry['over_budget']:,} do not fit the area. Area is that of PEs and buffers; "
        "networks and main memory add none. Latency and energy are sums over all executions of "
        "the layers."
    ]
    if entry.get("own_energies"):
        parts.append("Energies that the file has hold at every size.")
    if told < len(front):
        parts.append(
            f"The table has {told} of them, which stand for the others: for each other one, one in "
            f"the table has at most {distance:.1%} more latency, energy and area. All are in "
            "front.csv."
        )
    if (error := error_of(front)) is not None:
        parts.append(
            f"The {entry['objective']} of the layers is proven to be at most {error:.1%} above its "
            "least."
        )
    elif any(each["above_bound"] is not None for each in front):
        parts.append(
            "Above bound: how far the layers' "
            f"{entry['objective']} is above what no mapping can beat. The searches are not proven, "
            "and the best mappings need not reach that bound: it does not tell how far the "
            "searches err."
        )
    if (least := least_edp(entry)) is not None:
        parts.append(f"Least EDP: {least['hardware']}.")
    return " ".join(parts)
