"""``maestro-env quantise``: measure what policies with few bits, and fused ones, lose and gain.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass

from experiments.commands.quantise.learners import LEARNERS
from experiments.commands.quantise.sweep import Sweep, conduct
from experiments.commands.quantise.tasks import TASKS
from experiments.search.goals import split_layers, unique
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
from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import quoted
from maestro_env.base.registry import look_up
from mappers.learners.quantised.quantiser import FORMS, LEAST_BITS, MOST_BITS

_FORMS = "; ".join(f"{name}, {how}" for name, how in FORMS.items())


@dataclass(frozen=True)
class Config:
    """Measure what policies with few bits (QuaRL), and fused ones, lose and gain."""

    action: str = option(
        MISSING,
        "sweep: train policies, and evaluate them with few bits; speed: time a step of several "
        "agents; parts: time the parts of searches by mappers with networks",
    )
    tasks: str = option(",".join(TASKS), "sweep: tasks, separated by commas", value="names")
    learners: str = option(
        ",".join(LEARNERS),
        "sweep: learners; a task is learnt by those that it has a recipe for",
        value="names",
    )
    bits: str = option(
        "16,8,6,5,4,3,2", "sweep: bits of policies after the training", value="numbers"
    )
    qat_bits: str | None = option(
        None, "sweep: also train with so many bits; some of --bits", value="numbers"
    )
    delay: float = option(0.5, "sweep: share of a training before --qat-bits count", most=1)
    form: str = option("clipped", f"sweep: how numbers are rounded: {_FORMS}")
    seeds: int = option(5, "sweep, parts: trainings or searches of each kind", least=1, most=10**4)
    steps: int = option(10**9, "sweep: most steps of a training; a recipe may have less", least=1)
    out: str | None = out_option()
    resume: bool = resume_option(extended=True)
    jobs: int = jobs_option("trainings")
    networks: str = option(
        "2x64,3x256,3x2048", "speed: hidden layers, separated by commas", value="names"
    )
    agents: int = option(13, "speed: agents that take a step together", least=1, most=1000)
    copies: str = option(
        "1,4096", "speed: rows of each agent, separated by commas", value="numbers"
    )
    repeats: int = option(7, "speed: timings; their median is shown", least=1, most=10**6)
    others: bool = option(
        False, "speed: with torch.compile and ONNX Runtime as well, which takes minutes"
    )
    mappers: str = option(
        "marl_mlp,marl_paper,ppo,maddpg,prior_adapted",
        "parts: mappers with networks, separated by commas",
        value="names",
    )
    layers: str = option(
        "resnet18_l2,resnet18_l16,alexnet_l2,gpt2_l4", "parts: layers, separated by commas"
    )
    hardware: str = option("edge", "parts: accelerator, as run takes it")
    objective: str = option("edp", "parts: what to minimise")
    samples: int = option(20_000, "parts: samples of a search", least=1, most=10**9)
    csv: str | None = option(
        None, "speed, parts: also write the figures to this file", value="file"
    )


def execute(config: Config) -> int:
    """Do what the action says, and return the exit status."""
    return act(config, ACTIONS)


def _sweep(config: Config) -> int:
    bits = _bits("--bits", config.bits)
    aware = () if config.qat_bits is None else _bits("--qat-bits", config.qat_bits)
    if missing := set(aware) - set(bits):
        raise UsageError(f"--qat-bits: {min(missing)} is not among --bits {config.bits}; add it")
    look_up("form", config.form, FORMS)
    tasks, learners = unique(config.tasks.split(",")), unique(config.learners.split(","))
    sweep = Sweep(
        *(tasks, learners, bits, aware, config.delay, config.form),
        *(config.seeds, config.steps),
    )
    status, directory = conduct(sweep, config.out, config.resume, config.jobs)
    if status == cli.INTERRUPTED:
        with cli.undisturbed():
            tell_interrupted("finished", config, "quantise", directory)
    return status


def _speed(config: Config) -> int:
    from experiments.commands.quantise.speed import WIDTHS, speed  # It needs torch.

    networks = unique(config.networks.split(","))
    for name in networks:
        look_up("network", name, WIDTHS)
    copies = _numbers("--copies", config.copies, 1, 10**6)
    return speed(networks, config.agents, copies, config.repeats, config.others, config.csv)


def _parts(config: Config) -> int:
    from experiments.commands.quantise.parts import Searches, parts  # It needs torch.

    mappers, layers = unique(config.mappers.split(",")), split_layers(config.layers)
    problems = layers, config.hardware, config.objective
    return parts(Searches(mappers, *problems, config.samples, config.seeds), config.csv)


_OF_SWEEP = ("tasks", "learners", "bits", "qat-bits", "delay", "form", "seeds", "steps")
_OF_PARTS = ("mappers", "layers", "hardware", "objective", "samples", "seeds", "csv")
ACTIONS: Mapping[str, Action] = {
    "sweep": Action(_sweep, (*_OF_SWEEP, "out", "resume", "jobs")),
    "speed": Action(_speed, ("networks", "agents", "copies", "repeats", "others", "csv")),
    "parts": Action(_parts, _OF_PARTS),
}


def _bits(flag: str, text: str) -> tuple[int, ...]:
    return _numbers(flag, text, LEAST_BITS, MOST_BITS)


def _numbers(flag: str, text: str, least: int, most: int) -> tuple[int, ...]:
    numbers = []
    for each in unique(text.split(",")):
        number = plain_integer(each)
        if number is None or not least <= number <= most:
            raise UsageError(
                f"{flag}: {quoted(each)}; allowed: integers from {least} to {most}, "
                "separated by commas"
            )
        numbers.append(number)
    return tuple(numbers)
