"""The tasks that have names, and the environments of many layers by split."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import maestro_env
from maestro_env.base.errors import ArgumentTypeError, EnvError
from maestro_env.environments.improving import MaestroImproveEnv
from maestro_env.environments.making import PAIRS, context_layers, wide_pairs
from maestro_env.environments.named import CHIP_TASKS, CONSTRUCTED, CONTEXTS, EPISODE_LENGTH, TASKS
from maestro_env.experiments.problems.drawn import HELD_MACHINE
from maestro_env.experiments.problems.splits import named_problems
from maestro_env.workloads.finding import models

IDS = [each.id for each in (*TASKS, *CHIP_TASKS, *CONTEXTS)]
FIXED = ["maestro_env/edge-resnet18_l2-edp-v1", "maestro_env/transfer-train-v1"]


def test_every_task_has_a_proven_optimum_and_a_problem_of_its_own() -> None:
    assert len({held.key for held in named_problems()}) == len(TASKS) == 12
    for task in TASKS:
        known = maestro_env.known_optimum(task.layer, task.objective, task.hardware)
        assert known is not None
        assert known.proven


def test_tasks_on_chips_tell_the_best_known_value_its_bound_and_its_gap() -> None:
    assert {task.hardware for task in CHIP_TASKS} == {"gemmini", "eyeriss", "simba"}
    for task in CHIP_TASKS:
        env = gymnasium.make(task.id, info="full").unwrapped
        assert isinstance(env, MaestroImproveEnv)
        assert env.problem.model == "hierarchy"
        known = maestro_env.known_optimum(env.problem, env.objective)
        assert known is not None
        assert 0 <= known.gap <= 0.01
        _, info = env.reset(seed=0)
        told = [info[name] for name in ("optimum", "optimum_bound", "optimum_gap")]
        assert told == [known.value, known.bound, known.gap]
        assert info["regret"] == info["objective"] / known.value - 1 > 0


@pytest.mark.parametrize("name", IDS)
def test_gymnasium_makes_them_by_their_ids(name: str) -> None:
    env = gymnasium.make(name, episode_length=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env.unwrapped, skip_render_check=True)
    observation, _ = env.reset(seed=1)
    env.action_space.seed(1)
    total, ended = 0.0, False
    first = env.unwrapped.cost  # type: ignore[attr-defined]
    while not ended:
        observation, reward, _, ended, _ = env.step(env.action_space.sample())
        assert env.observation_space.contains(observation)
        total += float(reward)
    last = env.unwrapped.cost  # type: ignore[attr-defined]
    objective = maestro_env.find_objective(name.split("-")[-2] if "_l" in name else "edp")
    values = [
        np.prod([getattr(cost, each) for each in objective.factors]) for cost in (first, last)
    ]
    assert total == pytest.approx(float(np.log(values[0] / values[1])))


def test_copies_are_of_the_same_tasks() -> None:
    for name in ("maestro_env/edge-resnet18_l2-energy-v1", "maestro_env/transfer-both-v1"):
        envs = gymnasium.make_vec(name, 4, vectorization_mode="vector_entry_point")
        env = gymnasium.make(name)
        assert envs.single_action_space == env.action_space
        assert envs.single_observation_space == env.observation_space
        assert env.unwrapped.episode_length == EPISODE_LENGTH  # type: ignore[attr-defined]


def test_what_is_held_out_is_in_no_training() -> None:
    layers = {each.name: {layer.shape for layer in context_layers(each)} for each in CONTEXTS}
    assert {name: len(shapes) for name, shapes in layers.items()} == {
        "train": 34,
        "train-wide": 272,
        "layer": 9,
        "network": 20,
        "accelerator": 34,
        "both": 20,
    }
    for name in ("layer", "network", "both"):
        assert not layers["train"] & layers[name]
        assert not layers["train-wide"] & layers[name]
    assert layers["accelerator"] == layers["train"]
    assert layers["both"] <= {layer.shape for layer in models()["mobilenetv2"]}
    hardware = {each.name: each.hardware for each in CONTEXTS}
    assert hardware["both"] == hardware["accelerator"]
    held = maestro_env.find_hardware(hardware["both"])
    assert held.record() | {"name": "held"} == HELD_MACHINE.record()
    assert held not in [each for _, each in wide_pairs()]


def test_each_random_layer_has_an_accelerator_of_its_own_where_mappings_fit() -> None:
    envs = gymnasium.make_vec(
        "maestro_env/transfer-train-wide-v1", 8, vectorization_mode="vector_entry_point"
    )
    _, info = envs.reset(seed=0)
    assert (info["status"] == 0).all()
    assert len({hardware for _, hardware in wide_pairs()}) == PAIRS
    assert len(set(envs.unwrapped.layers)) > 5  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "name", ["maestro_env/edge-resnet18_l2-edp-v1", "maestro_env/transfer-train-v1"]
)
@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_what_a_name_says_cannot_be_changed(name: str, make: Callable[..., object]) -> None:
    for what in ("layer", "layers", "hardware", "objective"):
        with pytest.raises(EnvError, match=f"{what} is 'cloud'; allowed: none, as {name} says"):
            make(name, **{what: "cloud"})


@pytest.mark.parametrize("make", [gymnasium.make, gymnasium.make_vec])
def test_unknown_arguments_are_refused(make: Callable[..., object]) -> None:
    general = ["MaestroEnv-v1", "MaestroImprove-v1", "MaestroConstruct-v1"]
    for name in (*general, *FIXED, CONSTRUCTED[0].id):
        said = r"Maestro\w+.__init__\(\) got an unexpected keyword argument 'lyer'; .*layer"
        with pytest.raises(ArgumentTypeError, match=said):
            make(name, lyer="resnet18_l2")


@pytest.mark.parametrize(
    "name", ["maestro_env/edge-resnet18_l2-edp-v1", "maestro_env/transfer-train-v1"]
)
def test_specs_are_json(name: str) -> None:
    spec = gymnasium.make(name).spec
    assert spec is not None
    again = gymnasium.make(EnvSpec.from_json(spec.to_json()))
    assert again.unwrapped.tasks[0].problem.layer == (  # type: ignore[attr-defined]
        gymnasium.make(name).unwrapped.tasks[0].problem.layer  # type: ignore[attr-defined]
    )
    with pytest.raises(ArgumentTypeError, match="id is 1; allowed"):
        gymnasium.make(name, named=1)
