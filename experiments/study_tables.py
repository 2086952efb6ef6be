"""Tables of a study, for people: one a problem, one over all problems, the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from experiments.sheets import Sheet, bracketed, significant
from experiments.standings import (
    WITHIN,
    Checkpoints,
    Contest,
    Standing,
    checkpoints,
    duels,
    overall,
    standings,
)
from experiments.stats import Floats
from experiments.study import Study

_MISSING = "-"
_ARRIVED = f"samples to within {WITHIN - 1:.0%}"
LEGEND = (
    "Tables of problems: best so far after so many samples, interquartile mean over seeds [95 % "
    "bootstrap interval]; vs best mapper: its ratio to the least of all mappers, at the end; times "
    "lower bound: in multiples of what no mapping can beat, at the end; "
    f"{_ARRIVED}: of the best known, which is the least value of all searches in the table, median "
    "over seeds (how many got there); P(improvement): chance that a search ends better than one of "
    "another mapper, mean over the other mappers."
)
"""What the columns of a problem's table mean."""


def sheets(study: Study, contests: Sequence[Contest]) -> Iterator[Sheet]:
    """Yield every table whose figures are the same whenever the comparison is run."""
    at = checkpoints(study.config.samples)
    for contest in contests:
        yield problem_sheet(study, contest)
    yield _overall(study, contests, at)
    if len(study.mappers) > 1:
        yield _duels(study, contests)
    yield ledger_sheet(study, contests)


def markdown(study: Study, made: Sequence[Sheet]) -> str:
    """Return tables as a Markdown file."""
    config = study.config
    guard = "" if config.guard else ", no guard"
    facts = (
        f"Model {config.model}{guard}, hardware {config.hardware}, schema {config.schema}, tiles "
        f"{config.tiles}, energy {config.energy}; {config.samples:,} samples a search, seeds "
        f"{study.seeds[0]} to {study.seeds[-1]}."
    )
    sections = (sheet.markdown() for sheet in made)
    return "\n".join(["# Comparison of mappers\n", facts, "", f"{LEGEND}\n", *sections])


def seconds_sheet(study: Study, contests: Sequence[Contest]) -> Sheet:
    """Return the table of times, which no two runs share."""
    rows = []
    for mapper in study.mappers:
        found = [search for contest in contests for search in contest.searches[mapper]]
        total = sum(search.seconds for search in found)
        model = sum(search.model_seconds for search in found)
        mean = f"{total / len(found):.2f}" if found else _MISSING
        share = f"{model / total:.0%}" if total else _MISSING
        rows.append((mapper, f"{total:,.1f}", mean, share))
    headers = ("seconds", "seconds a search", "in the model")
    return Sheet("Time", "Of all searches of a mapper together.", "mapper", headers, rows)


def problem_sheet(study: Study, contest: Contest) -> Sheet:
    """Return the table of a problem."""
    at = checkpoints(study.config.samples)
    unit = contest.goal.objective.unit
    standing = standings(contest, at)
    scale, prefix = _scale(standing)
    headers = [f"{each:,}" for each in at.tolist()]
    return Sheet(
        f"{contest.layer}, {contest.objective} ({prefix}{unit})",
        "",
        "mapper",
        (*headers, "vs best mapper", "times lower bound", _ARRIVED, "P(improvement)"),
        [
            _problem_row(study, mapper, standing.get(mapper), scale, len(headers))
            for mapper in study.mappers
        ],
    )


def _scale(standing: Mapping[str, Standing]) -> tuple[float, str]:
    """Return the power of 1,000 that figures are shown in, and how it is written."""
    least = min((each.best[-1] for each in standing.values()), default=np.inf)
    if not np.isfinite(least) or least < 1e3:
        return 1.0, ""
    power = int(np.log10(least)) // 3 * 3
    return 10.0**power, f"1e{power} "


def _problem_row(
    study: Study, mapper: str, standing: Standing | None, scale: float, columns: int
) -> list[str]:
    if standing is None:
        return [_label(study, mapper, 0), *[_MISSING] * (columns + 4)]
    bests = [_best(standing, column, scale) for column in range(columns)]
    improvement, bound = standing.improvement, standing.times_bound
    return [
        _label(study, mapper, standing.seeds),
        *bests,
        significant(standing.to_best_mapper[-1]),
        _MISSING if bound is None else significant(bound[-1]),
        _samples_to(standing.samples_to, study.config.samples),
        _MISSING if improvement is None else f"{improvement[-1]:.2f}",
    ]


