"""Figures of a comparison: how mappers stand on every problem, and over all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maestro_env.experiments.search.cells import Finished
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shown import statistics as stats
from maestro_env.experiments.shown.statistics import Estimate, Floats, estimate, iqm
from maestro_env.optimum.known import KnownOptimum

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
        optimum: what is known of it, if anything is.
    """

    layer: str
    objective: str
    goal: Goal
    searches: Mapping[str, Sequence[Finished]]
    optimum: KnownOptimum | None

    @property
    def best_found(self) -> float:
        """The least value of all searches; infinite if there is none."""
        return min(
            (each.values[-1] for found in self.searches.values() for each in found if len(each.at)),
            default=np.inf,
        )

    @property
    def why_none(self) -> str:
        """That no search found a valid mapping, and why not; empty if one did."""
        if np.isfinite(self.best_found):
            return ""
        why = self.goal.problem.why_nothing_fits()
        return f"no valid mapping was found{': ' if why else ''}{why}"

    @property
    def best_known(self) -> float:
        """The optimum where it is proven; else the least of all searches and of its proof."""
        return min(self.best_found, self.optimum.value) if self.optimum else self.best_found

    def bests(self, mapper: str, at: Checkpoints) -> Floats:
        """Return a mapper's best so far, float64[S, C], at C numbers of evaluations."""
        curves = [search.best_after(at) for search in self.searches[mapper]]
        return np.array(curves).reshape(-1, len(at))

    def bests_within(self, mapper: str, seconds: Floats) -> Floats:
        """Return a mapper's best, float64[S, C], within C numbers of seconds."""
        curves = [search.best_within(seconds) for search in self.searches[mapper]]
        return np.array(curves).reshape(-1, len(seconds))


@dataclass(frozen=True, eq=False)
class Standing:
    """A mapper in a contest, at each of C checkpoints; NaN where there is no figure.

    Args:
        seeds: searches it finished.
        valid: int64[C], of these, with a valid mapping.
        best: float64[C] each, interquartile mean of the best over seeds; infinite if too few are
            valid.
        to_best_mapper: float64[C], ratio of ``best`` to the least of all mappers.
        times_bound: float64[C], ratio of ``best`` to the lower bound, if there is one.
        regret: float64[C], how far ``best`` is above the optimum, as a share of it, if it is known.
        improvement: float64[C], chance that one of its searches is better than one of another
            mapper, mean over the others, if there are any.
        samples_to: float64[S], evaluations until within ``WITHIN`` of the best known; infinite for
            never.
    """

    seeds: int
    valid: NDArray[np.int64]
    best: Estimate
    to_best_mapper: Floats
    times_bound: Floats
    regret: Floats
    improvement: Floats
    samples_to: Floats


def ratio(values: Floats, base: float | Floats) -> Floats:
    """Return values as multiples of a base no greater than them; infinite stays infinite."""
    multiples: Floats = np.full(np.shape(values), np.inf)
    return np.divide(values, base, out=multiples, where=np.isfinite(values))


def standings(contest: Contest, at: Checkpoints) -> dict[str, Standing]:
    """Return how every mapper that finished a search stands in a contest."""
    bests = {
        mapper: contest.bests(mapper, at) for mapper, found in contest.searches.items() if found
    }
    leader = np.min([iqm(each) for each in bests.values()], axis=0, initial=np.inf)
    nothing = np.full(len(at), np.nan)
    bound, optimum = contest.goal.lower_bound, contest.optimum
    arrived = WITHIN * contest.best_known
    made = {}
    for mapper, found in bests.items():
        best = estimate([found], lambda strata: iqm(strata[0]))
        made[mapper] = Standing(
            seeds=len(found),
            valid=np.count_nonzero(np.isfinite(found), axis=0),
            best=best,
            to_best_mapper=ratio(best.figure, leader),
            times_bound=ratio(best.figure, bound) if bound else nothing,
            regret=optimum.regret(best.figure) if optimum else nothing,
            improvement=_mean_chance([found], [[each] for each in bests.values()]),
            samples_to=np.array([each.samples_to(arrived) for each in contest.searches[mapper]]),
        )
    return made


def overall(contests: Sequence[Contest], at: Checkpoints) -> dict[str, tuple[Estimate, Estimate]]:
    """Return how every mapper that finished a search in each contest stands over all of them.

    Returns:
        By mapper: the geometric mean over contests of the interquartile mean of the ratio to the
        best known, float64[C] each; and the chance that one of its searches ends better than one
        of another mapper, mean over contests and the others, NaN if there are none.
    """
    scores = _scores(contests, at)
    if not scores:
        return {}
    ends = [task[:, -1] for tasks in scores.values() for task in tasks]

    def chances(drawn: Sequence[Floats]) -> Floats:
        """Return every mapper's mean chance, float64[..., M], of all tasks of all of them."""
        count = len(contests)
        mappers = [drawn[start : start + count] for start in range(0, len(drawn), count)]
        return np.stack([_mean_chance(own, mappers) for own in mappers], axis=-1)

    improvements = zip(*estimate(ends, chances), strict=True)
    return {
        mapper: (estimate(tasks, stats.geometric_mean), Estimate(*improvement))
        for (mapper, tasks), improvement in zip(scores.items(), improvements, strict=True)
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


def profiles(contests: Sequence[Contest], samples: int, limits: Floats) -> dict[str, Estimate]:
    """Return every mapper's performance profile, float64[L] each.

    The limits, float64[L], are multiples of the best known.
    """

    def share(tasks: Sequence[Floats]) -> Floats:
        return stats.performance_profile(tasks, limits)

    made = {}
    for mapper, tasks in _scores(contests, np.array([samples])).items():
        ends = [task[:, 0] for task in tasks]
        made[mapper] = estimate(ends, share)
    return made


def over_time(contests: Sequence[Contest], seconds: Floats) -> dict[str, Estimate]:
    """Return how near every mapper comes to the best known within C numbers of seconds.

    Returns:
        By mapper that finished a search in each contest, in records that tell seconds: the
        geometric mean over contests of the interquartile mean of the ratio, float64[C] each.
    """
    found = {}
    for mapper in _scores(contests, np.array([1])):
        searches = [search for contest in contests for search in contest.searches[mapper]]
        if any(np.isnan(search.after).any() for search in searches):
            continue
        ratios = [ratio(each.bests_within(mapper, seconds), each.best_known) for each in contests]
        found[mapper] = estimate(ratios, stats.geometric_mean)
    return found


def _scores(contests: Sequence[Contest], at: Checkpoints) -> dict[str, list[Floats]]:
    """Return ratios to the best known, a float64[S, C] a contest, of mappers that are in all."""
    mappers = [name for name in contests[0].searches if all(c.searches[name] for c in contests)]
    return {name: [ratio(c.bests(name, at), c.best_known) for c in contests] for name in mappers}


def _mean_chance(own: Sequence[Floats], mappers: Sequence[Sequence[Floats]]) -> Floats:
    """Return a mapper's mean chance against the others of all mappers; NaN if it is alone."""
    chances = [_chance(own, other) for other in mappers if other[0] is not own[0]]
    mean: Floats = np.mean(chances, axis=0) if chances else np.full(own[0].shape[1:], np.nan)
    return mean


def _chance(tasks: Sequence[Floats], others: Sequence[Floats]) -> Floats:
    chances = [stats.probability_of_improvement(x, y) for x, y in zip(tasks, others, strict=True)]
    mean: Floats = np.mean(chances, axis=0)
    return mean
