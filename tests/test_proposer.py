"""Proposals of the core: valid, likely as PyTorch computes, the same however they are drawn."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import layers, spaces

from maestro_env import _native
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MapSpaceError
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.observations_and_rewards import CONTEXT, context
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import TILES
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.prior.file import shapes
from maestro_env.prior.proposals import Networks, Proposer
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

EDP = OBJECTIVES["edp"]


def arrays(seed: int, scale: float = 1.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: (scale * rng.standard_normal(shape) / np.sqrt(shape[1])).astype(np.float32)
        for name, shape in shapes().items()
    }


@st.composite
def tight_problems(draw: st.DrawFn) -> Problem:
    machine = Hardware(
        num_pes=draw(st.integers(1, 40)),
        l1_bytes=draw(st.integers(6, 300)),
        l2_bytes=draw(st.integers(6, 3000)),
    )
    schema, tiles = draw(st.sampled_from(list(SCHEMAS))), draw(st.sampled_from(TILES))
    return Problem(MapSpace(draw(layers()), machine, schema, tiles))


@given(tight_problems(), st.integers(0, 2**32 - 1), st.sampled_from([0.3, 1.0, 5.0]))
def test_proposals_are_valid_and_what_their_decisions_make(
    problem: Problem, seed: int, temperature: float
) -> None:
    fits = Masks(problem).allowed([]).any()
    if not fits:
        with pytest.raises(MapSpaceError, match=r"no mapping .*fits"):
            Proposer(problem, EDP)
        return
    proposer = Proposer(problem, EDP)
    rng = np.random.default_rng(seed)
    points, _ = proposer.draw(Networks(arrays(seed % 3)), 20, rng, temperature)
    rows = problem.evaluate(points)
    assert (rows.status == OK).all()
    again = problem.evaluate(proposer.nearest(points))
    np.testing.assert_array_equal(again.metrics, rows.metrics)


@given(spaces(("legal13", "full17")), st.integers(0, 99))
def test_what_is_nearest_is_valid(space: MapSpace, seed: int) -> None:
    problem = Problem(space)
    masks = Masks(problem)
    if not masks.allowed([]).any():
        return
    points = masks.sample(20, np.random.default_rng(seed))
    nearest = Proposer(problem, EDP).nearest(points)
    assert (problem.evaluate(nearest).status == OK).all()


def test_a_batch_is_what_its_rows_are_alone() -> None:
    problem = Problem(MapSpace(find_layer("mobilenetv2_l2"), find_hardware("edge")))
    native = Proposer(problem, EDP).native
    networks = Networks(arrays(0)).native
    uniforms = np.random.default_rng(0).random((50, native.steps))
    together = native.propose(networks, uniforms, 1.0)[0]
    alone = [native.propose(networks, row[np.newaxis], 1.0)[0][0] for row in uniforms]
    np.testing.assert_array_equal(together, alone)
    assert len(np.unique(together, axis=0)) > 40


def test_what_was_drawn_before_changes_nothing() -> None:
    problem = Problem(MapSpace(find_layer("mobilenetv2_l2"), find_hardware("edge")))
    used = Proposer(problem, EDP)
    for seed, temperature in ((0, 1.0), (0, 0.5), (1, 1.0), (0, 0.5), (0, 1.0)):
        networks, fresh = Networks(arrays(seed)), Proposer(problem, EDP)
        used.greedy(networks)
        pairs = [
            each.draw(networks, 40, np.random.default_rng(seed), temperature)
            for each in (used, fresh)
        ]
        for found, expected in zip(*pairs, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_the_likeliest_is_what_is_drawn_without_heat() -> None:
    problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("edge")))
    proposer, networks = Proposer(problem, EDP), Networks(arrays(1, 3.0))
    drawn, _ = proposer.draw(networks, 100, np.random.default_rng(0), 1e-4)
    counts = Counter(map(tuple, drawn.tolist()))
    assert counts.most_common(1)[0][0] == tuple(proposer.greedy(networks)[0][0].tolist())


def test_the_policy_in_pytorch_has_the_same_probabilities() -> None:
    torch = pytest.importorskip("torch")
    from maestro_env.mappers.parts.prior_policy import Policy, TraceBatch

    layer = Layer("GEMM", {"M": 3, "N": 2, "K": 2})
    problem = Problem(MapSpace(layer, Hardware(num_pes=3)))
    proposer = Proposer(problem, EDP)
    weights = arrays(2, 2.0)
    drawn, logarithms = proposer.draw(Networks(weights), 40_000, np.random.default_rng(0))
    points, first, counts = np.unique(drawn, axis=0, return_index=True, return_counts=True)
    seen = context(layer, problem.hardware, EDP)
    batch = TraceBatch.of([(len(points), proposer.trace(points), seen)])
    with torch.no_grad():
        expected = torch.exp(Policy(weights).log_probabilities(batch)[0]).numpy()
    np.testing.assert_allclose(np.exp(logarithms[first]), expected, rtol=2e-4)
    frequencies = counts / counts.sum()
    # The mappings that were drawn are nearly all there are.
    assert 0.98 < expected.sum() < 1 + 1e-4
    error = np.sqrt(expected / counts.sum())
    assert (np.abs(frequencies - expected) < 5 * error + 2e-4).all()


@pytest.mark.parametrize("pes", [1, 2, 2**31 - 1])
@pytest.mark.parametrize(
    "layer",
    [
        Layer("GEMM", {"M": 2**31 - 1, "N": 1, "K": 2**30}),
        Layer("GEMM", {"M": 1, "N": 1, "K": 1}),
        Layer("CONV", {"K": 2**20, "C": 2**20, "Y": 2**10, "X": 2**10, "R": 1, "S": 1}),
        Layer("DSCONV", {"C": 2**31 - 1, "Y": 5, "X": 5, "R": 3, "S": 3}, (2, 2)),
    ],
)
def test_extreme_problems_have_proposals(layer: Layer, pes: int) -> None:
    for machine in (Hardware(pes), Hardware(pes, l1_bytes=64, l2_bytes=512)):
        problem = Problem(MapSpace(layer, machine))
        try:
            proposer = Proposer(problem, EDP)
        except MapSpaceError:
            assert not Masks(problem).allowed([]).any()
            continue
        points, _ = proposer.draw(Networks(arrays(0)), 30, np.random.default_rng(0))
        assert (problem.evaluate(points).status == OK).all()


@pytest.mark.parametrize("name", list(shapes()))
def test_arrays_that_do_not_fit_are_refused(name: str) -> None:
    good = arrays(0)
    for bad in (good[name][:-1], good[name][..., :-1], good[name].ravel()):
        with pytest.raises(ValueError):
            Networks(good | {name: bad})
    with pytest.raises(ValueError, match=name):
        Networks({key: array for key, array in good.items() if key != name})


def test_another_context_is_refused() -> None:
    problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("edge")))
    seen = context(problem.layer, problem.hardware, EDP)
    native = _native.PriorProposer(
        "exact",
        problem.layer.native,
        problem.hardware.native,
        problem.space.native,
        seen[: len(CONTEXT) - 1],
    )
    with pytest.raises(ValueError, match="another context"):
        native.propose(Networks(arrays(0)).native, np.zeros((1, native.steps)), 1.0)
