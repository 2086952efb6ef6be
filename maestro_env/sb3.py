"""The vector environment for stable-baselines3; needs the extra ``rl``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import Wrapper, spaces
from numpy.typing import NDArray

from maestro_env.errors import EnvError, MapSpaceError, MissingExtraError
from maestro_env.vector import MaestroVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.sb3", "stable-baselines3", "rl") from error

Indices = int | Iterable[int] | None
StepReturn = tuple[
    NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]
]


class SB3VecEnv(VecEnv):
    """Adapts a ``MaestroVectorEnv`` to stable-baselines3.

    All copies are one object: an attribute of a copy is that of the vector environment, and a
    method is called once for any number of copies. Nothing is random, so a seed has no effect. The
    infos hold only what learners read; the rest is in ``env.evaluator``.

    Args:
        env: the copies to learn from.
        continuous: False for actions of `MultiDiscrete`, True for actions of `Box(-1, 1)`: each
            entry is binned evenly over the choices of its parameter, as in ArchGym.
    """

    def __init__(self, env: MaestroVectorEnv, continuous: bool = False) -> None:
        self.env = env
        self._continuous = continuous
        self._actions: NDArray[Any] | None = None
        actions = env.single_action_space
        if continuous:
            actions = spaces.Box(-1.0, 1.0, env.space.sizes.shape, np.float32)
        super().__init__(env.num_envs, env.single_observation_space, actions)

    def reset(self) -> NDArray[np.float32]:
        observations, _ = self.env.reset(seed=self._seeds[0], options=self._options[0])
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = binned(actions, self.env.space.sizes) if self._continuous else actions

    def step_wait(self) -> StepReturn:
        assert self._actions is not None
        seen, rewards, terminated, truncated, info = self.env.step(self._actions)
        infos: list[dict[str, Any]] = [{"TimeLimit.truncated": end} for end in truncated.tolist()]
        if "final_obs" in info:
            for each, last in zip(infos, info["final_obs"], strict=True):
                each["terminal_observation"] = last
        return seen, rewards.astype(np.float32), terminated | truncated, infos

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        return self._repeat(getattr(self.env, attr_name), indices)

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of all copies, or raise an ``EnvError`` where indices leave one out."""
        if set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise EnvError(f"indices are {indices!r}; allowed: None, as all copies are one object")
        setattr(self.env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        method = getattr(self.env, method_name)
        return self._repeat(method(*method_args, **method_kwargs), indices)

    def env_is_wrapped(
        self, wrapper_class: type[Wrapper[Any, Any, Any, Any]], indices: Indices = None
    ) -> list[bool]:
        return self._repeat(False, indices)

    def _repeat(self, value: Any, indices: Indices) -> list[Any]:
        return [value for _ in self._get_indices(indices)]


def binned(actions: NDArray[Any], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the choices, int64[N, D], of actions of shape [N, D], which are clipped to [-1, 1].

    Each of a parameter's choices (``sizes``, shape [D]) gets an equal share; NaN is refused.
    """
    if np.isnan(actions).any():
        raise MapSpaceError("an action is not a number; allowed: numbers from -1 to 1")
    # Single precision would move the bin edges of parameters with many choices.
    shares = (np.clip(actions.astype(np.float64), -1.0, 1.0) + 1.0) / 2.0
    return np.minimum((shares * sizes).astype(np.int64), sizes - 1)
