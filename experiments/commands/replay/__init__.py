"""``maestro-env replay``: measure the replay of multi-agent learners.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass

from experiments.commands.replay.sample import SAMPLERS, Sampling, measure
from experiments.commands.replay.train import MOST_ROWS, Trainings, conduct
from experiments.commands.replay.training import LEARNERS, TASKS
from experiments.search.goals import unique
from experiments.shell import cli
from experiments.shell.flags import (
    UsageError,
    jobs_option,
    option,
    out_option,
    resume_option,
    tell_interrupted,
    to_flags,
)
from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import quoted
from maestro_env.base.registry import look_up
from mappers.learners.replay.layouts import DTYPES, LAYOUTS

_MOST_AGENTS = 1000


@dataclass(frozen=True)
class Config:
    """Measure the replay of multi-agent off-policy learners (MADDPG, MASAC)."""

    action: str = option(
        MISSING, "sample: time how batches are read; train: learn with each sampler"
    )
    agents: str = option("3", "numbers of agents, separated by commas")
    capacity: int = option(1_000_000, "joint steps that replay holds", least=2)
    batch: int = option(1024, "rows of a joint sample", least=1, most=MOST_ROWS)
    layouts: str = option(",".join(LAYOUTS), "sample: how replay lies in memory")
    samplers: str = option(
        "uniform,neighbour_literal",
        f"how rows are drawn: some of {', '.join(SAMPLERS)}; train: perhaps with a batch of its "
        "own, as in uniform:192, and not prioritised",
    )
    dtype: str = option("float32", f"how numbers are stored: {' or '.join(DTYPES)}")
    repeats: int = option(
        7, "sample: rounds of each kind; their median is shown", least=1, most=10**6
    )
    memory_gib: float = option(12.0, "sample: most memory of one replay", most=10**6)
    csv: str | None = option(None, "sample: also write the figures to this file", value="file")
    task: str = option("predator-prey", f"train: what is learnt: {' or '.join(TASKS)}")
    learner: str = option("maddpg", f"train: which agents learn: {' or '.join(LEARNERS)}")
    episodes: int = option(60_000, "train: episodes of a training", least=1)
    seeds: int = option(5, "train: trainings with each sampler", least=1, most=10**4)
    out: str | None = out_option()
    resume: bool = resume_option(extended=True)
    jobs: int = jobs_option("trainings")


@dataclass(frozen=True)
class Action:
    """What an action does, and the flags that it takes."""

    run: Callable[[Config], int]
    takes: tuple[str, ...]


def execute(config: Config) -> int:
    """Do what the action says, and return the exit status."""
    action = look_up("action", config.action, ACTIONS)
    taken = [f"--{name}" for name in (*_SHARED, *action.takes)]
    for given in to_flags(config)[1:]:
        if (flag := given.partition("=")[0]) not in taken:
            raise UsageError(f"{flag}: {config.action} takes only {', '.join(taken)}")
    return action.run(config)


def _sample(config: Config) -> int:
    return measure(
        Sampling(
            _numbers(config.agents),
            config.capacity,
            config.batch,
            _names("layout", config.layouts, LAYOUTS),
            _names("sampler", config.samplers, SAMPLERS),
            config.dtype,
            config.repeats,
        ),
        config.memory_gib,
        config.csv,
    )


def _train(config: Config) -> int:
    trainings = Trainings(
        config.task,
        _numbers(config.agents),
        config.learner,
        unique(config.samplers.split(",")),
        config.batch,
        config.episodes,
        config.seeds,
        config.capacity,
        config.dtype,
    )
    status, directory = conduct(trainings, config.out, config.resume, config.jobs)
    if status == cli.INTERRUPTED:
        with cli.undisturbed():
            tell_interrupted("finished", config, "replay", directory)
    return status


_SHARED = ("agents", "capacity", "batch", "samplers", "dtype")
_OF_TRAIN = ("task", "learner", "episodes", "seeds", "out", "resume", "jobs")
ACTIONS: Mapping[str, Action] = {
    "sample": Action(_sample, ("layouts", "repeats", "memory-gib", "csv")),
    "train": Action(_train, _OF_TRAIN),
}


def _numbers(text: str) -> tuple[int, ...]:
    numbers = []
    for each in unique(text.split(",")):
        number = plain_integer(each)
        if number is None or not 1 <= number <= _MOST_AGENTS:
            raise UsageError(
                f"--agents: {quoted(each)}; allowed: integers from 1 to {_MOST_AGENTS}, "
                "separated by commas"
            )
        numbers.append(number)
    return tuple(numbers)


def _names(what: str, text: str, registry: Mapping[str, object]) -> tuple[str, ...]:
    names = unique(text.split(","))
    for name in names:
        look_up(f"{what} of a replay", name, registry)
    return names
