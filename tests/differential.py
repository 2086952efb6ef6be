"""The product against the plain implementation: ``python tests/differential.py``.

The same random points and directive lists, and the mappings of the measured rows, go through both;
every figure, status, report, cluster and CSV cell must be the same to the last bit. Chunk ``k`` of
a run draws from ``[seed, k]``.
"""

from __future__ import annotations

import argparse
import math
import struct
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from core_outcomes import (
    Outcome,
    lists_outcomes,
    mapping_rows,
    points_outcome,
    row_outcome,
    statuses,
)
from fuzz import Statuses, report
from plain_core import plain_core

from maestro_env import _native
from maestro_env.map_space import SCHEMAS, Points
from maestro_env.models import MODELS

POINTS_IN_CHUNK = 1000
LISTS_IN_CHUNK = 10
ROWS_IN_CHUNK = 1000

Rows = tuple[np.ndarray, np.ndarray]


def same_figures(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Tell where two arrays of doubles are the same to the bit; all NaNs are."""
    return (one.view(np.uint64) == other.view(np.uint64)) | (np.isnan(one) & np.isnan(other))


def require_same_rows(points: Points, ours: Rows, plain: Rows, what: str) -> None:
    """Fail with the first row of float64[N, M] and uint8[N] that is not the same in both."""
    equal = same_figures(ours[0], plain[0]).all(axis=1) & (ours[1] == plain[1])
    if equal.all():
        return
    first = int(np.argmin(equal))
    differing = np.flatnonzero(~same_figures(ours[0][first], plain[0][first]))
    lines = [f"{what}: {(~equal).sum()} rows differ, the first is {points[first].tolist()}"]
    for name, (figures, codes) in {"product": ours, "plain": plain}.items():
        values = {_native.METRICS[i]: float(figures[first, i]) for i in differing}
        lines.append(f"{name}: {_native.STATUSES[codes[first]]} {values}")
    raise AssertionError("\n  ".join(lines))


def same(one: Any, other: Any) -> bool:
    """Tell whether two results are the same, types, order of keys and bits of floats included."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or struct.pack("d", one) == struct.pack("d", other)
    if isinstance(one, dict):
        return same(list(one.items()), list(other.items()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def require_same_outcome(ours: Outcome, plain: Outcome, what: str) -> None:
    """Fail with both outcomes unless they are the same."""
    assert same(ours, plain), f"{what}:\n  product: {ours}\n  plain: {plain}"


def by_both(compute: Callable[[], Any]) -> tuple[Any, Any]:
    """Return what a function gives with the product's core and with the plain one."""
    ours = compute()
    with plain_core():
        return ours, compute()


def chunks(count: int, size: int) -> list[int]:
    """Cut a count into sizes."""
    return [min(size, count - start) for start in range(0, count, size)]


def compare_points(model: str, schema: str, count: int, seed: int = 0) -> Statuses:
    """Compare random vectors of random layers and machines; statuses by name."""
    seen: Statuses = Counter()
    for chunk, size in enumerate(chunks(count, POINTS_IN_CHUNK)):
        compute = partial(points_outcome, model, schema, size, (seed, chunk))
        (what, points, *ours), (_, again, *plain) = by_both(compute)
        assert (points == again).all()
        require_same_rows(points, ours, plain, f"chunk {chunk}, {what}")
        seen.update(_native.STATUSES[code] for code in ours[1])
    return seen


def compare_lists(count: int, seed: int = 0) -> Statuses:
    """Compare random directive lists on random layers and machines, a chunk on each."""
    seen: Statuses = Counter()
    for chunk, size in enumerate(chunks(count, LISTS_IN_CHUNK)):
        ours, plain = by_both(partial(lists_outcomes, size, (seed, chunk)))
        for (what, outcome), (_, other) in zip(ours, plain, strict=True):
            require_same_outcome(outcome, other, f"chunk {chunk}, {what}")
            seen.update(statuses(outcome))
    return seen


def outcomes_of_rows(rows: list[dict[str, Any]]) -> list[Outcome]:
    return [row_outcome(row) for row in rows]


def compare_rows() -> Statuses:
    """Compare the mappings of all measured rows."""
    seen: Statuses = Counter()
    for start in range(0, len(mapping_rows()), ROWS_IN_CHUNK):
        rows = mapping_rows()[start : start + ROWS_IN_CHUNK]
        for row, *outcomes in zip(rows, *by_both(partial(outcomes_of_rows, rows)), strict=True):
            require_same_outcome(*outcomes, f"{row}")
            seen.update(statuses(outcomes[0]))
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000_000, help="of all models and schemas")
    parser.add_argument("--lists", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    spaces = list(product(MODELS, SCHEMAS))
    for model, schema in spaces:
        each = -(-given.points // len(spaces))
        report(f"{model}, {schema}", compare_points(model, schema, each, given.seed))
    report("directive lists", compare_lists(given.lists, given.seed))
    report("mappings of the measured rows", compare_rows())


if __name__ == "__main__":
    main()
