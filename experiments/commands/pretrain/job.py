"""Makes labels, trains a prior, or scores methods by the benchmark protocol."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from experiments.commands.pretrain.benchmark import protocol
from experiments.commands.pretrain.benchmark.methods import Method
from experiments.commands.pretrain.benchmark.protocol import Problems, fresh_problems, held_problems
from experiments.commands.pretrain.benchmark.records import Searches
from experiments.commands.pretrain.benchmark.tables import report
from experiments.commands.pretrain.benchmark.unusual import (
    UNUSUAL,
    UNUSUAL_NODES,
    unusual_problems,
)
from experiments.commands.pretrain.flags import Config
from experiments.commands.pretrain.training.labels import labels_digest, read_labels
from experiments.commands.pretrain.training.making import make_labels
from experiments.commands.pretrain.training.problems import shapes_of
from experiments.search.goals import unique
from experiments.shell import cli, files
from experiments.shell.flags import UsageError, refuse_others, to_flags
from experiments.store.directory import Directory
from experiments.store.pool import run_cells
from experiments.store.versions import versions
from maestro_env.base.errors import printable
from maestro_env.workloads.finding import models

_IMITATION = 300
_OF_TRAINING = ("hold", "imitation", "steps", "density", "seed", "labels", "out")
_OF_LABELS = ("make-labels", "labels", "seed", "jobs")
_OF_SCORES = (
    *("evaluate", "networks", "fresh", "unusual", "seeds", "first-seed", "samples"),
    *("labels", "jobs", "out"),
)


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    given = to_flags(config)
    if config.evaluate is not None:
        refuse_others("--evaluate", given, _OF_SCORES)
        return _evaluate(config, config.evaluate)
    if config.make_labels is not None:
        refuse_others("--make-labels", given, _OF_LABELS)
        return _label(config, config.make_labels)
    refuse_others("a training", given, _OF_TRAINING)
    return _train(config)


def _label(config: Config, shards: int) -> int:
    if config.labels is None:
        raise UsageError("--make-labels needs --labels DIRECTORY to write them to")
    return make_labels(Path(config.labels), config.seed, shards, config.jobs)


def _train(config: Config) -> int:
    with cli.importing():
        from experiments.commands.pretrain.training.trainer import Settings, train
    networks = unique(config.hold.split(",")) if config.hold else ()
    held = shapes_of(*networks)
    labels = read_labels(Path(config.labels)) if config.labels else []
    imitation = config.imitation
    if imitation is None:
        imitation = _IMITATION if labels else 0
    if imitation < 0 or (imitation and not labels):
        raise UsageError(
            f"--imitation is {imitation}; allowed: numbers from 0 on, and 0 without --labels"
        )
    digest = labels_digest(labels) if labels else ""
    settings = Settings(
        config.seed, ",".join(networks), imitation, config.steps, digest, config.density
    )
    return train(settings, held, labels, _directory(config, "pretrain"))


def _evaluate(config: Config, texts: str) -> int:
    methods = [Method(text, config.labels) for text in unique(texts.split(","))]
    problems, nodes = _problems(config)
    for warning in _warnings(methods, problems):
        print(f"warning: {warning}", file=sys.stderr)
    here, directory = versions(), _directory(config, "pretrain --evaluate")
    every = [held for each in problems.values() for held in each]
    optima = protocol.known_optima(every, nodes)
    problems = {
        network: [held for held in each if held.key in optima] for network, each in problems.items()
    }
    seeds = range(config.first_seed, config.first_seed + config.seeds)
    works = [
        Searches(
            method,
            network,
            held,
            seed,
            config.samples,
            directory=directory,
            versions=here,
            again="the same command",
        )
        for method, seed, (network, held) in product(methods, seeds, problems.items())
    ]
    for work in works:
        work.read()
    waiting = [work for work in works if not work.path.exists()]
    status = run_cells(waiting, len(works) - len(waiting), config.jobs)
    with cli.undisturbed():
        report(directory, [each.text for each in methods], problems, optima)
        if status == cli.INTERRUPTED:
            told = f"interrupted: to continue, repeat the command with --out {directory}"
            print(printable(told), file=sys.stderr)
    return status


def _problems(config: Config) -> tuple[Problems, int]:
    """Return the problems by network, and the boxes after which their proofs end."""
    given = {
        "--networks": config.networks != "all",
        "--fresh": config.fresh is not None,
        "--unusual": config.unusual,
    }
    if sum(given.values()) > 1:
        flags = " and ".join(flag for flag, here in given.items() if here)
        raise UsageError(f"{flags} are given together; allowed: one of them")
    if config.unusual:
        return {UNUSUAL: unusual_problems()}, UNUSUAL_NODES
    if config.fresh is not None:
        fresh = fresh_problems(config.fresh)
        return {fresh[0].network: fresh}, protocol.FRESH_NODES
    names = models() if config.networks == "all" else unique(config.networks.split(","))
    return {name: held_problems(name) for name in names}, protocol.NODES


def _warnings(methods: Sequence[Method], problems: Problems) -> list[str]:
    """Refuse what cannot be scored, a damaged prior too; return what to know of the others."""
    warnings = []
    for method, (network, each) in product(methods, problems.items()):
        with cli.importing():
            mapper = method.mapper(network, each)
        goals = [(held.goal.problem, held.goal.objective) for held in each]
        for goal in goals:
            mapper.require_fit(*goal)
        if told := mapper.warning(goals):
            warnings.append(f"{method} on {network}: {told}")
    return warnings


def _directory(config: Config, command: str) -> Path:
    if config.out is None:
        directory = files.run_directory(None, "pretrain")
    else:
        directory = Path(config.out)
        files.ensure_directory(directory)
    Directory(directory, command).open({})
    return directory
