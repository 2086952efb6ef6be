"""What a directory of ``codesign`` has: a sweep for every round, and the record of the front."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.shell.files import read_record
from experiments.shown.tables import Sheet, figure, named

RECORD = "codesign.json"
"""The file that has the front."""

SWEEPS = "sweeps"
"""The folder that has a sweep for every round."""

ACCELERATORS = "accelerators.csv"
"""The table of all accelerators, for every workload."""

AXES = ("num_pes", "l1_bytes", "l2_bytes", "noc_bw", "offchip_bw")
"""The fields of ``Hardware`` that a grid changes."""

HEADER = (
    *("workload", "hardware", *AXES, "area_um2", "latency_cycles", "energy_nj", "edp", "front"),
    "unmapped",
)
"""The columns of the table of all accelerators, and the keys of those in the record."""

UM2_A_MM2 = 1e6
_MOST_ROWS = 60


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


def front_sheet(entry: Mapping[str, Any]) -> Sheet:
    """Return the front that a record tells as a table; its title says what was looked at."""
    rows = [
        (
            named(each["hardware"]),
            *(figure(each[name], f"{each[name]:,}") for name in AXES),
            *(figure(each[name]) for name in ("area_um2", "latency_cycles", "energy_nj", "edp")),
        )
        for each in entry["front"][:_MOST_ROWS]
    ]
    columns = ("PEs", "L1\nB per PE", "L2\nB", "NoC\nwords/cycle", "off-chip\nwords/cycle")
    figures = ("area\num^2", "latency\ncycles", "energy\nnJ", "EDP\ncycles x nJ")
    title = (
        f"{' + '.join(entry['networks'])}: front of {entry['looked_at']:,} accelerators within "
        f"{entry['budget_um2'] / UM2_A_MM2:.4g} mm^2"
    )
    return Sheet(title, ("hardware",), (*columns, *figures), rows, _note(entry))


def _note(entry: Mapping[str, Any]) -> str:
    front, size = entry["front"], math.prod(map(len, entry["grid"].values()))
    parts = [
        f"Front of latency, energy and area: {len(front):,} accelerators. Of {size:,} in the "
        f"grid {entry['over_budget']:,} do not fit the area. Area is that of PEs and buffers; "
        "networks and main memory add none. Latency and energy are sums over all executions of "
        "the layers."
    ]
    if len(front) > _MOST_ROWS:
        parts.append(f"These are the first {_MOST_ROWS}; front.csv has all.")
    if (least := least_edp(entry)) is not None:
        parts.append(f"Least EDP: {least['hardware']}.")
    return " ".join(parts)
