"""MASAC as a mapper: agents with two central critics each, paid for entropy, on replay."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mappers.agents.replaying import ReplayConfig, ReplayMapper
from mappers.learners.off_policy.learner import Settings
from mappers.learners.off_policy.masac import Masac
from mappers.settings import setting


@dataclass(frozen=True)
class MasacConfig(ReplayConfig):
    """Parameters of agents that are also paid for the entropy of their policies."""

    entropy: float = setting(0.3, "weight of the entropy", most=100)


class MasacMapper(ReplayMapper[MasacConfig]):
    """Every agent maximises its critics' lesser value plus entropy (Haarnoja et al., 2018)."""

    DEFAULT: ClassVar[MasacConfig] = MasacConfig()
    LEARNER = Masac

    def settings(self) -> Settings:
        return replace(super().settings(), entropy=self.config.entropy)
