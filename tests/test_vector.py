"""The vector environment against single ones, Gymnasium's own vectorisation and its budget."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
from gate import few
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from hypothesis import given
from hypothesis import strategies as st
from two_levels import MODELS

from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.errors import (
    ArgumentTypeError,
    BudgetExceededError,
    EnvError,
    MapSpaceError,
    UnknownNameError,
)
from maestro_env.environments.actions import ACTIONS
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.information import INFOS, NOT_EVALUATED, OBSERVATIONS
from maestro_env.environments.vector import MaestroVectorEnv
from maestro_env.evaluation.cost_and_status import OK, STATUSES
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.observations_and_rewards import REWARDS
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

LAYERS = ("mobilenetv2_l2", "resnet18_l2", "gpt2_l4", "alexnet_l7")
LATENCY = find_objective("latency")


def make(num_envs: int, **arguments: object) -> MaestroVectorEnv:
    return gymnasium.make_vec(
        "MaestroEnv-v1", num_envs, vectorization_mode="vector_entry_point", **arguments
    )


def make_problem() -> Problem:
    return Problem(MapSpace(find_layer("mobilenetv2_l2"), find_hardware("edge")))


@given(
    st.fixed_dictionaries(
        {
            "layer": st.sampled_from(LAYERS),
            "model": st.sampled_from(sorted(MODELS)),
            "reward": st.sampled_from(sorted(REWARDS)),
            "episode_length": st.integers(1, 4) | st.none(),
            "info": st.sampled_from(INFOS),
            "action": st.sampled_from(sorted(ACTIONS)),
            "observation": st.sampled_from(OBSERVATIONS),
        }
    ),
    st.integers(1, 4),
    st.none() | st.integers(1, 6),
    st.sampled_from([AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]),
    st.integers(0, 2**31),
)
def test_copies_are_gymnasiums_vector_of_single_environments(
    arguments: dict[str, object], num_envs: int, limit: int | None, mode: AutoresetMode, seed: int
) -> None:
    single = gymnasium.make("MaestroEnv-v1", max_episode_steps=limit, **arguments)
    truth = SyncVectorEnv([lambda: copy.deepcopy(single)] * num_envs, autoreset_mode=mode)
    env = make(num_envs, max_episode_steps=limit, autoreset_mode=mode, **arguments)
    for name in ("action", "observation"):
        for space in (f"{name}_space", f"single_{name}_space"):
            assert getattr(env, space) == getattr(truth, space)
    assert env.metadata["autoreset_mode"] == truth.metadata["autoreset_mode"]
    assert env.autoreset_mode == truth.autoreset_mode
    seen, info = env.reset(seed=seed)
    expected_seen, true_info = truth.reset(seed=seed)
    np.testing.assert_array_equal(seen, expected_seen)
    assert_same(info, true_info)
    env.action_space.seed(seed)
    for _ in range(15):
        actions = env.action_space.sample()
        *got, info = env.step(actions)
        *expected, true_info = truth.step(actions)
        for one, other in zip(got, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        if "final_info" in true_info:
            np.testing.assert_array_equal(
                info.pop("final_obs"), np.stack(true_info.pop("final_obs"))
            )
            evaluated = true_info.pop("final_info")
            assert_same(info.pop("final_info"), evaluated)
            del info["_final_obs"], info["_final_info"]
            true_info = evaluated
        assert_same(info, true_info)


def assert_same(info: dict[str, object], truth: dict[str, object]) -> None:
    """Compare two informations, but for the best, which one evaluator has of all copies."""
    assert info.keys() == truth.keys()
    for name in truth.keys() - {"best_objective"}:
        assert info[name].dtype == truth[name].dtype
        np.testing.assert_array_equal(info[name], truth[name])


@pytest.mark.parametrize("length", [1, 2, 100])
def test_every_step_has_the_values_of_its_mappings(length: int) -> None:
    env = make(3, layer="resnet18_l2", hardware="edge", episode_length=length, action="box")
    single = MaestroEnv("resnet18_l2", hardware="edge", action="box")
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(4):
        actions = env.action_space.sample()
        info = env.step(actions)[-1]
        told = [single.step(action)[-1] for action in actions]
        for name in ("status", "objective"):
            assert info[name].tolist() == [each[name] for each in told]


def test_gymnasiums_vector_wrappers_take_it() -> None:
    env = DictInfoToList(RecordEpisodeStatistics(make(3, episode_length=2)))
    env.reset(seed=0)
    _, first, _, _, infos = env.step(env.action_space.sample())
    assert [info.keys() for info in infos] == [{"status", "objective"}] * 3
    _, second, _, _, infos = env.step(env.action_space.sample())
    assert [info["episode"]["l"] for info in infos] == [2] * 3
    assert [info["episode"]["r"] for info in infos] == pytest.approx(list(first + second))
    assert all(info["final_obs"].shape == (4,) for info in infos)
    assert all(info["final_info"]["status"] < len(STATUSES) for info in infos)


@pytest.mark.parametrize("first", few(["gymnasium", "maestro_env"]))
def test_the_id_is_registered_whichever_package_comes_first(first: str) -> None:
    second = {"maestro_env": "gymnasium", "gymnasium": "maestro_env"}[first]
    code = f"""
