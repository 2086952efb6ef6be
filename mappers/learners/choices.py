"""The policy of stable-baselines3 for several choices at once, in fewer operations.

There each choice is a distribution of torch, whose checks take longer than the networks where there
are a dozen. Here it is the same arithmetic without them: actions, values and gradients have the
same bits. ``FusedPolicy`` also computes the networks in the core.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import MultiCategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor, nn

from maestro_env.base.native_learning import Perceptrons, perceptrons
from maestro_env.mappers.parts.arrays import Floats32, Integers


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
