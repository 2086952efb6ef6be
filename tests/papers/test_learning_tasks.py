"""Foraging and mapping as tasks of many copies, against the environments they adapt."""

from __future__ import annotations

import sys
from typing import Any

import gymnasium
import numpy as np
import pytest

import maestro_env  # noqa: F401 (registers MaestroImprove-v1)
from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers.papers.tasks import TaskError
from maestro_env.mappers.papers.tasks.foraging import DEFAULT, Foraging
from maestro_env.mappers.papers.tasks.improving import Improvement
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

LAYER = "mobilenetv2_l2"
# Agents that share out 13 parameters in no order.
GROUPS = np.array([2, 0, 1, 1, 0, 2, 2, 0, 1, 3, 0, 3, 2])


def improvement(**named: Any) -> Improvement:
    space = MapSpace(find_layer(LAYER), find_hardware("edge"), "legal13")
    return Improvement(Problem(space, "exact"), find_objective("edp"), **named)


def acting(heads: tuple[tuple[int, ...], ...], copies: int, rng: np.random.Generator) -> np.ndarray:
    """Random choices, of which about half stay."""
    counts = np.concatenate(heads)
    drawn = (rng.random((copies, len(counts))) * counts).astype(np.int64)
    return drawn * (rng.random(drawn.shape) < 0.5)


@pytest.mark.parametrize("groups", [None, GROUPS])
def test_copies_do_what_the_environment_does(groups: np.ndarray | None) -> None:
    copies, rng = 3, np.random.default_rng(0)
    task = improvement(copies=copies, agents=groups, length=6)
    env: Any = gymnasium.make(
        "MaestroImprove-v1",
        layer=LAYER,
        hardware="edge",
        objective="edp",
        model="exact",
        schema="legal13",
        disable_env_checker=True,
    ).unwrapped
    owners = np.arange(13) if groups is None else groups
    # Heads stand agent by agent; moves are numbered parameter by parameter.
    order = [
        parameter
        for agent in range(max(owners) + 1)
        for parameter in np.flatnonzero(owners == agent)
    ]
    names = [parameter.name for parameter in task._task.space.parameters]
    firsts = [[name for name, _ in env.moves].index(name) for name in names]
    assert [len(each) for each in task.heads] == np.bincount(owners).tolist()
    seen = task.reset(rng)
    present, invalid = task._moves.present, 0
    for step in range(6):
        assert [each.shape for each in seen] == [(copies, width) for width in task.widths]
        actions = acting(task.heads, copies, rng)
        values = task.values
        following, rewards, dones = task.step(actions)
        for copy in range(copies):
            env.reset(seed=0)
            env._keep(env._copies.native.try_point(present[copy]))
            env._log = np.log(env._value)
            moves = [
                firsts[parameter] + choice - 1
                for parameter, choice in zip(order, actions[copy].tolist(), strict=True)
                if choice
            ]
            _, reward, _, _, told = env.take(moves)
            np.testing.assert_allclose(rewards[copy], reward, rtol=1e-5, atol=1e-7)
            np.testing.assert_array_equal(task._moves.present[copy], env.vector)
            invalid += told["status"] != OK
            assert np.exp(-reward) * values[copy] == pytest.approx(task.values[copy])
        assert (dones == (step == 5)).all()
        seen, present = following, task._moves.present
    assert 0 < invalid < 18
    assert not task.finished.any()
    # What all agents see at last is the objective.
    assert all(np.array_equal(each[:, -1], seen[0][:, -1]) for each in seen)
    assert np.array_equal(np.argsort(seen[0][:, -1]), np.argsort(task.values))


def test_agents_see_all_of_the_mapping_between_them() -> None:
    one, parts = (improvement(copies=2, agents=each) for each in (np.zeros(13, np.int64), GROUPS))
    (whole,), seen = (each.reset(np.random.default_rng(0)) for each in (one, parts))
    shown = np.concatenate([each[:, :-1] for each in seen], axis=1)
    np.testing.assert_array_equal(np.sort(shown), np.sort(whole[:, :-1]))


