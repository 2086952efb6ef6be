"""Figures of a comparison: how mappers stand on every problem, and over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.cells import Finished
from experiments.goals import Goal
from experiments.stats import (
    Floats,
    bootstrap_interval,
    geometric_mean,
    iqm,
    performance_profile,
    probability_of_improvement,
    stratified_interval,
)

Checkpoints = NDArray[np.int64]

WITHIN = 1.05
"""A search has arrived once it is within this multiple of the best known."""

_CHECKPOINTS = (1_000, 2_000, 5_000, 10_000, 20_000)


def checkpoints(samples: int) -> Checkpoints:
    """Return the numbers of evaluations tables have columns for; the last one is all of them."""
    return np.array([*(each for each in _CHECKPOINTS if each < samples), samples])


@dataclass(frozen=True, eq=False)
class Contest:
    """What the mappers found for one goal.

    Args:
        layer: as it was called.
        objective: name of what is minimised.
        goal: they stand for.
        searches: finished ones of every mapper, which may lack some or all.
    """

    layer: str
    objective: str
    goal: Goal
    searches: Mapping[str, Sequence[Finished]]

    @property
    def best_known(self) -> float:
        """The least value of all searches; infinite if there is none."""
        return min(
            (each.values[-1] for found in self.searches.values() for each in found if len(each.at)),
            default=np.inf,
        )

    def bests(self, mapper: str, at: Checkpoints) -> Floats:
        """Return a mapper's best so far, float64[S, C], at C numbers of evaluations."""
        curves = [search.best_after(at) for search in self.searches[mapper]]
        return np.array(curves).reshape(-1, len(at))

    def ratios(self, mapper: str, at: Checkpoints) -> Floats:
        """Return the same in multiples of the best known, float64[S, C]."""
        return ratio(self.bests(mapper, at), self.best_known)


@dataclass(frozen=True, eq=False)
class Standing:
    """A mapper in a contest, at each of C checkpoints.

    Args:
        seeds: searches it finished.
        valid: int64[C], of these, with a valid mapping.
        best: float64[C], interquartile mean of the best over seeds; infinite if too few are valid.
        interval: of it, float64[C] each; None with less than two seeds.
        to_best_mapper: float64[C], ratio of ``best`` to the least of all mappers.
        times_bound: float64[C], ratio of ``best`` to the lower bound; None without bound.
        improvement: float64[C], chance that one of its searches is better than one of another
            mapper, mean over the others; None if there are none.
        samples_to: float64[S], evaluations until within ``WITHIN`` of the best known; infinite for
            never.
    """

    seeds: int
    valid: NDArray[np.int64]
    best: Floats
    interval: tuple[Floats, Floats] | None
    to_best_mapper: Floats
    times_bound: Floats | None
    improvement: Floats | None
    samples_to: Floats


@dataclass(frozen=True, eq=False)
class Overall:
    """A mapper over all contests.

    Args:
        ratio: float64[C], geometric mean over contests of the interquartile mean of the ratio to
            the best known.
        ratio_interval: of it, float64[C] each; None with less than two seeds.
        improvement: chance that one of its searches ends better than one of another mapper, mean
            over contests and the others; None if there are none.
        improvement_interval: of it; None with less than two seeds.
    """

    ratio: Floats
    ratio_interval: tuple[Floats, Floats] | None
    improvement: float | None
    improvement_interval: tuple[float, float] | None


def ratio(values: Floats, base: float | Floats) -> Floats:
    """Return values as multiples of a base no greater than them; infinite stays infinite."""
    multiples: Floats = np.full(np.shape(values), np.inf)
    return np.divide(values, base, out=multiples, where=np.isfinite(values))


