"""Rows of the result files of Table III."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from experiments.paper.acceptance import acceptance
from experiments.paper.arena import WARMED, Arena
from experiments.paper.counts import CONTROLS, MARL, PAPERS, leads
from experiments.paper.printed import TABLE_3
from experiments.paper.ratios import (
    Ratio,
    arrival,
    cost_ratio,
    expected_samples,
    found_after,
    samples_to_within,
    times_fewer,
)
from experiments.stats import bootstrap_interval, iqm

PERCENTS = (5, 2, 1)
"""Above the best known."""

_SINGLE_AGENTS = ("ppo", "ppo_box")

Row = Sequence[object]
Table = tuple[str, Sequence[str], list[Row]]


def tables(
    arenas: Sequence[Arena],
    mappers: Sequence[str],
    at: Sequence[int],
    cells_of: Mapping[str, int],
) -> Iterator[Table]:
    """Yield name, header and rows of every file.

    Args:
        arenas: that there are.
        mappers: of the tables, MARL among them.
        at: five numbers of samples.
        cells_of: reporting cells that there should be under ``exact``, by hardware.
    """
    shown = (*mappers, WARMED)
    exact = [arena for arena in arenas if arena.model == "exact"]
    yield _cells(arenas, shown, at)
    yield _fewer(exact)
    yield _networks(arenas, mappers)
    yield _ratios(arenas, shown, at)
    yield _arrivals(arenas, shown)
    yield _leads(exact, mappers, at, sum(cells_of.values()))
    header = ("what", "threshold", "measured", "holds", "note")
    rows: list[Row] = [
        (line.what, line.threshold, line.measured, _verdict(line.holds), line.note)
        for line in acceptance(exact, [m for m in mappers if m != MARL], at, cells_of)
    ]
    yield "acceptance.csv", header, rows


def groups(arenas: Sequence[Arena]) -> dict[str, list[Arena]]:
    """Return the arenas that figures are taken over together, by what they have in common."""
    found: dict[str, list[Arena]] = {}
    for arena in arenas:
        found.setdefault(arena.model, []).append(arena)
    for arena in arenas:
        found.setdefault(f"{arena.model}, {arena.hardware}", []).append(arena)
    # A model with one hardware has nothing to sum up.
    return {
        name: group
        for name, group in found.items()
        if "," in name or len({arena.hardware for arena in group}) > 1
    }


def _cells(arenas: Sequence[Arena], mappers: Sequence[str], at: Sequence[int]) -> Table:
    columns = [f"{figure}_{each}" for each in at for figure in ("iqm", "low", "high")]
    within = [f"{figure}_{each}" for each in PERCENTS for figure in _ARRIVALS]
    header = ("model", "hardware", "layer", "objective", "mapper", "seeds", "best_known")
    rows: list[Row] = []
    for arena, mapper in product(arenas, mappers):
        if not arena.has(mapper):
            continue
        contest = arena.contest
        found = contest.bests(mapper, np.array(at))
        figures = np.stack([iqm(found), *bootstrap_interval(found)], axis=1)
        rows.append(
            [
                *_keys(arena),
                mapper,
                len(found),
                _number(contest.best_known),
                *(_number(each) for each in figures.ravel().tolist()),
                *(each for percent in PERCENTS for each in _arrivals_at(arena, mapper, percent)),
            ]
        )
    return "cells.csv", (*header, *columns, *within), rows


_ARRIVALS = ("median_to", "arrived_at", "expected_to")


def _arrivals_at(arena: Arena, mapper: str, percent: float) -> Iterator[str]:
    """Yield the columns of getting near the best known."""
    needed = samples_to_within(arena, mapper, percent)
    yield _number(float(np.median(needed)))
    yield str(np.count_nonzero(np.isfinite(needed)))
    yield _number(expected_samples(arena, mapper, percent))


def _fewer(arenas: Sequence[Arena]) -> Table:
    header = ("model", "hardware", "layer", "objective", "single_agent", "times", "found_after")
    rows: list[Row] = [
        (
            *_keys(arena),
            slow,
            "" if times is None else _number(times),
            _number(found_after(arena, slow)),
        )
        for arena, slow in product(arenas, _SINGLE_AGENTS)
        if arena.has(MARL, slow)
        for times in [times_fewer(arena, MARL, slow)]
    ]
    return "fewer.csv", header, rows


def _networks(arenas: Sequence[Arena], mappers: Sequence[str]) -> Table:
    """Ratios at the end on the paper's networks: of each layer, and their geometric mean."""
    header = ("model", "network", "objective", "mapper", "layer", *_RATIO, "printed", "recomputed")
    rows: list[Row] = []
    paper = [arena for arena in arenas if arena.hardware == "paper"]
    models = dict.fromkeys(arena.model for arena in paper)
    for model, ((network, objective), printed) in product(models, TABLE_3.items()):
        group = [
            arena
            for arena in paper
            if arena.model == model
            and arena.contest.layer.startswith(f"{network}_")
            and arena.contest.objective == objective
        ]
        for mapper in mappers:
            if mapper == MARL or not group:
                continue
            beside: tuple[object, ...] = ("", "")
            if mapper in printed.ratios:
                beside = (printed.ratios[mapper], _number(printed.recomputed(mapper)))
            for layer, part in {"": group, **{a.contest.layer: [a] for a in group}}.items():
                ratio = cost_ratio(part, mapper, MARL, np.array([part[0].samples]))
                rows.append((model, network, objective, mapper, layer, *_ratio(ratio, 0), *beside))
    return "networks.csv", header, rows