def test_equal_seeds_begin_with_equal_mappings() -> None:
    task = improvement(copies=4)
    found = [task.reset(np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert all(map(np.array_equal, found[0], found[1]))
    assert not all(map(np.array_equal, found[0], found[2]))
    with pytest.raises(TaskError, match=r"allowed: \(4, 13\)"):
        task.step(np.zeros((4, 12), dtype=np.int64))


def test_without_lbforaging_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lbforaging", None)
    with pytest.raises(MissingExtraError, match=r"lbforaging: pip install -e '.\[foraging\]'"):
        Foraging()


def foraging(copies: int) -> Foraging:
    pytest.importorskip("lbforaging", reason="needs the extra foraging")
    return Foraging(copies)


def towards_food(env: Any, rng: np.random.Generator) -> list[int]:
    """What both agents do who mostly go to the first food, each from its side, and load it."""
    row, column = np.argwhere(env.field)[0].tolist()
    left = int(env.players[1].position[1] < env.players[0].position[1])
    chosen = []
    for agent, player in enumerate(env.players):
        goal = row, column + (-1 if agent == left else 1)
        down, right = (to - at for to, at in zip(goal, player.position, strict=True))
        # Stay, north, south, west, east, load.
        move = (2 if down > 0 else 1) if down else (4 if right > 0 else 3)
        chosen.append(move if down or right else 5)
        if rng.random() < 0.2:  # Else they may stand in each other's way for ever.
            chosen[-1] = int(rng.integers(6))
    return chosen


def test_foraging_pays_for_food_and_finishes() -> None:
    task, rng = foraging(20), np.random.default_rng(0)
    seen, total = task.reset(rng), np.zeros(20)
    assert (task.length, task.heads, task.agents) == (50, ((6,), (6,)), 2)
    assert [each.shape for each in seen] == [(20, 12)] * 2
    for step in range(50):
        before = task.finished.copy()
        going = [
            towards_food(env, rng) if not done else [0, 0]
            for env, done in zip(task._envs, before, strict=True)
        ]
        following, rewards, dones = task.step(np.array(going))
        assert np.array_equal(rewards[:, 0], rewards[:, 1])
        assert not rewards[before].any()
        assert np.array_equal(dones[:, 0] > 0, task.finished | (step == 49))
        for copy in np.flatnonzero(before):
            assert all(
                np.array_equal(a[copy], b[copy]) for a, b in zip(seen, following, strict=True)
            )
        seen, total = following, total + rewards[:, 0]
    empty = [not env.field.any() for env in task._envs]
    assert np.array_equal(task.finished, empty)
    np.testing.assert_allclose(total[task.finished], 1, rtol=1e-6)
    assert 0 < np.mean(empty) < 1
    assert (total[~task.finished] < 0.99).all()


def test_copies_of_foraging_step_as_environments_do() -> None:
    task, rng = foraging(2), np.random.default_rng(3)
    seen = task.reset(np.random.default_rng(7))
    stream = np.random.default_rng(7)
    envs = [gymnasium.make(DEFAULT, disable_env_checker=True).unwrapped for _ in range(2)]
    truth = [env.reset(seed=int(stream.integers(2**31)))[0] for env in envs]
    most = envs[0].observation_space[0].high
    for _ in range(20):
        for agent in range(2):
            assert seen[agent].max() <= 1
            np.testing.assert_array_equal(seen[agent], [each[agent] / most for each in truth])
        actions = acting(task.heads, 2, rng)
        seen, rewards, _ = task.step(actions)
        told = [env.step(own) for env, own in zip(envs, actions.tolist(), strict=True)]
        truth = [each[0] for each in told]
        np.testing.assert_allclose(rewards[:, 0], [sum(each[1]) for each in told], rtol=1e-6)


def test_a_task_that_lbforaging_does_not_have_is_refused() -> None:
    foraging(1)
    for name in ("Foraging-8x8", "MaestroImprove-v1"):
        with pytest.raises(
            TaskError, match=f"no task of foraging is '{name}'; allowed: names such"
        ):
            Foraging(name=name)
