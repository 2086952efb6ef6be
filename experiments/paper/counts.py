"""In how many cells MARL leads or is close: pure functions of the arenas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.paper.arena import Arena
from experiments.paper.ratios import samples_to_within
from experiments.stats import bootstrap_interval, iqm

MARL = "marl"
PAPERS = ("random", "bo", "ga", "gamma", "ppo")
"""The paper's mappers."""
CONTROLS = ("random_log", "ga_log", "pbil", "marl:agents=1")
"""What tells where a lead of MARL comes from."""

NEAR_PERCENT = 2
"""Above the best known is near it."""


@dataclass(frozen=True)
class Count:
    """In how many cells something is true.

    Args:
        yes: it is.
        counted: that have what it takes to say.
        cells: all of them.
    """

    yes: int
    counted: int
    cells: int

    def __str__(self) -> str:
        missing = f" ({self.cells - self.counted} missing)" if self.counted < self.cells else ""
        return f"{self.yes} of {self.counted}{missing}"

    def reaches(self, needed: int) -> bool | None:
        """Say whether it is enough; None if the missing ones decide."""
        if self.yes >= needed:
            return True
        return None if self.yes + self.cells - self.counted >= needed else False


def leads(arenas: Sequence[Arena], others: Sequence[str], samples: int, cells: int) -> Count:
    """Count where MARL is best, or within the interval of the best, of it and some others.

    That is where its interquartile mean is at most the upper end of the 95 % bootstrap interval of
    the interquartile mean of the best other. Where that end is infinite, as resamples lose what the
    seeds have found, it bounds nothing, and MARL's must be at most the other's mean itself. MARL
    does not lead where its own mean is infinite.

    Args:
        arenas: that there are; those that lack a search of one of them count as missing.
        others: mappers.
        samples: at which they are compared.
        cells: that there should be.
    """
    judged = [_leads(arena, others, samples) for arena in arenas if arena.has_all(MARL, *others)]
    return Count(sum(judged), len(judged), cells)


def _leads(arena: Arena, others: Sequence[str], samples: int) -> bool:
    at = np.array([samples])
    rivals = [arena.contest.bests(other, at)[:, 0] for other in others]
    best = min(rivals, key=lambda found: float(iqm(found)))
    own = float(iqm(arena.contest.bests(MARL, at)[:, 0]))
    end = float(bootstrap_interval(best)[1])
    return bool(np.isfinite(own)) and own <= (end if np.isfinite(end) else float(iqm(best)))


Effort = Callable[[Arena, str, float], float]
"""Samples a mapper needs in an arena to within some per cent of the best known."""


def median_samples(arena: Arena, mapper: str, percent: float) -> float:
    """Return the median over searches, infinite if half of them or more never arrive."""
    return float(np.median(samples_to_within(arena, mapper, percent)))


def soonest(arenas: Sequence[Arena], effort: Effort, cells: int) -> Count:
    """Count where no other mapper of the paper needs fewer samples to near the best known.

    A cell where MARL's are infinite does not count. One that lacks any search is missing: its best
    known may change.
    """
    judged = []
    for arena in arenas:
        if arena.has(MARL, *PAPERS) and not arena.lacking:
            own, *rivals = (effort(arena, mapper, NEAR_PERCENT) for mapper in (MARL, *PAPERS))
            judged.append(np.isfinite(own) and own <= min(rivals))
    return Count(sum(judged), len(judged), cells)


@dataclass(frozen=True)
class Gap:
    """How far MARL ends behind the best mapper of a cell.

    Args:
        cell: it is.
        best: the mapper with the least interquartile mean, MARL among them.
        percent: that MARL's is above it.
    """

    cell: str
    best: str
    percent: float


def gaps(arenas: Sequence[Arena], mappers: Sequence[str]) -> list[Gap]:
    """Return MARL's gap in each arena that lacks no search of these mappers.

    It is infinite where MARL's interquartile mean is, unless the best one's is too.

    Args:
        arenas: that there are.
        mappers: it is compared with.
    """
    made = []
    for arena in arenas:
        if not arena.has_all(MARL, *mappers):
            continue
        end = np.array([arena.samples])
        ends = {
            mapper: float(iqm(arena.contest.bests(mapper, end)[:, 0]))
            for mapper in (MARL, *mappers)
        }
        best = min(ends, key=ends.__getitem__)
        percent = 100 * (ends[MARL] / ends[best] - 1) if np.isfinite(ends[best]) else 0.0
        made.append(Gap(str(arena), best, percent))
    return made