def _label(study: Study, mapper: str, seeds: int) -> str:
    asked = len(study.seeds)
    return mapper if seeds == asked else f"{mapper} ({seeds} of {asked} seeds)"


def _best(standing: Standing, column: int, scale: float) -> str:
    best, valid = standing.best[column], standing.valid[column]
    if not np.isfinite(best):
        return f"valid in {valid} of {standing.seeds}" if valid else _MISSING
    if standing.interval is None:
        return significant(best / scale)
    low, high = standing.interval
    return bracketed(significant(best / scale), (low[column] / scale, high[column] / scale))


def _samples_to(samples_to: Floats, samples: int) -> str:
    arrived, seeds = np.count_nonzero(np.isfinite(samples_to)), len(samples_to)
    if not arrived:
        return "never"
    # Half of them may be infinite, of which the mean is.
    median = float(np.median(samples_to))
    shown = f"{median:,.0f}" if np.isfinite(median) else f">{samples:,}"
    return shown if arrived == seeds else f"{shown} ({arrived} of {seeds})"


def _overall(study: Study, contests: Sequence[Contest], at: Checkpoints) -> Sheet:
    found = overall(contests, at)
    headers = [f"{each:,}" for each in at.tolist()]
    rows = []
    for mapper in study.mappers:
        entry = found.get(mapper)
        if entry is None:
            rows.append([mapper, *[_MISSING] * (len(headers) + 1)])
            continue
        ratios = []
        for column, figure in enumerate(entry.ratio.tolist()):
            ends = entry.ratio_interval
            interval = None if ends is None else (float(ends[0][column]), float(ends[1][column]))
            shown = significant(figure)
            ratios.append(shown if shown == _MISSING else bracketed(shown, interval))
        rows.append([mapper, *ratios, _chance(entry.improvement, entry.improvement_interval)])
    note = (
        "Best so far in multiples of the best known: interquartile mean over seeds, geometric mean "
        "over problems [95 % bootstrap interval, seeds drawn within each problem]. P(improvement): "
        "chance that a search ends better than one of another mapper, mean over problems and "
        "the other mappers. Of mappers that finished a search on every problem."
    )
    title = f"All {len(contests)} problems" if len(contests) > 1 else "Overall"
    return Sheet(title, note, "mapper", (*headers, "P(improvement)"), rows)


def _chance(figure: float | None, interval: tuple[float, float] | None) -> str:
    if figure is None:
        return _MISSING
    return f"{figure:.2f}" + (f" [{interval[0]:.2f}, {interval[1]:.2f}]" if interval else "")


def _duels(study: Study, contests: Sequence[Contest]) -> Sheet:
    chances = duels(contests, study.config.samples)
    rows = [
        [
            mapper,
            *(
                f"{chances[mapper, other]:.2f}" if (mapper, other) in chances else _MISSING
                for other in study.mappers
            ),
        ]
        for mapper in study.mappers
    ]
    note = (
        "Chance that a search of the row's mapper ends better than one of the column's, mean over "
        "problems."
    )
    return Sheet("Probability of improvement", note, "mapper", study.mappers, rows)


def ledger_sheet(study: Study, contests: Sequence[Contest]) -> Sheet:
    """Return the table of what was spent."""
    rows = [
        [mapper, *(f"{figure:,}" for figure in ledger(contests, mapper).values())]
        for mapper in study.mappers
    ]
    note = (
        "Calls of the cost model: samples of the budget, and warm-up samples beside it. Unique: "
        "different mappings among the samples of a search. Sums over all searches."
    )
    return Sheet("Ledger", note, "mapper", LEDGER, rows)


LEDGER = ("searches", "calls", "samples", "unique", "invalid", "warm-up")
"""Columns of the ledger."""


def ledger(contests: Sequence[Contest], mapper: str) -> dict[str, int]:
    """Return a mapper's entry of the ledger, sums over all its searches."""
    found = [search for contest in contests for search in contest.searches[mapper]]
    samples = sum(search.evaluations for search in found)
    warm_up = sum(search.warm_up for search in found)
    figures = (
        len(found),
        samples + warm_up,
        samples,
        sum(search.unique for search in found),
        sum(search.invalid for search in found),
        warm_up,
    )
    return dict(zip(LEDGER, figures, strict=True))