def standings(contest: Contest, at: Checkpoints) -> dict[str, Standing]:
    """Return how every mapper that finished a search stands in a contest."""
    bests = {
        mapper: contest.bests(mapper, at) for mapper, found in contest.searches.items() if found
    }
    leader = np.min([iqm(each) for each in bests.values()], axis=0) if bests else np.inf
    bound = contest.goal.lower_bound
    arrived = WITHIN * contest.best_known
    made = {}
    for mapper, found in bests.items():
        best = iqm(found)
        rivals = [
            probability_of_improvement(found, other)
            for name, other in bests.items()
            if name != mapper
        ]
        made[mapper] = Standing(
            seeds=len(found),
            valid=np.count_nonzero(np.isfinite(found), axis=0),
            best=best,
            interval=bootstrap_interval(found) if len(found) > 1 else None,
            to_best_mapper=ratio(best, leader),
            times_bound=None if bound is None else ratio(best, bound),
            improvement=np.mean(rivals, axis=0) if rivals else None,
            samples_to=np.array([each.samples_to(arrived) for each in contest.searches[mapper]]),
        )
    return made


def overall(contests: Sequence[Contest], at: Checkpoints) -> dict[str, Overall]:
    """Return how every mapper that finished a search in each contest stands over all of them."""
    scores = _scores(contests, at)
    if not scores:
        return {}
    several = all(len(task) > 1 for tasks in scores.values() for task in tasks)
    ends = [task[:, -1] for tasks in scores.values() for task in tasks]
    chances = _improvements(ends, len(contests))
    low, high = (
        stratified_interval(ends, lambda drawn: _improvements(drawn, len(contests)))
        if several
        else (chances, chances)
    )
    return {
        mapper: Overall(
            ratio=geometric_mean(tasks),
            ratio_interval=stratified_interval(tasks, geometric_mean) if several else None,
            improvement=float(chances[index]) if len(scores) > 1 else None,
            improvement_interval=(float(low[index]), float(high[index])) if several else None,
        )
        for index, (mapper, tasks) in enumerate(scores.items())
    }


def duels(contests: Sequence[Contest], samples: int) -> dict[tuple[str, str], float]:
    """Return the chance that one mapper's search ends better than another's, mean over contests."""
    scores = _scores(contests, np.array([samples]))
    return {
        (mapper, other): float(_chance(scores[mapper], scores[other])[0])
        for mapper in scores
        for other in scores
        if other != mapper
    }


def profiles(
    contests: Sequence[Contest], samples: int, limits: Floats
) -> dict[str, tuple[Floats, tuple[Floats, Floats] | None]]:
    """Return every mapper's performance profile, float64[L], and its interval.

    Args:
        contests: all of them.
        samples: of a search.
        limits: float64[L], multiples of the best known.
    """
    made = {}
    for mapper, tasks in _scores(contests, np.array([samples])).items():
        ends = [task[:, 0] for task in tasks]
        several = all(len(task) > 1 for task in ends)
        made[mapper] = (
            performance_profile(ends, limits),
            stratified_interval(ends, lambda drawn: performance_profile(drawn, limits))
            if several
            else None,
        )
    return made


def _scores(contests: Sequence[Contest], at: Checkpoints) -> dict[str, list[Floats]]:
    """Return ratios to the best known, a float64[S, C] a contest, of mappers that are in all."""
    mappers = [name for name in contests[0].searches if all(c.searches[name] for c in contests)]
    return {name: [contest.ratios(name, at) for contest in contests] for name in mappers}


def _improvements(scores: Sequence[Floats], tasks: int) -> Floats:
    """Return every mapper's mean chance against the others.

    Args:
        scores: float64[S, ...] each: all tasks of the first mapper, of the second one, ...
        tasks: how many each mapper has.

    Returns:
        float64[..., M]; NaN if there is one mapper.
    """
    mappers = [scores[start : start + tasks] for start in range(0, len(scores), tasks)]
    means = [
        np.mean([_chance(own, other) for other in mappers if other is not own], axis=0)
        if len(mappers) > 1
        else np.full(own[0].shape[1:], np.nan)
        for own in mappers
    ]
    return np.stack(means, axis=-1)


def _chance(tasks: Sequence[Floats], others: Sequence[Floats]) -> Floats:
    chances = [probability_of_improvement(x, y) for x, y in zip(tasks, others, strict=True)]
    mean: Floats = np.mean(chances, axis=0)
    return mean
