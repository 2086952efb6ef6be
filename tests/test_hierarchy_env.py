"""Environments of accelerators with any memories."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from maestro_env import MaestroEnv, MaestroImproveEnv, MaestroVectorEnv
from maestro_env.accelerators.elements import FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import (
    EnvError,
    HardwareError,
    MaestroEnvError,
    MapSpaceError,
    ModelError,
    UnknownNameError,
)
from maestro_env.environments.making import make_vector_env
from maestro_env.environments.task import text_of
from maestro_env.evaluation.cost_and_status import OK, STATUSES
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.observations_and_rewards import CONTEXT
from maestro_env.models import make_problems
from maestro_env.workloads.finding import find_layer

GEMMINI = {"objective": "latency", "hardware": "gemmini", "model": "hierarchy"}
TINY = Hierarchy(
    [
        MemoryElement(name="DRAM", bw=64, read_pj_per_bit=2, write_pj_per_bit=2),
        MemoryElement(name="L2", capacity_bits={"input": 2**14}, width_bits={"output": 32}),
        FanoutElement(name="PEs", size=7),
        MemoryElement(name="L1", capacity_bits=512, buffers=2),
    ],
    MacElement(pj=1),
    name="tiny",
)


@pytest.mark.parametrize("name", ["MaestroEnv-v1", "MaestroImprove-v1"])
def test_gymnasium_accepts_the_environments(name: str) -> None:
    env = gymnasium.make(f"maestro_env:{name}", **GEMMINI)
    check_env(env.unwrapped, skip_render_check=True)
    specification = json.loads(env.spec.to_json())  # type: ignore[union-attr]
    assert specification["kwargs"]["hardware"] == "gemmini"


@pytest.mark.parametrize("action", ["multidiscrete", "box", "discrete_steps"])
def test_a_step_evaluates_the_mapping_of_its_vector(action: str) -> None:
    env = MaestroEnv(hardware=TINY, model="hierarchy", action=action, info="full")
    env.reset(seed=0)
    env.action_space.seed(0)
    evaluated = 0
    while evaluated < 5:
        _, reward, terminated, _, info = env.step(env.action_space.sample())
        if env.vector is not None:
            evaluated += 1
            assert env.mapping is not None
            problem = env.problem
            assert isinstance(problem, HierarchyProblem)
            cost, status = problem.space.evaluator.evaluate(env.mapping)
            assert STATUSES[info["status"]] == status
            if status == "ok":
                assert cost is not None
                assert info["objective"] == cost.latency_cycles * cost.energy_nj
                assert reward == env.reference / info["objective"]
        if terminated:
            env.reset()


def test_masked_choices_end_at_valid_mappings() -> None:
    env = MaestroEnv(hardware=TINY, model="hierarchy", action="discrete_steps")
    rng = np.random.default_rng(0)
    for episode in range(20):
        env.reset(seed=episode)
        terminated, info = False, dict[str, Any]()
        while not terminated:
            allowed = np.flatnonzero(env.action_masks())
            _, _, terminated, _, info = env.step(int(rng.choice(allowed)))
        assert info["status"] == OK


def test_copies_that_step_together_have_the_same_results() -> None:
    envs, single = make_vector_env(4, **GEMMINI), MaestroEnv(**GEMMINI)
    assert isinstance(envs, MaestroVectorEnv)
    envs.reset(seed=1)
    envs.action_space.seed(1)
    actions = envs.action_space.sample()
    seen, _, _, _, info = envs.step(actions)
    for place, action in enumerate(actions):
        single.reset(seed=1)
        alone, _, _, _, told = single.step(action)
        np.testing.assert_array_equal(alone, seen[place])
        assert told["objective"] == info["objective"][place]


def test_moves_lead_from_mapping_to_mapping() -> None:
    env = MaestroImproveEnv(hardware=TINY, model="hierarchy", layer="gemm:M=12,N=20,K=9")
    env.reset(seed=3)
    rng = np.random.default_rng(0)
    first = env.best_objective
    for _ in range(200):
        env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
    assert env.best_objective < first


@pytest.mark.parametrize("hierarchy", [TINY, find_hierarchy("eyeriss")])
def test_an_accelerator_becomes_a_text_and_comes_back(hierarchy: Hierarchy) -> None:
    assert find_hierarchy(text_of(hierarchy)) == hierarchy


@pytest.mark.parametrize(
    ("arguments", "error", "named"),
    [
        ({"objective": "edp"}, EnvError, "needs energy_nj, which model hierarchy does not compute"),
        ({"objective": "area"}, EnvError, "needs area_um2"),
        ({"schema": "full17"}, MapSpaceError, "schema is 'full17'; allowed under hierarchy: auto"),
        ({"hardware": "edge"}, HardwareError, "edge is described with two buffers alone"),
        ({"hardware": TINY, "model": "exact"}, ModelError, "any memories, such as tiny"),
    ],
)
def test_what_the_model_lacks_is_refused(
    arguments: dict[str, Any], error: type[MaestroEnvError], named: str
) -> None:
    with pytest.raises(error) as refused:
        MaestroEnv(**{**GEMMINI, **arguments}).reset()
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_context_tells_layer_and_objective() -> None:
    seen, _ = MaestroEnv(observation="context", **GEMMINI).reset()
    other, _ = MaestroEnv(observation="context", objective="latency").reset()
    told = np.array([name.startswith(("extent", "stride", "objective")) for name in CONTEXT])
    np.testing.assert_array_equal(seen[4:], np.where(told, other[4:], 0))


def test_an_environment_does_not_render() -> None:
    assert MaestroEnv(**GEMMINI).metadata["render_modes"] == []
    with pytest.raises(UnknownNameError, match="allowed: None, on any memories"):
        MaestroEnv(render_mode="ansi", **GEMMINI)


def test_layers_of_one_operator_have_the_same_parameters() -> None:
    layers = [find_layer(name) for name in ("resnet18_l0", "resnet18_l2", "mobilenetv2_l2")]
    problems = make_problems(layers, "gemmini", "hierarchy")
    assert len({tuple(each.space.columns) for each in problems}) == 1
    env = MaestroEnv(layers=layers, **GEMMINI)  # type: ignore[arg-type]
    env.reset(seed=0)
    env.step(env.action_space.sample())
