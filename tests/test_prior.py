"""Proposals of a prior, and the mapper that starts from them."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from map_space_helpers import spaces
from mapper_helpers import Recorder
from mapper_helpers import problem as roomy_problem
from prior_helpers import random_file

from maestro_env.accelerators.hardware import PRESETS, UNLIMITED, Hardware
from maestro_env.base.errors import BudgetError
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.observations_and_rewards import CONTEXT, SPANS, context
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.prior.file import PriorFile, PriorFileError
from maestro_env.prior.proposals import (
    SAMPLES,
    Networks,
    Prior,
    Proposals,
    Proposer,
    likeliest,
    load_prior,
    propose,
)
from maestro_env.prior.warning import far_warning, outside, prior_warning
from maestro_env.workloads.finding import find_layer, find_network
from maestro_env.workloads.layer import Layer

ROOT = Path(__file__).parents[1]
EDP = OBJECTIVES["edp"]
MOST = 2**31 - 1


def prior(**changes: object) -> Prior:
    file = random_file(**changes)
    return Prior(file, Networks(file.arrays))


PRIOR = prior()


def edge_problem(layer: str = "resnet18_l2", **changes: int) -> Problem:
    return Problem(MapSpace(find_layer(layer), replace(PRESETS["edge"], **changes)))


# --- Proposals ----------------------------------------------------------------------------------


@given(spaces())
def test_proposals_are_different_valid_mappings(space: MapSpace) -> None:
    hardware = replace(space.hardware, l1_bytes=60, l2_bytes=500)
    problem = Problem(MapSpace(space.layer, hardware, space.schema, space.tiles))
    points = likeliest(problem, EDP, 20, PRIOR)
    mappings = [problem.space.decode(point) for point in points]
    assert len(set(mappings)) == len(mappings) <= 20
    assert not problem.score(points, EDP)[1].any()
    if not len(points):
        # None fits: the least of all tiles needs too much, one PE a cluster or all of them.
        assert not Masks(problem).independent().any()


def test_the_likeliest_decisions_come_first() -> None:
    problem = edge_problem()
    points = likeliest(problem, EDP, SAMPLES, PRIOR)
    greedy, _ = Proposer(problem, EDP).greedy(PRIOR.networks)
    assert len(points) == SAMPLES
    np.testing.assert_array_equal(points[:1], greedy)


def test_proposals_depend_on_the_problem_alone() -> None:
    problems = [edge_problem(), edge_problem("gpt2_l4"), edge_problem("mobilenetv2_l4")]
    objectives = [EDP, OBJECTIVES["latency"], EDP]
    together = propose(problems, objectives, 7, PRIOR)
    alone = [
        propose([each], [one], 7, PRIOR)[0] for each, one in zip(problems, objectives, strict=True)
    ]
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_array_equal(one, other)
    more = propose(problems, objectives, 9, PRIOR)
    for fewer, each in zip(together, more, strict=True):
        np.testing.assert_array_equal(fewer, each[:7])


def test_the_best_of_a_pool_are_proposed() -> None:
    for problem in (edge_problem(), edge_problem("mobilenetv2_l4")):
        pool = Proposals(PRIOR, problem, EDP).pool(np.random.default_rng(0))
        assert {*map(tuple, likeliest(problem, EDP, 10, PRIOR))} <= {*map(tuple, pool)}
        values, _ = problem.score(pool, EDP)
        (points,) = propose([problem], [EDP], 10, PRIOR)
        np.testing.assert_array_equal(problem.score(points, EDP)[0], np.sort(values)[:10])
        assert {*map(tuple, points.tolist())} <= {*map(tuple, pool.tolist())}


def test_fewer_proposals_than_none_are_refused() -> None:
    with pytest.raises(BudgetError, match="-1 proposals; allowed: 0 or more"):
        propose([edge_problem()], [EDP], -1)


def test_hundreds_are_proposed_where_the_space_has_them() -> None:
    (points,) = propose([edge_problem()], [EDP], 500)
    assert len(np.unique(points, axis=0)) == 500


def test_a_policy_that_is_certain_proposes_once() -> None:
    certain = prior(scale=30.0)
    drawn = Proposals(certain, edge_problem(), EDP)
    rng = np.random.default_rng(0)
    first = drawn.draw(50, rng, temperature=0.01)
    assert 1 <= len(first) < 50
    again = drawn.draw(50, rng, temperature=0.01)
    found = edge_problem().space.identities(np.concatenate([first, again]))
    assert len(set(found.tolist())) == len(found)


@pytest.mark.parametrize("scale", [0.0, 1e10, 5e37])
def test_any_weights_propose_valid_mappings(scale: float) -> None:
    problem = edge_problem()
    points = likeliest(problem, EDP, 20, prior(scale=scale))
    assert len(points) >= 1
    assert not problem.score(points, EDP)[1].any()


def test_masks_allow_what_is_valid() -> None:
    for problem in (edge_problem(), edge_problem("gpt2_l4", l1_bytes=40)):
        rng = np.random.default_rng(0)
        points = np.concatenate([problem.space.sample(300, rng), Masks(problem).sample(300, rng)])
        allowed = Masks(problem).allow(points)
        np.testing.assert_array_equal(allowed, problem.score(points, EDP)[1] == 0)
        assert 0 < allowed.sum() < 600
        assert Masks(problem).allow(points[:0]).shape == (0,)


def test_a_network_takes_well_under_a_second() -> None:
    layers = find_network("resnet50").layers
    problems = [Problem(MapSpace(layer, PRESETS["edge"])) for layer in layers]
    began = time.process_time()
    found = propose(problems, [EDP] * len(problems), 10)
    assert time.process_time() - began < 1
    assert [len(points) for points in found] == [10] * len(layers)


@pytest.mark.slow
def test_no_proposal_and_no_search_needs_torch() -> None:
    script = """
