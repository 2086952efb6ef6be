"""``maestro-env sparse``: measure what learners lose and save whose networks are sparse.

An action is a module or folder of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import TypeVar

from experiments.search.goals import unique
from experiments.shell import cli
from experiments.shell.flags import (
    Action,
    UsageError,
    act,
    jobs_option,
    option,
    out_option,
    resume_option,
    tell_interrupted,
)
from maestro_env.base.checks import plain_integer, plain_number
from maestro_env.base.errors import quoted

Number = TypeVar("Number", int, float)

_ARMS = "dense,tiny,static,set,rigl,mast,mast-rigl,mast-mellowmax,mast-lambda,mast-recent"
_ARMS_OF_TRANSFORMER = "dense,static,rigl,mst,early,small"
_RATE, _RATE_OF_TRANSFORMER = 5e-4, 1e-3
_BATCH, _BATCH_OF_SPEED = 16, 256
_WIDEST = 8192


@dataclass(frozen=True)
class Config:
    """Train agents and transformers with sparse networks, and compare them with dense ones."""

    action: str = option(
        MISSING,
        "agents: train teams that learn values in each way, and compare them; transformer: "
        "language models of mappings, likewise; speed: time an update of an agent",
    )
    arms: str | None = option(
        None,
        f"agents, transformer: ways to train, separated by commas (default: {_ARMS}; transformer: "
        f"{_ARMS_OF_TRANSFORMER})",
        value="names",
    )
    tasks: str = option(
        "foraging,mapping", "agents: what is learnt, separated by commas", value="names"
    )
    learners: str = option(
        "qmix", "agents: some of qmix, vdn, iql, separated by commas", value="names"
    )
    episodes: int = option(30_000, "agents: episodes of a training", least=1)
    density: float = option(
        0.046, "agents: share of the weights that sparse arms have", least=0.001, most=1
    )
    seeds: int = option(3, "agents, transformer: trainings of each kind", least=1, most=10**4)
    first_seed: int = option(0, "agents, transformer: seed of the first training of each kind")
    steps: int = option(2500, "transformer: steps of a training; early takes fewer", least=1)
    rate: float | None = option(
        None,
        "agents, transformer: the learning rate, or the highest one; the same of all arms "
        f"(default: {_RATE:g}; transformer: {_RATE_OF_TRANSFORMER:g})",
        most=1,
        kind=float,
    )
    tokens: int = option(5_000_000, "transformer: tokens of the corpus", least=1)
    held: str = option(
        "resnet18,bert_base",
        "transformer: networks of the zoo that are held out for validation, separated by commas",
        value="networks",
    )
    blocks: int = option(4, "transformer: its blocks", least=1, most=100)
    width: int = option(
        128,
        "agents: of the two hidden layers of each, tiny has less; transformer: a multiple of its 4 "
        "heads, small has less",
        least=8,
        most=_WIDEST,
    )
    batch: int | None = option(
        None,
        f"transformer, speed: rows of a step (default: {_BATCH}; speed: {_BATCH_OF_SPEED})",
        least=1,
        most=10**4,
        kind=int,
    )
    widths: str = option(
        "64,256,1024", "speed: of both hidden layers, separated by commas", value="numbers"
    )
    densities: str = option(
        "0.05,0.1", "speed: shares of the weights that exist, separated by commas", value="numbers"
    )
    repeats: int = option(7, "speed: timings; their median is shown", least=1, most=10**6)
    csv: str | None = option(None, "speed: also write the figures to this file", value="file")
    out: str | None = out_option()
    resume: bool = resume_option(extended=True)
    jobs: int = jobs_option("trainings")


def execute(config: Config) -> int:
    """Do what the action says, and return the exit status."""
    return act(config, ACTIONS)


def _agents(config: Config) -> int:
    # They need torch.
    from experiments.commands.sparse.agents.arms import Size
    from experiments.commands.sparse.agents.trainings import Trainings, conduct

    trainings = Trainings(
        unique(config.tasks.split(",")),
        unique(config.learners.split(",")),
        unique((config.arms or _ARMS).split(",")),
        _seeds(config),
        config.episodes,
        _RATE if config.rate is None else config.rate,
        Size(config.width, config.density),
    )
    return _ended(config, *conduct(trainings, config.out, config.resume, config.jobs))


def _transformer(config: Config) -> int:
    # They need torch.
    from experiments.commands.sparse.transformer.pretraining import Size
    from experiments.commands.sparse.transformer.shards import Source
    from experiments.commands.sparse.transformer.trainings import Trainings, conduct

    trainings = Trainings(
        unique((config.arms or _ARMS_OF_TRANSFORMER).split(",")),
        _seeds(config),
        config.steps,
        _RATE_OF_TRANSFORMER if config.rate is None else config.rate,
        Size(config.blocks, config.width, config.batch or _BATCH),
        Source(unique(config.held.split(",")), config.tokens),
    )
    return _ended(config, *conduct(trainings, config.out, config.resume, config.jobs))


def _speed(config: Config) -> int:
    from experiments.commands.sparse.speed import speed  # It needs torch.

    widths = _numbers("--widths", config.widths, _width, f"integers from 1 to {_WIDEST}")
    densities = _numbers("--densities", config.densities, _density, "numbers above 0 to 1")
    return speed(widths, densities, config.batch or _BATCH_OF_SPEED, config.repeats, config.csv)


_OF_TRAININGS = ("arms", "seeds", "first-seed", "rate", "width", "out", "resume", "jobs")
ACTIONS: Mapping[str, Action] = {
    "agents": Action(_agents, ("tasks", "learners", "episodes", "density", *_OF_TRAININGS)),
    "transformer": Action(
        _transformer, ("steps", "tokens", "held", "blocks", "batch", *_OF_TRAININGS)
    ),
    "speed": Action(_speed, ("widths", "densities", "batch", "repeats", "csv")),
}


def _seeds(config: Config) -> range:
    return range(config.first_seed, config.first_seed + config.seeds)


def _ended(config: Config, status: int, directory: Path) -> int:
    """Say how to go on after an interrupt, and return the exit status."""
    if status == cli.INTERRUPTED:
        with cli.undisturbed():
            tell_interrupted("finished", config, "sparse", directory)
    return status


def _numbers(
    flag: str, text: str, read: Callable[[str], Number | None], allowed: str
) -> tuple[Number, ...]:
    numbers = []
    for each in unique(text.split(",")):
        number = read(each)
        if number is None:
            raise UsageError(f"{flag}: {quoted(each)}; allowed: {allowed}, separated by commas")
        numbers.append(number)
    return tuple(numbers)


def _width(text: str) -> int | None:
    number = plain_integer(text)
    return None if number is None or not 1 <= number <= _WIDEST else number


def _density(text: str) -> float | None:
    number = plain_number(text)
    return None if number is None or not 0 < number <= 1 else number
