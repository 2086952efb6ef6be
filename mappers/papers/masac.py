"""MASAC: soft actor-critic with the central critics of MADDPG, two for each agent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from maestro_env.mappers.base import setting
from maestro_env.mappers.papers.off_policy import JointRows, OffPolicyLearner, Settings
from maestro_env.mappers.papers.replaying import Learner, ReplayConfig, ReplayMapper

if TYPE_CHECKING:
    from torch import Tensor


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
        chosen = (actions * logits.log_softmax(dim=3)).sum(dim=(2, 3))
        return actions, -self.settings.entropy * chosen[:, :, None]

    def _policy_loss(self, logits: Tensor, rows: JointRows) -> Tensor:
        policies = logits.log_softmax(dim=3)
        # Heads that are missing have the entropy of equal chances.
        terms = (policies.exp() * policies).masked_fill(~self._heads.present, 0)
        values = self._values_with(self._drawn(logits), rows)
        return self.settings.entropy * terms.sum(dim=(2, 3)) - values


@dataclass(frozen=True)
class MasacConfig(ReplayConfig):
    """Parameters of agents that are also paid for the entropy of their policies."""

    entropy: float = setting(0.3, "weight of the entropy", most=100)


class MasacMapper(ReplayMapper[MasacConfig]):
    """Every agent maximises its critics' lesser value plus entropy (Haarnoja et al., 2018)."""

    DEFAULT: ClassVar[MasacConfig] = MasacConfig()

    def learner(self) -> Callable[..., Learner]:
        config = self.config
        settings = Settings(rate=config.rate, discount=config.discount, entropy=config.entropy)
        return partial(Masac, settings=settings)
