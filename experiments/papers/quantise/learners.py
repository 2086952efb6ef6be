"""Policies of stable-baselines3 with two layers of 64, and the budgets they are trained with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.experiments.papers.quantise.tasks import TASKS, Act
from maestro_env.experiments.store.records import Show

if TYPE_CHECKING:
    from maestro_env.mappers.papers.quantised.layers import Precision

LEARNERS = {name: name.upper() for name in ("a2c", "ddpg", "dqn", "ppo")}
"""Classes of stable-baselines3."""

WIDTHS = (64, 64)


@dataclass(frozen=True)
class Recipe:
    """How a task is learnt: a short budget, at the end of which returns are not yet the largest.

    Args:
        steps: of all copies together.
        copies: of the task.
        settings: those of the learner that are not the defaults of stable-baselines3.
        noise: Ornstein-Uhlenbeck noise that DDPG adds to actions.
    """

    steps: int
    copies: int = 8
    settings: Mapping[str, Any] = field(default_factory=dict)
    noise: float = 0.0


_FAST = {"learning_rate": 1e-3}
_PPO = {**_FAST, "n_steps": 64, "batch_size": 128}
_LONG_PPO = {**_FAST, "n_steps": 128, "batch_size": 256}
_DQN = {**_FAST, "learning_starts": 1000, "train_freq": 4, "gradient_steps": 2, "batch_size": 64}
_DQN |= {"target_update_interval": 200, "exploration_fraction": 0.3}
_DDPG = {"learning_starts": 1000, "batch_size": 128, "gamma": 0.98}
_SPARSE = {"learning_starts": 4000, "batch_size": 128, "train_freq": 8, "gradient_steps": 8}
_MAPPING = {"gamma": 0.95}
_MAPPING_DQN = _DQN | {"gamma": 0.9, "train_freq": 1, "gradient_steps": 1}
RECIPES: Mapping[tuple[str, str], Recipe] = {
    ("cartpole", "a2c"): Recipe(20_000, settings=_FAST),
    ("cartpole", "dqn"): Recipe(12_000, 1, _DQN),
    ("cartpole", "ppo"): Recipe(8192, settings=_PPO | {"gamma": 0.98}),
    ("acrobot", "a2c"): Recipe(40_000, settings=_FAST),
    ("acrobot", "dqn"): Recipe(40_000, settings=_DQN | {"train_freq": 2, "gradient_steps": 4}),
    ("acrobot", "ppo"): Recipe(40_960, settings=_PPO | {"n_epochs": 4}),
    ("mountain-car", "ddpg"): Recipe(40_000, 4, _SPARSE | {"tau": 0.01}, noise=0.75),
    ("pendulum", "ddpg"): Recipe(8000, 1, _DDPG, noise=0.1),
    ("pendulum", "ppo"): Recipe(65_536, settings=_LONG_PPO | {"n_steps": 256, "gamma": 0.9}),
    ("mapping-conv", "a2c"): Recipe(65_536, settings=_FAST | _MAPPING | {"n_steps": 10}),
    ("mapping-conv", "ppo"): Recipe(65_536, settings=_LONG_PPO | _MAPPING),
    ("mapping-gemm", "dqn"): Recipe(40_000, settings=_MAPPING_DQN),
    ("mapping-gemm", "ppo"): Recipe(65_536, settings=_LONG_PPO | _MAPPING),
}
"""How each task is learnt by a learner."""


def require_learners() -> None:
    """Import stable-baselines3.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import stable_baselines3  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingExtraError("quantise", str(error.name), "rl") from error


def learn(
    task: str,
    learner: str,
    seed: int,
    steps: int,
    show: Show,
    precision: Precision,
    delayed: tuple[int, int] | None = None,
) -> Act:
    """Train a policy whose layers have a precision, and return what acts greedily by it.

    Args:
        task: one of ``TASKS``.
        learner: that has a recipe for it.
        seed: of weights, noise and the task.
        steps: of the training, at most those of the recipe.
        show: takes the share that is done.
        precision: floating point at first. It records while it is trained with few bits.
        delayed: step from which on the training is quantisation-aware, and its bits.
    """
    import stable_baselines3
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.noise import OrnsteinUhlenbeckActionNoise, VectorizedActionNoise

    from maestro_env.mappers.papers.quantised.layers import quantise
    from maestro_env.mappers.parts.threads import one_thread

    recipe, env = RECIPES[task, learner], TASKS[task]
    settings = dict(recipe.settings)
    if recipe.noise:
        noise = OrnsteinUhlenbeckActionNoise(np.zeros(1), np.full(1, recipe.noise))
        settings["action_noise"] = VectorizedActionNoise(noise, recipe.copies)
    with one_thread():
        model = getattr(stable_baselines3, LEARNERS[learner])(
            "MlpPolicy",
            make_vec_env(env.name, recipe.copies, seed=seed, env_kwargs=dict(env.arguments)),
            policy_kwargs={"net_arch": list(WIDTHS)},
            seed=seed,
            device="cpu",
            **settings,
        )
        # Its own logger makes a folder among the temporary files.
        model.set_logger(Logger(None, []))
        quantise(model.policy, precision)
        precision.recording = delayed is not None

        def watch(*_: Any) -> bool:
            if delayed and model.num_timesteps >= delayed[0]:
                precision.bits = delayed[1]
            show(model.num_timesteps / steps, f"{task} {learner}")
            return True

        model.learn(steps, callback=watch)
    precision.recording, precision.bits = False, None
    return lambda observations: model.predict(observations, deterministic=True)[0]
