"""``maestro-env sparse``: measure what learners lose and save whose networks are sparse.

An action is a module or folder of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass

from experiments.search.goals import unique
from experiments.shell import cli
from experiments.shell.flags import (
    Action,
    act,
    jobs_option,
    option,
    out_option,
    resume_option,
    tell_interrupted,
)


@dataclass(frozen=True)
class Config:
    """Measure what learners lose and save whose networks are sparse (MST)."""

    action: str = option(
        MISSING, "transformer: train language models of mappings in each way, and compare them"
    )
    arms: str = option(
        "dense,static,rigl,mst,early,small", "ways to train, separated by commas", value="names"
    )
    seeds: int = option(3, "trainings of each kind", least=1, most=10**4)
    first_seed: int = option(0, "seed of the first training of each kind")
    steps: int = option(2500, "steps of a training; early takes fewer", least=1)
    rate: float = option(0.001, "the highest learning rate, the same of all arms", most=1)
    tokens: int = option(5_000_000, "tokens of the corpus", least=1)
    held: str = option(
        "resnet18,bert_base",
        "networks of the zoo that are held out for validation, separated by commas",
        value="networks",
    )
    blocks: int = option(4, "blocks of a transformer", least=1, most=100)
    width: int = option(128, "its width, a multiple of its 4 heads; small has less", least=8)
    batch: int = option(16, "rows of a step", least=1, most=10**4)
    out: str | None = out_option()
    resume: bool = resume_option(extended=True)
    jobs: int = jobs_option("trainings")


def execute(config: Config) -> int:
    """Do what the action says, and return the exit status."""
    return act(config, ACTIONS)


def _transformer(config: Config) -> int:
    # They need torch.
    from experiments.commands.sparse.transformer.pretraining import Size
    from experiments.commands.sparse.transformer.shards import Source
    from experiments.commands.sparse.transformer.trainings import Trainings, conduct

    trainings = Trainings(
        unique(config.arms.split(",")),
        range(config.first_seed, config.first_seed + config.seeds),
        config.steps,
        config.rate,
        Size(config.blocks, config.width, config.batch),
        Source(unique(config.held.split(",")), config.tokens),
    )
    status, directory = conduct(trainings, config.out, config.resume, config.jobs)
    if status == cli.INTERRUPTED:
        with cli.undisturbed():
            tell_interrupted("finished", config, "sparse", directory)
    return status


_OF_TRAININGS = ("seeds", "first-seed", "steps", "out", "resume", "jobs")
_OF_TRANSFORMER = ("arms", "rate", "tokens", "held", "blocks", "width", "batch")
ACTIONS: Mapping[str, Action] = {
    "transformer": Action(_transformer, (*_OF_TRANSFORMER, *_OF_TRAININGS)),
}
