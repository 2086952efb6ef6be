"""The guard against enumeration: every MAC, every word, and the PE that works on it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from map_space_helpers import column
from two_levels import MODELS

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.cost_and_status import STATUSES
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

MACHINES = (*PRESETS.values(), replace(PRESETS["edge"], l1_bytes=2**20, l2_bytes=2**30, name="big"))

Indices = dict[str, np.ndarray]


# --- By enumeration -----------------------------------------------------------------------------


@cache
def indices(layer: Layer) -> Indices:
    """Loop indices of every MAC, one array per dimension; Y and X count outputs."""
    ranges = {}
    for name, extent in layer.extents.items():
        if name in ("Y", "X") and layer.operator != "GEMM":
            window, stride = ("R", layer.stride[0]) if name == "Y" else ("S", layer.stride[1])
            extent = len(range(0, extent - layer.extents[window] + 1, stride))
        ranges[name] = np.arange(extent)
    grid = np.meshgrid(*ranges.values(), indexing="ij")
    return {name: axis.ravel() for name, axis in zip(ranges, grid, strict=True)}


def distinct(*axes: np.ndarray) -> int:
    return len(np.unique(np.stack(axes), axis=1).T)


@cache
def words(layer: Layer) -> tuple[int, int, int]:
    """Distinct words of input, filter and output that some MAC touches."""
    at = indices(layer)
    if layer.operator == "GEMM":
        return (distinct(at["M"], at["K"]), distinct(at["K"], at["N"]), distinct(at["M"], at["N"]))
    row, column_ = (at[a] * s + at[w] for a, w, s in zip("YX", "RS", layer.stride, strict=True))
    outer = [at[name] for name in ("N", "G") if name in at]
    group = [at["G"]] if "G" in at else []
    outputs = [at["C"]] if layer.operator == "DSCONV" else [at["K"]]
    filters = [*group, at["C"], at["R"], at["S"], *([at["K"]] if "K" in at else [])]
    return (
        distinct(*outer, at["C"], row, column_),
        distinct(*filters),
        distinct(*outer, *outputs, at["Y"], at["X"]),
    )


def outputs_in(layer: Layer, loop: Loop) -> int:
    """Tile size in indices: an input tile of Y or X holds the windows that fit, at least one."""
    if loop.dim not in ("Y", "X") or layer.operator == "GEMM":
        return loop.size
    window, stride = ("R", layer.stride[0]) if loop.dim == "Y" else ("S", layer.stride[1])
    return max(len(range(0, loop.size - layer.extents[window] + 1, stride)), 1)


def busiest_pe(layer: Layer, mapping: Mapping, num_pes: int) -> int:
    """MACs of the busiest PE: each level deals its spatial tiles round robin to its units."""
    at = dict(indices(layer))
    clusters = math.prod(level.cluster_size or 1 for level in mapping.levels)
    pe = np.zeros_like(next(iter(at.values())))
    for level in mapping.levels:
        units = level.cluster_size or num_pes // clusters
        for loop in level.loops:
            dim, tile = loop.dim.rstrip("'"), outputs_in(layer, loop)
            if loop.spatial:
                pe = pe * units + at[dim] // tile % units
            at[dim] = at[dim] % tile
    return int(np.bincount(pe).max())


def expected_status(problem: Problem, mapping: Mapping) -> str:
    """What the guard must say of the model's figures, from enumeration alone."""
    cost, status = replace(problem, guard=False).evaluate_mapping(mapping)
    if cost is None or status == "above_peak":
        return status
    layer, hardware = problem.layer, problem.hardware
    macs = len(next(iter(indices(layer).values())))
    lane_cycles = cost.latency_cycles * hardware.simd_lanes
    inputs, filters, outputs = words(layer)
    least = {
        **dict.fromkeys(("input_l1_reads", "filter_l1_reads"), macs),
        **dict.fromkeys(("output_l1_reads", "output_l1_writes"), macs),
        **dict.fromkeys(("input_l1_writes", "input_l2_reads", "input_l2_writes"), inputs),
        **dict.fromkeys(("filter_l1_writes", "filter_l2_reads", "filter_l2_writes"), filters),
        **dict.fromkeys(("output_l2_reads", "output_l2_writes"), outputs),
    }
    if cost.macs != macs:
        return "mac_mismatch"
    if lane_cycles * hardware.num_pes < macs:
        return "above_peak"
    if lane_cycles < busiest_pe(layer, mapping, hardware.num_pes):
        return "below_pe_load"
    if any(getattr(cost, count) < compulsory for count, compulsory in least.items()):
        return "below_compulsory"
    return status


