"""What AccelForge counts for mappings that we wrote for it, against the model ``exact``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import accelforge_oracle
import pytest
from gate import few

from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.exchange import to_accelforge

DATA = json.loads((Path(__file__).parent / "data" / "accelforge_gemms.json").read_text())
ROWS: list[dict[str, Any]] = DATA["rows"]
ONE_LEVEL, TWO_LEVELS = ([row for row in ROWS if len(row["levels"]) == n] for n in (1, 2))
TENSORS = ("input", "filter", "output")
EQUAL = [
    *(f"{tensor}_l2_{action}s" for tensor in TENSORS for action in ("read", "write")),
    *(f"{tensor}_l1_{action}s" for tensor in ("input", "filter") for action in ("read", "write")),
]


def cost_of(row: dict[str, Any]) -> Cost:
    mapping, problem = accelforge_oracle.of_case(row)
    cost, status = problem.evaluate_mapping(mapping)
    assert status == "ok"
    assert cost is not None
    return cost


@pytest.mark.parametrize("step", few([5, 1]))
def test_the_figures_are_of_the_texts_that_are_written_today(step: int) -> None:
    assert (len(ONE_LEVEL), len(TWO_LEVELS)) == (200, 60)
    assert all(DATA["about"][key] for key in ("source", "version", "date", "script"))
    for row in ROWS[::step]:
        text = to_accelforge(*accelforge_oracle.of_case(row))
        assert accelforge_oracle.digest(text) == row["text"]


def test_the_counters_of_l2_inputs_filters_and_main_memory_are_equal() -> None:
    for row in ROWS:
        cost, counts = cost_of(row), row["counts"]
        assert {name: getattr(cost, name) for name in EQUAL} == {
            name: counts[name] for name in EQUAL
        }, row
        off_chip = [
            sum(counts[f"{tensor}_offchip_{action}s"] for tensor in TENSORS)
            for action in ("read", "write")
        ]
        assert [cost.offchip_read_words, cost.offchip_write_words] == off_chip, row


def test_the_counters_of_inputs_and_filters_in_clusters_are_equal() -> None:
    for row in TWO_LEVELS:
        (buffers,) = cost_of(row).clusters
        for name in ("input_reads", "input_writes", "filter_reads", "filter_writes"):
            tensor, action = name.split("_")
            assert getattr(buffers, name) == row["counts"][f"{tensor}_cluster_{action}"], row


def test_cycles_are_equal_and_outputs_in_l1_differ_by_partial_sums() -> None:
    """AccelForge reads a partial sum back into L1 to go on with it; ours adds where it is sent."""
    differing = 0
    for row in ONE_LEVEL:
        cost, counts, (level,) = cost_of(row), row["counts"], row["levels"]
        assert cost.compute_sum_cycles == counts["compute_cycles"], row
        assert cost.output_psum_reads is not None
        # Each PE that adds to an output has a partial sum of its own.
        tiles = row["extents"]["K"] // level["tiles"]["K"]
        adding = min(row["pes"], tiles) if level["parallel"] == "K" else 1
        for action in ("reads", "writes"):
            ours = getattr(cost, f"output_l1_{action}")
            assert counts[f"output_l1_{action}"] == ours + cost.output_psum_reads * adding, row
        differing += cost.output_psum_reads > 0
    assert 20 < differing < 180
