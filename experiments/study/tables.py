"""Tables of a study: one a problem, one over all problems, the ledger, the times.

Those for people are tables; those for programs are CSV files, where no number is an empty cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from maestro_env.experiments.search.goals import schema_note
from maestro_env.experiments.shell.files import write_csv
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.statistics import Floats, log_mean
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.study.standings import (
    WITHIN,
    Checkpoints,
    Contest,
    Standing,
    checkpoints,
    duels,
    overall,
    standings,
)
from maestro_env.experiments.study.study import Study
from maestro_env.optimum.known import KnownOptimum

_MISSING = "-"
_BOUND = "x lower\nbound"
_ARRIVED = f"samples to within {WITHIN - 1:.0%}"
LEGEND = (
    "Tables of problems: best so far after so many samples, interquartile mean over seeds [95 % "
    "bootstrap interval]; vs best mapper: its ratio to the least of all mappers, at the end; times "
    "lower bound: in multiples of what no mapping can beat, at the end; regret: how far above the "
    "optimum, as a share of it, at the end; "
    f"{_ARRIVED}: of the best known, median over seeds (how many got there); best known: the "
    "optimum where it is proven, else the least value found; P(improvement): chance that a search "
    "ends better than one of another mapper, mean over the other mappers."
)
"""What the columns of a problem's table mean."""

_LEDGER = ("searches", "calls", "samples", "unique", "invalid", "warm-up")
_PLACE = ("layer", "objective", "mapper")
_FIGURES = (
    *("best", "low", "high", "to_best_mapper", "times_lower_bound", "regret"),
    "p_improvement",
)
_OPTIMUM = ("optimum", "optimum_bound")
_ARRIVAL = ("median_samples_to_5_percent", "arrived")


def print_tables(study: Study, contests: Sequence[Contest]) -> None:
    """Print a narrow table of every problem and of all, or with ``--verbose`` all there is."""
    if study.config.verbose:
        printed = [*tables(study, contests), seconds_table(study, contests)]
    else:
        printed = [_brief_table(study, contest) for contest in contests]
        if len(contests) > 1:
            printed.append(_overall(study, contests, checkpoints(study.config.samples)[-1:]))
    for table in printed:
        table.print()
        print_lines("")
    if study.config.verbose:
        print_lines(LEGEND, "")


def tables(study: Study, contests: Sequence[Contest]) -> Iterator[Table]:
    """Yield every table whose figures are the same whenever the comparison is run."""
    at = checkpoints(study.config.samples)
    for contest in contests:
        yield problem_table(study, contest)
    yield _overall(study, contests, at)
    if len(study.mappers) > 1:
        yield _duels(study, contests)
    yield ledger_table(study, contests)


def markdown(study: Study, made: Sequence[Table]) -> str:
    """Return tables as a Markdown file."""
    config = study.config
    guard = "" if config.guard else ", no guard"
    schemas = dict.fromkeys(
        goal.problem.schema for goal in study.goals.values() if goal.problem.schema
    )
    schema = f", schema {', '.join(schemas)}" if schemas else ""
    facts = (
        f"Model {config.model}{guard}, hardware {config.hardware}{schema}, "
        f"tiles {config.tiles}, energy {config.energy}; {config.samples:,} samples a search, seeds "
        f"{study.seeds[0]} to {study.seeds[-1]}."
    )
    sections = (table.markdown() for table in made)
    return "\n".join(["# Comparison of mappers\n", facts, "", f"{LEGEND}\n", *sections])


def seconds_table(study: Study, contests: Sequence[Contest]) -> Table:
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
    return Table("Time", ("mapper",), headers, rows, "Of all searches of a mapper together.")


def problem_table(study: Study, contest: Contest) -> Table:
    """Return the table of a problem."""
    at = checkpoints(study.config.samples)
    standing = standings(contest, at)
    scale, prefix = _scale(standing)
    optimum = contest.optimum
    limits = ("times lower bound", "regret")
    headers = (*_headers(at), "vs best mapper", *limits, _ARRIVED, "P(improvement)")
    asked = len(study.seeds)
    rows = []
    for mapper in study.mappers:
        seeds, row = 0, [_MISSING] * len(headers)
        if found := standing.get(mapper):
            row = _problem_row(found, scale, study.config.samples, optimum)
            seeds = found.seeds
        label = mapper if seeds == asked else f"{mapper} ({seeds} of {asked} seeds)"
        rows.append([label, *row])
    title = f"{contest.layer}, {contest.objective} ({prefix}{contest.goal.objective.unit})"
    notes = [schema_note(study.config, [contest.goal])]
    if optimum is not None:
        notes.append(_known(optimum, contest.goal.objective.unit))
    return Table(title, ("mapper",), headers, rows, " ".join(filter(None, notes)))


