"""Scores entries: every mapping is evaluated again, and compared with the proven optimum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from maestro_env.base.errors import quoted
from maestro_env.experiments.commands.benchmark.entries import Entry, read_entry
from maestro_env.experiments.commands.benchmark.methods import Method
from maestro_env.experiments.commands.benchmark.plots import draw_reached
from maestro_env.experiments.commands.benchmark.records import Evaluation, Searches
from maestro_env.experiments.commands.benchmark.scores import Scores, scores_of
from maestro_env.experiments.commands.benchmark.tables import (
    TABLE,
    OptimaByProblem,
    pairs,
    problem_rows,
    proofs,
    reached_sheet,
    score_sheets,
    standings,
)
from maestro_env.experiments.problems.labels import Problems, known_optima
from maestro_env.experiments.problems.splits import SPLITS, find_problems
from maestro_env.experiments.shell.files import (
    RecordError,
    read_record,
    run_directory,
    write_csv,
    write_text,
)
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.shown.tables import Sheet

KINDS = {"counted": True, "reported: samples are their authors' word": False}
"""Of entries, which stand in tables of their own: whether this side has counted."""


def score(config: Any) -> int:
    """Score entries, write the tables, and return the exit status."""
    entries = [read_entry(Path(text)) for text in dict.fromkeys(config.what)]
    every_problem = find_problems(config.split, config.networks, config.seed)
    for each in entries:
        each.require_fit(config.split, config.seed, every_problem)
    problems, optima = proven(every_problem, config.split)
    found = [each.evaluations(config.split, config.seed, problems) for each in entries]
    names = _names(entries)
    every = {
        entry: scores
        for entry, evaluations in zip(entries, found, strict=True)
        if (scores := scores_of(names[entry], evaluations, problems, optima))
    }
    if not every:
        raise RecordError(f"none of the entries has split {config.split} from any seed in full")
    for entry, evaluations in zip(entries, found, strict=True):
        if entry.counted and config.again:
            _search_again(entry, evaluations, problems, config)
    kinds = {
        kind: of_kind
        for kind, counted in KINDS.items()
        if (of_kind := [each for entry, each in every.items() if entry.counted is counted])
    }
    shown = [
        *(standings(of_kind, kind) for kind, of_kind in kinds.items()),
        _cards(entries, names),
        proofs(problems, optima),
    ]
    more = [sheet for kind, of_kind in kinds.items() for sheet in _more(of_kind, kind, optima)]
    directory = run_directory(config.out, "benchmark-scores")
    write_text(directory / "table.md", "\n".join(sheet.markdown() for sheet in [*shown, *more]))
    write_csv(directory / "problems.csv", TABLE, problem_rows([*every.values()]))
    for sheet in shown:
        sheet.print()
    print_lines(f"all tables: {directory / 'table.md'}, a row for every problem: problems.csv")
    plot(directory / "reached.png", lambda: draw_reached([*every.values()]), config.svg)
    return 0


def show(directory: Path, config: Any, problems: Problems, optima: OptimaByProblem) -> None:
    """Print how far an entry is from the optima, if it has all problems from some seed."""
    entry = read_entry(directory)
    evaluations = entry.evaluations(config.split, config.seed, problems)
    scores = scores_of(entry.card.method, evaluations, problems, optima)
    if scores:
        next(score_sheets([scores], optima)).print()
    print_lines(f"entry: {directory}; to compare it: maestro-env benchmark score {directory}")


def proven(problems: Problems, split: str) -> tuple[Problems, OptimaByProblem]:
    """Return those problems of a split that have optima, and these."""
    every = [held for each in problems.values() for held in each]
    optima = known_optima(every, SPLITS[split].nodes)
    able = {
        network: [held for held in each if held.key in optima] for network, each in problems.items()
    }
    return able, optima


def _more(every: Sequence[Scores], kind: str, optima: OptimaByProblem) -> Iterator[Sheet]:
    """Yield all other tables of one kind of entries."""
    for sheet in (reached_sheet(every), *score_sheets(every, optima), *pairs(every)):
        yield replace(sheet, title=f"{sheet.title} ({kind})")


def _cards(entries: Sequence[Entry], names: dict[Entry, str]) -> Sheet:
    """Return what the cards say."""
    rows = [
        (names[each], each.card.authors, each.card.code, each.card.training, str(each.hidden_runs))
        for each in entries
    ]
    left = ("method", "authors", "code", "learnt from")
    return Sheet("Entries", left, ("hidden runs",), rows)


def _names(entries: Sequence[Entry]) -> dict[Entry, str]:
    """Return what tables call entries: their methods, with directories where these are not one."""
    count = Counter(each.card.method for each in entries)

    def name(entry: Entry) -> str:
        method = entry.card.method
        return method if count[method] == 1 else f"{method} {entry.path}"

    return {each: name(each) for each in entries}


def _search_again(
    entry: Entry, evaluations: Sequence[Evaluation], problems: Problems, config: Any
) -> None:
    """Make some searches of a counted entry again.

    Raises:
        RecordError: one looks at other samples than it says, or finds others.
    """
    every = [(one, held) for one in evaluations for held in problems[one.network]]
    for one, held in Random().sample(every, min(config.again, len(every))):
        told = read_record(one.path, "")
        facts = told["searches"]
        method = Method(entry.card.method, facts["labels"], config.seconds)
        if method.files(one.network) != facts["files"]:
            raise RecordError(f"{one.path} was made with other files than those that are here")
        found = told["problems"][held.key]
        until = found["ended"] if "status" in found else None
        again = Searches(
            *(method, facts["split"], one.network, problems[one.network], one.seed, one.samples),
            directory=entry.path,
        ).search(held, until)
        if again != found:
            raise RecordError(
                f"{one.path}: the search of {held.key} finds something else when it is made "
                f"again; it was made with {quoted(told.get('versions'))}"
            )
        print_lines(f"made again: {one.path}, {held.key}")
