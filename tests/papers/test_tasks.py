"""Tasks of particles: against MPE2, step for step, and copies against each other."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.mappers.papers.tasks import EPISODE, Task, TaskError
from maestro_env.mappers.papers.tasks.physics import (
    DIRECTIONS,
    Bodies,
    Navigation,
    PredatorPrey,
    World,
    boundary_penalty,
)

MAKERS = {
    "predator_prey": partial(PredatorPrey, predators=3),
    "crowded": partial(PredatorPrey, predators=6, prey=2, obstacles=3),
    "navigation": partial(Navigation, agents=3),
    "crowded_navigation": partial(Navigation, agents=7),
}
every_task = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


def of_mpe2(task: Task) -> Any:
    """MPE2's environment with the discs where a task of one copy has them."""
    pytest.importorskip("mpe2", reason="needs the extra mpe")
    from mpe2 import simple_spread_v3, simple_tag_v3

    world = task.world
    moving, resting = world.velocities.shape[1], world.positions.shape[1]
    if isinstance(task, PredatorPrey):
        prey, obstacles = moving - task.agents, resting - moving
        env = simple_tag_v3.parallel_env(
            num_good=prey, num_adversaries=task.agents, num_obstacles=obstacles
        )
    else:
        env = simple_spread_v3.parallel_env(N=task.agents)
    env.reset(seed=0)
    for entity, position in zip(env.unwrapped.world.entities, world.positions[0], strict=True):
        entity.state.p_pos = position.copy()
    return env


@every_task
@pytest.mark.parametrize("seed", range(3))
def test_a_task_does_what_mpe2_does(maker: partial[Task], seed: int) -> None:
    rng = np.random.default_rng(seed)
    task = maker(copies=1)
    task.reset(rng)
    # All in a quarter of the place, so that many collide.
    task.world.positions *= rng.choice([0.5, 1.0])
    env = of_mpe2(task)
    paid = 0.0
    for step in range(1, EPISODE + 1):
        actions = rng.integers(len(DIRECTIONS), size=(1, task.agents))
        prey = task.prey_actions()[0] if isinstance(task, PredatorPrey) else []
        theirs = dict(zip(env.agents, [*actions[0], *prey], strict=True))
        names = env.agents[: task.agents]
        seen, rewards, _, truncated, _ = env.step(theirs)
        observations, ours, dones = task.step(actions)
        np.testing.assert_allclose(ours[0], [rewards[name] for name in names], atol=1e-6)
        for name, own in zip(names, observations, strict=True):
            np.testing.assert_allclose(own[0], seen[name], atol=1e-6)
        assert (
            dones[0].tolist()
            == [truncated[name] for name in names]
            == [step == EPISODE] * len(names)
        )
        paid += np.abs(ours).sum()
    assert isinstance(task, PredatorPrey) or paid > 0


@every_task
@given(seed=st.integers(0, 2**32 - 1), copies=st.integers(2, 5))
def test_copies_do_what_each_would_do_without_the_others(
    maker: partial[Task], seed: int, copies: int
) -> None:
    together, apart = maker(copies=copies), [maker(copies=1) for _ in range(copies)]
    rng, same = np.random.default_rng(seed), np.random.default_rng(seed)
    first = together.reset(rng)
    alike = [each.reset(same) for each in apart]
    for agent in range(together.agents):
        np.testing.assert_array_equal(first[agent], [each[agent][0] for each in alike])
    for _ in range(4):
        actions = rng.integers(len(DIRECTIONS), size=(copies, together.agents))
        seen, rewards, dones = together.step(actions)
        for copy, task in enumerate(apart):
            own, paid, ended = task.step(actions[copy : copy + 1])
            for ours, theirs in zip(seen, own, strict=True):
                np.testing.assert_array_equal(ours[copy], theirs[0])
            np.testing.assert_array_equal(rewards[copy], paid[0])
            np.testing.assert_array_equal(dones[copy], ended[0])