import {first}, {second}, gymnasium, maestro_env
assert type(gymnasium.make("MaestroEnv-v1").unwrapped) is maestro_env.MaestroEnv
env = gymnasium.make_vec("MaestroEnv-v1", 3, vectorization_mode="vector_entry_point")
again = gymnasium.make_vec(env.spec)
assert type(env) is type(again) is maestro_env.MaestroVectorEnv
assert again.num_envs == 3
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_id_with_the_package_needs_no_import() -> None:
    code = """
import gymnasium
assert "MaestroEnv-v1" not in gymnasium.registry
env = gymnasium.make("maestro_env:MaestroEnv-v1")
assert "MaestroEnv-v1" in gymnasium.registry
assert env.spec.id == "MaestroEnv-v1"
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True)


def test_a_step_is_one_batch_whatever_the_threads() -> None:
    problem, sizes = make_problem(), []
    batches = [
        Evaluator(problem, LATENCY, threads=threads, on_batch=lambda each: sizes.append(each.used))
        for threads in (1, 2)
    ]
    one, two = (MaestroVectorEnv(evaluator, 100) for evaluator in batches)
    actions = one.action_space.sample()
    np.testing.assert_equal(one.step(actions), two.step(actions))
    assert sizes == [100, 100]
    assert make(2, threads=2).step(np.zeros((2, 13), int))[0].shape == (2, 4)


def test_a_budget_is_spent_exactly() -> None:
    problem = make_problem()
    evaluator = Evaluator(problem, LATENCY, budget=25)
    env = MaestroVectorEnv(evaluator, 10, reference=1e6)
    env.action_space.seed(0)
    steps, asked = [], []
    while not env.exhausted:
        asked.append(env.action_space.sample().astype(np.int32))
        steps.append(env.step(asked[-1]))
    assert evaluator.used == 25
    truth = Evaluator(problem, LATENCY)
    values = truth.evaluate(np.concatenate(asked)[:25]).values
    np.testing.assert_array_equal(evaluator.trace[0], values)
    np.testing.assert_array_equal(
        np.concatenate([step[1] for step in steps]), np.append(1e6 / values, np.zeros(5))
    )
    seen, _, _, _, info = steps[-1]
    assert seen[:5].any()
    assert not seen[5:].any()
    covered = [True] * 5 + [False] * 5
    assert all(info[f"_{name}"].tolist() == covered for name in ("status", "objective"))
    assert (info["status"] == NOT_EVALUATED).tolist() == [not each for each in covered]
    assert np.isinf(info["objective"][5:]).all()
    with pytest.raises(BudgetExceededError, match="no evaluation remains"):
        env.step(asked[0])
    assert evaluator.used == 25


def test_a_share_of_the_budget_is_spent_exactly() -> None:
    evaluator = Evaluator(make_problem(), LATENCY, budget=25)
    env = MaestroVectorEnv(evaluator, 10, reference=1e6, budget=12)
    env.action_space.seed(0)
    for _ in range(2):
        assert not env.exhausted
        env.step(env.action_space.sample())
    assert env.exhausted
    assert (evaluator.used, evaluator.remaining) == (12, 13)
    with pytest.raises(BudgetExceededError, match="no evaluation remains"):
        env.step(env.action_space.sample())
    assert evaluator.used == 12


def test_without_a_reference_it_is_the_median_of_the_first_valid_step() -> None:
    problem = make_problem()
    points = problem.space.sample(500, np.random.default_rng(0))
    status = problem.evaluate(points).status
    valid, invalid = points[status == OK], points[status != OK]
    env = MaestroVectorEnv(Evaluator(problem, LATENCY), 4, episode_length=2)
    for _ in range(3):
        assert env.step(invalid[:4])[1].tolist() == [0] * 4
    assert env.reference is None
    for mixed in ([invalid[0], *valid[:3]], [invalid[0], *valid[3:6]]):
        reward = env.step(np.array(mixed))[1]
        latencies = [problem.evaluate_mapping(env.space.decode(each))[0] for each in valid[:3]]
        median = sorted(cost.latency_cycles for cost in latencies)[1]
        costs = [problem.evaluate_mapping(env.space.decode(each))[0] for each in mixed[1:]]
        assert reward.tolist() == [0, *(median / cost.latency_cycles for cost in costs)]


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_used_vector_can_be_copied(
    duplicate: Callable[[MaestroVectorEnv], MaestroVectorEnv],
) -> None:
    env = make(5, layer="resnet18_l2", episode_length=3)
    env.reset(seed=0)
    actions = [env.action_space.sample() for _ in range(7)]
    env.step(actions[0])
    twin = duplicate(env)
    for action in actions:
        np.testing.assert_equal(env.step(action), twin.step(action))


def test_a_reset_begins_a_new_episode() -> None:
    env = make(2, episode_length=2)
    ends = []
    for _ in range(2):
        env.step(env.action_space.sample())
        assert (env.reset()[1]["status"] == NOT_EVALUATED).all()
        env.step(env.action_space.sample())
        ends.append(env.step(env.action_space.sample())[3].tolist())
    assert ends == [[True, True]] * 2
    with pytest.raises(EnvError, match="reset_mask"):
        env.reset(options={"reset_mask": np.array([True, False])})


@pytest.mark.parametrize(
    "actions",
    [
        np.zeros((2, 12), int),
        np.zeros(13, int),
        np.zeros((3, 13), int),
        np.zeros((2, 13)),
        np.full((2, 13), -1),
        np.full((2, 13), 2**40),
    ],
)
def test_impossible_actions_are_refused(actions: np.ndarray) -> None:
    with pytest.raises(MapSpaceError, match=r"shape \(2, 13\)|l2_order"):
        make(2).step(actions)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_envs": 0}, EnvError, "num_envs is 0; allowed: integers from 1"),
        ({"num_envs": 2**31}, EnvError, "integers from 1 to 1048576"),
        ({"num_envs": 2.0}, ArgumentTypeError, "integers from 1"),
        ({"threads": 0}, MapSpaceError, "threads is 0; allowed: integers from 1"),
        ({"episode_length": 0}, EnvError, "episode_length is 0; allowed: integers from 1"),
        ({"reward": "gold"}, UnknownNameError, "allowed: inverse, log"),
        ({"max_episode_steps": 0}, EnvError, "max_episode_steps is 0; allowed: integers from 1"),
        ({"autoreset_mode": "Disabled"}, UnknownNameError, "allowed: NextStep, SameStep"),
        ({"render_mode": "ansi"}, EnvError, "render_mode is 'ansi'; allowed: None"),
        ({"action": "box", "layers": []}, EnvError, "layers is .*; allowed: a list of at least"),
    ],
)
def test_bad_arguments_are_named(
    arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as refused:
        make(**{"num_envs": 2, **arguments})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("reference", [0, -1.0, float("inf"), float("nan"), "1"])
def test_an_impossible_reference_is_refused(reference: object) -> None:
    with pytest.raises(EnvError, match=r"reference is .*; allowed: None or a positive number"):
        MaestroVectorEnv(Evaluator(make_problem(), LATENCY), 2, reference)
