"""Makes labels, trains a prior, or scores methods by the benchmark protocol."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from experiments.commands.pretrain.evaluate import Evaluation, Scored, read_evaluations
from experiments.commands.pretrain.flags import Config
from experiments.commands.pretrain.methods import Method
from experiments.commands.pretrain.protocol import (
    FRESH_NODES,
    NODES,
    Held,
    Optimum,
    default_proofs,
    fresh_problems,
    held_problems,
    known_optima,
    zoo_networks,
)
from experiments.commands.pretrain.scores import Scores, scores_of
from experiments.commands.pretrain.shards import make_labels
from experiments.commands.pretrain.tables import pair_sheet, score_sheets, write_problems
from experiments.search.goals import unique
from experiments.shell import cli, files
from experiments.shell.flags import UsageError
from experiments.shown.progress import Bar
from experiments.shown.tables import Sheet
from experiments.store.claims import remove_abandoned
from experiments.store.pool import run_cells
from experiments.store.versions import versions

Problems = Mapping[str, Sequence[Held]]


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    asked = [config.evaluate, config.make_labels, config.hold]
    if sum(each is not None for each in asked) > 1:
        raise UsageError(
            "--evaluate, --make-labels and --hold are given together; allowed: one of them"
        )
    if config.make_labels is not None:
        return _label(config)
    return _train(config) if config.evaluate is None else _evaluate(config)


def _label(config: Config) -> int:
    assert config.make_labels is not None
    if config.labels is None:
        raise UsageError("--make-labels needs --labels DIRECTORY to write them to")
    return make_labels(Path(config.labels), config.seed, config.make_labels, config.jobs)


def _train(config: Config) -> int:
    with cli.importing():
        from experiments.commands.pretrain.shipping import train
    return train(config)


def _evaluate(config: Config) -> int:
    assert config.evaluate is not None
    methods = [Method(text) for text in unique(config.evaluate.split(","))]
    problems = _problems(config)
    warnings = []
    for method, network in product(methods, problems):
        with cli.importing():
            mapper = method.mapper(problems[network], config.labels)
        goals = [(held.goal.problem, held.goal.objective) for held in problems[network]]
        for goal in goals:
            mapper.require_fit(*goal)
        # The first one reads the file of a prior: a damaged one is refused before any search.
        if told := mapper.warning(goals):
            warnings.append(f"{method} on {network}: {told}")
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    here = versions()
    if config.out is None:
        directory = files.run_directory(None, "pretrain")
    else:
        directory = Path(config.out)
        files.ensure_directory(directory)
    remove_abandoned(directory)
    every = [held for each in problems.values() for held in each]
    with Bar("optima", len({held.key for held in every})) as bar:
        nodes = NODES if config.fresh is None else FRESH_NODES
        optima = known_optima(every, default_proofs(), bar.show, nodes)
    # What has no valid mapping has no optimum.
    problems = {
        network: tuple(held for held in each if held.key in optima)
        for network, each in problems.items()
    }
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    works = [
        Scored(method, network, tuple(each), seed, config.samples, directory, config.labels, here)
        for method, seed, (network, each) in product(methods, seeds, problems.items())
    ]
    for work in works:
        work.check()
    waiting = [work for work in works if not work.path.exists()]
    status = run_cells(waiting, len(works) - len(waiting), config.jobs)
    with cli.undisturbed():
        _report(directory, methods, problems, optima)
        if status == cli.INTERRUPTED:
            print(f"interrupted: --out {directory} and the same flags go on", file=sys.stderr)
    return status


def _problems(config: Config) -> Problems:
    if config.fresh is not None:
        held = fresh_problems(config.fresh)
        return {held[0].network: held}
    names = zoo_networks() if config.networks == "all" else unique(config.networks.split(","))
    return {name: held_problems(name) for name in names}


def _report(
    directory: Path, methods: Sequence[Method], problems: Problems, optima: Mapping[str, Optimum]
) -> None:
    """Print and write the tables of all methods that have a record of every network."""
    found = [each for network in problems for each in _read(directory, network, problems)]
    texts = dict.fromkeys([method.text for method in methods])
    texts |= dict.fromkeys(sorted({each.method for each in found}))
    every = [
        scores_of(complete, problems, optima)
        for text in texts
        if (complete := _complete(found, text, set(problems)))
    ]
    if not every:
        return
    sheets = [*score_sheets(every, optima), *_pairs(every, methods)]
    files.write_text(directory / "table.md", "\n".join(sheet.markdown() for sheet in sheets))
    write_problems(directory / "problems.csv", every)
    for sheet in sheets:
        sheet.print()
    print(f"tables: {directory / 'table.md'}, a row for every problem: problems.csv")


def _pairs(every: Sequence[Scores], methods: Sequence[Method]) -> Iterator[Sheet]:
    """Yield the comparison of each method asked for with all others."""
    asked = {method.text for method in methods}
    for scores in every:
        others = [other for other in every if other is not scores]
        if scores.method in asked and others:
            yield pair_sheet(scores, others)


def _read(directory: Path, network: str, problems: Problems) -> list[Evaluation]:
    return read_evaluations(directory, network, problems[network])


def _complete(found: Sequence[Evaluation], text: str, networks: set[str]) -> list[Evaluation]:
    """Return the evaluations of a method from seeds that it has of all networks."""
    of_it = [each for each in found if each.method == text]
    seeds = {
        seed
        for seed in {each.seed for each in of_it}
        if {each.network for each in of_it if each.seed == seed} == networks
    }
    return [each for each in of_it if each.seed in seeds]
