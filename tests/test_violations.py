"""Constraint violations: 0 exactly for valid mappings, and as large as what is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import column, layers
from mapper_helpers import every_model

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.cost_and_status import OK, STATUSES, Rows, violations
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

GEMM = Layer("GEMM", {"M": 8, "N": 4, "K": 2})
SMALL = Hardware(num_pes=12, l1_bytes=40, l2_bytes=150)


def whole(*clusters: int) -> Mapping:
    """Return the mapping of GEMM whose tiles are the whole layer, with clusters of these sizes."""
    loops = tuple(Loop(dim, size, size, dim == "M") for dim, size in GEMM.extents.items())
    return Mapping((Level(loops), *(Level(loops, size) for size in clusters)))


@given(layers(), st.integers(1, 300), st.integers(1, 3000), st.integers(0, 2**32 - 1))
@every_model
def test_a_violation_is_zero_exactly_for_valid_mappings(
    model: str, layer: Layer, l1_bytes: int, l2_bytes: int, seed: int
) -> None:
    hardware = Hardware(num_pes=12, l1_bytes=l1_bytes, l2_bytes=l2_bytes)
    problem = Problem(MapSpace(layer, hardware), model)
    rows = problem.evaluate(problem.space.sample(50, np.random.default_rng(seed)))
    found = violations(rows, hardware)
    assert np.isfinite(found).all()
    assert ((found == 0) == (rows.status == OK)).all()
    assert (found >= 0).all()


@every_model
def test_of_buffers_it_is_the_share_that_is_missing(model: str) -> None:
    layer = find_layer("resnet18_l2")
    free = Problem(MapSpace(layer, PRESETS["unlimited"]), model)
    points = free.space.sample(2000, np.random.default_rng(0))
    needs = free.evaluate(points)
    fits = needs.status == OK
    needed_l1, needed_l2 = (column(needs.metrics[fits], name) for name in ("l1_bytes", "l2_bytes"))
    l1_bytes, l2_bytes = int(np.median(needed_l1)), int(np.percentile(needed_l2, 60))
    tight = replace(PRESETS["unlimited"], l1_bytes=l1_bytes, l2_bytes=l2_bytes)
    rows = Problem(MapSpace(layer, tight), model).evaluate(points[fits])
    needed_l2 = column(rows.metrics, "l2_bytes")  # Fewer tensors may stay in a smaller L2.
    expected = np.maximum(needed_l1 / l1_bytes, 1) + np.maximum(needed_l2 / l2_bytes, 1) - 2
    assert 0 < np.count_nonzero(expected) < len(expected)
    np.testing.assert_allclose(violations(rows, tight), expected, atol=1e-12)


def test_of_one_mapping_it_is_what_is_counted_by_hand() -> None:
    # Double-buffered tiles of 8 x 2, 2 x 4 and 8 x 4 words.
    needed = 2 * (16 + 8 + 32)
    cost = Problem(MapSpace(GEMM, SMALL)).objective("latency")
    assert cost.violation(whole()) == (needed - 40) / 40
    roomy = replace(SMALL, l1_bytes=needed)
    assert Problem(MapSpace(GEMM, roomy)).objective("latency").violation(whole()) == 0


def test_of_pes_it_is_the_share_that_is_missing() -> None:
    cost = Problem(MapSpace(GEMM, SMALL)).objective("latency")
    assert [cost.violation(whole(pes)) for pes in (15, 24, 36)] == [0.25, 1, 2]
    assert cost.violation(whole(6, 4)) == 1


@pytest.mark.parametrize("status", [name for name in STATUSES if name != "ok"])
def test_every_status_has_a_finite_violation_without_figures_too(status: str) -> None:
    rows = Rows(np.full((3, 64), np.nan), np.full(3, STATUSES.index(status), dtype=np.uint8))
    assert violations(rows, SMALL).tolist() == [1, 1, 1]


@every_model
def test_an_evaluator_charges_what_it_constrains_and_agrees_with_itself(model: str) -> None:
    problem = Problem(MapSpace(find_layer("resnet18_l2"), PRESETS["edge"]), model)
    points = problem.space.sample(500, np.random.default_rng(1)) // 4
    plain, constrained = (Evaluator(problem, find_objective("edp"), 500) for _ in range(2))
    batch = plain.evaluate(points)
    with_violations, found = constrained.constrain(points)
    np.testing.assert_array_equal(with_violations.values, batch.values)
    np.testing.assert_array_equal(with_violations.status, batch.status)
    assert 0 < plain.valid < 500
    assert np.count_nonzero(found == 0) == plain.valid == constrained.valid
    assert plain.best.value == constrained.best.value
    assert constrained.remaining == 0
