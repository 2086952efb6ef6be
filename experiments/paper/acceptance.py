"""What MARL must reach on the reporting cells, a line each: pure functions of the arenas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from experiments.paper.arena import Arena
from experiments.paper.ratios import (
    Ratio,
    cost_ratio,
    expected_samples,
    found_after,
    samples_to_within,
    times_fewer,
)
from experiments.stats import bootstrap_interval, iqm

MARL = "marl"
PAPERS = ("random", "bo", "ga", "gamma", "ppo")
"""The paper's mappers."""
CONTROLS = ("random_log", "ga_log", "pbil", "marl:agents=1")
"""What tells where a lead of MARL comes from."""

# Of the reporting cells; with fewer of them, the same share.
_CELLS, _LEADS, _SOONEST = 32, 26, 20
_NEAR_PERCENT = 2
_CLOSE_PERCENT = 0.5
_FEWER = 30
_EDGE = "edge"


@dataclass(frozen=True)
class Line:
    """One line.

    Args:
        what: is measured.
        threshold: it must reach; empty if it need not.
        measured: what it is.
        holds: whether it reaches it; None without a threshold, or if missing cells decide.
        note: such as the cells that miss it.
    """

    what: str
    threshold: str
    measured: str
    holds: bool | None
    note: str = ""


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
            own, *rivals = (effort(arena, mapper, _NEAR_PERCENT) for mapper in (MARL, *PAPERS))
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


def acceptance(
    arenas: Sequence[Arena],
    mappers: Sequence[str],
    at: Sequence[int],
    cells_of: Mapping[str, int],
) -> Iterator[Line]:
    """Yield every line.

    Args:
        arenas: reporting cells under ``exact``.
        mappers: of the tables, beside MARL.
        at: five numbers of samples.
        cells_of: how many there should be, by hardware.
    """
    cells = sum(cells_of.values())
    _, early, middle, late, end = at
    for samples in (early, middle, late):
        yield _lead_line(arenas, samples, cells)
    edge = [arena for arena in arenas if arena.hardware == _EDGE]
    yield _ratio_line(arenas, "gamma", early, 1.05, cells)
    yield _ratio_line(arenas, "gamma", late, 1.02, cells)
    yield _ratio_line(edge, "gamma", early, 1.10, cells_of.get(_EDGE, 0), f" under {_EDGE}")
    yield _ratio_line(arenas, "ga", early, 1.10, cells)
    others = [mapper for mapper in mappers if not mapper.startswith(MARL)]
    yield _gap_line(gaps(arenas, mappers), end, cells, "best mapper", required=True)
    yield _gap_line(gaps(arenas, others), end, cells, "best other learner", required=False)
    yield _soonest_line(arenas, expected_samples, "samples for each search that gets", cells, True)
    yield _soonest_line(arenas, median_samples, "samples of the median search", cells, False)
    yield _fewer_line(arenas, "ppo", cells, required=True)
    yield _fewer_line(arenas, "ppo_box", cells, required=False)


def _soonest_line(
    arenas: Sequence[Arena], effort: Effort, figure: str, cells: int, required: bool
) -> Line:
    count, needed = soonest(arenas, effort, cells), _share(_SOONEST, cells)
    return Line(
        f"cells where none of the paper's mappers needs fewer {figure} to within "
        f"{_NEAR_PERCENT} % of the best known",
        f"at least {needed}" if required else "",
        str(count),
        count.reaches(needed) if required else None,
    )


