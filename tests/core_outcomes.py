"""All that the core says of points, directive lists and measured rows.

Whatever a function needs of the core it makes anew, so that under ``plain_core`` the same call
gives what the plain core says.
"""

from __future__ import annotations

import json
import lzma
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import fuzz
import numpy as np
from directive_texts import directive

from maestro_env import _native
from maestro_env.hardware import PRESETS, Hardware
from maestro_env.layer import Layer
from maestro_env.map_space import TILES, MapSpace, Points
from maestro_env.models import MODELS
from maestro_env.workloads import find_layer

ROWS = Path(__file__).parent / "data" / "mapping_rows.jsonl.xz"

Outcome = tuple[Any, ...]


# --- Points of map spaces -----------------------------------------------------------------------


def drawn_layer(rng: np.random.Generator) -> Layer:
    """Draw a layer of the zoo or, as often, one of any operator, batch and strides."""
    if rng.random() < 0.5:
        return replace(find_layer(str(rng.choice(fuzz.LAYERS))))
    operator = str(rng.choice(["CONV", "TRCONV", "DSCONV", "NGCONV", "GEMM"]))
    largest = int(rng.choice([6, 30, 300]))

    def size() -> int:
        return int(rng.integers(1, largest + 1))

    if operator == "GEMM":
        return Layer(operator, {name: size() for name in "MNK"})
    channels = {"DSCONV": "C", "NGCONV": "GKC"}.get(operator, "KC")
    extents = {name: size() for name in (*channels, *("N" * (rng.random() < 0.3)))}
    for axis, window in ("YR", "XS"):
        extents[window] = int(rng.integers(1, 6))
        extents[axis] = extents[window] + size() - 1
    return Layer(operator, extents, (int(rng.integers(1, 5)), int(rng.integers(1, 5))))


def drawn_hardware(rng: np.random.Generator) -> Hardware:
    """Draw a preset or, as often, any machine."""
    if rng.random() < 0.5:
        return replace(PRESETS[rng.choice(list(PRESETS))])
    bandwidths = [1, 7, 64, 1000, 2**30]
    return Hardware(
        num_pes=int(rng.integers(1, 1025)),
        l1_bytes=int(rng.choice([64, 512, 2**30])),
        l2_bytes=int(rng.choice([2000, 108_000, 2**30])),
        noc_bw=int(rng.choice(bandwidths)),
        offchip_bw=int(rng.choice(bandwidths)),
        noc_hops=int(rng.integers(0, 3)),
        noc_hop_latency=int(rng.integers(0, 3)),
        simd_lanes=int(rng.choice([1, 1, 4])),
        offchip_cost_macs=float(rng.choice([0, 200])),
    )


def points_outcome(
    model: str, schema: str, count: int, seed: tuple[int, ...]
) -> tuple[str, Points, np.ndarray, np.ndarray]:
    """Return what was drawn: its problem, points int32[N, D], float64[N, M] and uint8[N]."""
    rng = np.random.default_rng(seed)
    layer, hardware, tiles = drawn_layer(rng), drawn_hardware(rng), str(rng.choice(TILES))
    guarded = bool(rng.random() < 0.7)
    space = MapSpace(layer, hardware, schema, tiles)
    points = space.sample(count, rng)
    judge = _native.BatchEvaluator(model, layer.native, hardware.native, guarded=guarded)
    what = f"{model}, {schema}, {layer} on {hardware}, {tiles}, {guarded=}"
    return what, points, *judge.evaluate(space.native, points)


# --- Directive lists ----------------------------------------------------------------------------


class Judges:
    """All evaluators of directive lists on one layer and machine.

    They see all lists one after the other, so that nothing of one may show in another's figures.
    """

    def __init__(self, layer: _native.Layer, machine: dict[str, Any]) -> None:
        self._layer = layer
        self._hardware = _native.Hardware(**machine)
        self._machine = machine
        self._evaluators: list[_native.BatchEvaluator] = []
        try:
            for model, guarded in product(MODELS, (True, False)):
                self._evaluators.append(
                    _native.BatchEvaluator(model, layer, self._hardware, guarded=guarded)
                )
        except ValueError:
            # A layer without outputs, which the drop-in alone takes.
            assert self._evaluators == []

    def outcome(self, directives: list[fuzz.Directive]) -> Outcome:
        """Return figures, status, clusters and directive at fault of all; report; CSV cells."""
        return (
            [each.evaluate_mapping(directives) for each in self._evaluators],
            _native.exact_report(self._layer, directives, self._hardware),
            self._network(directives),
            # A layer without directives shares those of the layer before it.
            self._network(directives, []),
        )

    def _network(self, *mappings: list[fuzz.Directive]) -> tuple[str, list[list[str]]]:
        machine = self._machine
        return _native.run_network(
            [self._layer] * len(mappings),
            list(mappings),
            machine["num_pes"],
            machine["simd_lanes"],
            machine["offchip_bw"],
            [(machine["noc_bw"], machine["noc_latency"])] * 4,
        )


def statuses(outcome: Outcome) -> list[str]:
    """Return the status of every model, guarded, or that of the drop-in for want of them."""
    evaluated, _, (status, _), _ = outcome
    return [each[1] for each in evaluated[::2]] or [status]


def lists_outcomes(count: int, seed: tuple[int, ...]) -> list[tuple[str, Outcome]]:
    """Return lists on one random layer and machine, each with what the core says of it."""
    rng = np.random.default_rng(seed)
    layer, extents = fuzz.random_layer(rng)
    machine = fuzz.random_machine(rng)
    judges = Judges(layer, machine)
    partitions = rng.choice([0.7, 0.99, 1.0])
    lists = [fuzz.random_list(rng, extents, partitions) for _ in range(count)]
    return [(f"{each} of {extents} on {machine}", judges.outcome(each)) for each in lists]


# --- Mappings of measured rows ------------------------------------------------------------------


@cache
def mapping_rows() -> list[dict[str, Any]]:
    """Return the inputs of the 20,000 rows measured with the MAESTRO binary."""
    with lzma.open(ROWS, "rt", encoding="utf-8") as file:
        header, *rows = map(json.loads, file)
    for row in rows:
        row["hw"] = dict(zip(header["hw"], row["hw"], strict=True))
    return rows


def row_outcome(row: dict[str, Any]) -> Outcome:
    """Return all that the core says of a row's mapping."""
    hw = row["hw"]
    strides = list(zip("YX", row["stride"], strict=True)) if row["stride"] else []
    machine = {
        "num_pes": hw["num_pes"],
        "simd_lanes": hw["simd"],
        "noc_bw": hw["noc_bw"],
        "noc_latency": hw["hop_latency"],
        "offchip_bw": hw["offchip_bw"],
        "l1_bytes": hw["l1"],
        "l2_bytes": hw["l2"],
    }
    judges = Judges(_native.Layer(row["type"], list(row["dims"].items()), strides), machine)
    return judges.outcome([directive(line, row["dims"]) for line in row["dataflow"]])
