"""Tasks of Gymnasium and of the DeepMind Control Suite that policies play, many copies at once."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import SyncVectorEnv
from numpy.typing import NDArray

from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.optimum.known import known_optimum

Act = Callable[[NDArray[Any]], NDArray[Any]]
"""Actions of the copies, of what they observe: arrays whose first axis is the copy."""

RESETS = 100
"""Episodes of an evaluation, the same ones for all policies of a task."""

STATES = 10_000
"""Least number of states from which ranges are recorded."""

# No training begins with any of these: its seeds are below 10,000.
EVALUATION, CALIBRATION, RANDOM = 1_000_000, 2_000_000, 3_000_000
_CALIBRATION_COPIES = 50
_HARDWARE = "edge"


@dataclass(frozen=True)
class Task:
    """A task that policies learn.

    Args:
        name: that Gymnasium knows it by.
        most: the largest return, if a policy can have it.
        arguments: of its environment.
        layer: that is mapped for the least EDP; None where nothing is mapped.
    """

    name: str
    most: float | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    layer: str | None = None

    def make(self) -> gymnasium.Env[Any, Any]:
        """Make one copy, without checks of what it is given and gives."""
        return gymnasium.make(self.name, disable_env_checker=True, **self.arguments)

    def copies(self, count: int) -> SyncVectorEnv:
        """Make copies that step together."""
        return SyncVectorEnv([lambda: gymnasium.make(self.name, **self.arguments)] * count)

    def begun(self, told: Mapping[str, Any]) -> Floats:
        """Return the returns before the first step, of what a reset told of the copies.

        Of mappings these are log(optimum / EDP of the first one): rewards are differences of
        logarithms, so that a return is log(optimum / EDP of the last mapping).
        """
        if self.layer is None:
            return np.zeros(())
        known = known_optimum(self.layer, "edp", _HARDWARE)
        assert known is not None
        logarithms: Floats = np.log(known.value / told["objective"])
        return logarithms


def _mapping(layer: str) -> Task:
    arguments = {"layer": layer, "hardware": _HARDWARE, "episode_length": 20}
    return Task("MaestroImprove-v1", 0.0, arguments, layer)


TASKS: Mapping[str, Task] = {
    "cartpole": Task("CartPole-v1", 500.0),
    "acrobot": Task("Acrobot-v1"),
    "mountain-car": Task("MountainCarContinuous-v0"),
    "pendulum": Task("Pendulum-v1"),
    "mapping-conv": _mapping("resnet18_l2"),
    "mapping-gemm": _mapping("bert_base_l4"),
}


def _control(domain: str, task: str) -> Task:
    # Gymnasium imports the module first, and so does every process that makes the task.
    name = f"{__name__}:ControlSuite-v0"
    return Task(name, 1000.0, {"domain": domain, "task": task})


ACTED: Mapping[str, Task] = {
    "cartpole": TASKS["cartpole"],
    "cartpole-balance": _control("cartpole", "balance"),
    "cheetah-run": _control("cheetah", "run"),
}
"""Those that actors of few bits play."""


def evaluate(task: Task, act: Act, episodes: int | None = None) -> float:
    """Return the mean return of some episodes; of ``RESETS`` by default."""
    return float(_play(task, act, episodes or RESETS, EVALUATION, 0)[0].mean())


def calibrate(task: Task, act: Act) -> int:
    """Play ``STATES`` states or more of other episodes; return how many.

    The first episode of each copy of the task is played to its end.
    """
    return _play(task, act, _CALIBRATION_COPIES, CALIBRATION, STATES)[1]


def random_return(task: Task) -> float:
    """Return the mean return of actions that are all equally likely."""
    space = task.copies(RESETS).action_space
    space.seed(RANDOM)
    return evaluate(task, lambda _: space.sample())


def _play(task: Task, act: Act, copies: int, seed: int, states: int) -> tuple[Floats, int]:
    """Play until every copy has ended an episode and so many states were seen.

    Returns:
        The return of the first episode of each, float64[copies], and the number of states.
    """
    # Versions of Gymnasium differ in the types of these.
    envs: Any = task.copies(copies)
    observations, told = envs.reset(seed=seed)
    returns = np.zeros(copies) + task.begun(told)
    going, seen = np.ones(copies, dtype=bool), 0
    while going.any() or seen < states:
        observations, rewards, terminated, truncated, _ = envs.step(act(observations))
        returns += rewards * going
        going &= ~(terminated | truncated)
        seen += copies
    envs.close()
    return returns, seen


class ControlSuite(gymnasium.Env[NDArray[np.float32], NDArray[np.float32]]):
    """A task of the DeepMind Control Suite (Tassa et al., 2018).

    It ends after its time limit, mostly 1,000 steps.

    Args:
        domain: as the suite knows it.
        task: of that domain.

    Attributes:
        observation_space: all that the suite observes, one after the other.
        action_space: from -1 to 1.

    Raises:
        MissingExtraError: dm_control is not installed.
    """

    def __init__(self, domain: str, task: str) -> None:
        self._random = np.random.RandomState()
        self._env = _control_suite().load(domain, task, task_kwargs={"random": self._random})
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


def _control_suite() -> Any:
    """Import the suite, which takes a second and an extra."""
    try:
        # Nothing is drawn, which may need a display.
        os.environ.setdefault("MUJOCO_GL", "disabled")
        from dm_control import suite
    except ModuleNotFoundError as error:
        raise MissingExtraError("a task of dm_control", str(error.name), "control") from error
    # It warns of attributes in files of its own.
    logging.getLogger("absl").setLevel(logging.ERROR)
    return suite


gymnasium.register("ControlSuite-v0", f"{__name__}:{ControlSuite.__name__}")
