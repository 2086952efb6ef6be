"""How much more others cost than MARL, and how many samples each needs: pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.paper.arena import Arena
from experiments.paper.reach import middle
from experiments.standings import Checkpoints
from experiments.stats import Floats, iqm, stratified_interval


@dataclass(frozen=True, eq=False)
class Ratio:
    """A mapper's cost in multiples of another's, at each of C numbers of samples.

    Args:
        arenas: that both finished a search in.
        figure: float64[C], geometric mean over arenas of the ratio of interquartile means over
            seeds, where both are finite; NaN if they are nowhere.
        interval: of it, float64[C] each; None if a mapper finished one search in an arena, or is
            compared with itself.
        without: int64[C], arenas where the base's interquartile mean is finite and the mapper's is
            infinite: too few of its searches have found something valid.
        alone: int64[C], arenas where it is the other way round.
    """

    arenas: int
    figure: Floats
    interval: tuple[Floats, Floats] | None
    without: NDArray[np.int64]
    alone: NDArray[np.int64]


def cost_ratio(arenas: Sequence[Arena], mapper: str, base: str, at: Checkpoints) -> Ratio:
    """Return what a mapper's best so far costs in multiples of the base's.

    Args:
        arenas: some; those that lack one of both are left out.
        mapper: the numerator.
        base: the denominator.
        at: int64[C], numbers of samples.
    """
    shared = [arena.contest for arena in arenas if arena.has(mapper, base)]
    if not shared:
        none = np.zeros(len(at), dtype=np.int64)
        return Ratio(0, np.full(len(at), np.nan), None, none, none)
    strata = [contest.bests(name, at) for name in (mapper, base) for contest in shared]
    found = np.isfinite([iqm(stratum) for stratum in strata])
    above, below = found[: len(shared)], found[len(shared) :]

    def figure(drawn: Sequence[Floats]) -> Floats:
        return geometric_ratio(drawn[: len(shared)], drawn[len(shared) :], above & below)

    several = mapper != base and all(len(stratum) > 1 for stratum in strata)
    return Ratio(
        len(shared),
        figure(strata),
        stratified_interval(strata, figure) if several else None,
        without=np.count_nonzero(below & ~above, axis=0),
        alone=np.count_nonzero(above & ~below, axis=0),
    )


def geometric_ratio(
    tops: Sequence[Floats], bottoms: Sequence[Floats], counted: NDArray[np.bool_]
) -> Floats:
    """Return the geometric mean over tasks of ratios of interquartile means over seeds.

    Args:
        tops: float64[S, ..., C] each, a task each.
        bottoms: the same tasks in the same order.
        counted: bool[T, C], whether a task counts in a column.

    Returns:
        float64[..., C]; NaN in a column where no task counts.
    """
    tasks = np.count_nonzero(counted, axis=0)
    # A resample may have lost what the seeds have found.
    with np.errstate(invalid="ignore"):
        logs = [
            np.where(counts, _log_ratio(iqm(top), iqm(bottom)), 0.0)
            for top, bottom, counts in zip(tops, bottoms, counted, strict=True)
        ]
        mean: Floats = np.exp(np.sum(logs, axis=0) / np.where(tasks, tasks, np.nan))
    return mean


def _log_ratio(top: Floats, bottom: Floats) -> Floats:
    neither = np.isinf(top) & np.isinf(bottom)
    return np.where(neither, 0.0, np.log(top) - np.log(bottom))


def samples_to(arena: Arena, mapper: str, value: float) -> Floats:
    """Return each search's samples until it is no worse than a value; infinite for never."""
    return np.array([each.samples_to(value) for each in arena.contest.searches[mapper]])


def samples_to_within(arena: Arena, mapper: str, percent: float) -> Floats:
    """Return each search's samples until within some per cent of the best known."""
    return samples_to(arena, mapper, (1 + percent / 100) * arena.contest.best_known)


def expected_samples(arena: Arena, mapper: str, percent: float) -> float:
    """Return what it costs to search until within some per cent of the best known.

    The samples of all searches, of those that arrive until they do, for each one that arrives: the
    expected running time of Hansen et al., *COCO: a platform for comparing continuous optimizers in
    a black-box setting*, 2021. Infinite if none arrives.
    """
    needed = samples_to_within(arena, mapper, percent)
    spent = np.minimum(needed, arena.samples).sum()
    arrived = np.count_nonzero(np.isfinite(needed))
    return float(spent / arrived) if arrived else np.inf


@dataclass(frozen=True)
class Arrival:
    """How soon searches get somewhere.

    Args:
        searches: all of them.
        median: of their samples, never counting as infinite.
        share: of them that arrive.
    """

    searches: int
    median: float
    share: float


def arrival(arenas: Sequence[Arena], mapper: str, percent: float) -> Arrival | None:
    """Return how soon a mapper's searches get near the best known; None if it has none.

    Args:
        arenas: whose searches are taken together.
        mapper: its name.
        percent: above the best known.
    """
    needed = [samples_to_within(arena, mapper, percent) for arena in arenas if arena.has(mapper)]
    if not needed:
        return None
    pooled = np.concatenate(needed)
    return Arrival(len(pooled), float(np.median(pooled)), float(np.mean(np.isfinite(pooled))))


def times_fewer(arena: Arena, mapper: str, slow: str) -> float | None:
    """Return how many times fewer samples a mapper needs to what another has at its end.

    That is the median best of the other's searches at their end, the greater of two in the middle;
    the samples are the median over the mapper's searches, likewise. If that one never arrives, the
    factor is less than the ratio of the budgets, which is 1, and counts as 0.

    Returns:
        None where the other's median search finds nothing valid: there is no target.
    """
    ends = arena.contest.bests(slow, np.array([arena.samples]))[:, 0]
    target = float(middle(ends))
    if np.isinf(target):
        return None
    return arena.samples / float(middle(samples_to(arena, mapper, target)))


def found_after(arena: Arena, mapper: str) -> float:
    """Return after how many samples a mapper's searches found their best, median over seeds.

    One that found nothing valid counts with all its samples.
    """
    lasts = [
        each.at[-1] if len(each.at) else arena.samples for each in arena.contest.searches[mapper]
    ]
    return float(np.median(lasts))


def valid_share(arenas: Sequence[Arena], mapper: str) -> float:
    """Return which share of the samples of a mapper's searches was valid."""
    searches = [each for arena in arenas for each in arena.contest.searches[mapper]]
    spent = sum(each.evaluations for each in searches)
    return 1 - sum(each.invalid for each in searches) / spent
