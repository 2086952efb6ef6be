"""MADDPG as a mapper: agents with a central critic each, which learn from replay."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from maestro_env.mappers.papers.off_policy.learner import Settings
from maestro_env.mappers.papers.off_policy.maddpg import Maddpg
from maestro_env.mappers.papers.replaying import Learner, ReplayConfig, ReplayMapper


class MaddpgMapper(ReplayMapper[ReplayConfig]):
    """Every agent follows the gradient of its critic (Lowe et al., 2017)."""

    DEFAULT: ClassVar[ReplayConfig] = ReplayConfig(exploration=0.5)

    def learner(self) -> Callable[..., Learner]:
        config = self.config
        return partial(Maddpg, settings=Settings(rate=config.rate, discount=config.discount))
