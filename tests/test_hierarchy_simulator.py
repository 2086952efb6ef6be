"""The model `hierarchy` against the simulator, which executes mappings with sets of words."""

from __future__ import annotations

import json
import random
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


def wrong(seed: int, count: int) -> dict[str, list[str]]:
    rng = random.Random(seed)
    rows = [random_row(rng) for _ in range(count)]
    return {json.dumps(row): found for row in rows if (found := differences(row))}


def test_no_mapping_differs_from_the_simulator() -> None:
    assert wrong(seed=0, count=150) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_none_of_20_000_mappings_differs_from_the_simulator(seed: int) -> None:
    assert wrong(seed, count=2000) == {}
