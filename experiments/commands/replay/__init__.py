"""``maestro-env replay``: measure the replay of multi-agent learners.

An action is a module of this folder and a line in ``ACTIONS``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass

from experiments.commands.replay.measuring import SAMPLERS
from experiments.commands.replay.sample import Sampling, measure
from experiments.search.goals import unique
from experiments.shell.flags import UsageError, option
from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import quoted
from maestro_env.base.registry import look_up
from mappers.learners.replay.layouts import DTYPES, LAYOUTS

_MOST_AGENTS = 1000


@dataclass(frozen=True)
class Config:
    """Measure the replay of multi-agent off-policy learners (MADDPG, MASAC)."""

    action: str = option(
        MISSING, "sample: time how batches are read from replay; profile: time training"
    )
    agents: str = option("3,6,12", "numbers of agents, separated by commas")
    capacity: int = option(1_000_000, "joint steps in replay, which is full", least=2)
    batch: int = option(1024, "rows of a joint sample", least=1, most=10**6)
    layouts: str | None = option(
        None, f"how replay lies in memory: {', '.join(LAYOUTS)} (profile: list,joint)"
    )
    samplers: str | None = option(
        None,
        f"how rows are drawn: some of {', '.join(SAMPLERS)} (default: uniform,neighbour_literal; "
        "profile: uniform)",
    )
    dtype: str = option("float32", f"how numbers are stored: {' or '.join(DTYPES)}")
    repeats: int = option(7, "rounds of each kind; their median is shown", least=1, most=10**6)
    memory_gib: float = option(12.0, "most memory of one replay", most=10**6)
    learner: str = option("maddpg", "who trains: maddpg or masac")
    rounds: int = option(20, "rounds of training; the first is not timed", least=2, most=10**6)
    variants: str | None = option(
        None, "instead of --layouts and --samplers: base, replay, task, networks, shared"
    )
    csv: str | None = option(None, "also write the figures to this file", value="file")


def execute(config: Config) -> int:
    """Do what the action says, and return the exit status."""
    return look_up("action", config.action, ACTIONS)(config)


def _sample(config: Config) -> int:
    sampling = Sampling(
        *_full(config, _names("layout", config.layouts, LAYOUTS, ",".join(LAYOUTS))),
        samplers=_names("sampler", config.samplers, SAMPLERS, "uniform,neighbour_literal"),
        repeats=config.repeats,
    )
    return measure(sampling, config.memory_gib, config.csv)


def _profile(config: Config) -> int:
    from experiments.commands.replay import profile  # It needs torch.

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


ACTIONS: Mapping[str, Callable[[Config], int]] = {"sample": _sample, "profile": _profile}


def _full(
    config: Config, layouts: Sequence[str]
) -> tuple[Sequence[int], Sequence[str], int, int, str]:
    """Return the fields of ``Full``."""
    return _numbers(config.agents), layouts, config.capacity, config.batch, config.dtype


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


def _names(
    what: str, text: str | None, registry: Mapping[str, object], default: str = ""
) -> tuple[str, ...]:
    names = unique((default if text is None else text).split(","))
    for name in names:
        look_up(f"{what} of a replay", name, registry)
    return names
