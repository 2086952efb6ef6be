"""Searches that start from given vectors, and that start from none as they always did."""

from __future__ import annotations

from importlib.metadata import version

import numpy as np
import pytest
from gate import few
from mapper_helpers import CASES, SPENDERS, TRACES, Recorder, every_mapper, problem, search

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.errors import MapSpaceError
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.mappers import make_mapper
from maestro_env.mappers.agents.team import Heads
from maestro_env.mappers.marl import _MarlSearch
from maestro_env.mapspace.space import TILES, Points, choices_at, share_at
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

# Their arithmetic is not ours.
LIBRARIES = {
    "bo": ("scikit-learn",),
    "marl_mlp": ("torch",),
    "marl_paper": ("torch",),
    "optuna": ("optuna",),
    "ppo": ("torch", "stable_baselines3"),
    "ppo_box": ("torch", "stable_baselines3"),
    "ppo_tuned": ("torch", "stable_baselines3"),
}
BUDGET = 80


@pytest.mark.parametrize("mapper", [each for each in CASES if each.values[0] in TRACES["digests"]])
def test_without_a_start_nothing_has_changed(mapper: str) -> None:
    for library in LIBRARIES.get(mapper.split(":")[0], ()):
        if version(library) != TRACES["versions"][library]:
            pytest.skip(f"another version of {library} made the digests")
    found = [
        search(mapper, 300, 5).digest(),
        search(mapper, 300, 5, objective="edp", l1_bytes=2000).digest(),
    ]
    assert found == TRACES["digests"][mapper]


def start(l1_bytes: int, n: int = 6) -> Points:
    """Return some valid vectors and an invalid one."""
    tight = problem(l1_bytes=l1_bytes)
    drawn = tight.space.sample(4000, np.random.default_rng(1))
    values, status = tight.score(drawn, find_objective("edp"))
    valid = drawn[status == OK]
    best = valid[np.argsort(values[status == OK])[: n - 1]]
    return np.concatenate([best, drawn[status != OK][:1]])


def warm(text: str, budget: int, given: Points, seed: int = 0) -> Recorder:
    recorder = Recorder(problem(l1_bytes=2000), "edp", budget, given)
    make_mapper(text).search(recorder, budget, np.random.default_rng(seed))
    return recorder


@every_mapper
@pytest.mark.parametrize("budget", few([4, BUDGET, 6], 2))
def test_the_first_samples_are_the_start_and_are_charged(mapper: str, budget: int) -> None:
    given = start(2000)
    recorder = warm(mapper, budget, given)
    points = np.concatenate(recorder.points)
    assert recorder.used == len(points) == budget
    np.testing.assert_array_equal(points[:6], given[:budget])
    assert recorder.best.value <= recorder.trace[0][:budget].min()


@every_mapper
def test_a_start_without_a_valid_vector_is_survived(mapper: str) -> None:
    given = start(2000)[-1:]
    recorder = warm(mapper, BUDGET, given)
    assert recorder.used == BUDGET
    assert np.isinf(recorder.trace[0][0])


@every_mapper
def test_a_second_search_does_not_repeat_the_start(mapper: str) -> None:
    given = start(2000)
    recorder = Recorder(problem(l1_bytes=2000), "edp", 40, given)
    for seed in range(2):
        make_mapper(mapper).search(recorder, 20, np.random.default_rng(seed))
    assert recorder.used == 40
    assert not (np.concatenate(recorder.points)[20:26] == given).all()


@pytest.mark.parametrize("start_samples", [0, 10])
def test_the_proof_starts_from_it_too(start_samples: int) -> None:
    given = start(2000)
    recorder = warm(f"optimum:samples={start_samples}:nodes=1000", 30, given)
    np.testing.assert_array_equal(np.concatenate(recorder.points)[:6], given)


@pytest.mark.parametrize("name", [each for each in SPENDERS if each in ("ga", "ga_log", "gamma")])
def test_a_population_holds_the_start(name: str) -> None:
    given, tight = start(2000), problem(l1_bytes=2000)
    mapper = make_mapper(name)
    mapper.search(
        Evaluator(tight, find_objective("edp"), 6, start=given), 6, np.random.default_rng(0)
    )
    held = {*map(tuple, mapper._parents.tolist())}
    assert {*map(tuple, given[:5].tolist())} <= held


def test_the_memories_of_marl_hold_the_start() -> None:
    given, tight = start(2000), problem(l1_bytes=2000)
    mapper = make_mapper("marl")
    evaluator = Evaluator(tight, find_objective("edp"), 50, start=given)
    heads, began = Heads(tight.space), mapper.begin(evaluator, 50)
    agents = np.arange(len(heads.counts))
    found = _MarlSearch(mapper.config, heads, agents, evaluator, np.random.default_rng(0), began)
    assert found.spent == 6
    order = np.argsort(began[1], kind="stable")[:5]
    np.testing.assert_array_equal(heads.points(found._elites.actions), given[order])
    np.testing.assert_array_equal(heads.points(found._champion.actions), given[order[:1]])


@pytest.mark.parametrize("mapper", ["ga_log", "gamma", "marl"])
def test_a_good_start_leads_to_better_samples(mapper: str) -> None:
    best = search("marl", 2000, objective="edp", l1_bytes=2000).best.point[np.newaxis]
    # Not the start itself, which is left out.
    cold, warmed = (
        np.mean([np.log(warm(mapper, BUDGET, given, seed).trace[0][1:].min()) for seed in range(3)])
        for given in (best[:0], best)
    )
    assert warmed < cold


def test_optuna_knows_the_start() -> None:
    pytest.importorskip("optuna", reason="the extra optuna is not installed")
    given, tight = start(2000), problem(l1_bytes=2000)
    mapper = make_mapper("optuna")
    evaluator = Evaluator(tight, find_objective("edp"), 10, start=given)
    mapper.search(evaluator, 10, np.random.default_rng(0))
    trials = mapper._study.get_trials(deepcopy=False)
    for point, trial, value in zip(given, trials, evaluator.trace[0], strict=False):
        choices = [
            trial.params[each.name]
            if each.kind == "parallel"
            else choices_at(each, trial.params[each.name])
            for each in tight.space.parameters
        ]
        np.testing.assert_array_equal(choices, point)
        assert trial.value == (value if np.isfinite(value) else 0)


@pytest.mark.parametrize("tiles", TILES)
def test_the_share_of_a_choice_leads_back_to_it(tiles: str) -> None:
    layer = Layer("GEMM", {"M": 3, "N": 360, "K": 2**31 - 1 if tiles == "integers" else 5040})
    rng = np.random.default_rng(0)
    for each in MapSpace(layer, PRESETS["cloud"], tiles=tiles).parameters:
        last = each.choices - 1
        for choice in {0, last, last // 2, *rng.integers(0, each.choices, 20).tolist()}:
            assert choices_at(each, share_at(each, choice)) == choice


def test_heads_find_the_actions_of_points() -> None:
    heads = Heads(problem().space)
    points = problem().space.sample(50, np.random.default_rng(0))
    np.testing.assert_array_equal(heads.points(heads.actions(points)), points)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0] * 3], "got int64 of shape"),
        ([[0.5] * 13], "float64"),
        ([[0] * 12 + [10**6]], "13|cluster"),
        ([[-1] + [0] * 12], "l2_order = -1 is not in"),
        (7, "points of this space"),
        ("no", "points of this space"),
    ],
)
def test_what_is_no_start_is_refused(given: object, message: str) -> None:
    with pytest.raises(MapSpaceError, match=message):
        Evaluator(problem(), find_objective("edp"), 10, start=given)  # type: ignore[arg-type]
