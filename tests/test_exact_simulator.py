"""The exact model against the simulator, which executes a mapping with explicit sets of words."""

from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from typing import Any

import pytest
from differences import differences
from exact_cases import DEFECTS, random_row, rows
from hypothesis import given
from row_reader import NAMES, prepare
from simulator import simulate

from maestro_env.compat.evaluation import evaluate_exact

Row = dict[str, Any]

WITH_RESULTS = ("ok", "l1_overflow", "l2_overflow")
ILL_FORMED = (*DEFECTS, "overflow")


def seeded_rows(seed: int, count: int) -> list[Row]:
    """One row in eight is ill-formed, every status in turn; every second prices off-chip words."""
    rng = random.Random(seed)
    return [
        random_row(
            rng,
            defect=ILL_FORMED[i // 8 % len(ILL_FORMED)] if i % 8 == 7 else None,
            offchip_cost=i % 2 == 0,
        )
        for i in range(count)
    ]


def features(row: Row, result: Row) -> list[str]:
    """What the row covers."""
    found = [f"status {result['status']}"]
    if result["status"] not in WITH_RESULTS:
        return found
    layer, levels = prepare(row)
    _, _, _, _, p, q, r, s = map(len, layer.box)
    sy, sx = layer.strides
    found += [f"type {layer.type}", f"levels {len(levels)}"]
    found += [f"resident {result['out']['l2_resident']}", f"strides {sy} {sx}"]
    found += [f"off-chip cost {row['hw'].get('offchip_cost')}", f"simd {row['hw']['simd']}"]
    found += [f"priced networks {bool(row['hw'].get('noc_macs'))}"]
    if (sy > r and p > 1) or (sx > s and q > 1):
        found.append("stride larger than the window")
    extents = list(map(len, layer.box))
    for level in levels:
        for loop in level.loops:
            extent, dim = extents[loop.dim], "NGKCPQRS"[loop.dim]
            chunks = -(-extent // loop.tile)
            if chunks > 1:
                found.append(f"{dim} cut {'in space' if loop.spatial else 'in time'}")
            if chunks > 1 and extent % loop.tile:
                found.append("remainder")
            if loop.spatial and chunks % level.units and chunks > level.units:
                found.append("ragged spatial step")
            if loop.spatial and 1 < chunks < level.units:
                found.append("more units than chunks")
            extents[loop.dim] = loop.tile
    if row["hw"]["l2"] is not None and result["status"] == "ok":
        found.append("finite L2")
    return found


Results = list[tuple[Row, Row, Row]]


@cache
def simulated(count: int) -> Results:
    """Rows, their simulation, and what the model says."""
    return [(row, simulate(row, memo=True), evaluate_exact(row)) for row in seeded_rows(1, count)]


def wrong(results: Results) -> dict[str, list[str]]:
    return {
        json.dumps(row): found for row, want, got in results if (found := differences(got, want))
    }


def test_no_row_differs_from_the_simulator() -> None:
    assert wrong(simulated(300)) == {}


@pytest.mark.slow
def test_the_rows_cover_what_the_model_tells_apart() -> None:
    seen = Counter(name for row, want, _ in simulated(1200) for name in features(row, want))
    expected = {
        **{f"status {name}": 9 for name in (*WITH_RESULTS, *ILL_FORMED)},
        **{f"type {name}": 60 for name in NAMES},
        **{f"levels {count}": 60 for count in (1, 2, 3, 4)},
        **{f"resident {mask}": 6 for mask in range(8)},
        **{f"strides {sy} {sx}": 30 for sy in (1, 2, 3) for sx in (1, 2, 3)},
        **{f"off-chip cost {cost}": 180 for cost in (0, 200, None)},
        **{f"priced networks {each}": 120 for each in (True, False)},
        **{f"simd {lanes}": 120 for lanes in (1, 2, 3, 4)},
        **{f"{dim} cut in {way}": 9 for dim in "NGKCPQRS" for way in ("space", "time")},
        "stride larger than the window": 60,
        "finite L2": 300,
        "remainder": 300,
        "ragged spatial step": 60,
        "more units than chunks": 60,
    }
    assert {name: seen[name] for name, least in expected.items() if seen[name] < least} == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_none_of_20_000_rows_differs_from_the_simulator(seed: int) -> None:
    assert (
        wrong([(row, simulate(row), evaluate_exact(row)) for row in seeded_rows(seed, 2000)]) == {}
    )


@given(rows(max_macs=200, offchip_cost=True))
def test_no_drawn_row_differs_from_the_simulator(row: Row) -> None:
    assert differences(evaluate_exact(row), simulate(row)) == []
