"""VDN (Sunehag et al., 2018): the value of the team is the sum of its agents' utilities."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from maestro_env.mappers.papers.off_policy.networks import Networks
from maestro_env.mappers.papers.value_based.learner import ValueLearner


class Vdn(ValueLearner):
    """Agents learn together by the gradient of one sum, which has no weights of its own."""

    def mixed(self, utilities: Tensor, states: Tensor, mixer: Sequence[Networks]) -> Tensor:
        return utilities.sum(dim=0, keepdim=True)