import sys
import numpy as np
from maestro_env import Evaluator, MapSpace, Problem, find_hardware, find_layer
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.mappers import make_mapper
from maestro_env.prior.proposals import propose
problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("edge")))
edp = OBJECTIVES["edp"]
assert len(propose([problem], [edp])[0]) == 10
for mapper in ("prior", "ga_log:start=prior", "optimum:start=prior:samples=20:nodes=1000"):
    make_mapper(mapper).search(Evaluator(problem, edp, 120), 120, np.random.default_rng(0))
import maestro_env.experiments.commands.map
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


# --- Files --------------------------------------------------------------------------------------


def test_a_file_is_used_in_place_of_the_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    path.write_bytes(random_file(3).to_bytes())
    problem = edge_problem()
    recorder = Recorder(problem, "edp", 10)
    make_mapper(f"prior:file={path}").search(recorder, 10, np.random.default_rng(0))
    expected = likeliest(problem, EDP, 10, load_prior(path))
    np.testing.assert_array_equal(recorder.points[0], expected)
    shipped = likeliest(problem, EDP, 10)
    assert (expected != shipped).any()


def arrays_but(**changes: object) -> dict[str, object]:
    arrays = random_file().arrays | changes
    return {name: array for name, array in arrays.items() if array is not None}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (arrays_but(score=None), "array 'score' is missing"),
        (arrays_but(more=np.ones(3, np.float32)), "array 'more' is none of this version"),
        (arrays_but(bias=np.ones((22, 48), np.float32)), "array 'context' has the shape"),
        (arrays_but(bias=np.ones((20, 64), np.float32)), "array 'bias' has the shape \\(20, 64\\)"),
        (arrays_but(bias=None, mixed_bias=None), "array 'bias' is missing"),
        ({}, "is missing"),
        ({name: array[..., :1] for name, array in random_file().arrays.items()}, "has the shape"),
    ],
)
def test_arrays_of_other_networks_are_refused(
    arrays: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "odd.safetensors"
    path.write_bytes(random_file(arrays=arrays).to_bytes())
    with pytest.raises(PriorFileError, match=message) as refused:
        load_prior(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file_is_refused_before_a_sample() -> None:
    recorder = Recorder(edge_problem(), "edp", 10)
    with pytest.raises(PriorFileError, match="cannot read the prior nowhere: No such file"):
        make_mapper("prior:file=nowhere").search(recorder, 10, np.random.default_rng(0))
    assert recorder.used == 0


# --- The mapper ---------------------------------------------------------------------------------


def test_no_mapping_is_tried_twice_and_none_is_invalid() -> None:
    recorder = Recorder(edge_problem(), "edp", 600)
    make_mapper("prior").search(recorder, 600, np.random.default_rng(0))
    assert recorder.unique == recorder.valid == 600
    assert len(recorder.points) < 40


def test_the_likeliest_mapping_comes_after_a_start() -> None:
    problem = edge_problem()
    start = Masks(problem).sample(3, np.random.default_rng(1))
    recorder = Recorder(problem, "edp", 5, start)
    make_mapper("prior").search(recorder, 5, np.random.default_rng(0))
    points = np.concatenate(recorder.points)
    np.testing.assert_array_equal(points[:3], start)
    np.testing.assert_array_equal(points[3:4], likeliest(problem, EDP, 1))


def test_it_finds_the_best_of_a_small_space() -> None:
    """The truth: all vectors, evaluated."""
    layer, hardware = Layer("GEMM", {"M": 3, "N": 2, "K": 4}), Hardware(4, 20, 64)
    problem = Problem(MapSpace(layer, hardware, tiles="divisors"))
    space = problem.space
    every = np.stack(np.unravel_index(np.arange(space.size()), space.sizes), axis=1)
    values, _ = problem.score(every.astype(np.int32), EDP)
    recorder = Recorder(problem, "edp", 3000)
    make_mapper("prior").search(recorder, 3000, np.random.default_rng(0))
    assert recorder.best.value == values.min()


def test_variants_improve_on_proposals(tmp_path: Path) -> None:
    """On those of a policy that has learnt nothing."""
    path = tmp_path / "untrained.safetensors"
    path.write_bytes(random_file(0).to_bytes())

    def best(refine_after: int) -> float:
        recorder = Recorder(edge_problem(), "edp", 500)
        mapper = make_mapper(f"prior:file={path}:refine_after={refine_after}")
        mapper.search(recorder, 500, np.random.default_rng(0))
        return recorder.best.value

    assert best(100) < best(500)


ODD_LAYERS = [
    Layer("GEMM", {"M": MOST, "N": MOST, "K": 1}),
    Layer("GEMM", dict.fromkeys("MNK", 1)),
    Layer("CONV", {"K": 3, "C": MOST, "Y": 9, "X": 9, "R": 9, "S": 9}),
    Layer("CONV", {"K": 4, "C": 3, "Y": MOST, "X": 9, "R": 3, "S": 3}, (3, 2)),
    Layer("DSCONV", {"C": MOST, "Y": 9, "X": 9, "R": 3, "S": 3}),
]
ODD_MACHINES = [
    Hardware(1),
    Hardware(1, 1, 1),
    Hardware(1024, 1),
    Hardware(MOST, 6, 40),
    Hardware(*[MOST] * 5),
]


@pytest.mark.parametrize("model", ["exact", "maestro"])
def test_odd_layers_and_machines_are_survived(model: str) -> None:
    for layer, hardware in product(ODD_LAYERS, ODD_MACHINES):
        problem = Problem(MapSpace(layer, hardware), model)
        recorder = Recorder(problem, "edp", 60)
        make_mapper("prior:refine_after=20").search(recorder, 60, np.random.default_rng(0))
        assert recorder.used == 60
        if model == "exact":
            # All are valid, or nothing fits: where a random vector does, all.
            drawn = problem.space.sample(200, np.random.default_rng(1))
            fits = not problem.score(drawn, EDP)[1].all()
            assert recorder.valid == 60 if fits else recorder.valid in (0, 60)


# --- Proposals as a start -----------------------------------------------------------------------


@pytest.mark.parametrize("mapper", ["marl", "marl:agents=1", "ga", "ga_log"])
def test_other_mappers_begin_with_proposals(mapper: str) -> None:
    problem = edge_problem()
    start = Masks(problem).sample(2, np.random.default_rng(1))
    recorder = Recorder(problem, "edp", 40, start)
    made = make_mapper(f"{mapper}:start=prior")
    made.search(recorder, 40, np.random.default_rng(0))
    points = np.concatenate(recorder.points)
    proposed = likeliest(problem, EDP)
    np.testing.assert_array_equal(points[:12], np.concatenate([start, proposed]))
    assert recorder.used == 40


@pytest.mark.parametrize("budget", [1, 5, 10])
def test_a_small_budget_has_the_first_proposals(budget: int) -> None:
    recorder = Recorder(edge_problem(), "edp", budget)
    make_mapper("ga_log:start=prior").search(recorder, budget, np.random.default_rng(0))
    proposed = likeliest(edge_problem(), EDP)
    np.testing.assert_array_equal(np.concatenate(recorder.points), proposed[:budget])


def test_a_proof_begins_with_the_prior() -> None:
    problem = edge_problem("mobilenetv2_l4")
    recorders = [Recorder(problem, "edp", 20) for _ in range(2)]
    for recorder, mapper in zip(
        recorders, ("optimum:start=prior:samples=20", "prior"), strict=True
    ):
        make_mapper(mapper).search(recorder, 20, np.random.default_rng(0))
    assert recorders[0].digest() == recorders[1].digest()


# --- Ranges -------------------------------------------------------------------------------------


def seen(**changes: int) -> np.ndarray:
    return context(find_layer("resnet18_l2"), replace(PRESETS["edge"], **changes), EDP)


def only(hardware: Hardware) -> dict[str, tuple[float, float]]:
    """Return ranges that hold one context alone."""
    entries = context(find_layer("resnet18_l2"), hardware, EDP).tolist()
    return {name: (entry, entry) for name, entry in zip(CONTEXT, entries, strict=True)}


def test_distances_are_octaves() -> None:
    ranges = only(PRESETS["edge"])
    assert outside(seen(), ranges) == {}
    # (1 + 4 * 65536 - 1) / 65536 is two octaves to the last digits.
    large = only(replace(PRESETS["edge"], noc_bw=2**16 - 1))
    assert outside(seen(noc_bw=2**18 - 1), large) == {"noc_bw": pytest.approx(2, abs=1e-4)}
    assert outside(seen(noc_bw=2**15 - 1), large) == {"noc_bw": pytest.approx(1, abs=1e-4)}
    l2 = outside(seen(l2_bytes=PRESETS["edge"].l2_bytes * 8), ranges)
    expected = {"l2_words", "input_per_l2", "filter_per_l2", "output_per_l2"}
    assert l2 == {name: pytest.approx(3, abs=1e-3) for name in expected}
    lanes = outside(seen(simd_lanes=4), ranges)
    assert lanes["macs_per_lane"] == pytest.approx(2, abs=1e-3)
    other = context(find_layer("resnet18_l2"), PRESETS["edge"], OBJECTIVES["latency"])
    assert outside(other, ranges) == {
        "objective_latency_cycles": pytest.approx(0.5),
        "objective_energy_nj": pytest.approx(0.5),
    }
    assert SPANS.keys() == set(CONTEXT)


def test_a_warning_names_the_farthest_in_one_line() -> None:
    file = random_file(ranges=only(PRESETS["edge"]))
    near, far = edge_problem(), edge_problem(l2_bytes=PRESETS["edge"].l2_bytes * 8)
    assert far_warning(file, [(near, EDP)]) is None
    text = far_warning(file, [(near, EDP), (far, EDP)])
    assert "\n" not in text
    assert "input_per_l2 by 3.0 octaves" in text
    assert "1 more" in text
    assert "objective_area_um2" in far_warning(file, [(near, OBJECTIVES["area"])])


LIMITS = {
    "noc_bw": "noc_bw",
    "offchip_bw": "offchip_bw",
    "l1_bytes": "l1_words",
    "l2_bytes": "l2_words",
}


@pytest.mark.parametrize("field", LIMITS)
def test_no_limit_is_no_number_of_octaves(field: str) -> None:
    entry = LIMITS[field]
    limited = replace(PRESETS["edge"], **{field: 4096})

    def told(seen: Hardware, **changes: int) -> str | None:
        problem = Problem(MapSpace(find_layer("resnet18_l2"), replace(limited, **changes)))
        return far_warning(random_file(ranges=only(seen)), [(problem, EDP)])

    unlimited = replace(limited, **{field: UNLIMITED})
    assert f"ranges are unlimited {entry};" in told(limited, **{field: UNLIMITED})
    assert f"ranges are limited {entry};" in told(unlimited)
    # All that is at least UNLIMITED is.
    assert told(unlimited, **{field: MOST}) is None
    assert "limited" not in (told(unlimited, **{field: UNLIMITED}, word_bytes=2) or "")


@pytest.mark.parametrize("card", [{"model": 3}, {"model": {}}, {"hold": []}, {"hold": {}}])
def test_any_data_card_can_be_compared_with(card: dict[str, object]) -> None:
    assert "has seen this layer" in prior_warning(
        random_file(data_card=card), [(edge_problem(), EDP)]
    )


def test_a_prior_that_was_trained_with_the_layers_is_told() -> None:
    def told(hold: str, *layers: str) -> str | None:
        goals = [(edge_problem(each), EDP) for each in layers]
        return prior_warning(random_file(data_card={"hold": hold}), goals)

    text = told("", "resnet18_l2")
    assert "has seen this layer" in text
    assert "\n" not in text
    assert told("resnet18", "resnet18_l2") is None
    assert told("resnet18,vgg16", "resnet18_l2", "vgg16_l1") is None
    assert told("", "conv:K=7,C=5,Y=9,X=9,R=3,S=3") is None
    # The first layers of both have one shape, however it is written.
    assert told("resnet18", "resnet50_l0") is None
    assert "has seen this layer" in told("resnet18", "gemm:M=1,N=1000,K=2048")
    assert "2 of these 3 layers" in told("resnet18", "resnet18_l2", "vgg16_l1", "gpt2_l1")


def test_what_is_far_and_what_was_seen_stand_in_one_line() -> None:
    file = random_file(ranges=only(PRESETS["edge"]))
    text = prior_warning(file, [(edge_problem(l2_bytes=PRESETS["edge"].l2_bytes * 8), EDP)])
    assert "octaves" in text
    assert "has seen this layer" in text
    assert "\n" not in text


@pytest.mark.parametrize("mapper", ["prior", "marl:start=prior", "optimum:start=prior"])
def test_mappers_tell_that_the_prior_has_seen_a_layer(mapper: str) -> None:
    assert "has seen this layer" in make_mapper(mapper).warning([(edge_problem(), EDP)])


def test_mappers_warn_of_the_prior_they_use(tmp_path: Path) -> None:
    path = tmp_path / "narrow.safetensors"
    path.write_bytes(random_file(ranges=only(PRESETS["edge"])).to_bytes())
    goals = [(roomy_problem(), EDP)]
    assert "octaves" in make_mapper(f"prior:file={path}").warning(goals)
    for name in ("marl", "ga", "random", "optimum"):
        assert make_mapper(name).warning(goals) is None


def test_a_prior_knows_what_it_was_made_of() -> None:
    shipped: PriorFile = load_prior().file
    assert shipped.ranges.keys() == set(CONTEXT)
    assert shipped.command
    assert len(shipped.digest) == 64
