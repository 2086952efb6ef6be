"""The vector environment for stable-baselines3; needs the extra ``rl``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from gymnasium import Wrapper, spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from maestro_env.base.errors import EnvError, MissingExtraError
from maestro_env.environments.actions import binned
from maestro_env.environments.vector import MaestroVectorEnv

try:
    from stable_baselines3.common.vec_env import VecEnv
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.environments.sb3", "stable-baselines3", "rl") from error

EnvIndices = int | Iterable[int] | None
StepReturn = tuple[
    NDArray[np.float32], NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]
]


class SB3VecEnv(VecEnv):  # type: ignore[misc]
    """Adapts a ``MaestroVectorEnv`` to stable-baselines3.

    All copies are one object: an attribute of a copy is that of the vector environment, and a
    method is called once for any number of copies, of which each has its own action masks. The
    infos hold only what learners read; the rest is in ``env.evaluator``.

    Args:
        env: the copies to learn from.
        continuous: True for actions of `Box(-1, 1)` in place of `MultiDiscrete`: each entry is
            binned evenly over the choices of its parameter, as in ArchGym and the mapper `ppo_box`.
            The copies' own `action="box"` gives small sizes as much room as large ones.

    Raises:
        EnvError: continuous actions for copies that do not take vectors, or copies of another
            autoreset than ``SAME_STEP``.
    """

    def __init__(self, env: MaestroVectorEnv, continuous: bool = False) -> None:
        if env.autoreset_mode is not AutoresetMode.SAME_STEP:
            raise EnvError(
                f"autoreset_mode is {env.autoreset_mode.value}; allowed: SameStep, as "
                "stable-baselines3 wants the first observation of the next episode"
            )
        self.env = env
        self._continuous = continuous
        self._actions: NDArray[Any] | None = None
        actions = env.single_action_space
        if continuous:
            if not isinstance(actions, spaces.MultiDiscrete):
                raise EnvError("continuous is True; allowed: with copies of action='multidiscrete'")
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
            for copy in np.flatnonzero(info["_final_obs"]).tolist():
                infos[copy]["terminal_observation"] = info["final_obs"][copy]
        return seen, rewards.astype(np.float32), terminated | truncated, infos

    def close(self) -> None:
        self.env.close()

    def get_attr(self, attr_name: str, indices: EnvIndices = None) -> list[Any]:
        return self._repeat(getattr(self.env, attr_name), indices)

    def set_attr(self, attr_name: str, value: Any, indices: EnvIndices = None) -> None:
        """Set an attribute of all copies, or raise an ``EnvError`` where indices leave one out."""
        if set(self._get_indices(indices)) != set(range(self.num_envs)):
            raise EnvError(f"indices are {indices!r}; allowed: None, as all copies are one object")
        setattr(self.env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: EnvIndices = None, **method_kwargs: Any
    ) -> list[Any]:
        result = getattr(self.env, method_name)(*method_args, **method_kwargs)
        if method_name == "action_masks":
            return [result[index] for index in self._get_indices(indices)]
        return self._repeat(result, indices)

    def env_is_wrapped(
        self, wrapper_class: type[Wrapper[Any, Any, Any, Any]], indices: EnvIndices = None
    ) -> list[bool]:
        return self._repeat(False, indices)

    def _repeat(self, value: Any, indices: EnvIndices) -> list[Any]:
        return [value for _ in self._get_indices(indices)]
