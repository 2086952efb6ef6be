"""Random actions and random directive lists: ``python tests/fuzz.py --actions N --lists N``.

Under all models, or under one with ``--model``.

Run like that with a sanitizer build; the test suite runs a smaller share of the same input. An
input that fails is reproduced by its seed: chunk or list ``k`` of a run draws from ``[seed, k]``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import drawn
import numpy as np
from two_levels import MODELS

from maestro_env import _native
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.mapspace.space import TILES
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import find_layer

ACTIONS_IN_CHUNK = 2000
FIGURES = ("latency_cycles", "energy_nj", "power_mw", "area_um2")
COLUMNS = [_native.METRICS.index(name) for name in FIGURES]
RUNTIME_CELL = 1
# Of the exact model; rows of all other statuses have figures unless the MAESTRO binary died.
ILL_FORMED = _native.STATUSES[
    _native.STATUSES.index("ok") + 1 : _native.STATUSES.index("l1_overflow")
]

Statuses = Counter[str]


def check(rows: np.ndarray, names: Sequence[str], what: str) -> None:
    """Ill-formed rows have no figures; every valid row has four finite, positive ones."""
    for row, status in zip(rows, names, strict=True):
        empty = status in ILL_FORMED or status.startswith("reference_")
        assert np.isnan(row).all() == empty, f"{what}: {status} {row}"
        if status == "ok":
            figures = row[COLUMNS]
            assert (np.isfinite(figures) & (figures > 0)).all(), f"{what}: {figures}"


# --- Actions ------------------------------------------------------------------------------------


@cache
def space(layer: str, hardware: str, schema: str, tiles: str) -> MapSpace:
    return MapSpace(find_layer(layer), PRESETS[hardware], schema, tiles)


@cache
def evaluator(model: str, layer: str, hardware: str, guarded: bool) -> _native.BatchEvaluator:
    return _native.BatchEvaluator(
        model, find_layer(layer).native, PRESETS[hardware].native, guarded=guarded
    )


def fuzz_actions(model: str, schema: str, count: int, seed: int = 0) -> Statuses:
    """Evaluate random vectors of all layers, machines and kinds of tiles; statuses by name."""
    seen: Statuses = Counter()
    for chunk, start in enumerate(range(0, count, ACTIONS_IN_CHUNK)):
        rng = np.random.default_rng([seed, chunk])
        layer, hardware = drawn.LAYERS[chunk % len(drawn.LAYERS)], rng.choice(list(PRESETS))
        points = space(layer, hardware, schema, rng.choice(TILES))
        batch = points.sample(min(ACTIONS_IN_CHUNK, count - start), rng)
        # The core itself takes the schemas whose mappings maestro refuses, one by one.
        guarded = model == "maestro" and bool(chunk % 3)
        judge = evaluator(model, layer, hardware, guarded)
        rows, status = judge.evaluate(points.native, batch)
        names = [_native.STATUSES[code] for code in status]
        check(rows, names, f"{schema}, chunk {chunk}, {layer} on {hardware}")
        seen.update(names)
    return seen


# --- Directive lists ----------------------------------------------------------------------------


def evaluate_list(
    model: str, layer: _native.Layer, directives: list[drawn.Directive], hw: dict[str, int | None]
) -> str:
    """Status of a list by the batch interface, guard on where there is one."""
    what = f"{directives} on {hw}"
    hardware = _native.Hardware(**hw)

    def evaluate(guarded: bool) -> tuple[list[float], str]:
        judge = _native.BatchEvaluator(model, layer, hardware, guarded=guarded)
        return judge.evaluate_mapping(directives)[:2]

    figures, status = evaluate(guarded=model == "maestro")
    check(np.array([figures]), [status], what)
    if model == "exact":
        compare_with_report(figures, status, _native.exact_report(layer, directives, hardware))
        return status
    np.testing.assert_array_equal(figures, evaluate(guarded=False)[0], what)
    # The drop-in's parser lets no other sizes through.
    if all(size > 0 and offset > 0 for _, _, size, offset in directives):
        compare_with_drop_in(layer, directives, hw, None if np.isnan(figures[0]) else figures[0])
    return status


def compare_with_report(
    figures: list[float], status: str, report: tuple[str, dict[str, Any] | None]
) -> None:
    """Rows of a file end as batches do."""
    assert report[0] == status
    assert (report[1] is None) == bool(np.isnan(figures[0]))
    if report[1] is not None:
        expected = [float(report[1][name]) for name in ("cycles", "energy", "gamma_area")]
        assert [figures[COLUMNS[i]] for i in (0, 1, 3)] == expected


def compare_with_drop_in(
    layer: _native.Layer,
    directives: list[drawn.Directive],
    hw: dict[str, int | None],
    cycles: float | None,
) -> None:
    """Evaluate the list as the drop-in does; what has a runtime here has the same one there."""
    nocs = [(hw["noc_bw"], hw["noc_latency"])] * 4
    status, rows = _native.run_network(
        [layer], [directives], hw["num_pes"], hw["simd_lanes"], hw["offchip_bw"], nocs
    )
    if cycles is not None:
        assert status == "ok", f"{status}: {directives} on {hw}"
        assert float(rows[0][RUNTIME_CELL]) == cycles, f"{directives} on {hw}"


def fuzz_lists(model: str, count: int, seed: int = 0) -> Statuses:
    """Evaluate random directive lists on random layers and machines; statuses by name."""
    seen: Statuses = Counter()
    # Under exact a single loop of other tiles makes a list ill-formed.
    partitions = {"maestro": 70, "exact": 99}[model]
    for number in range(count):
        draws = drawn.Draws(seed, number)
        operator, extents, strides = drawn.any_layer(draws)
        layer = _native.Layer(operator, list(extents.items()), strides)
        directives = drawn.directives(draws, extents, partitions)
        seen[evaluate_list(model, layer, directives, drawn.any_machine(draws))] += 1
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--actions", type=int, default=20_000, help="per schema")
    parser.add_argument("--lists", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", choices=list(MODELS), action="append")
    given = parser.parse_args()
    for model in given.model or MODELS:
        for schema in SCHEMAS:
            report(f"{model}, {schema}", fuzz_actions(model, schema, given.actions, given.seed))
        report(f"{model}, directive lists", fuzz_lists(model, given.lists, given.seed))


def report(what: str, seen: Statuses) -> None:
    counts = ", ".join(f"{status} {number}" for status, number in seen.most_common())
    sys.stdout.write(f"{what}: {seen.total()} evaluated, {counts}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
