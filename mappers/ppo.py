"""Single-agent PPO of stable-baselines3, the paper's RL baseline.

In its policy for several choices at once, each choice is a distribution of torch, whose checks take
longer than the networks where there are a dozen. ``ChoicesPolicy`` is the same arithmetic without
them: actions, values and gradients have the same bits. ``FusedPolicy`` also computes the networks
in the core.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from maestro_env.base.errors import MissingExtraError
from maestro_env.base.native_learning import Perceptrons, perceptrons
from maestro_env.environments.vector import MaestroVectorEnv
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.observations_and_rewards import REWARDS
from maestro_env.mappers.base import Mapper, SettingError, setting
from maestro_env.mappers.parts.arrays import Floats32, Integers

try:
    import torch
    from stable_baselines3 import PPO
    from stable_baselines3.common.distributions import MultiCategoricalDistribution
    from stable_baselines3.common.logger import Logger
    from stable_baselines3.common.policies import ActorCriticPolicy
    from torch import Tensor, nn

    from maestro_env.environments.sb3 import SB3VecEnv
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


class ChoicesPolicy(ActorCriticPolicy):  # type: ignore[misc]
    """``MlpPolicy``, with ``Choices`` where actions are ``MultiDiscrete``.

    Args:
        entropy: whether entropy counts in the loss; without, it is not computed.
    """

    def __init__(self, *of_policy: Any, entropy: bool, **named: Any) -> None:
        super().__init__(*of_policy, **named)
        if isinstance(self.action_space, spaces.MultiDiscrete):
            self.action_dist = Choices(self.action_space.nvec.tolist(), entropy)


class FusedPolicy(ChoicesPolicy):
    """Draws in few calls, of arrays; learns as ``ChoicesPolicy`` does.

    It draws from the same noise. Sums have another order than PyTorch's, so that from the same seed
    both make the same choices at first, and different ones once rounding has told them apart.
    """

    def set_training_mode(self, mode: bool) -> None:
        super().set_training_mode(mode)
        if not mode:  # A rollout begins, of which the weights stay the same.
            networks = self.mlp_extractor
            self._actor = _fused([*networks.policy_net, self.action_net])
            self._critic = _fused([*networks.value_net, self.value_net])

    def forward(self, obs: Tensor, deterministic: bool = False) -> tuple[Tensor, Tensor, Tensor]:
        if deterministic:
            found: tuple[Tensor, Tensor, Tensor] = super().forward(obs, deterministic)
            return found
        seen = obs.numpy()
        chosen, logarithms = _drawn(self._actor.run(seen)[0], self.action_dist.action_dims)
        values = self._critic.run(seen)[0]
        return torch.from_numpy(chosen), torch.from_numpy(values), torch.from_numpy(logarithms)


def _fused(modules: Iterable[nn.Module]) -> Perceptrons:
    linear = [each for each in modules if isinstance(each, nn.Linear)]
    weights = [each.weight.detach().numpy().T[np.newaxis] for each in linear]
    biases = [each.bias.detach().numpy()[np.newaxis] for each in linear]
    return perceptrons(weights, biases, "tanh")


def _drawn(logits: Floats32, counts: Sequence[int]) -> tuple[Integers, Floats32]:
    """Draw as ``torch.multinomial`` does, which takes the largest chance relative to noise.

    Args:
        logits: of all choices of all heads, float32[B, A].
        counts: choices of each of D heads.

    Returns:
        int64[B, D], and the logarithms of the chances of these, float32[B].
    """
    noise = [torch.empty(len(logits), count).exponential_().numpy() for count in counts]
    ends: Integers = np.cumsum(counts)
    starts = ends - counts
    logits = logits - np.maximum.reduceat(logits, starts, axis=1).repeat(counts, axis=1)
    chances = np.exp(logits)
    ranks = np.split(chances / np.concatenate(noise, axis=1), ends[:-1], axis=1)
    chosen = np.stack([each.argmax(axis=1) for each in ranks], axis=1)
    of_chosen = np.take_along_axis(logits, chosen + starts, axis=1)
    logarithms: Floats32 = of_chosen - np.log(np.add.reduceat(chances, starts, axis=1))
    return chosen, logarithms.sum(axis=1)


class Choices(MultiCategoricalDistribution):  # type: ignore[misc]
    """Independent choices; their entropy is None unless asked for, of which PPO makes do."""

    def __init__(self, counts: list[int], entropy: bool) -> None:
        super().__init__(counts)
        self._entropy = entropy

    def proba_distribution(self, action_logits: Tensor) -> Choices:
        self.distribution = [_Choice(each) for each in action_logits.split(self.action_dims, dim=1)]
        return self

    def entropy(self) -> Tensor | None:
        return super().entropy() if self._entropy else None


class _Choice:
    """What ``torch.distributions.Categorical`` computes of logits [B, choices]."""

    def __init__(self, logits: Tensor) -> None:
        self.logits = logits - logits.logsumexp(dim=1, keepdim=True)

    @property
    def probs(self) -> Tensor:
        return torch.softmax(self.logits, dim=1)

    def sample(self) -> Tensor:
        return torch.multinomial(self.probs, 1, replacement=True)[:, 0]

    def log_prob(self, chosen: Tensor) -> Tensor:
        return self.logits.gather(1, chosen.long()[:, None])[:, 0]

    def entropy(self) -> Tensor:
        # Zero chances have infinite logarithms, and their product shall be 0.
        logits = self.logits.clamp(min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(dim=1)
