"""The environment keeps Gymnasium's contract and its own promises."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st
from two_levels import MODELS

from maestro_env import _native
from maestro_env.base.errors import LayerError, MaestroEnvError, UnknownNameError
from maestro_env.environments.actions import ACTIONS
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.information import INFOS, NOT_EVALUATED
from maestro_env.evaluation.cost_and_status import OK, STATUSES, Cost
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.evaluation.observations_and_rewards import REWARDS
from maestro_env.evaluation.problem import Problem
from maestro_env.workloads.layer import Layer

LAYERS = ("mobilenetv2_l2", "resnet18_l2", "gpt2_l4", "alexnet_l7")


def make(**arguments: object) -> gymnasium.Env:
    return gymnasium.make("MaestroEnv-v1", **arguments)


every_model = pytest.mark.parametrize("model", MODELS)


@every_model
def test_checkers_are_content(model: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    for info in INFOS:
        # Of one the optimum is known.
        for layer in ("alexnet_l7", "gemm:M=6,N=4,K=5"):
            check_env(make(layer=layer, model=model, info=info).unwrapped)
            checker.check_env(make(layer=layer, model=model, info=info))


@pytest.mark.parametrize("layer", LAYERS)
@every_model
def test_nothing_seen_is_below_the_first_observation(model: str, layer: str) -> None:
    env = make(layer=layer, model=model)
    first, _ = env.reset(seed=0)
    roofline = env.unwrapped.problem.layer.macs / 1024
    assert first[0] == pytest.approx(np.log10(1 + np.ceil(roofline)) / 20)
    assert first[1] == 0
    assert (first[2:] > 0).all()
    env.action_space.seed(0)
    for _ in range(100):
        seen, _, _, _, info = env.step(env.action_space.sample())
        if info["status"] == OK:
            assert (seen >= first).all()


def test_episodes_are_truncated_after_their_length() -> None:
    env = make(episode_length=3)
    for _ in range(2):
        env.reset(seed=0)
        ends = [env.step(env.action_space.sample())[2:4] for _ in range(3)]
        assert ends == [(False, False), (False, False), (False, True)]


def test_an_episode_of_one_step_is_terminated() -> None:
    env = make(episode_length=1)
    for _ in range(2):
        env.reset(seed=0)
        assert env.step(env.action_space.sample())[2:4] == (True, False)


@every_model
def test_a_valid_step_reports_what_the_model_computes(model: str) -> None:
    layer, hardware = "mobilenetv2_l2", "edge"
    arguments = {"layer": layer, "objective": "latency", "hardware": hardware, "model": model}
    env, told = (make(**arguments, info=info).unwrapped for info in ("basic", "full"))
    env.action_space.seed(0)
    seen = set()
    references = set()
    for _ in range(200):
        action = env.action_space.sample()
        observation, reward, _, _, info = env.step(action)
        full = told.step(action)[4]
        assert info == {name: full[name] for name in info}
        seen.add(info["status"])
        cost, status = env.problem.evaluate_mapping(env.space.decode(action))
        assert status == STATUSES[info["status"]]
        assert (full["vector"] == env.vector).all()
        assert (action == env.vector).all()
        assert env.mapping == env.space.decode(action)
        assert env.cost == cost
        if status != "ok":
            assert (reward, info["objective"]) == (0, np.inf)
            continue
        assert cost is not None
        assert info["objective"] == cost.latency_cycles
        assert cost.figures() == {name: full[name] for name in _native.METRICS if name in full}
        references.add(round(reward * full["latency_cycles"], 3))
        expected = [cost.latency_cycles, cost.power_mw, cost.energy_nj, cost.area_um2]
        assert observation == pytest.approx(np.log10(1 + np.array(expected)) / 20, rel=1e-6)
    assert OK in seen
    assert len(seen) > 1
    assert len(references) == 1


def kinds(info: dict[str, object]) -> dict[str, object]:
    return {
        name: (each.dtype, each.shape) if isinstance(each, np.ndarray) else type(each)
        for name, each in info.items()
    }


@pytest.mark.parametrize("action", ACTIONS)
@every_model
def test_information_has_the_same_types_every_time(model: str, action: str) -> None:
    basic = {"status": int, "objective": float}
    known = ("optimum", "optimum_bound", "optimum_gap", "regret")
    added = ("best_objective", *known, *_native.METRICS)
    full = {**basic, **dict.fromkeys(added, float), "vector": (np.int32, (13,))}
    # What is not known is left out.
    always = basic | {"vector": (np.int32, (13,)), "best_objective": float}
    for info, least, most in (("basic", basic, basic), ("full", always, full)):
        env = make(layer="resnet18_l2", hardware="edge", info=info, action=action, model=model)
        told = [env.reset(seed=0)[1]]
        env.action_space.seed(0)
        for _ in range(50):
            *_, terminated, _, each = env.step(env.action_space.sample())
            told += [each, env.reset()[1]] if terminated else [each]
        for each in map(kinds, told):
            assert least.items() <= each.items() <= most.items()
        codes = {each["status"] for each in told}
        assert codes <= {*range(len(STATUSES)), NOT_EVALUATED} > {NOT_EVALUATED}
        assert told[0]["status"] == NOT_EVALUATED


@pytest.mark.parametrize("objective", ["latency", "edp", "energy", "area"])
@pytest.mark.parametrize("hardware", ["unlimited", "edge", "cloud"])
@every_model
def test_a_random_mapping_earns_about_one(model: str, objective: str, hardware: str) -> None:
    layer = "mobilenetv2_l2"
    env = make(layer=layer, objective=objective, hardware=hardware, model=model).unwrapped
    env.action_space.seed(7)
    rewards = [env.step(env.action_space.sample())[1] for _ in range(500)]
    assert 1 / 3 < np.median([reward for reward in rewards if reward > 0]) < 3


def test_the_log_reward_is_the_logarithm_of_the_inverse_one() -> None:
    inverse, log = (make(reward=name).unwrapped for name in ("inverse", "log"))
    inverse.action_space.seed(3)
    for _ in range(50):
        action = inverse.action_space.sample()
        assert log.step(action)[1] == pytest.approx(np.log(1 + inverse.step(action)[1]))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_used_environment_can_be_copied(duplicate: Callable[[object], gymnasium.Env]) -> None:
    env = make(layer="resnet18_l2").unwrapped
    env.reset(seed=0)
    actions = [env.action_space.sample() for _ in range(20)]
    env.step(actions[0])
    twin = duplicate(env)
    for action in actions:
        one, two = env.step(action), twin.step(action)
        assert one[1] == two[1]
        assert one[4] == two[4]
        assert env.best_objective == twin.best_objective


def test_the_best_is_kept_over_resets() -> None:
    env = make(objective="edp").unwrapped
    env.action_space.seed(1)
    values = []
    for _ in range(100):
        env.reset()
        info = env.step(env.action_space.sample())[4]
        if info["status"] == OK:
            values.append(info["objective"])
        assert env.best_objective == min(values, default=np.inf)
    assert env.problem.score(env.best_vector[np.newaxis], env.objective)[0] == min(values)
    assert env.best_cost.latency_cycles * env.best_cost.energy_nj == min(values)
    cost, _ = env.problem.evaluate_mapping(env.best_mapping)
    assert cost == env.best_cost


def test_who_changes_a_vector_changes_a_copy() -> None:
    env = MaestroEnv("resnet18_l2")
    env.step([0] * 13)
    env.vector[0] = env.best_vector[0] = 5
    assert env.vector.tolist() == env.best_vector.tolist() == [0] * 13


def test_objectives_are_products_of_metrics() -> None:
    cost = Cost(latency_cycles=3.0, energy_nj=5.0, power_mw=7.0, area_um2=11.0)
    rows = np.full((1, len(_native.METRICS)), np.nan)
    rows[0, :4] = [cost.latency_cycles, cost.energy_nj, cost.power_mw, cost.area_um2]
    expected = {"latency": 3.0, "energy": 5.0, "edp": 15.0, "area": 11.0}
    for name, value in expected.items():
        assert OBJECTIVES[name].of(cost.figures()) == value
        assert OBJECTIVES[name].function(rows).tolist() == [value]
    assert np.isnan(find_objective("edp", "csv").of(cost.figures()))


@pytest.mark.parametrize("factors", [("latency",), ()])
def test_an_objective_of_no_metric_is_refused(factors: tuple[str, ...]) -> None:
    with pytest.raises(UnknownNameError, match="unknown metric"):
        Objective("mine", "cycles", factors, None)


@pytest.mark.parametrize("action", ["multidiscrete", "discrete_steps"])
def test_the_last_mapping_is_drawn(action: str) -> None:
    from maestro_env.explanation import rendering

    text, picture = (make(render_mode=mode, action=action) for mode in ("ansi", "rgb_array"))
    for env in (text, picture):
        env.reset(seed=0)
    assert text.render() == "no mapping yet"
    blank = picture.render()
    assert (blank.dtype, blank.ndim, blank.shape[2]) == (np.uint8, 3, 3)
    steps = 13 if action == "discrete_steps" else 1
    for env in (text, picture):
        for _ in range(steps):
            env.step(np.zeros(env.action_space.shape, env.action_space.dtype))
    last = text.unwrapped
    assert text.render() == rendering.text(last.mapping, last.cost)
    drawn = rendering.picture(last.mapping, last.problem.hardware, last.problem.layer)
    np.testing.assert_array_equal(picture.render(), drawn)


@given(st.data())
def test_observations_and_rewards_stay_in_their_ranges(data: st.DataObject) -> None:
    layer = data.draw(st.sampled_from(LAYERS))
    reward = data.draw(st.sampled_from(sorted(REWARDS)))
    guard = data.draw(st.booleans())
    model = data.draw(st.sampled_from(sorted(MODELS)))
    env = MaestroEnv(layer, reward=reward, guard=guard, model=model)
    action = [data.draw(st.integers(0, int(n) - 1)) for n in env.action_space.nvec]
    observation, value, _, _, info = env.step(np.array(action))
    assert env.observation_space.contains(observation)
    assert np.isfinite(value)
    assert value >= 0
    assert (value > 0) == (info["status"] == OK)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"layer": "mobilnetv2_l2"}, LayerError, "mobilenetv2_l2"),
        ({"objective": "speed"}, UnknownNameError, "latency"),
        ({"hardware": "phone"}, UnknownNameError, "edge"),
        ({"model": "magic"}, UnknownNameError, "maestro"),
        ({"schema": "full18"}, UnknownNameError, "full17"),
        ({"reward": "gold"}, UnknownNameError, "inverse"),
        ({"tiles": "primes"}, UnknownNameError, "divisors"),
        ({"episode_length": 0}, ValueError, "integers from 1"),
        ({"schema": "full17", "model": "maestro"}, MaestroEnvError, "legal13"),
    ],
)
def test_bad_arguments_are_named(
    arguments: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        MaestroEnv(**arguments)


def test_strided_layers_warn_with_the_valid_fraction() -> None:
    strided = Layer("CONV", {"K": 8, "C": 8, "Y": 9, "X": 9, "R": 3, "S": 3}, stride=(2, 2))
    with pytest.warns(UserWarning, match=r"\d% of 2000 random mappings"):
        MaestroEnv(strided, model="maestro")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MaestroEnv("resnet18_l2", model="maestro")
        MaestroEnv(strided, model="exact")


def test_the_default_model_is_the_exact_one() -> None:
    assert MaestroEnv().problem.model == "exact"
    assert Problem(MaestroEnv().space).model == "exact"


def test_options_that_reset_would_leave_out_are_refused() -> None:
    for env in (MaestroEnv(), gymnasium.make_vec("MaestroImprove-v1", 2)):
        env.reset(seed=0, options={})
        with pytest.raises(MaestroEnvError, match="reset has no option 'size'; allowed: layer, ha"):
            env.reset(options={"size": 3})
        with pytest.raises(MaestroEnvError, match="allowed: layers mobilenetv2_l2 on unlimited"):
            env.reset(options={"layer": "resnet18_l2"})
