"""Random actions and random directive lists: ``python -m tests.fuzz --actions N --lists N``.

Under all models, or under one with ``--model``.

Run like that with a sanitizer build; the test suite runs a smaller share of the same input. An
input that fails is reproduced by its seed: chunk ``k`` of a run draws from ``[seed, k]``.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from maestro_env import _native
from maestro_env.hardware import PRESETS
from maestro_env.map_space import SCHEMAS, TILES, MapSpace
from maestro_env.models import MODELS
from maestro_env.workloads import find_layer

LAYERS = (
    *("mobilenetv2_l0", "mobilenetv2_l1", "mobilenetv2_l2", "mobilenetv2_l10", "mobilenetv2_l52"),
    *("resnet18_l0", "resnet18_l2", "resnet18_l7", "resnet18_l16", "resnet18_l20"),
    *("resnet50_l10", "resnet50_l40", "vgg16_l2", "vgg16_l9", "vgg16_l13"),
    *("alexnet_l0", "alexnet_l3", "gpt2_l1", "gpt2_l4", "bert_base_l2"),
)
ACTIONS_IN_CHUNK = 2000
LISTS_IN_CHUNK = 1000
FIGURES = ("latency_cycles", "energy_nj", "power_mw", "area_um2")
COLUMNS = [_native.METRICS.index(name) for name in FIGURES]
RUNTIME_CELL = 1
# Of the exact model; rows of all other statuses have figures unless the MAESTRO binary died.
ILL_FORMED = _native.STATUSES[
    _native.STATUSES.index("ok") + 1 : _native.STATUSES.index("l1_overflow")
]

Directive = tuple[str, str, int, int]
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
        layer, hardware = LAYERS[chunk % len(LAYERS)], rng.choice(list(PRESETS))
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

ABSURD = (2**31 - 1, 2**31 - 2, 2**30, 2**30 + 1, 2**29, 10**6, 65536, 65535, 46341, 46340, 4097)
NOT_SIZES = (0, -1, -(2**31))
WINDOWS = {"Y": "R", "X": "S"}


def random_layer(rng: np.random.Generator) -> tuple[_native.Layer, dict[str, int]]:
    """Any operator, input or output extents, a batch, a foreign dimension, strides."""
    operator = rng.choice(["CONV", "TRCONV", "DSCONV", "NGCONV", "GEMM"])
    large = rng.random() < 0.2

    def extent() -> int:
        return int(rng.integers(1, 2000 if large else 20))

    extents = {name: extent() for name in ("MNK" if operator == "GEMM" else "KCYXRS")}
    if operator == "GEMM":
        return _native.Layer(operator, list(extents.items()), []), extents
    for axis, window in WINDOWS.items():
        extents[window] = int(rng.integers(1, 8))
        extents[axis] += extents[window] - 1
    if operator == "NGCONV":
        extents["G"] = extent()
    if operator == "DSCONV" and rng.random() < 0.7:
        del extents["K"]
    for name, chance in (("N", 0.2), ("Q", 0.05)):
        if rng.random() < chance:
            extents[name] = extent()
    if rng.random() < 0.02:
        extents[str(rng.choice([dim for dim in extents if dim in "KCYX"]))] = int(
            rng.choice(ABSURD)
        )
    if rng.random() < 0.2:
        extents = {f"{name}'" if name in WINDOWS else name: each for name, each in extents.items()}
    strides = [(axis, int(rng.integers(1, 5))) for axis in WINDOWS] if rng.random() < 0.4 else []
    return _native.Layer(operator, list(extents.items()), strides), extents


def random_size(rng: np.random.Generator, extent: int) -> int:
    kind = rng.random()
    if kind < 0.3:
        return 1
    if kind < 0.5:
        return extent
    if kind < 0.85:
        return int(rng.integers(1, min(extent + 3, 2**31 - 1)))
    return int(rng.choice(ABSURD if kind < 0.995 else NOT_SIZES))


def random_level(
    rng: np.random.Generator, extents: dict[str, int], partitions: float
) -> list[Directive]:
    """Loops of one level: some left out, some twice, primed or not, windows often whole."""
    dims = [dim for dim in extents if rng.random() < 0.8]
    if rng.random() < 0.1:
        dims.append(str(rng.choice([*extents, "X'", "Y'", "X", "Y", "Z"])))
    rng.shuffle(dims)
    parallel = set(rng.choice(dims, size=1 + (rng.random() < 0.15))) if dims else set()
    level = []
    for dim in dims:
        size = random_size(rng, extents.get(dim, 4))
        if dim in ("R", "S") and rng.random() < 0.9:
            size = extents.get(dim, 1)
        if dim in WINDOWS and rng.random() < 0.5:
            dim = f"{dim}'"
        offset = size if rng.random() < partitions else random_size(rng, extents.get(dim, 4))
        level.append(("SpatialMap" if dim[0] in parallel else "TemporalMap", dim, size, offset))
    return level


def random_list(
    rng: np.random.Generator, extents: dict[str, int], partitions: float
) -> list[Directive]:
    """One to six levels; ``partitions``: share of loops whose tiles neither overlap nor skip."""
    clusters = int(rng.choice([0, 1, 2, 3, 4, 5], p=[0.25, 0.35, 0.2, 0.14, 0.03, 0.03]))
    directives = random_level(rng, extents, partitions)
    for _ in range(clusters):
        size = int(rng.choice([1, 2, 3, 4, 8, 16])) if rng.random() < 0.97 else 2**31 - 1
        kind = "Cluster" if rng.random() < 0.995 else "malformed"
        directives += [(kind, "", size, size), *random_level(rng, extents, partitions)]
    return directives


def random_machine(rng: np.random.Generator) -> dict[str, int | None]:
    def one_of(*values: int) -> int:
        return int(rng.choice(values))

    def capacity() -> int | None:
        return one_of(64, 2000, 108_000) if rng.random() < 0.3 else None

    zero = 0 if rng.random() < 0.01 else 1
    return {
        "num_pes": one_of(1, 7, 64, 168, 1024, 4096, 65536) * (rng.random() > 0.002),
        "simd_lanes": one_of(1, 1, 4, 16),
        "noc_bw": one_of(1, 8, 64, 2**30, 2**31 - 1) * zero,
        "noc_latency": one_of(0, 1, 5, 2**31 - 1),
        "offchip_bw": one_of(1, 16, 70000, 2**31 - 1),
        "l1_bytes": capacity(),
        "l2_bytes": capacity(),
    }


def evaluate_list(
    model: str, layer: _native.Layer, directives: list[Directive], hw: dict[str, int | None]
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
    directives: list[Directive],
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
    partitions = {"maestro": 0.7, "exact": 0.99}[model]
    for chunk, start in enumerate(range(0, count, LISTS_IN_CHUNK)):
        rng = np.random.default_rng([seed, chunk])
        for _ in range(min(LISTS_IN_CHUNK, count - start)):
            layer, extents = random_layer(rng)
            directives = random_list(rng, extents, partitions)
            seen[evaluate_list(model, layer, directives, random_machine(rng))] += 1
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
