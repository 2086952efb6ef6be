"""Proposals of a policy that learnt from other problems, then variants of the best."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from maestro_env.base.errors import MapSpaceError
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem, require
from maestro_env.mappers.agents.archive import Elites
from maestro_env.mappers.base import AskTellMapper, setting
from maestro_env.mappers.parts.arrays import Floats, log_uniform
from maestro_env.mapspace.space import Points, Space
from maestro_env.prior.proposals import Prior, Proposals, Variants, likeliest, load_prior
from maestro_env.prior.warning import gap_warning, prior_warning, seen_warning

# Samples between two looks at what is best.
_BATCH = 32
# Of the samples after ``refine_after``, the share that the policy proposes.
_PROPOSED = 0.5
_MEMORY = 4
# Of a batch, the share without which it is filled with random samples.
_ENOUGH = 0.25


@dataclass(frozen=True)
class PriorConfig:
    """Parameters of the search from a prior."""

    file: str = setting("", "file of the prior; none for the one of the package")
    temperature: float = setting(1.0, "how much proposals differ", least=0.01, most=10)
    refine_after: int = setting(100, "proposals before variants of the best are tried too", least=1)


class PriorMapper(AskTellMapper[PriorConfig]):
    """Tries what a trained policy proposes, then variants of the best too."""

    DEFAULT = PriorConfig()

    def learnt(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        return seen_warning(load_prior(self.config.file).file, _two_levels(goals))

    def warning(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        return _warning(load_prior(self.config.file), goals)

    def require_fit(self, problem: AnyProblem, objective: Objective) -> None:
        require(problem, "levels", "a prior")

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        problem = require(evaluator.problem, "levels", "a prior")
        prior = load_prior(self.config.file)
        self._proposals = Proposals(prior, problem, evaluator.objective)
        self._masks, self._variants = Masks(problem), Variants(problem.space)
        super().search(evaluator, budget, rng)

    def start(self, space: Space, rng: np.random.Generator) -> None:
        super().start(space, rng)
        self._best = Elites(_MEMORY, len(space.sizes))
        self._proposed = 0

    def ask(self, n: int) -> Points:
        config, left = self.config, self.config.refine_after - self._proposed
        n = min(n, left if left > 0 else _BATCH)
        wanted = n if left > 0 else max(1, int(n * _PROPOSED))
        proposed = self._proposals.draw(wanted, self._rng, config.temperature)
        self._proposed += wanted
        points = np.concatenate([proposed, self._refined(n - len(proposed))])
        if len(points) >= n * _ENOUGH:
            return points
        return np.concatenate([points, self._random(n - len(points))])

    def _refined(self, n: int) -> Points:
        """Return at most ``n`` new variants of the best that fit the buffers."""
        best = self._best.actions
        if not n or not len(best):
            return np.empty((0, len(self._space.sizes)), dtype=np.int32)
        drawn = self._variants.draw(best, 2 * n, self._rng)
        return self._proposals.new(drawn[self._masks.allow(drawn)], n)

    def _random(self, n: int) -> Points:
        """Draw ``n`` vectors, known or not, where hardly anything near is new."""
        try:
            return self._masks.sample(n, self._rng)
        except MapSpaceError:  # No mapping fits.
            return log_uniform(self._space, n, self._rng)

    def tell(self, points: Points, values: Floats) -> None:
        self._proposals.new(points)
        self._best.add(points.astype(np.int64), values)


class PriorOpening:
    """Proposals of the shipped prior, which a search begins with (``mappers.base.Opening``)."""

    def points(self, problem: AnyProblem, objective: Objective) -> Points:
        return likeliest(require(problem, "levels", "start=prior"), objective)

    def learnt(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        return seen_warning(load_prior().file, _two_levels(goals))

    def warning(self, goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
        return _warning(load_prior(), goals)


def _two_levels(
    goals: Iterable[tuple[AnyProblem, Objective]],
) -> list[tuple[Problem, Objective]]:
    return [(require(problem, "levels", "a prior"), goal) for problem, goal in goals]


def _warning(prior: Prior, all_goals: Iterable[tuple[AnyProblem, Objective]]) -> str | None:
    goals = _two_levels(all_goals)
    return (
        "; ".join(filter(None, (prior_warning(prior.file, goals), gap_warning(prior, goals))))
        or None
    )
