"""Optuna's tree-structured Parzen estimator (Bergstra et al., 2011)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.mappers.base import AskMapper, setting
from maestro_env.mapspace.space import Parameter, Points, Space, choices_at, share_at

try:
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
    from optuna.samplers import TPESampler
    from optuna.trial import FrozenTrial, Trial
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro_env.mappers.optuna", str(error.name), "optuna") from error


_KEY = "violation"
# As many good samples as Optuna's sampler distinguishes from the others.
_BEST = 25


@dataclass(frozen=True)
class OptunaConfig:
    """Parameters of Optuna's sampler."""

    initial: int = setting(10, "random samples before it learns", least=1, most=100_000)
    candidates: int = setting(24, "draws that a sample is the best of", least=1, most=100_000)
    memory: int = setting(500, "latest samples it learns from, besides the best", least=50)


class OptunaMapper(AskMapper[OptunaConfig]):
    """Draws points that are likely among the best samples and unlikely among the others.

    Of invalid samples those with the least violation count as the best. Sizes are drawn on a
    logarithmic scale. As a draw takes time in proportion to the samples it is learnt from, old ones
    are forgotten.
    """

    DEFAULT = OptunaConfig()

    def start(self, space: Space, rng: np.random.Generator) -> None:
        super().start(space, rng)
        self._distributions = {each.name: _distribution(each) for each in space.parameters}
        self._begin_with([])
        self._trial: Trial | None = None

    def ask(self, n: int) -> Points:
        self._trial = self._study.ask(self._distributions)
        values = self._trial.params
        choices = [
            values[each.name] if each.kind == "parallel" else choices_at(each, values[each.name])
            for each in self._space.parameters
        ]
        return np.array([choices], dtype=np.int32)

    def learn(self, points: Points, evaluator: Evaluator) -> None:
        batch, violations = evaluator.constrain(points)
        # What was not asked for is a start.
        trials = [self._trial] if self._trial else [self._made(point) for point in points]
        for trial, value, violation in zip(trials, batch.values, violations, strict=True):
            trial.set_constraint(_KEY, float(violation))
            # Optuna does not read the value of an invalid sample.
            self._study.tell(trial, float(value) if violation == 0 else 0.0)
        self._forget()

    def _made(self, point: Points) -> Trial:
        """Return the trial of a point that Optuna did not draw."""
        self._study.enqueue_trial(
            {
                each.name: choice if each.kind == "parallel" else share_at(each, choice)
                for each, choice in zip(self._space.parameters, point.tolist(), strict=True)
            }
        )
        return self._study.ask(self._distributions)

    def _forget(self) -> None:
        trials = self._study.get_trials(deepcopy=False)
        if len(trials) >= 2 * self.config.memory + _BEST:
            latest, older = trials[-self.config.memory :], trials[: -self.config.memory]
            older.sort(key=lambda trial: (trial.constraints[_KEY], trial.value))
            self._begin_with([*older[:_BEST], *latest])

    def _begin_with(self, trials: Sequence[FrozenTrial]) -> None:
        """Begin a study that knows only these samples."""
        sampler = TPESampler(
            seed=int(self._rng.integers(2**31)),
            n_startup_trials=self.config.initial,
            n_ei_candidates=self.config.candidates,
            constant_liar=False,
        )
        with _quiet():
            self._study = optuna.create_study(sampler=sampler)
        self._study.add_trials(trials)


def _distribution(parameter: Parameter) -> BaseDistribution:
    """Return the distribution of choices that have no order, and of shares (``choices_at``)."""
    if parameter.kind == "parallel":
        return CategoricalDistribution(range(parameter.choices))
    return FloatDistribution(0, 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Optuna from announcing a study on stderr."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)
