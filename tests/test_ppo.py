"""PPO: it learns, and leaves the process as it was."""

from __future__ import annotations

import inspect
import random
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("stable_baselines3", reason="needs the extra rl")

import torch
from gymnasium.spaces import Box, MultiDiscrete
from stable_baselines3 import PPO

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mappers.base import SettingError
from maestro_env.mappers.ppo import ChoicesPolicy, FusedPolicy, PpoConfig
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

PROBLEM = Problem(MapSpace(find_layer("resnet18_l2"), PRESETS["unlimited"]))


def values(text: str, budget: int, seed: int = 0) -> np.ndarray:
    evaluator = Evaluator(PROBLEM, find_objective("edp"), budget)
    make_mapper(text).search(evaluator, budget, np.random.default_rng(seed))
    return evaluator.trace[0]


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("ppo_box:n_steps=16:learning_rate=2e-3", 1200),
        pytest.param("ppo:n_steps=32:learning_rate=3e-3:n_epochs=5", 2000, marks=pytest.mark.slow),
    ],
)
def test_it_learns(text: str, budget: int) -> None:
    found = values(text, budget)
    assert np.median(found[-200:]) < 0.7 * np.median(found[:200])


@pytest.mark.parametrize("entropy", [0, 0.01])
def test_samples_are_those_of_stable_baselines(
    entropy: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"ppo:n_steps=8:n_epochs=3:learning_rate=0.01:entropy={entropy}"
    found = values(text, 150)
    made = PPO.__init__

    def with_its_own_policy(agent: PPO, policy: object, *rest: Any, **named: Any) -> None:
        assert policy is ChoicesPolicy
        made(agent, "MlpPolicy", *rest, **{**named, "policy_kwargs": None})

    monkeypatch.setattr(PPO, "__init__", with_its_own_policy)
    assert np.array_equal(found, values(text, 150))


def test_fused_choices_are_those_of_torch_until_rounding_tells() -> None:
    text = "ppo:n_steps=32:n_epochs=2"
    found, fused = values(text, 512), values(f"{text}:backend=fused", 512)
    assert np.array_equal(found, fused)


def test_fused_policies_have_the_values_of_torch() -> None:
    spaces_of = Box(-1, 1, (4,)), MultiDiscrete([5, 1, 300])
    policy = FusedPolicy(*spaces_of, lambda _: 1e-3, entropy=False)
    for each in policy.parameters():
        torch.nn.init.normal_(each, std=0.3)
    policy.set_training_mode(False)
    seen = torch.randn(40, 4)
    with torch.no_grad():
        torch.manual_seed(1)
        fused = policy(seen)
        torch.manual_seed(1)
        slow = ChoicesPolicy.forward(policy, seen)
    assert torch.equal(fused[0], slow[0])
    for found, expected in zip(fused[1:], slow[1:], strict=True):
        assert found.dtype == expected.dtype
        torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_box_actions_have_no_fused_backend() -> None:
    with pytest.raises(SettingError, match="allowed: actions=discrete"):
        make_mapper("ppo_box:backend=fused")


def test_by_default_stable_baselines_defaults_are_in_force() -> None:
    defaults = inspect.signature(PPO.__init__).parameters
    config = PpoConfig()
    for name in ("n_epochs", "batch_size", "learning_rate"):
        assert getattr(config, name) == defaults[name].default
    assert config.entropy == defaults["ent_coef"].default
    # Its one environment of 2,048 steps is eight of fewer here.
    assert config.environments * config.n_steps == defaults["n_steps"].default


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("n_steps=16", "n_steps", 16),
        ("batch_size=32", "batch_size", 32),
        ("n_epochs=3", "n_epochs", 3),
        ("learning_rate=0.002", "learning_rate", 0.002),
        ("entropy=0.02", "ent_coef", 0.02),
        ("environments=4", "n_envs", 4),
    ],
)
def test_every_setting_reaches_the_agent(
    text: str, name: str, expected: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents: list[PPO] = []
    learn = PPO.learn
    monkeypatch.setattr(
        PPO,
        "learn",
        lambda agent, *rest, **more: agents.append(agent) or learn(agent, *rest, **more),
    )
    values(f"ppo_box:{text}", 10)
    assert getattr(agents[0], name) == expected


def seed_all(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    torch.manual_seed(seed)


def draw_all() -> list[float]:
    return [random.random(), np.random.random(), torch.rand(1).item()]  # noqa: NPY002


def test_random_streams_threads_and_temporary_files_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    seed_all(5)
    expected = draw_all()
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    seed_all(5)
    values("ppo_box:n_steps=8", 100)
    try:
        assert draw_all() == expected
        assert torch.get_num_threads() == 2
        assert not list(tmp_path.iterdir())
    finally:
        torch.set_num_threads(threads)


def test_longer_episodes_are_searched_too() -> None:
    found = values("ppo_box:episode_length=100:n_steps=16", 300)
    assert len(found) == 300
    assert not np.array_equal(found, values("ppo_box:n_steps=16", 300))


@pytest.mark.parametrize("budget", [1, 7, 64, 65])
def test_the_budget_is_spent_exactly_whatever_the_rollout(budget: int) -> None:
    assert len(values("ppo_box:n_steps=2:environments=8:batch_size=16", budget)) == budget
