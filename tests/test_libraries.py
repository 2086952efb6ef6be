"""Libraries that take the environment, and that no example shows (docs/libraries.md)."""

from __future__ import annotations

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import NormalizeObservation, RecordEpisodeStatistics

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.environments.env import MaestroEnv
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

ID = "maestro_env:MaestroEnv-v1"
# What libraries warn of is theirs.
theirs = pytest.mark.filterwarnings("ignore")


def test_gymnasiums_wrappers_take_it() -> None:
    env = RecordEpisodeStatistics(NormalizeObservation(gymnasium.make(ID, episode_length=3)))
    env.reset(seed=0)
    env.action_space.seed(0)
    steps = [env.step(env.action_space.sample()) for _ in range(3)]
    assert all(np.isfinite(step[0]).all() for step in steps)
    told = steps[-1][4]["episode"]
    assert told["l"] == 3
    assert told["r"] == pytest.approx(sum(step[1] for step in steps))


@theirs
def test_nevergrad_finds_a_good_mapping_of_small_buffers() -> None:
    nevergrad = pytest.importorskip("nevergrad", reason="Nevergrad is not installed")
    problem = Problem(MapSpace(find_layer("resnet18_l2"), PRESETS["edge"]))
    cost = problem.objective("edp")
    places = nevergrad.p.Array(shape=(len(cost.parameters),), lower=0, upper=1)
    places.random_state.seed(0)
    search = nevergrad.optimizers.TwoPointsDE(places, budget=500)
    found = search.minimize(lambda shares: cost.penalised(cost.from_unit(shares)))
    best = cost.from_unit(found.value)
    assert cost.violation(best) == 0
    random = problem.space.sample(500, np.random.default_rng(0))
    assert cost(best) < problem.score(random, find_objective("edp"))[0].min() / 2


# --- TorchRL with several environments ------------------------------------------------------------


def several(kind: str) -> object:
    """Two environments of TorchRL: in one process, or in processes of their own."""
    envs = pytest.importorskip("torchrl.envs", reason="TorchRL is not installed")
    arguments = {"layer": "resnet18_l2", "episode_length": 2}
    if kind == "native":
        vector = gymnasium.make_vec(ID, 2, vectorization_mode="vector_entry_point", **arguments)
        return envs.GymWrapper(vector, categorical_action_encoding=True)
    make = partial(envs.GymEnv, ID, categorical_action_encoding=True, **arguments)
    if kind == "gymnasium":
        return make(num_envs=2)
    return envs.ParallelEnv(2, make, mp_start_method="fork")


@pytest.mark.slow
@theirs
@pytest.mark.parametrize("kind", ["native", "gymnasium", "torchrl"])
def test_torchrl_takes_several_environments(kind: str) -> None:
    env = several(kind)
    pytest.importorskip("torchrl.envs").check_env_specs(env)
    data = env.rollout(2)
    env.close()
    assert data["next", "done"][..., 0].tolist() == [[False, True]] * 2
    single = MaestroEnv("resnet18_l2")
    paid = [[single.step(action)[1] for action in copy.numpy()] for copy in data["action"]]
    if kind == "native":
        # Its reference is of its first valid mappings.
        paid = np.divide(paid, np.max(paid)) * data["next", "reward"].max().item()
    np.testing.assert_allclose(data["next", "reward"][..., 0], paid, rtol=1e-6)
