"""MASAC: soft actor-critic (Haarnoja et al., 2018) with MADDPG's central critics."""

from __future__ import annotations

import torch
from torch import Tensor

from maestro_env.mappers.papers.off_policy.learner import JointRows, OffPolicyLearner


class Masac(OffPolicyLearner):
    """Agents are also paid for the entropy of their policies, with a fixed weight.

    The next actions of targets are drawn from the present actors; of two critics the lesser value
    counts. The entropy in an actor's loss is that of its policy itself, not of one drawn action:
    the expectation is the same, without the noise.
    """

    CRITICS = 2

    def _next_actions(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        logits = self._logits(self.actors, observations)
        actions = self._heads.one_hots(self._noisy(logits))
        chosen = (actions * torch.log_softmax(logits, dim=3)).sum(dim=(2, 3))
        return actions, -self.settings.entropy * chosen[:, :, None]

    def _policy_loss(self, logits: Tensor, rows: JointRows) -> Tensor:
        policies = torch.log_softmax(logits, dim=3)
        # Heads that are missing have the entropy of equal chances.
        terms = (policies.exp() * policies).masked_fill(~self._heads.present, 0)
        values = self._values_with(self._drawn(logits), rows)
        return self.settings.entropy * terms.sum(dim=(2, 3)) - values
