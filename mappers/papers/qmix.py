"""QMIX as a mapper: agents that learn from replay what their moves are worth to the team."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from maestro_env.mappers.base import setting
from maestro_env.mappers.papers.replay.layouts import Batch
from maestro_env.mappers.papers.replaying import Learner, ReplayConfig, ReplayMapper, Seen
from maestro_env.mappers.papers.value_based.qmix import LEARNERS
from maestro_env.mappers.papers.value_based.settings import Settings
from maestro_env.mappers.parts.arrays import Floats, Integers

# ReLUs of each hidden layer, as of the networks of the other mappers.
_HIDDEN = (64, 64)


@dataclass(frozen=True)
class QmixConfig(ReplayConfig):
    """Parameters of agents that learn values, which a mixer makes values of the team."""

    mixer: str = setting("qmix", "what joins the agents' values", allowed=LEARNERS)
    density: float = setting(1.0, "share of weights that exist, drawn once", least=0.001, most=1)


class QmixMapper(ReplayMapper[QmixConfig]):
    """Every agent takes what is worth most, or explores (Rashid et al., 2018)."""

    DEFAULT: ClassVar[QmixConfig] = QmixConfig(exploration=0.5)

    def learner(self) -> Callable[..., Learner]:
        return partial(_Steps, config=self.config)


class _Steps:
    """A learner of values, to which each sample is an episode of one step.

    Its first values are 0, so that agents leave the mapping as it is where they do not explore.
    """

    def __init__(
        self,
        observations: Sequence[int],
        heads: Sequence[Sequence[int]],
        rng: np.random.Generator,
        logits: Sequence[Floats],
        features: Any,
        config: QmixConfig,
    ) -> None:
        settings = Settings(
            1,
            hidden=_HIDDEN,
            rate=config.rate,
            discount=config.discount,
            worth="max",
            density=config.density,
            growth="none",
        )
        # Mixers draw weights from a stream of their own: all else stays the same with each of them.
        learner = LEARNERS[config.mixer](observations, heads, rng.spawn(1)[0], settings)
        for networks in (learner.networks[0], learner.targets[0]):
            networks.begin_with([np.zeros_like(each) for each in logits])
        self._learner, self.act = learner, learner.greedy
        self._ends = np.cumsum([len(counts) for counts in heads])[:-1]

    def encoded(self, choices: Integers) -> list[Seen]:
        return np.split(choices.astype(np.float32), self._ends, axis=1)

    def values(self, observations: Sequence[Seen], choices: Integers) -> Seen:
        return self._learner.team_values(observations, self.encoded(choices))

    def update(self, batches: Sequence[Batch]) -> None:
        self._learner.update(batches[0], length=1)
