"""Trainings of agents that learn values, and the operations that they take, in closed form."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maestro_env.mappers.papers.sparse.flops import FlopMeter
from maestro_env.mappers.papers.value_based.iql import Iql
from maestro_env.mappers.papers.value_based.learner import ValueLearner
from maestro_env.mappers.papers.value_based.qmix import Qmix
from maestro_env.mappers.papers.value_based.settings import Settings
from maestro_env.mappers.papers.value_based.vdn import Vdn

LEARNERS: Mapping[str, type[ValueLearner]] = {"iql": Iql, "vdn": Vdn, "qmix": Qmix}


@dataclass(frozen=True)
class Course:
    """What is done in a training, whatever is drawn.

    Args:
        kind: one of ``LEARNERS``.
        observations: numbers that each agent sees.
        heads: number of choices of each head of each agent.
        settings: how they learn.
        acted: rows in which agents choose.
        rows: of an update.
    """

    kind: str
    observations: Sequence[int]
    heads: Sequence[Sequence[int]]
    settings: Settings
    acted: int
    rows: int

    def learner(self, rng: np.random.Generator) -> ValueLearner:
        """Return what learns, at its beginning."""
        return LEARNERS[self.kind](self.observations, self.heads, rng, self.settings)

    def operations(self, of_matrices: Sequence[int] | None = None) -> Counter[str]:
        """Return the operations of all the training by purpose, as the learner's meter does.

        Args:
            of_matrices: links of each matrix; None for as many as learners begin with.
        """
        settings, meter = self.settings, FlopMeter()
        learner = self.learner(np.random.default_rng(0))
        links = learner.by_network(learner.topology.links if of_matrices is None else of_matrices)
        weights = learner.by_network(learner.topology.sizes)
        moves = settings.updates // settings.interval if settings.moving else 0
        grown = moves if settings.growth == "gradient" else 0
        steps = settings.updates - moves
        meter.forward("act agents", links["agents"], self.acted)
        valued = (steps + grown) * self.rows if settings.discount > 0 else 0
        for network, there in links.items():
            meter.forward(f"target {network}", there, valued)
            meter.update(f"update {network}", there, steps * self.rows)
            meter.dense_gradients(f"grow {network}", there, weights[network], grown * self.rows)
        return meter.spent
