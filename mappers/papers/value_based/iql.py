"""IQL (Tampuu et al., 2017): every agent learns for itself what the team is paid."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from maestro_env.mappers.papers.off_policy.networks import Networks
from maestro_env.mappers.papers.value_based.learner import ValueLearner


class Iql(ValueLearner):
    """The utility of each agent is an estimate of the team's return; nothing is mixed.

    An agent takes the others for a part of the world, which changes as they learn: where only
    what they do together pays, it may never see why.
    """

    def mixed(self, utilities: Tensor, states: Tensor, mixer: Sequence[Networks]) -> Tensor:
        return utilities
