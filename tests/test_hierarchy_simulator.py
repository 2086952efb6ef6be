"""The model `hierarchy` against the simulator, which executes mappings with sets of words."""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest
from hierarchy_cases import evaluator_of, random_row
from hierarchy_simulator import costs

Row = dict[str, Any]


def differences(row: Row) -> list[str]:
    """Return what the model says otherwise than the simulator."""
    cost, _ = evaluator_of(row).evaluate(row["mapping"])
    assert cost is not None
    got, want = asdict(cost), costs(row)
    found = [
        f"{name}: {got[name]} for {value}"
        for name, value in want.items()
        if name != "traffic" and got[name] != pytest.approx(value, rel=1e-12, abs=1e-9)
    ]
    for one, other in zip(got["traffic"], want["traffic"], strict=True):
        counts = {key: value for key, value in other.items() if not isinstance(value, float)}
        fills = {key: value for key, value in other.items() if isinstance(value, float)}
        same = {key: one[key] for key in counts} == counts
        if not same or any(one[key] != pytest.approx(value) for key, value in fills.items()):
            found.append(f"{one} for {other}")
    return found


def rows(seed: int, count: int) -> list[Row]:
    rng = random.Random(seed)
    return [random_row(rng) for _ in range(count)]


def wrong(seed: int, count: int) -> dict[str, list[str]]:
    return {json.dumps(row): found for row in rows(seed, count) if (found := differences(row))}


def test_no_mapping_differs_from_the_simulator() -> None:
    assert wrong(seed=0, count=60) == {}


# What slows ports and steps down (H6).
SLOW = ("beat", "gaps", "miss", "launch", "step", "load", "finish", "refill")


@pytest.mark.slow
def test_the_mappings_cover_what_the_model_tells_apart() -> None:
    seen: Counter[str] = Counter()
    for row in rows(seed=0, count=200):
        cost, _ = evaluator_of(row).evaluate(row["mapping"])
        assert cost is not None
        outputs = [each for each in cost.traffic if each.tensor == "output"]
        memories = [each for each in row["accelerator"] if "memory" in each]
        seen["bound by ports"] += cost.port_cycles > cost.compute_cycles
        seen["exposed"] += cost.first_cycles > 0 and cost.last_cycles > 0
        seen["multicast"] += any(each.parent_words < each.child_words for each in cost.traffic)
        seen["older values"] += any(each.parent_reads and each.child != "mac" for each in outputs)
        seen["fractions"] += any(each.child_writes % 1 for each in outputs)
        seen["bypass"] += any(each["keep"] != "IWO" for each in memories)
        seen["pools"] += any("pool" in each for each in memories)
        seen["four memories"] += len(memories) == 4
        for name in (*SLOW, "fanout"):
            # Of a fan-out, its bandwidth.
            free = {"bw": None} if name == "fanout" else {name: 0}
            without = [{**each, **free} if name in each else each for each in row["accelerator"]]
            other, _ = evaluator_of({**row, "accelerator": without}).evaluate(row["mapping"])
            assert other is not None
            seen[name] += cost.latency_cycles > other.latency_cycles
    least = dict.fromkeys(("bound by ports", "exposed", "multicast", "bypass", "four memories"), 30)
    least |= {"older values": 10, "fractions": 1, "pools": 5}
    least |= {"gaps": 10, "beat": 20, "miss": 10, "launch": 5, "step": 3, "load": 3, "fanout": 30}
    least |= {"finish": 10, "refill": 5}
    assert {name: seen[name] for name, count in least.items() if seen[name] < count} == {}


@pytest.mark.parametrize("tiles", [(2, 1), (4, 2), (3, 1)])
@pytest.mark.parametrize("temporal", [[], [["P", 6]]])
def test_units_of_a_window_that_an_inner_fan_out_serves_alone_share_nothing(
    tiles: tuple[int, int], temporal: list[list[Any]]
) -> None:
    memory = {"width": dict.fromkeys("IWO", 8), "history": "", "read_pj": 0, "write_pj": 0}
    row = {
        "layer": {"dims": {"R": 3, "P": 8}, "stride": [1, 1], "dilation": [1, 1]},
        "accelerator": [
            {"memory": "M0", "keep": "IWO", "bw": 8, **memory},
            {"fanout": "F1", "pj": 0},
            {"fanout": "F2", "multicast": "I", "pj": 0},
            {"memory": "M3", "keep": "I", **memory},
        ],
        "mapping": [temporal, [["P", tiles[0]]], [["P", tiles[1]]], []],
    }
    assert differences(row) == []


def test_words_grow_from_memory_to_memory_towards_the_mac() -> None:
    plain = {"history": "", "multicast": "", "reduce": "", "width": {}}
    for row in rows(seed=1, count=500):
        elements = [{**each, **plain} for each in row["accelerator"]]
        evaluator = evaluator_of({**row, "accelerator": elements, "options": {}, "latch": ""})
        cost, _ = evaluator.evaluate(row["mapping"])
        assert cost is not None
        assert cost.latency_cycles >= cost.compute_cycles
        for tensor in ("input", "filter", "output"):
            moved = [each for each in cost.traffic if each.tensor == tensor]
            words = [size for each in moved for size in (each.parent_words, each.child_words)]
            assert words == sorted(words)
            assert words[-1] == cost.macs


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_none_of_20_000_mappings_differs_from_the_simulator(seed: int) -> None:
    assert wrong(seed, count=2000) == {}
