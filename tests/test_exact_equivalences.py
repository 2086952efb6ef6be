"""Mappings and layers that say the same cost the same under the exact model (E8)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from exact_reference import dataflow_of, row_of
from hypothesis import assume, given
from hypothesis import strategies as st
from invariant_helpers import DISTINCT, cost_of, deep, points

from maestro_env.compat.evaluation import evaluate_exact
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Mapping
from maestro_env.mapspace.two_level_space import MapSpace


def one_step_loops(problem: Problem, mapping: Mapping) -> list[set[str]]:
    """Dimensions of every level's temporal loops that never advance."""
    limits, found = dict(problem.layer.loop_extents), []
    for level in mapping.levels:
        still = {loop.dim for loop in level.loops if loop.size >= limits[loop.dim]}
        spatial = {loop.dim for loop in level.loops if loop.spatial}
        found.append(still - spatial)
        limits.update({loop.dim: min(loop.size, limits[loop.dim]) for loop in level.loops})
    return found


@given(st.one_of(points(), deep()), st.randoms(use_true_random=False), st.booleans())
def test_loops_of_one_step_may_stand_anywhere_or_nowhere(
    drawn: tuple[Problem, Mapping], rng: Any, left_out: bool
) -> None:  # 8
    problem, mapping = drawn
    levels = []
    for level, still in zip(mapping.levels, one_step_loops(problem, mapping), strict=True):
        loops = [loop for loop in level.loops if loop.dim not in still]
        for loop in level.loops:
            if loop.dim in still and not left_out:
                loops.insert(rng.randint(0, len(loops)), loop)
        levels.append(Level(tuple(loops), level.cluster_size))
    assume(tuple(levels) != mapping.levels)
    assert cost_of(problem, Mapping(tuple(levels))) == cost_of(problem, mapping)


@given(st.one_of(points(), deep()), st.integers(0, 10**6))
def test_a_spatial_loop_of_one_step_may_stand_anywhere(
    drawn: tuple[Problem, Mapping], place: int
) -> None:  # 8
    problem, mapping = drawn
    first = mapping.levels[0]
    (spatial,) = (loop for loop in first.loops if loop.spatial)
    clusters = math.prod(level.cluster_size or 1 for level in mapping.levels)
    units = problem.hardware.num_pes // clusters
    extent = problem.layer.loop_extents[spatial.dim]
    wide = max(spatial.size, -(-extent // units))
    spatial = replace(spatial, size=wide, offset=wide)
    others = [loop for loop in first.loops if not loop.spatial]
    costs = set()
    for at in (0, place % (len(others) + 1)):
        loops = (*others[:at], spatial, *others[at:])
        costs.add(cost_of(problem, Mapping((Level(loops), *mapping.levels[1:]))))
    assert len(costs) == 1


SWAPPED = {"Y'": "X'", "X'": "Y'", "R": "S", "S": "R", "Y": "X", "X": "Y"}
CONVOLUTIONS = tuple(layer for layer in DISTINCT if layer.is_convolution)


@given(points(CONVOLUTIONS), st.integers(0, 30), st.integers(1, 3), st.integers(1, 3))
def test_rows_and_columns_are_alike(
    drawn: tuple[Problem, Mapping], taller: int, sy: int, sx: int
) -> None:  # 8
    problem, mapping = drawn
    extents = dict(problem.layer.extents)
    extents["Y"] += taller
    layer = replace(problem.layer, extents=extents, stride=(sy, sx), name="")
    turned = replace(
        layer, extents={SWAPPED.get(d, d): e for d, e in extents.items()}, stride=(sx, sy)
    )
    levels = tuple(
        Level(
            tuple(replace(loop, dim=SWAPPED.get(loop.dim, loop.dim)) for loop in level.loops),
            level.cluster_size,
        )
        for level in mapping.levels
    )
    costs = [
        Problem(MapSpace(each, problem.hardware), "exact").evaluate_mapping(nest)
        for each, nest in ((layer, mapping), (turned, Mapping(levels)))
    ]
    assert costs[0] == costs[1]
    assert costs[0][0] is not None


@given(points(CONVOLUTIONS), st.integers(1, 4), st.integers(1, 4))
def test_a_strided_point_convolution_is_the_cropped_one(
    drawn: tuple[Problem, Mapping], sy: int, sx: int
) -> None:  # 9
    problem, mapping = drawn
    extents = {**problem.layer.extents, "R": 1, "S": 1}
    strided = replace(problem.layer, extents=extents, stride=(sy, sx), name="")
    outputs = {"Y": -(-extents["Y"] // sy), "X": -(-extents["X"] // sx)}
    cropped = replace(strided, extents={**extents, **outputs}, stride=(1, 1))
    costs = [
        Problem(MapSpace(each, problem.hardware), "exact").evaluate_mapping(mapping)
        for each in (strided, cropped)
    ]
    assert costs[0] == costs[1]
    assert costs[0][0] is not None


PRODUCTS = tuple(layer for layer in DISTINCT if not layer.is_convolution)
AS_FC = {"M": "Y'", "K": "C", "N": "K"}


@given(points(PRODUCTS))
def test_a_fully_connected_layer_is_a_product_with_one_row(
    drawn: tuple[Problem, Mapping],
) -> None:  # 9
    problem, mapping = drawn
    layer = replace(problem.layer, extents={**problem.layer.extents, "M": 1})
    gemm = row_of(layer, mapping, problem.hardware)
    dims = {"K": layer.extents["N"], "C": layer.extents["K"]}
    dataflow = dataflow_of(mapping, AS_FC)
    fc = {**gemm, "type": "FC", "stride": [1, 1], "dims": dims, "dataflow": dataflow}
    assert "out" in evaluate_exact(fc)
    assert evaluate_exact(fc) == evaluate_exact(gemm)