def _ratios(arenas: Sequence[Arena], mappers: Sequence[str], at: Sequence[int]) -> Table:
    rows: list[Row] = []
    for (name, group), mapper in product(groups(arenas).items(), mappers):
        ratio = cost_ratio(group, mapper, MARL, np.array(at))
        rows += [
            (name, len(group), mapper, samples, *_ratio(ratio, index))
            for index, samples in enumerate(at)
        ]
    return "ratios.csv", ("group", "cells", "mapper", "samples", *_RATIO), rows


def _arrivals(arenas: Sequence[Arena], mappers: Sequence[str]) -> Table:
    header = ("group", "mapper", "percent", "searches", "median", "share")
    rows: list[Row] = []
    for (name, group), mapper, percent in product(groups(arenas).items(), mappers, PERCENTS):
        found = arrival(group, mapper, percent)
        if found is not None:
            figures = (found.searches, _number(found.median), _number(found.share))
            rows.append((name, mapper, percent, *figures))
    return "arrivals.csv", header, rows


def _leads(arenas: Sequence[Arena], mappers: Sequence[str], at: Sequence[int], cells: int) -> Table:
    against = {
        "the paper's": PAPERS,
        "the controls": CONTROLS,
        **{mapper: (mapper,) for mapper in mappers if mapper != MARL},
    }
    rows: list[Row] = []
    for (name, others), samples in product(against.items(), at):
        count = leads(arenas, others, samples, cells)
        rows.append((name, samples, count.yes, count.counted, count.cells))
    return "leads.csv", ("against", "samples", "yes", "counted", "cells"), rows


_RATIO = ("of", "ratio", "low", "high", "without", "alone")


def _ratio(ratio: Ratio, index: int) -> tuple[object, ...]:
    """Return the columns of a ratio at one number of samples."""
    ends = ratio.interval
    interval = ("", "") if ends is None else tuple(_number(float(end[index])) for end in ends)
    figure = _number(float(ratio.figure[index]))
    return (ratio.arenas, figure, *interval, ratio.without[index], ratio.alone[index])


def _keys(arena: Arena) -> tuple[str, ...]:
    return (arena.model, arena.hardware, arena.contest.layer, arena.contest.objective)


def _number(figure: float) -> str:
    """Return six digits of a figure; ``inf`` is one, not a number is an empty cell."""
    return "" if np.isnan(figure) else f"{figure:.6g}"


def _verdict(holds: bool | None) -> str:
    return "" if holds is None else "yes" if holds else "no"
