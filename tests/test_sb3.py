"""The adapter against stable-baselines3's own vectorisation of single environments."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from fractions import Fraction

import gymnasium
import numpy as np
import pytest
from two_levels import MODELS

from maestro_env.base.errors import EnvError, MapSpaceError
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.making import make_vector_env
from maestro_env.environments.vector import MaestroVectorEnv
from maestro_env.evaluation.evaluator import Evaluator

stable_baselines3 = pytest.importorskip("stable_baselines3", reason="needs the extra rl")
vec_env = pytest.importorskip("stable_baselines3.common.vec_env")
sb3 = pytest.importorskip("maestro_env.environments.sb3", exc_type=ImportError)

COPIES = 4
both_kinds = pytest.mark.parametrize("continuous", [False, True])


def true_choice(action: float, choices: int) -> int:
    """Bin an action exactly."""
    share = (Fraction(max(-1.0, min(1.0, float(action)))) + 1) / 2
    return min(math.floor(share * choices), choices - 1)


@both_kinds
@pytest.mark.parametrize("episode_length", [1, 3])
@pytest.mark.parametrize("model", MODELS)
def test_copies_are_those_of_stable_baselines(
    model: str, episode_length: int, continuous: bool
) -> None:
    single = MaestroEnv(model=model, episode_length=episode_length)
    truth = vec_env.DummyVecEnv([lambda: copy.deepcopy(single)] * COPIES)
    env = sb3.SB3VecEnv(
        make_vector_env(COPIES, model=model, episode_length=episode_length), continuous
    )
    rng = np.random.default_rng(0)
    for both in (env, truth):
        both.seed(0)
    np.testing.assert_array_equal(env.reset(), truth.reset())
    for _ in range(40):
        actions = choices = single.space.sample(COPIES, rng)
        if continuous:
            actions = (rng.integers(-300, 301, size=choices.shape) / 256).astype(np.float32)
            choices = np.vectorize(true_choice)(actions, single.space.sizes)
        *got, infos = env.step(actions)
        *expected, true_infos = truth.step(choices)
        for one, other in zip(got, expected, strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
        for info, true_info in zip(infos, true_infos, strict=True):
            names = {"TimeLimit.truncated", "terminal_observation"} & true_info.keys()
            assert info.keys() == names
            for name in names:
                np.testing.assert_array_equal(info[name], true_info[name])


def test_the_spaces_are_those_of_one_copy() -> None:
    env, single = make_vector_env(COPIES), MaestroEnv()
    discrete, continuous = sb3.SB3VecEnv(env), sb3.SB3VecEnv(env, continuous=True)
    assert discrete.action_space == single.action_space
    assert continuous.action_space == gymnasium.spaces.Box(-1, 1, (13,), np.float32)
    assert discrete.observation_space == continuous.observation_space == single.observation_space


@pytest.mark.parametrize("choices", [1, 2, 3, 7, 720, 1_000_003])
def test_continuous_actions_are_binned_evenly(choices: int) -> None:
    actions = np.arange(-1024, 1025, dtype=np.float32)[:, None] / 800
    expected = [true_choice(action, choices) for action in actions[:, 0]]
    if choices < 4:
        assert set(expected) == set(range(choices))
    assert sb3.binned(actions, np.array([choices]))[:, 0].tolist() == expected


def test_an_action_that_is_not_a_number_is_refused() -> None:
    env = sb3.SB3VecEnv(make_vector_env(2), continuous=True)
    with pytest.raises(MapSpaceError, match="numbers from -1 to 1"):
        env.step(np.full((2, 13), np.nan, np.float32))


@both_kinds
@pytest.mark.usefixtures("one_torch_thread")
def test_a_learner_learns_on_its_budget(continuous: bool) -> None:
    problem, objective = MaestroEnv().problem, MaestroEnv().objective
    evaluator = Evaluator(problem, objective, budget=64)
    env = sb3.SB3VecEnv(MaestroVectorEnv(evaluator, COPIES, episode_length=5), continuous)
    learner = stable_baselines3.PPO(
        "MlpPolicy", vec_env.VecMonitor(env), n_steps=8, batch_size=16, device="cpu", seed=0
    )
    learner.learn(64)
    assert evaluator.used == 64
    assert [episode["l"] for episode in learner.ep_info_buffer] == [5] * 12
    assert env.env.exhausted


def test_attributes_and_methods_are_the_vectors() -> None:
    vector = make_vector_env(COPIES)
    env = sb3.SB3VecEnv(vector)
    assert env.get_attr("space") == [vector.space] * COPIES
    assert env.get_attr("reference", [0, 2]) == [vector.reference] * 2
    assert env.get_attr("reference", 1) == [vector.reference]
    assert not env.has_attr("nothing_of_the_kind")
    assert env.env_is_wrapped(gymnasium.Wrapper) == [False] * COPIES
    env.set_attr("reference", 5.0)
    assert vector.reference == 5.0
    with pytest.raises(EnvError, match="indices are"):
        env.set_attr("reference", 6.0, [0])
    vector.step(vector.action_space.sample())
    assert len(env.env_method("reset", seed=1)) == COPIES
    assert vector.np_random_seed == 1
    env.close()
    assert vector.closed


def test_a_missing_extra_is_named() -> None:
    code = """
import sys
sys.modules["stable_baselines3"] = None
import maestro_env
maestro_env.MaestroVectorEnv
try:
    import maestro_env.environments.sb3
except maestro_env.MaestroEnvError as error:
    print(error)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == (
        "maestro_env.environments.sb3 needs stable-baselines3: pip install -e '.[rl]' in a clone\n"
    )


def test_an_agent_learns_on_many_layers() -> None:
    envs = gymnasium.make_vec(
        "maestro_env/transfer-train-v1",
        COPIES,
        vectorization_mode="vector_entry_point",
        episode_length=5,
    )
    env = sb3.SB3VecEnv(envs.unwrapped)
    steps = {"n_steps": 10, "batch_size": 20, "n_epochs": 1, "seed": 0}
    stable_baselines3.PPO("MlpPolicy", env, **steps).learn(40)
    masks = env.env_method("action_masks")
    assert [mask.shape for mask in masks] == [(54,)] * COPIES


def test_copies_must_reset_in_the_same_step() -> None:
    with pytest.raises(EnvError, match="autoreset_mode is NextStep; allowed: SameStep"):
        sb3.SB3VecEnv(make_vector_env(2, autoreset_mode="NextStep"))
