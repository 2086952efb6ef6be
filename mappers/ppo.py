"""Single-agent PPO of stable-baselines3, the paper's RL baseline."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.environments.vector import MaestroVectorEnv
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.rewards import REWARDS
from maestro_env.mappers.base import Mapper, SettingError, setting

try:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.logger import Logger

    from maestro_env.environments.sb3 import SB3VecEnv
    from maestro_env.mappers.learners.choices import ChoicesPolicy, FusedPolicy
    from maestro_env.mappers.parts.threads import one_thread
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.mappers.ppo", str(error.name), "rl") from error


@dataclass(frozen=True)
class PpoConfig:
    """Parameters of PPO: the defaults of stable-baselines3, with 2,048 samples per rollout."""

    actions: str = setting("discrete", "MultiDiscrete or Box actions", allowed=("discrete", "box"))
    backend: str = setting("torch", "what draws (discrete)", allowed=("torch", "fused"))
    environments: int = setting(8, "copies of the environment", least=1, most=4096)
    n_steps: int = setting(256, "steps of every copy per rollout", least=2, most=10_000)
    batch_size: int = setting(64, "samples of a gradient step", least=2, most=10**6)
    n_epochs: int = setting(10, "passes over a rollout", least=1, most=1000)
    learning_rate: float = setting(3e-4, "learning rate of Adam", most=1)
    entropy: float = setting(0.0, "weight of the entropy bonus", most=1)
    reward: str = setting("inverse", "reward of a mapping", allowed=REWARDS)
    episode_length: int = setting(1, "mappings of an episode", least=1)


class PpoMapper(Mapper[PpoConfig]):
    """One agent that sets all parameters and observes latency, power, energy and area.

    With episodes of one mapping the observation is always the same. The reward is scaled by the
    median objective of the first step with a valid mapping, so no sample is free. It learns nothing
    from a start.
    """

    DEFAULT = PpoConfig()

    def __init__(self, config: PpoConfig | None = None) -> None:
        super().__init__(config)
        if (self.config.backend, self.config.actions) == ("fused", "box"):
            raise SettingError("backend is 'fused' for actions=box; allowed: actions=discrete")

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        config = self.config
        budget -= len(self.begin(evaluator, budget)[0])
        if not budget:
            return
        env = MaestroVectorEnv(
            evaluator,
            config.environments,
            reward=config.reward,
            episode_length=config.episode_length,
            budget=budget,
        )
        seed = int(rng.integers(2**31))
        with one_thread(), _global_streams_kept():
            agent = PPO(
                FusedPolicy if config.backend == "fused" else ChoicesPolicy,
                SB3VecEnv(env, continuous=config.actions == "box"),
                n_steps=config.n_steps,
                batch_size=config.batch_size,
                n_epochs=config.n_epochs,
                learning_rate=config.learning_rate,
                ent_coef=config.entropy,
                policy_kwargs={"entropy": config.entropy > 0},
                seed=seed,
                device="cpu",
            )
            # Its own logger makes a folder among the temporary files.
            agent.set_logger(Logger(None, []))
            # More than the budget: the callback ends learning when that is spent.
            agent.learn(budget + config.environments, callback=lambda *_: not env.exhausted)


class BoxPpoMapper(PpoMapper):
    """Continuous actions, each binned over the choices of its parameter, as in ArchGym."""

    DEFAULT = PpoConfig(actions="box")


class TunedPpoMapper(PpoMapper):
    """The best of fourteen settings on the tuning layers (docs/mappers.md)."""

    DEFAULT = PpoConfig(actions="box", n_steps=64, learning_rate=1e-3, entropy=0.01)


@contextmanager
def _global_streams_kept() -> Iterator[None]:
    """Restore the global random streams, which stable-baselines3 seeds and draws from."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
