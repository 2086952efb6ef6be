"""A learner and its actors: what they learn, how fast they go on, and how they end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from actorq_helpers import SLEPT, Sleeping, idle, learn_for_ever

pytest.importorskip("torch", reason="needs the extra rl")

import torch

from maestro_env.mappers.papers.quantised import actorq
from maestro_env.mappers.papers.quantised.actorq import ACTING, DISCOUNT, STEPS, ActorError, Plan
from maestro_env.mappers.papers.quantised.quantiser import Layers
from maestro_env.mappers.papers.quantised.single import FOLLOW, Ddpg, Dqn, SingleLearner
from maestro_env.mappers.papers.replay.layouts import Batch
from maestro_env.mappers.parts.arrays import Floats32


def files() -> set[Path]:
    """Return the files of shared memory."""
    return {*Path("/dev/shm").glob("pymp-*"), *Path("/dev/shm").glob("psm_*")}


def gone(pids: list[int], seconds: float = 1.0) -> bool:
    """Wait until none of these processes is there, and return whether that was in time."""
    ends = time.perf_counter() + seconds
    while any(map(_lives, pids)) and time.perf_counter() < ends:
        time.sleep(0.01)
    return not any(map(_lives, pids))


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except FileNotFoundError:
        return False


def plainly(layers: Layers, inputs: Floats32) -> Floats32:
    """Compute layers one after another."""
    for weights, biases in zip(layers.weights, layers.biases, strict=True):
        outputs = inputs @ weights[0] + biases[0]
        inputs = np.maximum(outputs, 0)
    return outputs


def batch(actions: Floats32) -> Batch:
    """Draw six rows, of which the first ends an episode."""
    rng = np.random.default_rng(0)
    seen, following = (rng.standard_normal((6, 3), np.float32) for _ in range(2))
    rewards = rng.standard_normal((6, 1), np.float32)
    return Batch([seen], [actions], rewards, [following], np.eye(6, 1, dtype=np.float32))


def wanted(learner: SingleLearner, rows: Batch) -> torch.Tensor:
    return learner.wanted(rows.rewards, torch.from_numpy(rows.next_observations[0]), rows.dones)


@pytest.mark.slow
def test_dqn_wants_rewards_and_the_best_values_that_follow() -> None:
    learner = Dqn(3, 2, (5, 4), 0)
    rows = batch(np.array([[0], [1]] * 3, np.float32))
    best = plainly(learner.layers(), rows.next_observations[0]).max(axis=1, keepdims=True)
    values = rows.rewards + (1 - rows.dones) * best
    found = wanted(learner, rows)
    np.testing.assert_allclose(found, values, rtol=1e-5)
    assert found[0, 0] == rows.rewards[0, 0]
    taken = learner.values(*map(torch.from_numpy, (rows.observations[0], rows.actions[0])))
    outputs = plainly(learner.layers(), rows.observations[0])
    np.testing.assert_allclose(taken[:, 0].detach(), outputs[range(6), [0, 1] * 3], rtol=1e-5)


def test_ddpg_wants_rewards_and_the_value_of_its_own_next_action() -> None:
    learner = Ddpg(3, 2, (5, 4), 0)
    rows = batch(np.zeros((6, 2), np.float32))
    following = rows.next_observations[0]
    joint = np.hstack([following, np.tanh(plainly(learner.layers(), following))])
    arrays = [each.detach().numpy().T[None] for each in learner.critic.parameters()]
    values = plainly(Layers(arrays[::2], arrays[1::2], "relu"), joint)
    values = rows.rewards + (1 - rows.dones) * values
    np.testing.assert_allclose(wanted(learner, rows), values, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [Dqn, Ddpg])
def test_learners_come_nearer_to_what_they_want(kind: Callable[..., SingleLearner]) -> None:
    learner = kind(3, 2, (32, 32), 0)
    rows = batch(np.zeros((6, 1 if kind is Dqn else 2), np.float32))
    tensors = [torch.from_numpy(each) for each in (rows.observations[0], rows.actions[0])]

    def off() -> float:
        return float((learner.values(*tensors).detach() - wanted(learner, rows)).abs().mean())

    first, target = off(), [each.clone() for each in learner.target.parameters()]
    learner.update(rows)
    for slow, before, fast in zip(
        learner.target.parameters(), target, learner.policy.parameters(), strict=True
    ):
        torch.testing.assert_close(slow, before + FOLLOW * (fast.detach() - before))
    for _ in range(60):
        learner.update(rows)
    assert off() < 0.8 * first


def test_ranges_are_those_of_what_layers_take() -> None:
    learner = Dqn(3, 2, (5, 4), 0)
    states = batch(np.zeros((6, 1), np.float32)).observations[0]
    layers = learner.layers()
    hidden = np.maximum(states @ layers.weights[0][0] + layers.biases[0][0], 0)
    (low, high), of_hidden, _ = learner.ranges(states)
    assert (low, high) == (states.min(), states.max())
    np.testing.assert_allclose(
        of_hidden, [hidden.min(keepdims=True)[0], hidden.max(keepdims=True)[0]]
    )


def test_rows_have_the_rewards_of_several_steps_or_of_those_that_are_left() -> None:
    with idle(Plan(partial(Sleeping, False), (4, 4), batch=4, least=8)) as system:
        system.run(0.3)
        time.sleep(0.05)
        before = system.memory.rows.added
        time.sleep(0.1)
        # Nothing is done between runs.
        assert system.memory.rows.added == before
        system.run(0.3)
    rows = system.replay.gather(np.arange(len(system.replay)))
    (seen,), (following,), (actions,) = rows.observations, rows.next_observations, rows.actions
    counts = np.minimum(STEPS, 10 - seen[:, 1])
    # Every step of every episode, in order.
    assert seen.tolist() == [[1 + at // 10, at % 10] for at in range(len(seen))]
    assert len(seen) > 20
    np.testing.assert_array_equal(following - seen, np.stack([0 * counts, counts], axis=1))
    np.testing.assert_allclose(1 - rows.dones[:, 0], DISCOUNT**counts, rtol=1e-6)
    paid = actions.sum(axis=1)
    for at, count in enumerate(counts[:-STEPS].astype(int)):
        gained = DISCOUNT ** np.arange(count) @ paid[at : at + count]
        assert rows.rewards[at, 0] == pytest.approx(gained, abs=1e-5)


@pytest.mark.slow
def test_policies_are_pulled_until_an_actor_stops_or_is_killed_which_ends_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan, before = Plan(Sleeping, (4, 4), 2, 0.5, 10, 8, 8, batch=4, least=8), files()
    with idle(plan) as system:
        elapsed = system.run(0.6)
        inserted, versions = system.replay.added, system.memory.weights.version
        assert 8 < inserted <= 2 * elapsed / SLEPT
        assert abs(0.5 * (inserted - 8) - system.sampled) <= plan.limiter.tolerance
        # A policy is due every 10 rows; each actor looks for one every 10 steps.
        assert 2 <= versions <= inserted / 10 + 1
        assert (system.memory.pulls.array >= 2).all()
        assert (system.memory.pulls.array <= versions).all()
        whole = system.memory.seconds.array
        assert (whole[:, ACTING.index("step")] >= SLEPT * inserted / 2 * 0.8).all()

        pids = [each.pid for each in system.processes if each.pid is not None]
        os.kill(pids[1], signal.SIGSTOP)
        with monkeypatch.context() as impatient:
            impatient.setattr(actorq, "_PATIENCE", 0.3)
            with pytest.raises(ActorError, match=r"actor 1 of 2 has stood still for 0\.3 s"):
                system.run(1000)
        os.kill(pids[1], signal.SIGCONT)

        killing = Timer(0.1, os.kill, (pids[1], signal.SIGKILL))
        killing.start()
        began = time.perf_counter()
        with pytest.raises(ActorError, match="actor 1 of 2 ended with exit status -9"):
            system.run(1000)
        assert time.perf_counter() - began < 30  # not its patience of 60
    assert gone(pids, 0)
    killing.join()
    assert files() == before


def test_a_killed_learner_ends_its_actors() -> None:
    before, spawn = files(), get_context("spawn")
    ours, theirs = spawn.Pipe()
    learner = spawn.Process(target=learn_for_ever, args=(Plan(Sleeping, (4, 4)), theirs))
    learner.start()
    assert ours.poll(30)
    pids = ours.recv()
    learner.kill()
    assert gone(pids)
    learner.join()
    assert files() == before
