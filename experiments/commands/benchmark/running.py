"""Runs a method on the problems of a split, and keeps what it found as an entry."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from maestro_env.experiments.commands.benchmark.entries import (
    COMMAND,
    Card,
    read_entry,
    stream_name,
)
from maestro_env.experiments.commands.benchmark.methods import Method
from maestro_env.experiments.commands.benchmark.records import Searches
from maestro_env.experiments.commands.benchmark.scoring import proven, show
from maestro_env.experiments.problems.labels import Problems
from maestro_env.experiments.problems.splits import SPLITS, find_problems
from maestro_env.experiments.shell import cli, files
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.store.directory import CONFIG, open_directory
from maestro_env.experiments.store.records import refuse_damaged
from maestro_env.experiments.store.running import Running
from maestro_env.experiments.store.versions import made_here


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
    directory = _directory(config.out, card)
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


def _directory(out: str | None, card: Card) -> Path:
    directory = files.run_directory(None, "benchmark") if out is None else Path(out)
    files.ensure_directory(directory)
    open_directory(directory, COMMAND, {"card": card.entry()})
    return directory
