"""``maestro-env sparse``: measure what learners lose and save whose networks are sparse.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass

from maestro_env.experiments.shell.flags import (
    Action,
    act,
    jobs_option,
    numbers,
    option,
    out_option,
    resume_option,
    svg_option,
    unique,
)

_ARMS = (
    "dense,tiny,static,set,rigl,mast,mast-sparsity,mast-rigl,mast-mellowmax,mast-lambda,mast-recent"
)
_ARMS_OF_TRANSFORMER = "dense,static,rigl,mst,early,small"
_BATCH, _BATCH_OF_SPEED = 16, 256
_RATE, _RATE_OF_TRANSFORMER = 0.001, 0.004
_WIDEST, _LEAST_DENSITY = 8192, 0.001


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
    episodes: int = option(10_000, "agents: episodes of a training", least=1)
    copy: int = option(
        50, "agents: updates between two copies of the networks to their targets", least=1
    )
    density: float = option(
        0.046, "agents: share of the weights that sparse arms have", least=_LEAST_DENSITY, most=1
    )
    seeds: int = option(3, "agents, transformer: trainings of each kind", least=1, most=10**4)
    first_seed: int = option(0, "agents, transformer: seed of the first training of each kind")
    steps: int = option(2500, "transformer: steps of a training; early takes fewer", least=1)
    rate: float | None = option(
        None,
        "agents, transformer: the learning rate, or the highest one; the same of all arms "
        f"(default: {_RATE}; transformer: {_RATE_OF_TRANSFORMER})",
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
    svg: bool = svg_option()
    jobs: int = jobs_option("trainings")


def execute(config: Config) -> int:
    """Do what the action says, and return the exit status."""
    return act(config, ACTIONS)


def _agents(config: Config) -> int:
    # They need torch.
    from maestro_env.experiments.papers.sparse.agent_arms import AgentSize, Tuning
    from maestro_env.experiments.papers.sparse.agents import AgentTrainings, conduct

    trainings = AgentTrainings(
        unique(config.tasks.split(",")),
        unique(config.learners.split(",")),
        unique((config.arms or _ARMS).split(",")),
        _seeds(config),
        Tuning(config.episodes, _RATE if config.rate is None else config.rate, config.copy),
        AgentSize(config.width, config.density),
    )
    return conduct(trainings, config)


def _transformer(config: Config) -> int:
    # They need torch.
    from maestro_env.experiments.papers.sparse.corpus import Source
    from maestro_env.experiments.papers.sparse.pretraining import Size
    from maestro_env.experiments.papers.sparse.transformer import Pretrainings, conduct

    trainings = Pretrainings(
        unique((config.arms or _ARMS_OF_TRANSFORMER).split(",")),
        _seeds(config),
        config.steps,
        _RATE_OF_TRANSFORMER if config.rate is None else config.rate,
        Size(config.blocks, config.width, config.batch or _BATCH),
        Source(unique(config.held.split(",")), config.tokens),
    )
    return conduct(trainings, config)


def _speed(config: Config) -> int:
    from maestro_env.experiments.papers.sparse.speed import speed  # It needs torch.

    widths = numbers("--widths", config.widths, 1, _WIDEST)
    densities = numbers("--densities", config.densities, _LEAST_DENSITY, 1)
    return speed(widths, densities, config.batch or _BATCH_OF_SPEED, config.repeats, config.csv)


_OF_TRAININGS = ("arms", "seeds", "first-seed", "rate", "width", "out", "resume", "svg", "jobs")
ACTIONS: Mapping[str, Action] = {
    "agents": Action(_agents, ("tasks", "learners", "episodes", "copy", "density", *_OF_TRAININGS)),
    "transformer": Action(
        _transformer, ("steps", "tokens", "held", "blocks", "batch", *_OF_TRAININGS)
    ),
    "speed": Action(_speed, ("widths", "densities", "batch", "repeats", "csv")),
}


def _seeds(config: Config) -> range:
    return range(config.first_seed, config.first_seed + config.seeds)
