"""MADDPG as a mapper: agents with a central critic each, which learn from replay."""

from __future__ import annotations

from typing import ClassVar

from mappers.agents.replaying import ReplayConfig, ReplayMapper
from mappers.learners.off_policy.maddpg import Maddpg


class MaddpgMapper(ReplayMapper[ReplayConfig]):
    """Every agent follows the gradient of its critic (Lowe et al., 2017)."""

    DEFAULT: ClassVar[ReplayConfig] = ReplayConfig(exploration=0.5)
    LEARNER = Maddpg