@every_task
def test_arrays_have_the_shapes_and_types_they_promise(maker: partial[Task]) -> None:
    task = maker(copies=4)
    seen = task.reset(np.random.default_rng(0))
    after, rewards, dones = task.step(np.zeros((4, task.agents), dtype=np.int64))
    for observations in (seen, after):
        assert [each.shape for each in observations] == [(4, width) for width in task.widths]
        assert {each.dtype for each in observations} == {np.dtype(np.float32)}
    assert rewards.shape == dones.shape == (4, task.agents)
    assert rewards.dtype == dones.dtype == np.float32


def test_the_prey_runs_from_predators_and_stays_inside() -> None:
    task = PredatorPrey(copies=1, predators=1)
    world = task.world
    left, right, down, up = range(1, 5)
    cases = {
        left: ([0.2, 0.0], [0.0, 0.0]),
        right: ([-0.2, 0.0], [0.0, 0.0]),
        down: ([0.0, 0.2], [0.0, 0.0]),
        up: ([0.0, -0.2], [0.0, 0.0]),
    }
    for action, (predator, prey) in cases.items():
        world.positions[0, :2] = predator, prey
        assert task.prey_actions().tolist() == [[action]]
    # Right is away from the predator, but leads beyond the boundary.
    world.positions[0, :2] = [0.5, 0.0], [0.85, 0.0]
    assert task.prey_actions()[0, 0] in (down, up)


def test_the_penalty_of_the_boundary_is_mpes() -> None:
    def bound(x: float) -> float:
        if x < 0.9:
            return 0
        if x < 1.0:
            return (x - 0.9) * 10
        return min(float(np.exp(2 * x - 2)), 10)

    rows = np.random.default_rng(0).uniform(-3, 3, (500, 2))
    expected = [sum(bound(abs(x)) for x in row) for row in rows]
    np.testing.assert_allclose(boundary_penalty(rows), expected, rtol=1e-12, atol=1e-12)


def chase(task: PredatorPrey, drawn: bool) -> float:
    """Mean return of predators that run to the prey, or that act at random."""
    rng = np.random.default_rng(0)
    task.reset(rng)
    paid = 0.0
    for _ in range(EPISODE):
        away = task.world.relative(slice(task.agents), slice(task.agents, task.agents + 1))
        runs = (away @ DIRECTIONS.T)[:, :, 0].argmax(axis=2)
        actions = rng.integers(5, size=runs.shape) if drawn else runs
        paid += task.step(actions)[1].mean()
    return paid


def test_predators_catch_prey_if_they_chase_it() -> None:
    task = PredatorPrey(copies=200)
    assert chase(task, drawn=False) > 3 * chase(task, drawn=True) > 0


@given(seed=st.integers(0, 2**32 - 1))
def test_discs_in_contact_conserve_momentum(seed: int) -> None:
    world = World(2, [Bodies(5, size=0.3, acceleration=1.0)])
    world.reset(np.random.default_rng(seed))
    for _ in range(3):
        before = world.velocities.sum(axis=1)
        world.step(np.zeros((2, 5), dtype=np.int64))
        np.testing.assert_allclose(world.velocities.sum(axis=1), 0.75 * before, atol=1e-9)


def test_two_discs_in_one_place_are_no_error() -> None:
    world = World(1, [Bodies(2, size=0.1, acceleration=1.0)])
    world.step(np.zeros((1, 2), dtype=np.int64))
    assert not world.velocities.any()


def test_bad_input_is_refused() -> None:
    with pytest.raises(TaskError, match=r"predators is 0; allowed: integers from 1 to 10000"):
        PredatorPrey(predators=0)
    task = Navigation(copies=2)
    rest = np.zeros((2, 3), dtype=np.int64)
    with pytest.raises(TaskError, match=r"call reset\(\) before"):
        task.step(rest)
    task.reset(np.random.default_rng(0))
    with pytest.raises(TaskError, match=r"allowed: \(2, 3\), of integers from 0 to 4"):
        task.step(rest[:1])
    with pytest.raises(TaskError, match="integers from 0 to 4"):
        task.step(rest + 5)
    for _ in range(EPISODE):
        task.step(rest)
    with pytest.raises(TaskError, match="the episode is over"):
        task.step(rest)
