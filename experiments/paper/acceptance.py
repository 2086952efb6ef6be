"""What MARL must reach on the reporting cells, a line each: pure functions of the arenas."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from experiments.paper.arena import Arena
from experiments.paper.counts import (
    MARL,
    NEAR_PERCENT,
    PAPERS,
    Count,
    Effort,
    Gap,
    gaps,
    leads,
    median_samples,
    soonest,
)
from experiments.paper.fewer_line import fewer_line
from experiments.paper.line import Line, cells_told, not_yet
from experiments.paper.ratios import Ratio, cost_ratio, expected_samples
from experiments.paper.tuned import twin

# Of the reporting cells; with fewer of them, the same share.
_CELLS, _LEADS, _SOONEST = 32, 26, 20
_CLOSE_PERCENT = 0.5
_EDGE = "edge"


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
    others = [mapper for mapper in mappers if not _is_form(mapper)]
    yield _gap_line(arenas, mappers, others, end, cells)
    yield _other_gap_line(arenas, others, end, cells)
    yield _soonest_line(arenas, expected_samples, _EXPECTED, cells)
    yield _soonest_line(arenas, median_samples, _MEDIAN, cells)
    yield fewer_line(arenas, MARL, "ppo", cells, required=True)
    for hardware, some in cells_of.items():
        there = [arena for arena in arenas if arena.hardware == hardware]
        yield fewer_line(there, MARL, "ppo", some, hardware, required=False)
    yield fewer_line(arenas, MARL, "ppo_box", cells, required=False)


def _is_form(mapper: str) -> bool:
    """Say whether a mapper is a form of MARL."""
    return mapper.startswith(MARL)


_EXPECTED = (
    "samples for each search that gets",
    "measure: expected samples, those of all searches for each one that gets there",
)
_MEDIAN = (
    "samples of the median search",
    "measure: the median over searches, infinite where half of them or more never get there",
)


def _soonest_line(
    arenas: Sequence[Arena], effort: Effort, told: tuple[str, str], cells: int
) -> Line:
    figure, measure = told
    return _count_line(
        f"cells where none of the paper's mappers needs fewer {figure} to within "
        f"{NEAR_PERCENT} % of the best known",
        _share(_SOONEST, cells),
        lambda some, of: soonest(some, effort, of),
        arenas,
        cells,
        measure,
    )


def _count_line(
    what: str,
    needed: int,
    counts: Callable[[Sequence[Arena], int], Count],
    arenas: Sequence[Arena],
    cells: int,
    *notes: str,
) -> Line:
    """Return the line of a count, which also says what it is without twins of tuned layers."""
    count = counts(arenas, cells)
    twins = [arena for arena in arenas if twin(arena.contest.layer)]
    parts = list(notes)
    if twins:
        rest = [arena for arena in arenas if arena not in twins]
        names = ", ".join(dict.fromkeys(arena.contest.layer for arena in twins))
        parts.append(f"without {names}: {counts(rest, cells - len(twins))}")
    return Line(what, f"at least {needed}", str(count), count.reaches(needed), "; ".join(parts))


def _share(of_all: int, cells: int) -> int:
    return -(-of_all * cells // _CELLS)


def _lead_line(arenas: Sequence[Arena], samples: int, cells: int) -> Line:
    return _count_line(
        f"cells where MARL is best of the paper's mappers at {samples:,}, or within the interval "
        "of the best",
        _share(_LEADS, cells),
        lambda some, of: leads(some, PAPERS, samples, of),
        arenas,
        cells,
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
    note = _where_it_is(ratio) + ("" if whole == cells else f"; {not_yet(whole, cells)}")
    holds = figure >= least if whole == cells else None
    return Line(what, threshold, f"{figure:.3f}{interval}", holds, note)


def _where_it_is(ratio: Ratio) -> str:
    """Say over which cells a ratio at one number of samples is."""
    without, alone = int(ratio.without[0]), int(ratio.alone[0])
    parts = [cells_told(ratio.arenas)]
    if without:
        parts.append(f"not counted: {without} where its interquartile mean is infinite")
    if alone:
        parts.append(f"not counted: {alone} where MARL's is infinite")
    return "; ".join(parts)


def _gap_line(
    arenas: Sequence[Arena], mappers: Sequence[str], others: Sequence[str], samples: int, cells: int
) -> Line:
    missing = _missing(gaps(arenas, mappers))
    told = [_whose(missing), _worst(gaps(arenas, others))] if missing else []
    notes = [*told, *map(_shown_gap, missing)]
    line = _near_line(arenas, mappers, "best mapper", samples, cells, *notes)
    return replace(line, threshold=f"all {cells}")


def _other_gap_line(
    arenas: Sequence[Arena], others: Sequence[str], samples: int, cells: int
) -> Line:
    notes = map(_shown_gap, _missing(gaps(arenas, others)))
    line = _near_line(arenas, others, "best other learner", samples, cells, *notes)
    return replace(line, threshold="", holds=None)


def _near_line(
    arenas: Sequence[Arena],
    mappers: Sequence[str],
    whom: str,
    samples: int,
    cells: int,
    *notes: str,
) -> Line:
    def near(some: Sequence[Arena], of: int) -> Count:
        found = gaps(some, mappers)
        return Count(len(found) - len(_missing(found)), len(found), of)

    what = f"cells where MARL ends within {_CLOSE_PERCENT} % of the {whom} at {samples:,}"
    return _count_line(what, cells, near, arenas, cells, *notes)


def _missing(found: Sequence[Gap]) -> list[Gap]:
    """Return the gaps that are too large, the largest first."""
    return sorted(
        (gap for gap in found if gap.percent > _CLOSE_PERCENT), key=lambda gap: -gap.percent
    )


def _shown_gap(gap: Gap) -> str:
    return f"{gap.cell}: {gap.percent:.2f} % behind {gap.best}"


def _whose(missing: Sequence[Gap]) -> str:
    """Say how many of the gaps that are too large are behind forms of MARL."""
    own = sum(_is_form(gap.best) for gap in missing)
    share = "all" if own == len(missing) else f"{own} of {len(missing)}"
    return f"behind MARL's own variants: {share}"


def _worst(found: Sequence[Gap]) -> str:
    """Say how far MARL ends behind other learners at most."""
    worst = max(found, key=lambda gap: gap.percent, default=None)
    if worst is None or not worst.percent:
        return "nowhere is MARL behind any other learner"
    where = f"{worst.best} on {worst.cell}"
    return f"the largest gap to any other learner is {worst.percent:.2f} % ({where})"
