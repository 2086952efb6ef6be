"""MADDPG (Lowe et al., 2017): agents with a central critic each, which learn from replay."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from maestro_env.mappers.papers.off_policy import JointRows, OffPolicyLearner, Settings
from maestro_env.mappers.papers.replaying import Learner, ReplayConfig, ReplayMapper

if TYPE_CHECKING:
    from torch import Tensor


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


class MaddpgMapper(ReplayMapper[ReplayConfig]):
    """Every agent follows the gradient of its critic (Lowe et al., 2017)."""

    DEFAULT: ClassVar[ReplayConfig] = ReplayConfig(exploration=0.5)

    def learner(self) -> Callable[..., Learner]:
        config = self.config
        return partial(Maddpg, settings=Settings(rate=config.rate, discount=config.discount))
