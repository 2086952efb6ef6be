"""How far methods are from proven optima: figures over problems, and their intervals.

A problem's figure is the geometric mean over its seeds of value / optimum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
from scipy.stats import rankdata

from maestro_env.experiments.commands.benchmark.records import Evaluation, checkpoints
from maestro_env.experiments.problems.labels import Held, Problems
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shown import statistics as stats
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.mappers.parts.arrays import Booleans
from maestro_env.optimum.known import KnownOptimum

WORST = 1000.0
"""What a search counts as that is farther from the optimum, or has found no valid mapping."""

_WITHIN = np.array([1.05])
_NEAR = 1 + 1e-12

FIGURES: Mapping[str, Callable[[Floats], Floats]] = {
    "IQM": stats.iqm,
    "geometric mean": stats.log_mean,
    "90th percentile": lambda ratios: stats.quantile(ratios, 0.9),
    "within 5 %": lambda ratios: stats.performance_profile([ratios], _WITHIN)[..., 0],
    "largest": lambda ratios: np.max(ratios, axis=0),
}
"""Figures over problems, from float64[P, ...] to float64[...], by name."""


@dataclass(frozen=True, eq=False)
class Scores:
    """How far a method is from the optima.

    Args:
        method: its name.
        seeds: of its searches.
        counts: numbers of samples, C.
        problems: the problems, P.
        searches: float64[S, P, C], value / optimum after so many samples, at most ``WORST``.
        valid: float64[P, C], share of valid ones among the samples spent; NaN if it is not known.
        seconds: that all took; NaN if it is not known.
    """

    method: str
    seeds: int
    counts: tuple[int, ...]
    problems: Sequence[Held]
    searches: Floats
    valid: Floats
    seconds: float

    @property
    def ratios(self) -> Floats:
        """The figure of every problem, float64[P, C]: geometric means over seeds."""
        return stats.log_mean(self.searches)

    def of(self, group: Booleans) -> Scores:
        """Return those of a group of problems, bool[P]."""
        return replace(
            self,
            problems=list(compress(self.problems, group)),
            searches=self.searches[:, group],
            valid=self.valid[group],
        )

    def at(self, count: int) -> Floats:
        """Return the ratios after a number of samples, float64[P]."""
        column: Floats = self.ratios[:, self.counts.index(count)]
        return column


def scores_of(
    method: str,
    evaluations: Iterable[Evaluation],
    problems: Problems,
    optima: Mapping[str, KnownOptimum],
) -> Scores | None:
    """Return the scores of a method, from the seeds that it has of every network, if any.

    Args:
        method: its name.
        evaluations: of it, with as many samples each.
        problems: by held network.
        optima: by the keys of the problems.

    Raises:
        RecordError: seeds of several numbers of samples, or a value below the optimum.
    """
    by_seed: dict[int, dict[str, Evaluation]] = {}
    for each in evaluations:
        by_seed.setdefault(each.seed, {})[each.network] = each
    complete = [found for found in by_seed.values() if found.keys() == problems.keys()]
    if not complete:
        return None
    _check_same_samples([each for found in complete for each in found.values()])
    every = [held for each in problems.values() for held in each]
    values = _joined([[found[name].values for name in problems] for found in complete])
    ratios = values / [[optima[held.key].bound] for held in every]
    for seed, number, count in np.argwhere(ratios * _NEAR < 1):
        held, value = every[number], values[seed, number, count]
        raise RecordError(
            f"{complete[seed][held.network].path}: {held.key} has {value:.6g}, below the optimum "
            f"{optima[held.key].bound:.6g}; another version made one of them: make the entry again"
        )
    return Scores(
        method,
        len(complete),
        checkpoints(next(iter(complete[0].values())).samples),
        every,
        np.clip(ratios, 1, WORST),
        _joined([[found[name].valid for name in problems] for found in complete]).mean(axis=0),
        sum(each.seconds for found in complete for each in found.values()),
    )


def _check_same_samples(evaluations: Sequence[Evaluation]) -> None:
    first, *others = evaluations
    for each in others:
        if each.samples != first.samples:
            raise RecordError(
                f"{each.path} has {each.samples} samples, {first.path} {first.samples}: "
                "give the same --samples, or use another --out"
            )


def _joined(arrays: Sequence[Sequence[Floats]]) -> Floats:
    """Join the problems of all networks, by seed: float64[S, P, C]."""
    return np.array([np.concatenate(of_seed) for of_seed in arrays])


def estimates(ratios: Floats) -> Floats:
    """Return all figures of float64[P, C] ratios, and the ends of their intervals over problems.

    They are float64[F, 3, C].
    """
    return np.array([_estimate(figure, ratios) for figure in FIGURES.values()])


def reached(scores: Scores, limits: Floats) -> Floats:
    """Return the shares of searches within each limit of the optimum, float64[C, L]."""
    return stats.performance_profile([*scores.searches.swapaxes(0, 1)], limits * _NEAR)


def ranks(every: Sequence[Scores], count: int) -> list[tuple[float, float, float]]:
    """Return the mean rank of each method over problems, after a number of samples, and its ends.

    Methods that are equal on a problem share the mean of their ranks.
    """
    places = rankdata([scores.at(count) for scores in every], axis=0)

    def mean(drawn: Floats) -> Floats:
        found: Floats = np.mean(drawn, axis=0)
        return found

    found = [(mean(each), *stats.bootstrap_interval(each, figure=mean)) for each in places]
    return [(float(rank), float(low), float(high)) for rank, low, high in found]


def paired(one: Floats, other: Floats) -> tuple[float, float, float]:
    """Return the geometric mean of one / other over problems, float64[P] each, and its interval."""
    mean, low, high = map(float, _estimate(stats.log_mean, one / other))
    return mean, low, high


def _estimate(figure: Callable[[Floats], Floats], ratios: Floats) -> tuple[Floats, Floats, Floats]:
    return figure(ratios), *stats.bootstrap_interval(ratios, figure=figure)