TINY = (
    Layer("CONV", {"K": 5, "C": 4, "Y": 6, "X": 5, "R": 3, "S": 2}),
    Layer("CONV", {"K": 7, "C": 6, "Y": 4, "X": 3, "R": 1, "S": 1}),
    Layer("CONV", {"K": 3, "C": 3, "Y": 9, "X": 7, "R": 2, "S": 3}, stride=(2, 1)),
    Layer("CONV", {"K": 2, "C": 3, "Y": 8, "X": 8, "R": 1, "S": 2, "N": 3}, stride=(3, 2)),
    Layer("DSCONV", {"C": 7, "Y": 7, "X": 6, "R": 3, "S": 3}),
    Layer("NGCONV", {"G": 3, "K": 3, "C": 2, "Y": 5, "X": 4, "R": 2, "S": 1}),
    Layer("GEMM", {"M": 5, "N": 7, "K": 9}),
)
SMALL_MACHINES = (
    Hardware(num_pes=1, noc_hop_latency=0),
    Hardware(num_pes=6, noc_hop_latency=0),
    Hardware(num_pes=16, simd_lanes=2),
    Hardware(num_pes=23, noc_hop_latency=0, l1_bytes=40, l2_bytes=120),
)


def some_of_every_status(problem: Problem) -> list[tuple[Mapping, str]]:
    """The first of 2,000 random mappings, and a few of each status."""
    batch = problem.space.sample(2000, np.random.default_rng(1))
    status = problem.evaluate(batch).status
    chosen = {*range(30)}
    for code in np.unique(status):
        chosen |= set(np.flatnonzero(status == code)[:8].tolist())
    return [(problem.space.decode(batch[i]), STATUSES[status[i]]) for i in sorted(chosen)]


def test_the_guard_agrees_with_enumeration_on_two_level_mappings() -> None:
    seen: Counter[str] = Counter()
    for layer, hardware in product(TINY, SMALL_MACHINES):
        problem = Problem(MapSpace(layer, hardware), "maestro")
        for mapping, status in some_of_every_status(problem):
            assert status == expected_status(problem, mapping), f"{layer}\n{mapping}"
            seen[status] += 1
    guarded = ("mac_mismatch", "above_peak", "below_pe_load", "below_compulsory")
    assert min(seen[name] for name in ("ok", "l1_overflow", "l2_overflow", *guarded)) >= 10


@st.composite
def nests(draw: st.DrawFn) -> tuple[Layer, Mapping]:
    """Mappings no space holds: one to three levels, loops left out, input tiles of Y and X."""
    layer = draw(st.sampled_from(TINY))
    levels = []
    for depth in range(draw(st.integers(1, 3))):
        cuttable = [name for name in layer.extents if name not in ("R", "S")]
        dims = draw(st.permutations(cuttable))
        parallel = draw(st.sampled_from(dims))
        kept = [dim for dim in dims if dim == parallel or draw(st.booleans())]
        loops = tuple(draw(loop_over(layer, dim, dim == parallel)) for dim in kept)
        levels.append(Level(loops, draw(st.integers(1, 4)) if depth else None))
    return layer, Mapping(tuple(levels))


def loop_over(layer: Layer, dim: str, spatial: bool) -> st.SearchStrategy[Loop]:
    least = 1
    if dim in ("Y", "X") and layer.operator != "GEMM":
        least = layer.extents["R" if dim == "Y" else "S"]
    sizes = st.integers(least, layer.extents[dim])
    # A tile of rows moves on by the outputs it holds; MAESTRO's offset counts in outputs.
    return sizes.map(lambda size: Loop(dim, size, size - least + 1, spatial))


