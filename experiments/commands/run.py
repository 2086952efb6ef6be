"""``maestro-env run``: search mappings of one layer; write the best one, traces and a plot."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import Any

import numpy as np

from maestro_env.experiments.search.cells import Finished
from maestro_env.experiments.search.goals import Goal, LayerConfig, write_best
from maestro_env.experiments.search.named_mappers import FIRST_MAPPERS, MAPPERS_HELP
from maestro_env.experiments.search.printed_result import above_optimum, found_line, place, taken_by
from maestro_env.experiments.search.traces import join_traces, trace_path
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import check_same, read_json, safe_name, write_json
from maestro_env.experiments.shell.flags import PROGRAM, option
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.shown.statistics import iqm
from maestro_env.experiments.shown.tables import printable_name
from maestro_env.experiments.study.plots import draw_convergence
from maestro_env.experiments.study.standings import Contest
from maestro_env.experiments.study.study import Study, StudyConfig, conduct, make_study
from maestro_env.experiments.study.tables import print_tables


@dataclass(frozen=True)
class _Searched(LayerConfig):
    """The flags that say what is searched, and by which mappers."""

    mapper: str | None = option(
        None, f"{MAPPERS_HELP} (default: {', '.join(FIRST_MAPPERS)})", value="mappers"
    )


@dataclass(frozen=True)
class Config(StudyConfig, _Searched):
    """Search mappings of one layer; write a run directory with traces, best mapping and plot."""

    seeds: int = option(1, "searches per mapper, one per seed", least=1, most=10_000)
    list_layers: bool = option(
        False, "print the known layers, as the command layers does, and stop"
    )


_SUMMARY = "summary.json"
_FIGURES = (
    *("best", "times_lower_bound", "regret", "samples_to_best", "evaluations", "invalid"),
    *("unique", "warm_up", "seconds", "model_seconds"),
)


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    if config.list_layers:
        return cli.main("layers", [])
    mappers = ("--mapper", config.mapper)
    study = make_study(config, [config.layer.strip()], [config.objective], mappers, single=True)
    ((layer, objective), goal), *_ = study.goals.items()
    if config.resume and config.out and (path := Path(config.out) / _SUMMARY).exists():
        check_same(path, read_json(path), {"problem": {"layer": layer, "objective": objective}})
    stem = f"{safe_name(goal.problem.layer.name)}-{safe_name(objective)}"
    return conduct(study, "run", stem, _report)


def _report(study: Study, directory: Path, contests: Sequence[Contest], interrupted: bool) -> None:
    (contest,) = contests
    searches = [search for found in contest.searches.values() for search in found]
    kept = [trace_path(each.cell.path(directory)) for each in searches if each.trace is not None]
    join_traces(directory / "trace.csv.gz", kept)
    best = _write_best(directory, contest.goal, searches)
    write_json(directory / _SUMMARY, _summary(contest, interrupted))
    print_lines(*([contest.why_none] if best is None else _headline(study, contest, best)), "")
    print_tables(study, contests)
    if len(kept) < len(searches):
        others = len(searches) - len(kept)
        print_lines(f"no trace of {others} searches, which compare ran")
    if best is not None and "explanation" in contest.goal.problem.abilities:
        print_lines(f"why it costs this: {PROGRAM} explain {quote(str(directory))}")
    png, svg = directory / "convergence.png", study.config.svg
    plot(png, lambda: draw_convergence(study, contest), svg, directory)


def _headline(study: Study, contest: Contest, best: Finished) -> Iterator[str]:
    """Yield the lines that say what was found, in which mapping."""
    goal, value = contest.goal, float(best.values[-1])
    above = above_optimum(value, contest.optimum, goal.lower_bound)
    yield found_line(goal.objective, value, above)
    found = f"{best.cell.mapper} at sample {best.at[-1]:,} of {study.config.samples:,}"
    seed = f", seed {best.cell.seed}" if len(study.seeds) > 1 else ""
    line = printable_name(f"{place(contest.layer, goal)}, found by {found}{seed}")
    yield from wrap(line, 80, break_on_hyphens=False, break_long_words=False)
    yield from taken_by(goal.problem, best.best_point or ())


def _write_best(directory: Path, goal: Goal, searches: Sequence[Finished]) -> Finished | None:
    """Write the mapping of the search that found the least value, and return that search.

    It is the first one of equals; None if no search found a valid mapping.
    """
    valid = [each for each in searches if each.best_point is not None]
    best = min(valid, key=lambda each: each.values[-1], default=None)
    if best is None or best.best_point is None:
        return None
    write_best(
        directory,
        goal,
        best.best_point,
        mapper=best.cell.mapper,
        seed=best.cell.seed,
        evaluation=int(best.at[-1]),
        objective=best.best,
    )
    return best


def _summary(contest: Contest, interrupted: bool) -> dict[str, Any]:
    goal, optimum = contest.goal, contest.optimum
    return {
        "problem": {"layer": contest.layer, "objective": contest.objective},
        "objective": contest.objective,
        "unit": goal.objective.unit,
        "lower_bound": goal.lower_bound,
        "optimum": optimum.value if optimum else None,
        "optimum_bound": optimum.bound if optimum else None,
        "interrupted": interrupted,
        "mappers": {
            mapper: _over_seeds([_figures(each, contest) for each in found])
            for mapper, found in contest.searches.items()
            if found
        },
    }


def _figures(search: Finished, contest: Contest) -> dict[str, Any]:
    best, bound, optimum = search.best, contest.goal.lower_bound, contest.optimum
    return {
        "seed": search.cell.seed,
        "evaluations": search.evaluations,
        "invalid": search.invalid,
        "unique": search.unique,
        "warm_up": search.warm_up,
        "best": best,
        "times_lower_bound": best / bound if best and bound else None,
        "regret": float(optimum.regret(best)) if best and optimum else None,
        "samples_to_best": int(search.at[-1]) if best else None,
        "seconds": search.seconds,
        "model_seconds": search.model_seconds,
        "best_point": search.best_point,
    }


def _over_seeds(seeds: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the interquartile mean of every figure, None if it is not finite, and the seeds."""
    return {**{name: _mean(seed[name] for seed in seeds) for name in _FIGURES}, "seeds": seeds}


def _mean(figures: Iterable[float | None]) -> float | None:
    values = [math.inf if each is None else each for each in figures]
    mean = float(iqm(np.array(values, dtype=np.float64)))
    return mean if math.isfinite(mean) else None