def _share(of_all: int, cells: int) -> int:
    return -(-of_all * cells // _CELLS)


def _lead_line(arenas: Sequence[Arena], samples: int, cells: int) -> Line:
    count, needed = leads(arenas, PAPERS, samples, cells), _share(_LEADS, cells)
    return Line(
        f"cells where MARL is best of the paper's mappers at {samples:,}, or within the interval "
        "of the best",
        f"at least {needed}",
        str(count),
        count.reaches(needed),
    )


def _ratio_line(
    arenas: Sequence[Arena], mapper: str, samples: int, least: float, cells: int, where: str = ""
) -> Line:
    ratio = cost_ratio(arenas, mapper, MARL, np.array([samples]))
    what = f"geometric-mean cost ratio {mapper}/MARL at {samples:,}{where}"
    threshold = f"at least {least:.2f}"
    if np.isnan(ratio.figure[0]):
        return Line(what, threshold, "-", None)
    ends = None if ratio.interval is None else [float(end[0]) for end in ratio.interval]
    interval = "" if ends is None else " [{:.3f}, {:.3f}]".format(*ends)
    figure = float(ratio.figure[0])
    whole = sum(arena.has_all(mapper, MARL) for arena in arenas)
    note = _where_it_is(ratio) + ("" if whole == cells else f"; {_not_yet(whole, cells)}")
    holds = figure >= least if whole == cells else None
    return Line(what, threshold, f"{figure:.3f}{interval}", holds, note)


def _not_yet(whole: int, cells: int) -> str:
    return f"not decided yet ({whole} of {cells} cells)"


def _where_it_is(ratio: Ratio) -> str:
    """Say over which cells a ratio at one number of samples is."""
    without, alone = int(ratio.without[0]), int(ratio.alone[0])
    parts = [f"{ratio.arenas} cells"]
    if without:
        parts.append(f"not counted: {without} where its interquartile mean is infinite")
    if alone:
        parts.append(f"not counted: {alone} where MARL's is infinite")
    return "; ".join(parts)


def _gap_line(found: Sequence[Gap], samples: int, cells: int, whom: str, *, required: bool) -> Line:
    missing = [gap for gap in found if gap.percent > _CLOSE_PERCENT]
    missing.sort(key=lambda gap: -gap.percent)
    count = Count(len(found) - len(missing), len(found), cells)
    return Line(
        f"cells where MARL ends within {_CLOSE_PERCENT} % of the {whom} at {samples:,}",
        f"all {cells}" if required else "",
        str(count),
        count.reaches(cells) if required else None,
        "; ".join(f"{gap.cell}: {gap.percent:.2f} % behind {gap.best}" for gap in missing),
    )


def _fewer_line(arenas: Sequence[Arena], slow: str, cells: int, *, required: bool) -> Line:
    shared = [arena for arena in arenas if arena.has_all(MARL, slow)]
    what = f"times fewer samples than {slow} spends to its median best, median over cells"
    threshold = f"at least {_FEWER}" if required else ""
    found = [(arena, times_fewer(arena, MARL, slow)) for arena in shared]
    counted = [(arena, factor) for arena, factor in found if factor is not None]
    if not counted:
        return Line(what, threshold, "-", None)
    factors = [factor for _, factor in counted]
    stricter = [factor * found_after(arena, slow) / arena.samples for arena, factor in counted]
    missing = cells - len(shared)
    parts = [
        f"{len(counted)} of {cells} cells, {min(factors):.1f} to {max(factors):.1f}",
        f"counted to the sample at which {slow} found its best instead of all it spends: "
        f"{np.median(stricter):.1f}",
    ]
    if len(counted) < len(shared):
        parts.append(
            f"not counted: {len(shared) - len(counted)} cells where {slow}'s median search finds "
            "nothing valid"
        )
    if 0 in factors:
        parts.append(f"0 for {factors.count(0)} cells where MARL's median search never gets there")
    holds = median_reaches(factors, missing, _FEWER)
    if holds is None:
        parts.append(_not_yet(len(shared), cells))
    shown = f"{np.median(factors):.1f}"
    return Line(what, threshold, shown, holds if required else None, "; ".join(parts))


def median_reaches(factors: Sequence[float], missing: int, least: float) -> bool | None:
    """Say whether the median of some factors and missing ones is enough; None if these decide."""
    worst, best = (np.median([*factors, *[each] * missing]) >= least for each in (0.0, np.inf))
    return bool(best) if best == worst else None
