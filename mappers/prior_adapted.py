from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.context import context
from maestro_env.errors import MapSpaceError, MissingExtraError
from maestro_env.evaluator import Evaluator
from maestro_env.map_space import Points
from maestro_env.proposer import Networks, Proposer
from mappers.arrays import Floats
from mappers.prior import PriorConfig, PriorMapper
from mappers.proposals import load_prior
from mappers.settings import setting

try:
    from mappers.learners.prior.learner import Learner
    from mappers.learners.prior.policy import Batch, Policy
    from mappers.threads import one_thread
except ModuleNotFoundError as error:
    raise MissingExtraError("mappers.prior_adapted", str(error.name), "rl") from error

_LEAST_SPREAD = 0.02


@dataclass(frozen=True)
class AdaptedConfig(PriorConfig):
    batch: int = setting(16, "samples between two updates", least=2, most=100_000)
    rate: float = setting(1e-3, "learning rate of Adam", most=1)
    worst: float = setting(1.5, "log", most=100)
    steps: int = setting(2, "", least=1)
    imitate: float = setting(0.5, "", most=100)
    elites: int = setting(8, "", least=1)
    pg: float = setting(1.0, "", most=10)
    share: float = setting(0.5, "", most=1)


class AdaptedPriorMapper(PriorMapper):
    DEFAULT = AdaptedConfig()
    config: AdaptedConfig

    def search(self, evaluator, budget, rng):
        problem, objective = evaluator.problem, evaluator.objective
        policy = Policy(dict(load_prior(self.config.file).file.arrays))
        steps = max(1, self.config.steps * budget // self.config.batch)
        self._learner = Learner(policy, self.config.rate, steps)
        self._context = context(problem.layer, problem.hardware, objective)
        self._tracer = None
        with suppress(MapSpaceError):
            self._tracer = Proposer(problem, objective)
        self._all = np.empty((0, len(problem.space.sizes)), np.int32)
        self._values = np.empty(0)
        with one_thread():
            super().search(evaluator, budget, rng)

    def ask(self, n: int) -> Points:
        return super().ask(min(n, self.config.batch))

    def tell(self, points: Points, values: Floats) -> None:
        super().tell(points, values)
        c = self.config
        self._all = np.concatenate([self._all, points])
        self._values = np.concatenate([self._values, values])
        best = self._values.min()
        if self._tracer is None or not np.isfinite(best):
            return
        top = np.argsort(self._values, kind="stable")[: c.elites]
        top = top[np.isfinite(self._values[top])]
        rewards = -np.minimum(np.log(values / best), c.worst)
        adv = c.pg * ((rewards - rewards.mean()) / (rewards.std() + _LEAST_SPREAD)).astype(np.float32)
        drawn = self._batch(points)
        targets = {c.imitate: self._batch(self._all[top])} if c.imitate else {}
        for _ in range(c.steps):
            self._learner.improve(drawn, adv, targets)
        self._proposals.use(Networks(self._learner.policy.arrays()))

    def _batch(self, points):
        return Batch.of([(len(points), self._tracer.trace(points), self._context)])
