"""A prior that goes on learning from paid samples, for costs that it was not trained for."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.errors import MapSpaceError, MissingExtraError
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.observations_and_rewards import context
from maestro_env.evaluation.problem import require
from maestro_env.mappers.base import setting
from maestro_env.mappers.parts.arrays import Floats
from maestro_env.mappers.prior import PriorConfig, PriorMapper
from maestro_env.mapspace.space import Points
from maestro_env.prior.proposals import Networks, Proposer, load_prior

try:
    from maestro_env.mappers.parts.prior_policy import Learner, Policy, TraceBatch
    from maestro_env.mappers.parts.threads import one_thread
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.mappers.prior_adapted", str(error.name), "rl") from error

# Logarithms of values closer than this differ by chance.
_LEAST_SPREAD = 0.02
# Steps of learning: so many that the rate does not fall, whatever the budget.
_ENDLESS = 10**9
# From so far above the best on, in logarithms, all are as bad as invalid ones.
_WORST = 1.5


@dataclass(frozen=True)
class AdaptedPriorConfig(PriorConfig):
    """Parameters of the search that adapts a prior."""

    batch: int = setting(32, "samples between two steps of learning", least=2, most=100_000)
    rate: float = setting(3e-3, "learning rate of Adam", most=1)
    imitation: float = setting(0.5, "weight of imitating the best so far", most=100)


class AdaptedPriorMapper(PriorMapper):
    """Mapper ``prior`` whose policy learns what its samples cost, whatever computes the costs.

    After every batch it takes a step of policy gradient, and imitates the best samples so far.
    """

    DEFAULT = AdaptedPriorConfig()
    config: AdaptedPriorConfig

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        problem = require(evaluator.problem, "levels", "a prior")
        objective = evaluator.objective
        policy = Policy(dict(load_prior(self.config.file).file.arrays))
        self._learner = Learner(policy, self.config.rate, _ENDLESS)
        self._context = context(problem.layer, problem.hardware, objective)
        self._proposer: Proposer | None = None
        with suppress(MapSpaceError):  # No mapping fits, and there is nothing to learn.
            self._proposer = Proposer(problem, objective)
        self._least = np.inf
        with one_thread():
            super().search(evaluator, budget, rng)

    def ask(self, n: int) -> Points:
        return super().ask(min(n, self.config.batch))

    def tell(self, points: Points, values: Floats) -> None:
        super().tell(points, values)
        best = self._best.actions.astype(np.int32)
        self._least = min(self._least, float(values.min()))
        if self._proposer is None or not len(best):
            return
        advantages = _advantages(values, self._least)
        drawn, good = (self._traced(self._proposer, each) for each in (points, best))
        self._learner.improve(drawn, advantages, {self.config.imitation: good})
        self._proposals.use(Networks(self._learner.policy.arrays()))

    def _traced(self, proposer: Proposer, points: Points) -> TraceBatch:
        return TraceBatch.of([(len(points), proposer.trace(points), self._context)])


def _advantages(values: Floats, best: float) -> NDArray[np.float32]:
    """Return how good values are beside each other and the best so far, float32[N]."""
    # A cost of another's simulator may be zero.
    logarithms = np.log(np.maximum(np.append(values, best), np.finfo(float).tiny))
    rewards = -np.minimum(logarithms - logarithms[-1], _WORST)
    standard = (rewards - rewards.mean()) / (rewards.std() + _LEAST_SPREAD)
    advantages: NDArray[np.float32] = standard[:-1].astype(np.float32)
    return advantages
