"""The policy of stable-baselines3 for several choices at once, in fewer operations.

There each choice is a distribution of torch, whose checks take longer than the networks where there
are a dozen. Here it is the same arithmetic without them: actions, values and gradients have the
same bits.
"""

from __future__ import annotations

from typing import Any

import torch
from gymnasium import spaces
from stable_baselines3.common.distributions import MultiCategoricalDistribution
from stable_baselines3.common.policies import ActorCriticPolicy
from torch import Tensor


class ChoicesPolicy(ActorCriticPolicy):  # type: ignore[misc]
    """``MlpPolicy``, with ``Choices`` where actions are ``MultiDiscrete``.

    Args:
        entropy: whether entropy counts in the loss; without, it is not computed.
    """

    def __init__(self, *of_policy: Any, entropy: bool, **named: Any) -> None:
        super().__init__(*of_policy, **named)
        if isinstance(self.action_space, spaces.MultiDiscrete):
            self.action_dist = Choices(self.action_space.nvec.tolist(), entropy)


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