@pytest.mark.slow
@settings(max_examples=200)
@given(nests(), st.sampled_from(SMALL_MACHINES))
def test_the_guard_agrees_with_enumeration_on_any_nest(
    nest: tuple[Layer, Mapping], hardware: Hardware
) -> None:
    layer, mapping = nest
    problem = Problem(MapSpace(layer, hardware), "maestro")
    assert problem.evaluate_mapping(mapping)[1] == expected_status(problem, mapping)


# --- The exploit --------------------------------------------------------------------------------


def exploit() -> Mapping:
    """K in eights out of nines, C in seventeens out of eighteens: the ragged rest costs nothing."""

    def level(sizes: dict[str, int], parallel: str, cluster: int | None = None) -> Level:
        loops = tuple(Loop(dim, size, size, dim == parallel) for dim, size in sizes.items())
        return Level(loops, cluster)

    outer = {"C": 18, "K": 9, "Y'": 112, "X'": 14, "R": 1, "S": 1}
    inner = {**outer, "C": 17, "K": 8, "Y'": 1}
    return Mapping((level(outer, "X'"), level(inner, "Y'", 112)))


def test_the_guard_catches_what_gamma_was_found_to_exploit() -> None:
    problem = Problem(MapSpace(find_layer("mobilenetv2_l2"), PRESETS["unlimited"]), "maestro")
    believed, status = replace(problem, guard=False).evaluate_mapping(exploit())
    assert status == "ok"
    assert believed.latency_cycles < believed.macs / 1024 == 16 * 32 * 112 * 112 / 1024
    assert problem.evaluate_mapping(exploit()) == (believed, "above_peak")


# --- Batches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["mobilenetv2_l2", "resnet18_l0", "gpt2_l3"])
@pytest.mark.parametrize("model", MODELS)
def test_a_batch_is_bitwise_the_same_for_any_threads_and_split(model: str, name: str) -> None:
    hardware = replace(PRESETS["edge"], l1_bytes=20_000)
    problem = Problem(MapSpace(find_layer(name), hardware), model)
    batch = problem.space.sample(1500, np.random.default_rng(3))
    whole = problem.evaluate(batch)
    twice = problem.evaluate(batch, threads=2)
    singles = [problem.evaluate(batch[i : i + 1]) for i in range(len(batch))]
    assert twice.metrics.tobytes() == whole.metrics.tobytes()
    assert twice.status.tobytes() == whole.status.tobytes()
    assert b"".join(rows.metrics.tobytes() for rows in singles) == whole.metrics.tobytes()
    assert b"".join(rows.status.tobytes() for rows in singles) == whole.status.tobytes()
    assert len(np.unique(whole.status)) > 1


@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize("name", ["mobilenetv2_l2", "vgg16_l9", "gpt2_l3"])
def test_a_mapping_too_large_keeps_its_figures(name: str, guard: bool) -> None:
    roomy = Problem(MapSpace(find_layer(name), PRESETS["unlimited"]), "maestro", guard)
    batch = roomy.space.sample(1000, np.random.default_rng(4))
    free = roomy.evaluate(batch)
    ok = free.status == STATUSES.index("ok")
    l1, l2 = (column(free.metrics, name).copy() for name in ("l1_bytes", "l2_bytes"))
    limits = int(np.median(l1[ok])), int(np.median(l2[ok]))
    tight = replace(PRESETS["unlimited"], l1_bytes=limits[0], l2_bytes=limits[1])
    limited = Problem(MapSpace(roomy.layer, tight), "maestro", guard).evaluate(batch)
    np.testing.assert_array_equal(limited.metrics, free.metrics)
    expected = np.where(
        l1 > limits[0], "l1_overflow", np.where(l2 > limits[1], "l2_overflow", "ok")
    )
    names = np.array(STATUSES)
    assert (names[limited.status] == np.where(ok, expected, names[free.status])).all()
    assert {"ok", "l1_overflow", "l2_overflow"} <= set(names[limited.status])
    filled = ~np.isnan(free.metrics[ok]).all(axis=0)
    assert np.isfinite(limited.metrics[ok][:, filled]).all()
