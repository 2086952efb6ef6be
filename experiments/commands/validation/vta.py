"""Seconds of VTA on an FPGA beside those of the model ``hierarchy``, for the same schedules.

The rows are those of TopHub (github.com/tlc-pack/tophub, f05376e, ``tophub/vta_v0.06.log``), which
tuned each layer on a board; docs/validation.md has the columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.experiments.commands.validation.agreement import (
    REFILL,
    Cells,
    Floats,
    Run,
    busiest,
    cost_of,
    least,
    loss,
    print_groups,
    print_left_out,
    print_models,
    print_worst,
    with_parts,
)
from maestro_env.experiments.shell.files import RecordError, read_csv
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.shape import Shape

BUS_BYTES = 8
"""Bytes a cycle and way of the port that VTA shares with the processor's caches."""

_CHIPS = {"1x16x16": "vta", "4x8x8": "vta_4x8"}
_BOARDS = ("pynq", "ultra96")
# Fewer tell nothing of three constants.
_LEAST_ROWS = 16
_SCORED = ("conv2d", "group_conv2d")
# Two virtual threads, each with tiles of its own, which every step loads (vta_conv2d.py).
_SOFTWARE: dict[str, dict[str, Any]] = {
    "inputs": {"forgets": ("input",), "buffers": 2},
    "weights": {"forgets": ("filter",), "buffers": 2},
    "sums": {"buffers": 2},
}
_START = {"bits_per_cycle": 32.0, "launch_cycles": 1000.0, "depth": 10.0}

Constants = Mapping[str, float]


@dataclass(frozen=True)
class Layer(Run):
    """A layer and its tuned schedule.

    Args:
        session: in which it was tuned, on a design of its own.
        chip: name of the accelerator.
        passes: of the vector unit over each block of outputs: shift, clips, bias.
        serial: whether the vector unit walks the 16 outputs of a block one by one, as it did
            before tvm's f55609b4; after it a block takes two cycles a pass.
    """

    session: str
    chip: str
    passes: int
    serial: bool

    def finish_cycles(self, depth: float = 1.0) -> float:
        """Return the cycles of the vector unit for a block: its reset, and its passes.

        A serial pass takes a cycle for each of 16 outputs and the ``depth`` of their pipeline, at
        least one cycle, in which it reads the block (vta.cc, ``READ_ALU_UOP``).
        """
        return 1 + self.passes * (16 + depth if self.serial else 2)


def read_layers(path: Path) -> tuple[list[Layer], list[tuple[str, str]]]:
    """Read the table: convolutions of a known core, and the names of all other rows, with reasons.

    Raises:
        RecordError: it cannot be read, or a cell is wrong.
    """
    layers, left = [], []
    for number, row in enumerate(read_csv(path), 1):
        cells = Cells(row, f"{path}, row {number}")
        name, operator = cells.text("id"), cells.text("operator")
        core = cells.choice("core", _CHIPS)
        if cells.choice("board", _BOARDS) != "pynq":
            left.append((name, "its log does not name core and clock of the board"))
        elif operator not in _SCORED:
            left.append((name, f"{operator}: the rows are convolutions"))
        else:
            layers.append(_layer(cells, name, core))
    if all(each.shape.extents["G"] > 1 for each in layers):
        raise RecordError(f"{path} has no convolution without groups on a pynq board; give some")
    return layers, left


def _layer(cells: Cells, name: str, core: str) -> Layer:
    extents = {dim: cells.integer(dim) for dim in "NGKCPQRS"}
    tiles = [(dim, cells.integer(f"tile_{dim.lower()}")) for dim in "NPKQC"]
    images, channels, filters = map(int, core.split("x"))
    blocks = [("N", images), ("C", channels), ("Q", 1), ("S", 1), ("R", 1), ("K", filters)]
    chip = find_hierarchy(_CHIPS[core])
    spatial = {"images": [("N", 1)], "rows": [("C", 1)], "columns": [("K", 1)]}
    loops: dict[str, Any] = {chip.names[0]: [("G", 1), *tiles], "sums": [*blocks, ("P", 1)]}
    return Layer(
        name=name,
        network=cells.text("network"),
        shape=Shape(extents, (cells.integer("stride_y"), cells.integer("stride_x"))),
        mapping=[(loops | spatial).get(each, []) for each in chip.names],
        cycles=cells.number("seconds") * 1e6 * (chip.clock_mhz or 0),
        session=cells.text("session"),
        chip=chip.name,
        passes=cells.integer("passes"),
        serial=cells.choice("lanes", ("1", str(filters))) == "1",
    )