def _brief_table(study: Study, contest: Contest) -> Table:
    """Return the table of a problem that fits a terminal."""
    at = checkpoints(study.config.samples)
    at = np.unique(at[[0, len(at) // 2, -1]])
    standing = standings(contest, at)
    scale, prefix = _scale(standing)
    optimum, seeds = contest.optimum, len(study.seeds)
    limit = _BOUND if optimum is None else "above\noptimum"
    headers = (*_headers(at), limit, f"samples to\nwithin {WITHIN - 1:.0%}")
    rows = []
    for mapper, found in standing.items():
        bests, last = found.best.figure / scale, [each[-1] / scale for each in found.best]
        above = found.times_bound[-1]
        limited = significant(above) if optimum is None else _regret(found.best.figure[-1], optimum)
        arrived = _samples_to(found.samples_to, study.config.samples)
        row = [*map(significant, bests[:-1]), _figure(*last), limited, arrived]
        rows.append(
            [mapper if found.seeds == seeds else f"{mapper} ({found.seeds} of {seeds} seeds)", *row]
        )
    objective = contest.goal.objective
    title = f"Least {objective.label} ({prefix}{objective.unit}) after so many samples"
    if len(study.goals) > 1:
        title = f"{contest.layer}: {title}"
    notes = [schema_note(study.config, [contest.goal])]
    if seeds > 1:
        notes.append(f"Interquartile means of {seeds} seeds [95 % interval].")
    return Table(title, ("mapper",), headers, rows, " ".join(filter(None, notes)))


def _known(optimum: KnownOptimum, unit: str) -> str:
    """Say what is known of an optimum."""
    value, bound = (significant(each, 7) for each in (optimum.value, optimum.bound))
    if optimum.proven:
        return f"Optimum: {value} {unit} (proven)."
    return f"Optimum: between {bound} and {value} {unit}; regrets are at most those shown."


def _headers(at: Checkpoints) -> list[str]:
    return [f"{each:,}" for each in at.tolist()]


def _scale(standing: Mapping[str, Standing]) -> tuple[float, str]:
    """Return the power of 1,000 that figures are shown in, and how it is written."""
    least = min((each.best.figure[-1] for each in standing.values()), default=np.inf)
    if not np.isfinite(least) or least < 1e3:
        return 1.0, ""
    power = int(np.log10(least)) // 3 * 3
    return 10.0**power, f"1e{power} "


def _problem_row(
    standing: Standing, scale: float, samples: int, optimum: KnownOptimum | None
) -> list[str]:
    columns = zip(standing.valid, *(each / scale for each in standing.best), strict=True)
    bests = [
        f"valid in {valid} of {standing.seeds}"
        if valid and not np.isfinite(best)
        else _figure(best, low, high)
        for valid, best, low, high in columns
    ]
    return [
        *bests,
        significant(standing.to_best_mapper[-1]),
        significant(standing.times_bound[-1]),
        _MISSING if optimum is None else _regret(standing.best.figure[-1], optimum),
        _samples_to(standing.samples_to, samples),
        _chance(standing.improvement[-1]),
    ]


def _regret(best: float, optimum: KnownOptimum) -> str:
    """Return how far a value is above an optimum, at most if that is not proven."""
    if not np.isfinite(best):
        return _MISSING
    return f"{'' if optimum.proven else '<= '}{optimum.regret(best):.2%}"


def _figure(figure: float, low: float, high: float) -> str:
    """Return a figure and its interval, if there are any."""
    shown = significant(figure)
    if np.isnan(low) or not np.isfinite(figure):
        return shown
    return f"{shown} [{significant(low)}, {significant(high)}]"


def _chance(figure: float, low: float = np.nan, high: float = np.nan) -> str:
    if np.isnan(figure):
        return _MISSING
    return f"{figure:.2f}" if np.isnan(low) else f"{figure:.2f} [{low:.2f}, {high:.2f}]"


def _samples_to(samples_to: Floats, samples: int) -> str:
    arrived, seeds = np.count_nonzero(np.isfinite(samples_to)), len(samples_to)
    if not arrived:
        return "never"
    # Half of them may be infinite, of which the mean is.
    median = float(np.median(samples_to))
    shown = f"{median:,.0f}" if np.isfinite(median) else f">{samples:,}"
    return shown if arrived == seeds else f"{shown} ({arrived} of {seeds})"


def _overall(study: Study, contests: Sequence[Contest], at: Checkpoints) -> Table:
    found = overall(contests, at)
    bounded = all(each.optimum is None and each.goal.lower_bound for each in contests)
    headers = (*_headers(at), *([_BOUND] if bounded else []), "P(improvement)")
    rows = []
    for mapper in study.mappers:
        row = [_MISSING] * len(headers)
        if mapper in found:
            ratio, improvement = found[mapper]
            row = [_figure(*each) for each in zip(*ratio, strict=True)]
            if bounded:
                row.append(significant(_times_bound(contests, mapper, at)))
            row.append(_chance(*map(float, improvement)))
        rows.append([mapper, *row])
    note = (
        "Best so far in multiples of the best known: interquartile mean over seeds, geometric mean "
        "over problems [95 % bootstrap interval, seeds drawn within each problem]. P(improvement): "
        "chance that a search ends better than one of another mapper, mean over problems and "
        "the other mappers. Of mappers that finished a search on every problem."
    )
    if bounded:
        note += " x lower bound: in multiples of what no mapping can beat, at the end."
    title = f"All {len(contests)} problems" if len(contests) > 1 else "Overall"
    return Table(title, ("mapper",), headers, rows, note)


def _times_bound(contests: Sequence[Contest], mapper: str, at: Checkpoints) -> float:
    """Return the geometric mean over problems of a mapper's last multiples of the lower bounds."""
    ends = [standings(each, at[-1:])[mapper].times_bound[-1] for each in contests]
    return float(log_mean(np.array(ends)))


def _duels(study: Study, contests: Sequence[Contest]) -> Table:
    chances = duels(contests, study.config.samples)
    rows = [
        [own, *(_chance(chances.get((own, other), np.nan)) for other in study.mappers)]
        for own in study.mappers
    ]
    note = (
        "Chance that a search of the row's mapper ends better than one of the column's, mean over "
        "problems."
    )
    return Table("Probability of improvement", ("mapper",), study.mappers, rows, note)


def ledger_table(study: Study, contests: Sequence[Contest]) -> Table:
    """Return the table of what was spent."""
    rows = [
        [mapper, *(f"{figure:,}" for figure in _ledger(contests, mapper))]
        for mapper in study.mappers
    ]
    note = (
        "Calls of the cost model: samples of the budget, and warm-up samples in addition. Unique: "
        "different mappings among the samples of a search. Sums over all searches."
    )
    return Table("Ledger", ("mapper",), _LEDGER, rows, note)


def _ledger(contests: Sequence[Contest], mapper: str) -> list[int]:
    """Return a mapper's entry of the ledger, sums over all its searches."""
    found = [search for contest in contests for search in contest.searches[mapper]]
    samples = sum(search.evaluations for search in found)
    warm_up = sum(search.warm_up for search in found)
    unique = sum(search.unique for search in found)
    invalid = sum(search.invalid for search in found)
    return [len(found), samples + warm_up, samples, unique, invalid, warm_up]


def write_table(path: Path, study: Study, contests: Sequence[Contest]) -> None:
    """Write one row per layer, objective, mapper and checkpoint."""
    at = checkpoints(study.config.samples)
    rows = (
        (contest.layer, contest.objective, mapper, *row, *known)
        for contest in contests
        for known in [_optimum_cells(contest.optimum)]
        for mapper, standing in standings(contest, at).items()
        for row in _rows(standing, at)
    )
    header = (*_PLACE, "samples", "seeds", "valid", *_FIGURES, *_ARRIVAL, *_OPTIMUM)
    write_csv(path, header, rows)


def _optimum_cells(optimum: KnownOptimum | None) -> tuple[object, ...]:
    return ("", "") if optimum is None else (optimum.value, optimum.bound)


def write_ledger(path: Path, study: Study, contests: Sequence[Contest]) -> None:
    """Write one row per mapper."""
    rows = ((mapper, *_ledger(contests, mapper)) for mapper in study.mappers)
    write_csv(path, ("mapper", *_LEDGER), rows)


def write_seconds(path: Path, contests: Sequence[Contest]) -> None:
    """Write one row per search: what no two runs share."""
    rows = (
        (
            *(contest.layer, contest.objective, mapper, each.cell.seed),
            *(each.seconds, each.model_seconds, each.versions.get("commit")),
        )
        for contest in contests
        for mapper, found in contest.searches.items()
        for each in found
    )
    write_csv(path, (*_PLACE, "seed", "seconds", "model_seconds", "commit"), rows)


def _rows(standing: Standing, at: Checkpoints) -> Iterator[list[object]]:
    ratios = (standing.to_best_mapper, standing.times_bound, standing.regret, standing.improvement)
    arrived = np.count_nonzero(np.isfinite(standing.samples_to))
    median = _cell(float(np.median(standing.samples_to)))
    figures = np.stack([*standing.best, *ratios], axis=1).tolist()
    for samples, valid, row in zip(at, standing.valid, figures, strict=True):
        yield [samples, standing.seeds, valid, *map(_cell, row), median, arrived]


def _cell(figure: float) -> object:
    return figure if np.isfinite(figure) else ""
