"""Runs a method on the problems of a split and keeps an entry; scores entries again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

from maestro_env.base.errors import quoted
from maestro_env.experiments.commands.benchmark.entries import (
    COMMAND,
    KINDS,
    Card,
    Entry,
    read_entry,
    stream_name,
)
from maestro_env.experiments.commands.benchmark.methods import Evaluation, Method, Searches
from maestro_env.experiments.commands.benchmark.scores import (
    TABLE,
    OptimaByProblem,
    Scores,
    draw_reached,
    pairs,
    problem_rows,
    proofs,
    reached_table,
    score_tables,
    scores_of,
    standings,
)
from maestro_env.experiments.problems.labels import Problems, known_optima
from maestro_env.experiments.problems.splits import SPLITS, find_problems
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import (
    RecordError,
    any_directory,
    read_record,
    run_directory,
    write_csv,
    write_text,
)
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.plots import plot
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.claims import CONFIG, open_directory
from maestro_env.experiments.store.records import made_here, refuse_damaged
from maestro_env.experiments.store.running import Running


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
        for kind in KINDS
        if (of_kind := [each for entry, each in every.items() if entry.kind == kind])
    }
    shown = [
        *(standings(of_kind, kind) for kind, of_kind in kinds.items()),
        _cards(entries, names, every),
        proofs(problems, optima),
    ]
    more = [table for kind, of_kind in kinds.items() for table in _more(of_kind, kind, optima)]
    directory = run_directory(config.out, "benchmark-scores")
    write_text(directory / "table.md", "\n".join(table.markdown() for table in [*shown, *more]))
    write_csv(directory / "problems.csv", TABLE, problem_rows([*every.values()]))
    for table in shown:
        table.print()
    print_lines(f"all tables: {directory / 'table.md'}, a row for every problem: problems.csv")
    plot(directory / "reached.png", lambda: draw_reached([*every.values()]), config.svg)
    return 0


def show(directory: Path, config: Any, problems: Problems, optima: OptimaByProblem) -> None:
    """Print how far an entry is from the optima, if it has all problems from some seed."""
    entry = read_entry(directory)
    evaluations = entry.evaluations(config.split, config.seed, problems)
    scores = scores_of(entry.card.method, evaluations, problems, optima)
    if scores:
        next(score_tables([scores], optima)).print()
    print_lines(f"entry: {directory}; to compare it: maestro-env benchmark score {directory}")


def proven(problems: Problems, split: str) -> tuple[Problems, OptimaByProblem]:
    """Return those problems of a split that have optima, and these."""
    every = [held for each in problems.values() for held in each]
    optima = known_optima(every, SPLITS[split].nodes)
    able = {
        network: [held for held in each if held.key in optima] for network, each in problems.items()
    }
    return able, optima


def _more(every: Sequence[Scores], kind: str, optima: OptimaByProblem) -> Iterator[Table]:
    """Yield all other tables of one kind of entries."""
    for table in (reached_table(every), *score_tables(every, optima), *pairs(every)):
        yield replace(table, title=f"{table.title} ({kind})")


def _cards(
    entries: Sequence[Entry], names: dict[Entry, str], every: Mapping[Entry, Scores]
) -> Table:
    """Return what the cards say, and which entries have no scores."""
    rows = [
        (
            names[each],
            each.kind.partition(":")[0],
            each.card.authors,
            each.card.code,
            each.card.training,
            str(each.hidden_runs),
        )
        for each in entries
    ]
    left = ("method", "kind", "authors", "code", "learnt from")
    without = ", ".join(names[each] for each in entries if each not in every)
    note = (
        f"not scored: {without}; in every seed searches are missing or failed, and what made the "
        "entry makes them or says why not"
    )
    return Table("Entries", left, ("hidden runs",), rows, note if without else "")


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


def run(config: Any) -> int:
    """Search what the entry lacks, show how it stands, and return the exit status."""
    text = _one(config, "METHOD")
    method = Method(text, config.labels, config.seconds)
    every = find_problems(config.split, config.networks, config.seed)
    split = SPLITS[config.split]
    samples, seeds = config.samples or split.samples, config.seeds or split.seeds
    card = _card(config, method)
    for told in _refuse_or_warn(method, every, split.held, card.training):
        print_errors(f"warning: {told}")
    card.require_fit(config.split, every)
    directory = any_directory(config.out, "benchmark")
    open_directory(directory, COMMAND, {"card": card.entry()})
    problems, optima = proven(every, config.split)
    way_on = f"to continue, repeat the command with --out {directory}"
    with Running(directory, made_here(), config.jobs, way_on=way_on) as running:
        works = [
            Searches(
                *(method, stream_name(config.split, config.seed), network, each, seed, samples),
                directory=directory,
                versions=running.versions,
                again="the same command",
            )
            for seed, (network, each) in product(range(seeds), problems.items())
        ]
        refuse_damaged(works)
        running.run(works)
        show(directory, config, problems, optima)
    return running.status


def list_problems(config: Any) -> int:
    """Print the problems of a split, a line of JSON each, and return the exit status."""
    name = _one(config, "SPLIT")
    for each in find_problems(name, config.networks, config.seed).values():
        for held in each:
            print_lines(json.dumps(held.described()))
    return 0


def _one(config: Any, what: str) -> str:
    if len(config.what) != 1:
        raise UsageError(f"{config.action}: {len(config.what)} arguments; allowed: one {what}")
    (only,) = config.what
    return str(only)


def _refuse_or_warn(method: Method, problems: Problems, held: bool, training: str) -> list[str]:
    """Refuse what cannot be scored, a damaged prior too; return what to know of others."""
    warnings = []
    for network, each in problems.items():
        with cli.importing():
            mapper = method.mapper(network, each)
        goals = [(one.goal.problem, one.goal.objective) for one in each]
        for goal in goals:
            mapper.require_fit(*goal)
        if told := mapper.learnt(goals):
            if held:
                raise UsageError(
                    f"{method} on {network}: {told}; allowed in this split: a method that has "
                    "learnt from none of its layers"
                )
            if training == "none":
                raise UsageError(f"{method}: {told}; --training says so, such as zoo")
        if told := mapper.warning(goals):
            warnings.append(f"{method} on {network}: {told}")
    return warnings


def _card(config: Any, method: Method) -> Card:
    """Return the card that the flags ask for; what they leave open is as the entry has it."""
    asked = {name: getattr(config, name) for name in ("authors", "code", "training")}
    told = {name: value for name, value in asked.items() if value is not None}
    before = read_entry(Path(config.out)).card if _has_entry(config.out) else Card(str(method))
    return replace(before, method=method.text, files=method.digests(), **told)


def _has_entry(out: str | None) -> bool:
    return out is not None and (Path(out) / CONFIG).exists()
