"""Tasks of the DeepMind Control Suite (Tassa et al., 2018), which Gymnasium makes."""

from __future__ import annotations

import logging
import os
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from maestro_env.base.errors import MissingExtraError

try:
    # Nothing is drawn, which may need a display.
    os.environ.setdefault("MUJOCO_GL", "disabled")
    from dm_control import suite
except ModuleNotFoundError as error:
    raise MissingExtraError("a task of dm_control", str(error.name), "control") from error

# It warns of attributes in files of its own.
logging.getLogger("absl").setLevel(logging.ERROR)


class ControlSuite(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A task that ends after its time limit, mostly 1,000 steps.

    Args:
        domain: as the suite knows it.
        task: of that domain.

    Attributes:
        observation_space: all that the suite observes, one after the other.
        action_space: from -1 to 1.
    """

    def __init__(self, domain: str, task: str) -> None:
        self._random = np.random.RandomState()
        self._env = suite.load(domain, task, task_kwargs={"random": self._random})
        actions = self._env.action_spec()
        low, high = (each.astype(np.float32) for each in (actions.minimum, actions.maximum))
        self.action_space = gymnasium.spaces.Box(low, high)
        width = sum(int(np.prod(each.shape)) for each in self._env.observation_spec().values())
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (width,))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None:
            self._random.seed(seed)
        return _flat(self._env.reset().observation), {}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        step = self._env.step(action)
        # Only the end of an episode that is no time limit has no discount.
        terminated = step.last() and step.discount == 0
        seen = _flat(step.observation)
        return seen, float(step.reward), terminated, step.last() and not terminated, {}


def _flat(observation: dict[str, Any]) -> NDArray[np.float32]:
    return np.concatenate([np.ravel(each) for each in observation.values()], dtype=np.float32)


gymnasium.register("ControlSuite-v0", f"{__name__}:{ControlSuite.__name__}")