# --- Predictions --------------------------------------------------------------------------------


def machine(layer: Layer, finish: bool = True, constants: Constants | None = None) -> Hierarchy:
    """Return the accelerator with the software that the layer was tuned for.

    Args:
        layer: what runs on it.
        finish: whether outputs take the cycles of the vector unit.
        constants: fitted ones; by default nothing is fitted.
    """
    parts = {name: dict(part) for name, part in _SOFTWARE.items()}
    cycles = layer.finish_cycles(constants["depth"] if constants else 1.0)
    parts["sums"]["finish_cycles"] = cycles if finish else 0.0
    if constants:
        rate = constants["bits_per_cycle"]
        parts["DRAM"] = {"read_bw": rate, "write_bw": rate, "refill": REFILL}
        parts["inputs"]["launch_cycles"] = constants["launch_cycles"]
    return with_parts(find_hierarchy(layer.chip), **parts)


def latencies(layers: Sequence[Layer], **how: Any) -> Floats:
    """Return cycles, float64[N]; the arguments are those of ``machine``."""
    return np.array([cost_of(each, machine(each, **how)).latency_cycles for each in layers])


def fit(layers: Sequence[Layer]) -> dict[str, float]:
    """Return the bus's rate, cycles to launch a step and the serial pipeline's depth."""
    measured = np.array([each.cycles for each in layers])
    return least(lambda values: loss(latencies(layers, constants=values), measured), _START)


# --- Tables -------------------------------------------------------------------------------------


def compare(path: Path) -> None:
    """Print how well the model follows the rows of a file."""
    layers, left = read_layers(path)
    plain = [each for each in layers if each.shape.extents["G"] == 1]
    measured = np.array([each.cycles for each in plain])
    bounds = [lower_bound(each.shape, find_hierarchy(each.chip)) for each in plain]
    costs = [cost_of(each, machine(each, finish=False)) for each in plain]
    peaks = [find_hierarchy(each.chip).peak_macs_per_cycle for each in plain]
    model = latencies(plain)
    models = {
        "MACs / peak": np.array([each.shape.macs for each in plain]) / peaks,
        "largest of array and bytes / 8": np.array(
            [busiest(each, BUS_BYTES, two_ways=True) for each in costs]
        ),
        "least of any mapping": np.array([each.latency_cycles for each in bounds]),
        "hierarchy without finish_cycles": np.array([each.latency_cycles for each in costs]),
        "hierarchy, the newer core in all": latencies(
            [replace(each, serial=False) for each in plain]
        ),
        "hierarchy": model,
    }
    print_models(f"{len(plain)} convolutions on VTA, nothing fitted", measured, models)
    names = [each.name for each in plain]
    shown = {"without finish_cycles": models["hierarchy without finish_cycles"], "all": model}
    for groups in ([each.session for each in plain], [each.network for each in plain]):
        print_groups("Nothing fitted", groups, measured, shown)
    print_worst("Worst runs, nothing fitted", names, measured, model)
    _compare_fitted(layers)
    print_left_out(left)


def _compare_fitted(layers: Sequence[Layer]) -> None:
    """Print how constants of one half of the rows, every other one, predict the other half."""
    if len(layers) < _LEAST_ROWS:
        return
    halves = [layers[0::2], layers[1::2]]
    measured = [np.array([each.cycles for each in half]) for half in halves]
    for ours, other in ((0, 1), (1, 0)):
        constants = fit(halves[ours])
        predicted = latencies(halves[other], constants=constants)
        note = ", ".join(f"{name} {value:.4g}" for name, value in constants.items())
        title = f"Fitted on {len(halves[ours])} rows: {note}; {len(halves[other])} other rows"
        models = {"hierarchy": predicted, "nothing fitted": latencies(halves[other])}
        print_models(title, measured[other], models)
