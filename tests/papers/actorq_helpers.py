"""A task and a learner of ActorQ that take known times; actors import this, and little else."""

from __future__ import annotations

import time
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from maestro_env.mappers.papers.quantised.actorq import ActorQ, Plan, Spaces
from maestro_env.mappers.papers.quantised.quantiser import Layers
from maestro_env.mappers.papers.quantised.shared import SharedArray, SharedWeights

SLEPT = 0.01
"""Seconds of a step."""

SIZE = 50_000
"""Bytes that are published."""


class Sleeping(gymnasium.Env[NDArray[np.float32], Any]):
    """Episodes of 10 steps that only take time; it observes the episode and the step."""

    observation_space = gymnasium.spaces.Box(0, np.inf, (2,))

    def __init__(self, discrete: bool = True) -> None:
        spaces = gymnasium.spaces
        self.action_space = spaces.Discrete(2) if discrete else spaces.Box(-1, 1, (3,))
        self._seen = np.zeros(2, np.float32)

    def reset(self, **_: Any) -> tuple[NDArray[np.float32], dict[str, Any]]:
        self._seen = np.array([self._seen[0] + 1, 0], np.float32)
        return self._seen, {}

    def step(self, action: Any) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        time.sleep(SLEPT)
        self._seen = self._seen + np.array([0, 1], np.float32)
        return self._seen, float(np.sum(action)), False, bool(self._seen[1] == 10), {}


class Idle:
    """A learner that learns nothing, in known time."""

    def __init__(self, spaces: Spaces, hidden: tuple[int, ...], seconds: float = 0.0) -> None:
        self._shapes = list(pairwise((spaces.inputs, *hidden, spaces.outputs)))
        self._seconds = seconds

    def update(self, _: object) -> None:
        time.sleep(self._seconds)

    def layers(self) -> Layers:
        weights = [np.ones((1, *shape), np.float32) for shape in self._shapes]
        return Layers(weights, [each[:, 0] for each in weights], "relu")

    def ranges(self, _: object) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        return [(np.zeros(1, np.float32), np.ones(1, np.float32))] * len(self._shapes)


def idle(plan: Plan, seconds: float = 0.0) -> ActorQ:
    """Return what acts by a plan, and learns nothing."""
    spaces = Spaces.of(plan.make())
    learner: Any = Idle(spaces, plan.hidden, seconds)
    return ActorQ(plan, spaces, learner)


def learn_for_ever(plan: Plan, pids: Connection) -> None:
    """Send the processes of the actors, and let them act until all of it is killed."""
    with idle(plan) as system:
        pids.send([each.pid for each in system.processes])
        system.run(1000)


def publish(weights: SharedWeights, pulled: SharedArray) -> None:
    """Publish 200 versions or more, until some were pulled meanwhile."""
    while weights.version < 200 or pulled.array[0] < 5:
        version = weights.version + 1
        weights.publish(np.full(SIZE, version % 256, np.uint8))
        time.sleep(1e-4 * (version % 4 == 0))
