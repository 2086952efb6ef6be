"""Copies of ``MaestroImprove-v1``: a layer each, modes of autoreset, wrappers, other libraries."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers import vector as wrappers

from maestro_env.base.errors import EnvError, UnknownNameError
from maestro_env.environments.improving import MaestroImproveVectorEnv
from maestro_env.environments.making import make_improve_vector_env
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.evaluator import Evaluator

MANY = "maestro_env/transfer-train-v1"
ONE = "maestro_env/edge-resnet18_l2-edp-v1"
SMALL = {"layers": ["gemm:M=6,N=4,K=5", "gemm:M=8,N=8,K=3", "gemm:M=4,N=9,K=7"]}
every_mode = pytest.mark.parametrize("mode", list(AutoresetMode))


def make(name: str = MANY, copies: int = 8, how: str = "vector_entry_point", **more: Any) -> Any:
    return gymnasium.make_vec(name, copies, vectorization_mode=how, **more)


def sync(mode: AutoresetMode, name: str = MANY, copies: int = 8, **more: Any) -> Any:
    return make(name, copies, "sync", vector_kwargs={"autoreset_mode": mode}, **more)


# --- A layer for each copy ------------------------------------------------------------------------


def test_copies_have_layers_of_their_own_and_draw_anew() -> None:
    envs = make().unwrapped
    envs.reset(seed=0)
    first = envs.layers
    assert len(set(first)) >= 6
    envs.reset()
    assert sum(one != other for one, other in zip(first, envs.layers, strict=True)) >= 6
    envs.reset(seed=0)
    assert envs.layers == first


@every_mode
def test_copies_of_many_layers_are_those_of_single_environments(mode: AutoresetMode) -> None:
    arguments = {"episode_length": 3, "info": "full", "masks": True}
    envs, truth = make(autoreset_mode=mode, **arguments), sync(mode, **arguments)
    seen, info = envs.reset(seed=4)
    true_seen, true_info = truth.reset(seed=4)
    rng = np.random.default_rng(0)
    for step in range(12):
        np.testing.assert_array_equal(seen, true_seen)
        for name in true_info.keys() - {"best_objective"}:
            np.testing.assert_array_equal(info[name], true_info[name], err_msg=name)
        layers = [each.unwrapped.problem.layer.name for each in truth.envs]
        assert list(envs.unwrapped.layers) == layers
        actions = rng.integers(envs.single_action_space.n, size=8)
        seen, *got, info = envs.step(actions)
        true_seen, *expected, true_info = truth.step(actions)
        np.testing.assert_equal(got, expected)
        if mode is AutoresetMode.SAME_STEP and "final_info" in true_info:
            np.testing.assert_array_equal(info["final_obs"], np.stack(true_info["final_obs"]))
            # Masks are of what is seen now.
            true_info = true_info["final_info"] | {"action_mask": true_info["action_mask"]}
        if mode is AutoresetMode.DISABLED and got[2].any():
            np.testing.assert_equal(got[2], np.full(8, step % 3 == 2))
            seen, info = envs.reset(options={"reset_mask": got[2]})
            true_seen, true_info = truth.reset(options={"reset_mask": got[2]})


def test_asynchronous_copies_are_the_same() -> None:
    envs = make(copies=2, autoreset_mode=AutoresetMode.NEXT_STEP, episode_length=2)
    others = make(copies=2, how="async", episode_length=2)
    np.testing.assert_array_equal(envs.reset(seed=3)[0], others.reset(seed=3)[0])
    for action in range(7):
        for one, other in zip(envs.step([action] * 2)[:4], others.step([action] * 2), strict=False):
            np.testing.assert_array_equal(one, other)
    others.close()


def test_every_layer_has_its_own_account() -> None:
    single = gymnasium.make("MaestroImprove-v1", **SMALL).unwrapped
    evaluators = [Evaluator(each.problem, each.objective, 30) for each in single.tasks]  # type: ignore[attr-defined]
    envs = MaestroImproveVectorEnv(evaluators, 6, episode_length=4, budget=70)
    envs.reset(seed=1)
    rng, places = np.random.default_rng(0), {each.problem.layer.name: each for each in evaluators}
    while not envs.exhausted:
        before = {name: each.used for name, each in places.items()}
        layers, left = envs.layers, envs.remaining
        info = envs.step(rng.integers(envs.single_action_space.n, size=6))[-1]
        told = dict.fromkeys(places, 0)
        for layer, asked in zip(layers, info["_status"].tolist(), strict=True):
            told[layer] += asked
        assert sum(told.values()) <= left
        for name, each in places.items():
            # After a step that ends episodes, new starts are charged too.
            assert each.used >= before[name] + told[name]
    assert sum(each.used for each in evaluators) == 70
    assert envs.best_objective == min(each.trace[0].min() for each in evaluators)


def test_an_episode_may_be_told_its_layer() -> None:
    envs = make("MaestroImprove-v1", 3, **SMALL).unwrapped
    name = SMALL["layers"][1]
    envs.reset(seed=0, options={"layer": name})
    assert set(envs.layers) == {name}
    envs.reset(options={"layer": SMALL["layers"][2], "reset_mask": np.array([True, False, True])})
    assert list(envs.layers) == [SMALL["layers"][2], name, SMALL["layers"][2]]
    with pytest.raises(EnvError, match=r"reset_mask is .*; allowed: bool\[3\], at least one True"):
        envs.reset(options={"reset_mask": [False] * 3})


# --- Autoreset ------------------------------------------------------------------------------------


def test_disabled_copies_are_reset_apart() -> None:
    envs = make(ONE, 3, autoreset_mode="Disabled", episode_length=3).unwrapped
    envs.reset(seed=0)
    envs.step([0, 1, 2])
    seen, info = envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert info["_status"].tolist() == [False, True, False]
    assert info["status"][1] == OK
    envs.step([3, 4, 5])
    *_, truncated, _ = envs.step([6, 7, 8])
    assert truncated.tolist() == [True, False, True]
    with pytest.raises(EnvError, match=r"the episode of copy 0 has ended; call reset\(options="):
        envs.step([0, 0, 0])
    before = envs.reset(options={"reset_mask": truncated})[0]
    assert not np.array_equal(before[0], seen[0])
    assert envs.step([0, 0, 0])[3].tolist() == [False, True, False]


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_copies_out_of_step_end_apart(mode: AutoresetMode) -> None:
    envs, truth = (
        each.unwrapped
        for each in (
            make(ONE, 2, autoreset_mode=mode, episode_length=3),
            sync(mode, ONE, 2, episode_length=3),
        )
    )
    for each in (envs, truth):
        each.reset(seed=0)
        each.step(np.array([0, 1]))
        each.reset(options={"reset_mask": np.array([True, False])})
    for action in range(9):
        got, expected = (each.step(np.array([action, action])) for each in (envs, truth))
        np.testing.assert_equal(got[:4], expected[:4])


def test_unknown_modes_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="allowed: Disabled, NextStep, SameStep"):
        make_improve_vector_env(2, autoreset_mode="never")


# --- Wrappers and other libraries -----------------------------------------------------------------


def test_statistics_are_of_whole_episodes() -> None:
    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP):
        envs = wrappers.RecordEpisodeStatistics(make(ONE, 3, autoreset_mode=mode, episode_length=4))
        envs.reset(seed=0)
        total = np.zeros(3)
        for action in range(4):
            _, rewards, _, ended, info = envs.step(np.full(3, action))
            total += rewards
        assert ended.all()
        told = info["episode"]
        np.testing.assert_allclose(told["r"], total)
        assert told["l"].tolist() == [4] * 3


def test_observations_are_normalised_and_flattened() -> None:
    mode = AutoresetMode.NEXT_STEP
    plain = make(ONE, 4, autoreset_mode=mode)
    envs = wrappers.NormalizeObservation(make(ONE, 4, autoreset_mode=mode))
    flat = wrappers.FlattenObservation(make(ONE, 4, autoreset_mode=mode))
    seen = [plain.reset(seed=0)[0]]
    envs.reset(seed=0)
    flat.reset(seed=0)
    for action in range(30):
        actions = np.full(4, action)
        seen.append(plain.step(actions)[0])
        normal = envs.step(actions)[0]
        np.testing.assert_array_equal(flat.step(actions)[0], seen[-1])
    every = np.concatenate(seen)
    expected = (seen[-1] - every.mean(axis=0)) / np.sqrt(every.var(axis=0) + 1e-8)
    np.testing.assert_allclose(normal, expected, rtol=0.02, atol=0.02)


def test_torchrl_accepts_them() -> None:
    pytest.importorskip("torchrl", reason="needs TorchRL")
    from torchrl.envs import GymWrapper
    from torchrl.envs.utils import check_env_specs

    check_env_specs(GymWrapper(gymnasium.make(ONE, episode_length=5)))


def test_copies_are_pickled_with_their_present_mappings() -> None:
    envs = make(copies=3, episode_length=9).unwrapped
    envs.reset(seed=0)
    envs.step([1, 2, 3])
    for twin in (pickle.loads(pickle.dumps(envs._copies)), copy.deepcopy(envs._copies)):
        for name in ("seen", "present", "values", "masks"):
            got, expected = (getattr(each.native, name)() for each in (twin, envs._copies))
            np.testing.assert_array_equal(got, expected)
