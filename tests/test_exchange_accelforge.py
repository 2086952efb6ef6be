"""What AccelForge counts for mappings that we wrote for it, against the model ``exact``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import accelforge_oracle
import pytest

from maestro_env.cost import Cost
from maestro_env.exchange import to_accelforge

DATA = json.loads((Path(__file__).parent / "data" / "accelforge_gemms.json").read_text())
ROWS: list[dict[str, Any]] = DATA["rows"]
EQUAL = [
    *(
        f"{tensor}_l2_{action}s"
        for tensor in ("input", "filter", "output")
        for action in ("read", "write")
    ),
    *(f"{tensor}_l1_{action}s" for tensor in ("input", "filter") for action in ("read", "write")),
]


def cost_of(row: dict[str, Any]) -> Cost:
    mapping, problem = accelforge_oracle.of_case(row)
    cost, status = problem.evaluate_mapping(mapping)
    assert status == "ok"
    assert cost is not None
    return cost


def test_the_figures_are_of_the_texts_that_are_written_today() -> None:
    assert len(ROWS) == accelforge_oracle.GEMMS == 200
    for row in ROWS:
        text = to_accelforge(*accelforge_oracle.of_case(row))
        assert accelforge_oracle.digest(text) == row["text"]


def test_the_counters_are_equal() -> None:
    for row in ROWS:
        cost, counts = cost_of(row), row["counts"]
        assert {name: getattr(cost, name) for name in EQUAL} == {
            name: counts[name] for name in EQUAL
        }, row
        off_chip = {
            action: sum(
                counts[f"{tensor}_offchip_{action}s"] for tensor in ("input", "filter", "output")
            )
            for action in ("read", "write")
        }
        assert (cost.offchip_read_words, cost.offchip_write_words) == tuple(off_chip.values()), row
        assert cost.compute_sum_cycles == counts["compute_cycles"], row


def test_outputs_in_l1_differ_by_the_partial_sums_that_come_back() -> None:
    """AccelForge reads a partial sum back into L1 to go on with it; ours adds where it is sent."""
    differing = 0
    for row in ROWS:
        cost, counts = cost_of(row), row["counts"]
        assert cost.output_psum_reads is not None
        # Each PE that adds to an output has a partial sum of its own.
        tiles = row["extents"]["K"] // row["tiles"]["K"]
        adding = min(row["pes"], tiles) if row["parallel"] == "K" else 1
        for action in ("reads", "writes"):
            ours = getattr(cost, f"output_l1_{action}")
            assert counts[f"output_l1_{action}"] == ours + cost.output_psum_reads * adding, row
        differing += cost.output_psum_reads > 0
    assert 20 < differing < 180


@pytest.mark.parametrize("key", ["source", "version", "date", "script"])
def test_the_figures_name_their_origin(key: str) -> None:
    assert DATA["about"][key]
