"""Digests of figures that a second, plain implementation of both models gave.

``data/digests.json`` holds a digest of every block of inputs, each drawn from its number alone: the
points of a map space on one layer and machine, directive lists on one, mappings of measured rows.
All of the core's answer counts, to the last bit. ``python tests/frozen.py`` lists the blocks that
differ; with ``--write`` the core's own digests replace the file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import drawn
import numpy as np
from directive_texts import directive

from maestro_env import _native
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace

DIGESTS = Path(__file__).parent / "data" / "digests.json"
ROWS = Path(__file__).parent / "data" / "mapping_rows.jsonl.xz"

POINTS_IN_BLOCK = 500
LISTS_IN_BLOCK = 40
ROWS_IN_BLOCK = 200
COUNTS = {"points": 2400, "lists": 1200, "rows": 100}
CASES = tuple(
    product(("exact", "maestro"), (True, False), ("legal13", "paper10", "full17"), drawn.TILES)
)


def digest(*parts: bytes) -> str:
    return hashlib.blake2b(b"\n".join(parts), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Block:
    """Vectors of one map space and what evaluates them."""

    evaluator: _native.BatchEvaluator
    space: MapSpace
    points: Points

    @classmethod
    def drawn(cls, number: int) -> Block:
        model, guarded, schema, tiles = CASES[number % len(CASES)]
        draws = drawn.Draws(1, number)
        layer, hardware = drawn.layer(draws), drawn.hardware(draws)
        space = MapSpace(layer, hardware, schema, tiles)
        points = drawn.points(draws, space, POINTS_IN_BLOCK)
        evaluator = _native.BatchEvaluator(model, layer.native, hardware.native, guarded=guarded)
        return cls(evaluator, space, points)

    def rows(self) -> tuple[np.ndarray, list[str]]:
        """Return figures float64[N, M] and statuses."""
        figures, codes = self.evaluator.evaluate(self.space.native, self.points)
        return figures, [_native.STATUSES[code] for code in codes]


def points_block(number: int) -> str:
    """Evaluate vectors of one map space."""
    figures, statuses = Block.drawn(number).rows()
    # Every NaN is the same.
    figures[np.isnan(figures)] = np.nan
    return digest(figures.astype("<f8").tobytes(), " ".join(statuses).encode())


class Judges:
    """All evaluators of directive lists on one layer and machine.

    They see all lists one after the other, so that nothing of one may show in another's figures.
    """

    def __init__(self, layer: _native.Layer, machine: dict[str, Any]) -> None:
        self._layer = layer
        self._hardware = _native.Hardware(**machine)
        self._machine = machine
        try:
            self._evaluators = [
                _native.BatchEvaluator(model, layer, self._hardware, guarded=guarded)
                for model, guarded in product(("exact", "maestro"), (True, False))
            ]
        except ValueError:
            # A layer without outputs, which the drop-in alone takes.
            self._evaluators = []

    def outcome(self, directives: list[drawn.Directive]) -> bytes:
        """Return figures, status, clusters and directive at fault of all; report; CSV cells."""
        parts = [
            [each.evaluate_mapping(directives) for each in self._evaluators],
            _native.exact_report(self._layer, directives, self._hardware),
            self._network(directives),
            # A layer without directives shares those of the layer before it.
            self._network(directives, []),
        ]
        # Floats as the shortest text that is read as the same.
        return repr(parts).encode()

    def _network(self, *mappings: list[drawn.Directive]) -> tuple[str, list[list[str]]]:
        machine = self._machine
        return _native.run_network(
            [self._layer] * len(mappings),
            list(mappings),
            machine["num_pes"],
            machine["simd_lanes"],
            machine["offchip_bw"],
            [(machine["noc_bw"], machine["noc_latency"])] * 4,
        )


def lists_block(number: int) -> str:
    """Evaluate directive lists on one layer and machine."""
    draws = drawn.Draws(2, number)
    operator, extents, strides = drawn.any_layer(draws)
    layer = _native.Layer(operator, list(extents.items()), strides)
    judges = Judges(layer, drawn.any_machine(draws))
    partitions = draws.one_of((70, 99, 100))
    lists = (drawn.directives(draws, extents, partitions) for _ in range(LISTS_IN_BLOCK))
    return digest(*map(judges.outcome, lists))


@cache
def mapping_rows() -> list[dict[str, Any]]:
    """Return the inputs of the 20,000 rows measured with the MAESTRO binary."""
    with lzma.open(ROWS, "rt", encoding="utf-8") as file:
        header, *rows = map(json.loads, file)
    for row in rows:
        row["hw"] = dict(zip(header["hw"], row["hw"], strict=True))
    return rows


def row_outcome(row: dict[str, Any]) -> bytes:
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


def rows_block(number: int) -> str:
    """Evaluate mappings of measured rows."""
    start = number * ROWS_IN_BLOCK
    return digest(*map(row_outcome, mapping_rows()[start : start + ROWS_IN_BLOCK]))


BLOCKS = {"points": points_block, "lists": lists_block, "rows": rows_block}


@cache
def frozen() -> dict[str, list[str]]:
    """Return the digests of the file, by kind."""
    digests: dict[str, list[str]] = json.loads(DIGESTS.read_text(encoding="utf-8"))
    return digests


def differing(kind: str, numbers: Iterable[int]) -> list[int]:
    """Return which blocks of a kind have another digest than the file says."""
    return [number for number in numbers if BLOCKS[kind](number) != frozen()[kind][number]]


def write() -> None:
    digests = {kind: list(map(BLOCKS[kind], range(count))) for kind, count in COUNTS.items()}
    DIGESTS.write_text(json.dumps(digests, indent=0) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"replace {DIGESTS.name}")
    if parser.parse_args().write:
        write()
        return
    for kind, count in COUNTS.items():
        sys.stdout.write(f"{kind}: {count} blocks, differing: {differing(kind, range(count))}\n")


if __name__ == "__main__":
    main()
