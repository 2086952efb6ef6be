"""Tests of the oracle itself: the steps of E11, memo, statuses, invariants E8."""

from __future__ import annotations

import random

import pytest
from exact_cases import DEFECTS, random_row, rows
from exact_reference import EXAMPLE
from hypothesis import given
from row_reader import prepare, static_status
from simulator import Machine, Step, neighbours, simulate, steps, words


def test_example_steps() -> None:
    layer, levels = prepare(EXAMPLE)
    assert [len(extent) for extent in layer.box] == [1, 1, 3, 2, 5, 1, 3, 3]
    assert layer.macs == 270
    found = []
    for before, now, after in neighbours(steps(levels[0], layer.box, layer.strides)):
        outputs = [list(box[4]) for box in now.boxes]
        rows_held = sorted({word[3] for word in now.array["input"]})
        fetched = [len(now.array[t] - before.array[t]) for t in ("input", "filter")]
        found.append(
            (outputs, rows_held, fetched, len(now.array["output"] - after.array["output"]))
        )
    once = [
        ([[0], [1]], [0, 1, 2, 3], [12, 27], 6),
        ([[2], [3]], [2, 3, 4, 5], [6, 0], 6),
        ([[4]], [4, 5, 6], [3, 0], 3),
    ]
    assert found == once * 2
    machine = Machine(layer, levels, EXAMPLE["hw"], memo=False)
    run = machine.execute(0, layer.box)
    assert [machine.noc(volume) for volume in run.into] == [10, 2, 1] * 2
    assert [machine.noc(volume) for volume in run.left] == [2, 2, 1] * 2
    assert run.compute == [27] * 6
    assert {tensor: 2 * size for tensor, size in run.arrays.items()} == {
        "input": 24,
        "filter": 54,
        "output": 12,
    }


def test_example_units() -> None:
    layer, levels = prepare(EXAMPLE)
    taken: dict[int, list[int]] = {0: [], 1: []}
    for before, now, _ in neighbours(steps(levels[0], layer.box, layer.strides)):
        for unit, tile in enumerate(now.units["input"]):
            old = before.units["input"][unit] if unit < len(before.boxes) else frozenset()
            taken[unit].append(len(tile - old))
    # Unit 0 takes rows 0-2, then 3-4, then 5-6 of three columns; unit 1 has no third output.
    assert taken == {0: [9, 6, 6] * 2, 1: [9, 6] * 2}


@given(rows(max_macs=200))
def test_memo_changes_nothing(row: dict) -> None:
    assert simulate(row, memo=True) == simulate(row)


@pytest.mark.parametrize("status", [*DEFECTS, "overflow"])
def test_defects_have_their_status(status: str) -> None:
    rng = random.Random(status)
    found = [static_status(random_row(rng, defect=status, offchip_cost=True)) for _ in range(100)]
    allowed = {status, None} if status == "coverage" else {status}
    assert set(found) <= allowed
    assert found.count(status) > 80


@given(rows(max_macs=200, ill_formed=False, offchip_cost=True))
def test_wellformed_rows_have_results(row: dict) -> None:
    result = simulate(row, memo=True)
    assert result["status"] in ("ok", "l1_overflow", "l2_overflow")
    out, hw = result["out"], row["hw"]
    layer, levels = prepare(row)
    whole = {tensor: len(found) for tensor, found in words(layer.box, layer.strides).items()}
    for tensor in ("input", "filter"):  # E8.4
        chain = [whole[tensor], out[f"l2_read_{tensor}"], out[f"unit_write_{tensor}"]]
        for mid in out["mid"]:
            chain += [mid[f"write_{tensor}"], mid[f"read_{tensor}"]]
        chain += [out[f"l1_write_{tensor}"], out["macs"]]
        assert chain == sorted(chain)
        assert whole[tensor] <= out[f"l2_write_{tensor}"] <= out[f"l2_read_{tensor}"]
    chain = [whole["output"], out["leaving_output"]]
    chain += [*(mid["write_output"] for mid in out["mid"]), out["macs"]]
    assert chain == sorted(chain)  # E8.5
    sizes = [2 * out["l2_size"], *(mid["size"] for mid in out["mid"]), out["l1_size"]]
    assert sizes == sorted(sizes, reverse=True)  # E8.6
    assert out["l2_size"] <= out["l2_hold"] <= sum(whole.values())
    assert out["cycles"] >= out["onchip_cycles"] >= out["compute_sum"]  # E8.3
    assert out["leaving_output"] - whole["output"] == out["l2_psum_read_output"]
    moved = out["offchip_read"] + out["offchip_write"]
    parts = (out["l2_read_input"], out["l2_read_filter"], out["leaving_output"])
    assert out["l2_accesses"] == sum(parts) + out["l2_psum_read_output"] + moved  # E8.12
    assert out["busy_pe_cycles"] * hw["simd"] >= out["macs"]
    assert out["utilization"] <= 1  # E8.2
    assert out["avg_active_pes"] <= hw["num_pes"]
    assert len(levels) == 1 + len(out["mid"])


def test_idle_step_holds_nothing() -> None:
    assert not any(Step((), (1, 1)).array.values())
