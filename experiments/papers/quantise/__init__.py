"""``maestro-env quantise``: measure what policies with few bits, and fused ones, lose and gain.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass

from maestro_env.base.checks import look_up, plain_integer
from maestro_env.base.errors import quoted
from maestro_env.experiments.papers.quantise.learners import LEARNERS
from maestro_env.experiments.papers.quantise.sweep import Sweep, conduct
from maestro_env.experiments.papers.quantise.tasks import TASKS
from maestro_env.experiments.shell.flags import (
    Action,
    UsageError,
    act,
    jobs_option,
    numbers,
    option,
    out_option,
    resume_option,
    split_layers,
    unique,
)
from maestro_env.mappers.papers.quantised.quantiser import FORMS, LEAST_BITS, MOST_BITS
from maestro_env.mappers.papers.quantised.shared import COMPUTED, SENT

_FORMS = "; ".join(f"{name}, {how}" for name, how in FORMS.items())

_BITS, _ACTED_BITS = "16,8,6,5,4,3,2", "32,8"
_NETWORKS, _ACTED_NETWORKS = "2x64,3x256,3x2048", "3x256,3x512,3x2048"


@dataclass(frozen=True)
class Config:
    """Measure what policies with few bits (QuaRL), and fused ones, lose and gain."""

    action: str = option(
        MISSING,
        "sweep: train policies, and evaluate them with few bits; actors: let actors of few bits "
        "play for a learner; speed: time a step of several agents; parts: time the parts of "
        "searches by mappers with networks",
    )
    tasks: str | None = option(
        None,
        "sweep, actors: tasks, separated by commas (default: each; actors: cartpole)",
        value="names",
    )
    learners: str = option(
        ",".join(LEARNERS),
        "sweep: learners; a task is learnt by those that it has a recipe for",
        value="names",
    )
    bits: str | None = option(
        None,
        f"sweep: bits of policies after the training (default: {_BITS}); actors: bits that they "
        f"compute with, perhaps after those of weights that are sent, as in 8:32 (default: "
        f"{_ACTED_BITS})",
        value="numbers",
    )
    qat_bits: str | None = option(
        None, "sweep: also train with so many bits; some of --bits", value="numbers"
    )
    delay: float = option(0.5, "sweep: share of a training before --qat-bits count", most=0.99)
    form: str = option("clipped", f"sweep: how numbers are rounded: {_FORMS}")
    seeds: int = option(
        5, "sweep, actors, parts: trainings, runs or searches of each kind", least=1, most=10**4
    )
    steps: int = option(
        10**9,
        "sweep: most steps of a training, up to a whole rollout; a recipe may have less",
        least=1,
    )
    out: str | None = out_option()
    resume: bool = resume_option(extended=True)
    jobs: int = jobs_option("trainings")
    networks: str | None = option(
        None,
        f"speed, actors: hidden layers, separated by commas (default: {_NETWORKS}; actors: "
        f"{_ACTED_NETWORKS})",
        value="names",
    )
    actors: int = option(1, "actors: processes that act", least=1, most=64)
    spi: str = option(
        "0.25,1,4,16",
        "actors: rows sampled for each that is inserted, separated by commas",
        value="numbers",
    )
    pull: int = option(
        1000, "actors: steps between two looks for a newer policy", least=1, most=10**6
    )
    seconds: float = option(60.0, "actors: of a run", least=0.1, most=10**6)
    evaluations: int = option(
        0, "actors: evaluations of a run; without any, only times are measured", most=10**4
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
    text = config.bits or _BITS
    bits = _bits("--bits", text)
    aware = () if config.qat_bits is None else _bits("--qat-bits", config.qat_bits)
    if missing := set(aware) - set(bits):
        raise UsageError(f"--qat-bits: {min(missing)} is not among --bits {text}; add it")
    look_up("form", config.form, FORMS)
    tasks = _names(config.tasks or ",".join(TASKS))
    sweep = Sweep(
        *(tasks, _names(config.learners), bits, aware, config.delay, config.form),
        *(config.seeds, config.steps),
    )
    return conduct(sweep, config)


def _actors(config: Config) -> int:
    from maestro_env.experiments.papers.quantise import actors  # It needs torch.

    runs = actors.Runs(
        _names(config.tasks or "cartpole"),
        _names(config.networks or _ACTED_NETWORKS),
        list(dict.fromkeys(map(_sent_and_computed, _names(config.bits or _ACTED_BITS)))),
        numbers("--spi", config.spi, 0.001, 1000),
        *(config.actors, config.pull, config.seconds, config.evaluations, config.seeds),
    )
    return actors.conduct(runs, config)


def _speed(config: Config) -> int:
    from maestro_env.experiments.papers.quantise.speed import WIDTHS, speed  # It needs torch.

    networks = _names(config.networks or _NETWORKS)
    for name in networks:
        look_up("network", name, WIDTHS)
    copies = numbers("--copies", config.copies, 1, 10**6)
    return speed(networks, config.agents, copies, config.repeats, config.others, config.csv)


def _parts(config: Config) -> int:
    from maestro_env.experiments.papers.quantise.parts import Searches, parts  # It needs torch.

    mappers, layers = unique(config.mappers.split(",")), split_layers(config.layers)
    problems = layers, config.hardware, config.objective
    return parts(Searches(mappers, *problems, config.samples, config.seeds), config.csv)


_OF_ACTORS = ("tasks", "networks", "bits", "actors", "spi", "pull", "seconds", "evaluations")
_OF_SWEEP = ("tasks", "learners", "bits", "qat-bits", "delay", "form", "seeds", "steps")
_OF_PARTS = ("mappers", "layers", "hardware", "objective", "samples", "seeds", "csv")
ACTIONS: Mapping[str, Action] = {
    "sweep": Action(_sweep, (*_OF_SWEEP, "out", "resume", "jobs")),
    "actors": Action(_actors, (*_OF_ACTORS, "seeds", "out", "resume")),
    "speed": Action(_speed, ("networks", "agents", "copies", "repeats", "others", "csv")),
    "parts": Action(_parts, _OF_PARTS),
}


def _names(text: str) -> tuple[str, ...]:
    return unique(text.split(","))


def _sent_and_computed(text: str) -> tuple[int, int]:
    """Return the bits of weights that are sent, and those that actors compute with."""
    first, colon, last = text.rpartition(":")
    sent, computed = plain_integer(first if colon else last), plain_integer(last)
    if sent not in SENT or computed not in COMPUTED:
        raise UsageError(
            f"--bits: {quoted(text)}; allowed for actors: 32 or 8, or 32, 16 or 8, a colon, and "
            "32 or 8"
        )
    return sent, computed


def _bits(flag: str, text: str) -> tuple[int, ...]:
    return numbers(flag, text, LEAST_BITS, MOST_BITS)
