"""``maestro-env replay``: measure the replay of multi-agent learners, and train them.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass

from maestro_env.base.checks import look_up
from maestro_env.experiments.papers.replay.sample import SAMPLERS, Sampling, measure
from maestro_env.experiments.papers.replay.train import MOST_ROWS, Trainings, conduct
from maestro_env.experiments.papers.replay.training import LEARNERS, TASKS
from maestro_env.experiments.shell.flags import (
    Action,
    UsageError,
    act,
    jobs_option,
    numbers,
    option,
    out_option,
    resume_option,
    unique,
)
from maestro_env.mappers.papers.replay.layouts import DTYPES, LAYOUTS

_MOST_AGENTS = 1000
_SAMPLERS = "uniform,neighbour_literal"


@dataclass(frozen=True)
class Config:
    """Measure the replay of multi-agent off-policy learners (MADDPG, MASAC), and train them."""

    action: str = option(
        MISSING,
        "sample: time how batches are read from replay; profile: time the phases of training; "
        "train: what is learnt with each sampler",
    )
    agents: str | None = option(
        None, "numbers of agents, separated by commas (default: 3,6,12; train: 3)", value="numbers"
    )
    capacity: int = option(
        1_000_000,
        "joint steps of replay; sample and profile begin with a full one",
        least=2,
    )
    batch: int = option(1024, "rows of a joint sample", least=1, most=MOST_ROWS)
    samplers: str | None = option(
        None,
        f"how rows are drawn: some of {', '.join(SAMPLERS)} (default: {_SAMPLERS}; profile: "
        "uniform); train: perhaps with a batch of its own, as in uniform:192",
        value="names",
    )
    dtype: str = option("float32", f"how numbers are stored: {' or '.join(DTYPES)}")
    learner: str = option("maddpg", f"profile, train: who learns: {' or '.join(LEARNERS)}")
    layouts: str | None = option(
        None,
        f"sample, profile: how replay lies in memory: some of {', '.join(LAYOUTS)} (default: each; "
        "profile: list,joint)",
        value="names",
    )
    memory_gib: float = option(12.0, "most memory of one replay, and of networks", most=10**6)
    csv: str | None = option(
        None, "sample, profile: also write the figures to this file", value="file"
    )
    repeats: int = option(
        7, "sample: rounds of each kind; their median is shown", least=1, most=10**6
    )
    rounds: int = option(
        20, "profile: rounds of training; the first is not timed", least=2, most=10**6
    )
    variants: str | None = option(
        None,
        "profile: instead of layouts and samplers: base, replay, task, networks, shared",
        value="names",
    )
    task: str = option("predator-prey", f"train: what is learnt: {' or '.join(TASKS)}")
    episodes: int = option(60_000, "train: episodes of a training", least=1)
    seeds: int = option(5, "train: trainings with each sampler", least=1, most=10**4)
    out: str | None = out_option()
    resume: bool = resume_option(extended=True)
    jobs: int = jobs_option("trainings")


def execute(config: Config) -> int:
    """Do what the action says, and return the exit status."""
    return act(config, ACTIONS)


def _sample(config: Config) -> int:
    sampling = Sampling(
        *_full(config, _names("layout", config.layouts, LAYOUTS, ",".join(LAYOUTS))),
        samplers=_names("sampler", config.samplers, SAMPLERS, _SAMPLERS),
        repeats=config.repeats,
    )
    return measure(sampling, config.memory_gib, config.csv)


def _profile(config: Config) -> int:
    from maestro_env.experiments.papers.replay import profile  # It needs torch.

    layouts = _names("layout", config.layouts, LAYOUTS, "list,joint")
    samplers = _names("sampler", config.samplers, profile.SAMPLERS, "uniform")
    variants = profile.variants(layouts, samplers)
    if config.variants is not None:
        if config.layouts or config.samplers:
            raise UsageError("--variants: each has a layout and a sampler; give none with it")
        names = _names("variant", config.variants, profile.VARIANTS)
        variants = {name: profile.VARIANTS[name] for name in names}
    profiling = profile.Profiling(
        *_full(config, [each.layout for each in variants.values()]),
        learner=config.learner,
        variants=variants,
        rounds=config.rounds,
    )
    return profile.profile(profiling, config.memory_gib, config.csv)


def _train(config: Config) -> int:
    trainings = Trainings(
        config.task,
        _agents(config, "3"),
        config.learner,
        unique((config.samplers or _SAMPLERS).split(",")),
        config.batch,
        config.episodes,
        config.seeds,
        config.capacity,
        config.dtype,
    )
    return conduct(trainings, config)


_OF_ALL = ("agents", "capacity", "batch", "samplers", "dtype", "memory-gib")
_OF_MEASURED = (*_OF_ALL, "layouts", "csv")
_OF_TRAIN = (*_OF_ALL, "learner", "task", "episodes", "seeds", "out", "resume", "jobs")
ACTIONS: Mapping[str, Action] = {
    "sample": Action(_sample, (*_OF_MEASURED, "repeats")),
    "profile": Action(_profile, ("learner", *_OF_MEASURED, "rounds", "variants")),
    "train": Action(_train, _OF_TRAIN),
}


def _full(
    config: Config, layouts: Sequence[str]
) -> tuple[Sequence[int], Sequence[str], int, int, str]:
    """Return the fields of ``Full``."""
    return _agents(config, "3,6,12"), layouts, config.capacity, config.batch, config.dtype


def _agents(config: Config, default: str) -> tuple[int, ...]:
    return numbers("--agents", config.agents or default, 1, _MOST_AGENTS)


def _names(
    what: str, text: str | None, registry: Mapping[str, object], default: str = ""
) -> tuple[str, ...]:
    names = unique((default if text is None else text).split(","))
    for name in names:
        look_up(f"{what} of a replay", name, registry)
    return names
