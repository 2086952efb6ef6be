"""MADDPG (Lowe et al., 2017), and MASAC: soft actor-critic with its central critics."""

from __future__ import annotations

import torch
from torch import Tensor

from maestro_env.mappers.papers.off_policy.learner import JointRows, OffPolicyLearner


class Maddpg(OffPolicyLearner):
    """Each actor follows the gradient of its critic's value through a drawn action.

    Targets take the likeliest actions of target actors, which follow the actors as the target
    critics do the critics. As in openai/maddpg, large logits cost a little; unlike there, drawn
    actions are one-hots, as they are in replay, and only their gradient is that of the softmax.
    """

    CRITICS = 1

    def _make_targets(self) -> None:
        super()._make_targets()
        self.target_actors = self.actors.copy()

    def follow(self) -> None:
        super().follow()
        self.target_actors.follow(self.actors, self.settings.follow)

    def _next_actions(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        actions = self._heads.one_hots(self._logits(self.target_actors, observations))
        return actions, actions.new_zeros(*actions.shape[:2], 1)

    def _policy_loss(self, logits: Tensor, rows: JointRows) -> Tensor:
        present = self._heads.present
        squares = (logits**2).masked_fill(~present, 0).sum(dim=(2, 3))
        penalties = self.settings.penalty * squares / present.sum(dim=(2, 3))
        return penalties - self._values_with(self._drawn(logits), rows)


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
