"""``maestro-env quantise``: measure what policies with few bits lose and gain.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass

from experiments.commands.quantise.learners import LEARNERS
from experiments.commands.quantise.sweep import Sweep, conduct
from experiments.commands.quantise.tasks import TASKS
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
from mappers.learners.quantised.quantiser import LEAST_BITS, MOST_BITS


@dataclass(frozen=True)
class Config:
    """Measure what policies lose whose weights and activations have few bits (QuaRL)."""

    action: str = option(MISSING, "sweep: train policies, and evaluate them with few bits")
    tasks: str = option(",".join(TASKS), "tasks, separated by commas", value="names")
    learners: str = option(
        ",".join(LEARNERS),
        "learners; a task is learnt by those that it has a recipe for",
        value="names",
    )
    bits: str = option("16,8,6,5,4,3,2", "bits of policies after the training", value="numbers")
    qat_bits: str | None = option(
        None, "also train with so many bits; some of --bits", value="numbers"
    )
    delay: float = option(0.5, "share of a training before --qat-bits count", most=1)
    clipped: bool = option(True, "the paper's formula, without clipping")
    seeds: int = option(5, "trainings of each kind", least=1, most=10**4)
    steps: int = option(10**9, "most steps of a training; a recipe may have less", least=1)
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
    for given in to_flags(config)[1:]:
        flag = given.partition("=")[0].removeprefix("--no-").removeprefix("--")
        if flag not in action.takes:
            taken = ", ".join(f"--{name}" for name in action.takes)
            raise UsageError(f"--{flag}: {config.action} takes only {taken}")
    return action.run(config)


def _sweep(config: Config) -> int:
    bits = _bits("--bits", config.bits)
    aware = () if config.qat_bits is None else _bits("--qat-bits", config.qat_bits)
    if missing := set(aware) - set(bits):
        raise UsageError(f"--qat-bits: {min(missing)} is not among --bits {config.bits}; add it")
    tasks, learners = unique(config.tasks.split(",")), unique(config.learners.split(","))
    sweep = Sweep(
        *(tasks, learners, bits, aware, config.delay, config.clipped),
        *(config.seeds, config.steps),
    )
    status, directory = conduct(sweep, config.out, config.resume, config.jobs)
    if status == cli.INTERRUPTED:
        with cli.undisturbed():
            tell_interrupted("finished", config, "quantise", directory)
    return status


_OF_SWEEP = ("tasks", "learners", "bits", "qat-bits", "delay", "clipped", "seeds", "steps")
ACTIONS: Mapping[str, Action] = {
    "sweep": Action(_sweep, (*_OF_SWEEP, "out", "resume", "jobs")),
}


def _bits(flag: str, text: str) -> tuple[int, ...]:
    numbers = []
    for each in unique(text.split(",")):
        number = plain_integer(each)
        if number is None or not LEAST_BITS <= number <= MOST_BITS:
            raise UsageError(
                f"{flag}: {quoted(each)}; allowed: integers from {LEAST_BITS} to {MOST_BITS}, "
                "separated by commas"
            )
        numbers.append(number)
    return tuple(numbers)
