"""MASAC as a mapper: agents with two central critics each, paid for entropy, on replay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from maestro_env.mappers.base import setting
from maestro_env.mappers.papers.off_policy.learner import Settings
from maestro_env.mappers.papers.off_policy.maddpg import Masac
from maestro_env.mappers.papers.replaying import Learner, ReplayConfig, ReplayMapper


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
