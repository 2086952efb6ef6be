"""``maestro-env sweep``: search layers x hardware x objectives x mappers x seeds of a file."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path

from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import MaestroEnvError, UnknownNameError, quoted
from maestro_env.base.yaml_blocks import Plain
from maestro_env.base.yaml_file import read_yaml_file
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import AUTO
from maestro_env.experiments.search.goals import ProblemConfig
from maestro_env.experiments.search.named_mappers import find_mappers
from maestro_env.experiments.shell.files import is_empty, safe_name
from maestro_env.experiments.shell.flags import (
    UsageError,
    jobs_option,
    option,
    out_option,
    ray_option,
    resume_option,
)
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.store.running import Running, write_script
from maestro_env.experiments.study.sweep.axes import Sweep, make_sweep
from maestro_env.experiments.study.sweep.chunks import open_sweep
from maestro_env.experiments.study.sweep.plan import check, plan_chunks, print_plan
from maestro_env.experiments.study.sweep.results import conclude
from maestro_env.models import model_of
from maestro_env.workloads.finding import find_layer, find_network

# Defaults.
_LISTS: Mapping[str, Sequence[str]] = {
    "networks": (),
    "layers": (),
    "hardware": ("unlimited",),
    "objectives": ("edp",),
    "mappers": ("prior",),
}
# Defaults and limits.
_NUMBERS = {"samples": (500, 1, 10**9), "seeds": (1, 1, 10_000), "seed": (0, 0, 10**9)}
_TEXTS = ("model", "schema", "tiles", "energy")
_RULES = "constraints"
_SWITCHES = {"true": True, "false": False}
_KEYS = (*_LISTS, *_NUMBERS, *_TEXTS, "guard", _RULES)
_MOST_ACCELERATORS = 100_000

Given = Mapping[str, Plain]


@dataclass(frozen=True)
class Config:
    """Search every cell that a file describes; write one table, and totals of the networks.

    Processes of several machines can work on one directory.
    """

    config: str = option(MISSING, "YAML file of the axes (docs/howto.md)")
    dry_run: bool = option(False, "print the cells and an estimate of core-hours; write nothing")
    jobs: int = jobs_option()
    ray: str | None = ray_option()
    shard: str | None = option(
        None, "search only a part, such as 2/4 for the second of four", value="i/n"
    )
    slurm: int | None = option(
        None, "write a Slurm script of this many tasks; search nothing", 1, 100_000, kind=int
    )
    out: str | None = out_option()
    resume: bool = resume_option()


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    if config.slurm and config.shard:
        raise UsageError("--slurm and --shard: give one of them; tasks of Slurm share the chunks")
    part, shards = _shard(config.shard)
    sweep, note = read_sweep(config.config)
    if note:
        print_errors(f"note: {note}")
    begun = config.resume and not (config.out and is_empty(Path(config.out)))
    if config.dry_run or not begun:
        check(sweep)  # Before there is a directory.
    if config.dry_run:
        print_plan(sweep)
        return 0
    with Running.of(config, "sweep", safe_name(Path(config.config).stem)) as running:
        sizes = partial(plan_chunks, sweep, shards if config.shard else None)
        chunks = open_sweep(sweep, running.directory, running.versions, sizes)
        if config.slurm is not None:
            script = write_script(config, "sweep", running.directory)
            print_lines(f"script: {script}", f"start it with: sbatch {shlex.quote(str(script))}")
            return 0
        running.run(chunks[part::shards])
        if not running.interrupted:
            conclude(chunks, running.directory)
    return running.status


def _shard(text: str | None) -> tuple[int, int]:
    """Return which shard is asked for, counted from 0, and how many there are."""
    if text is None:
        return 0, 1
    part, slash, shards = text.partition("/")
    number, total = plain_integer(part), plain_integer(shards)
    if not slash or number is None or total is None or not 1 <= number <= total <= 100_000:
        raise UsageError(f"--shard {quoted(text)}; allowed: 1/n to n/n, such as 2/4, n to 100,000")
    return number - 1, total


def read_sweep(path: str) -> tuple[Sweep, str]:
    """Return the sweep that a YAML file describes, and a note on its mappers.

    Raises:
        MaestroEnvError: a file that cannot be read, a key or value that is not allowed, or
            something that does not exist; the message names it.
    """
    given = read_yaml_file(path, UsageError).value
    try:
        return _sweep(given)
    except MaestroEnvError as error:
        raise UsageError(f"{path}: {error}") from None


def _sweep(given: Plain) -> tuple[Sweep, str]:
    if not isinstance(given, dict):
        raise UsageError(f"it has no keys; allowed: {', '.join(_KEYS)}")
    for key in given:
        if key not in _KEYS:
            raise UnknownNameError("key", key, _KEYS)
    if "networks" not in given and "layers" not in given:
        raise UsageError("networks and layers are missing; give one of them")
    names = {key: _names(given, key) for key in _LISTS if key != "hardware"}
    hardware = _hardware(given)
    problem = _problem(given, hardware)
    numbers = [_number(given, key) for key in _NUMBERS]
    # All is read; now it is looked up.
    mappers, note = find_mappers("mappers", names["mappers"])
    for name in names["objectives"]:
        find_objective(name)
    accelerators = [replace(problem, hardware=text).accelerator() for text in hardware]
    networks = [find_network(name) for name in names["networks"]]
    layers = [find_layer(name) for name in names["layers"]]
    axes = (networks, layers, accelerators, names["objectives"], mappers)
    return make_sweep(problem, *axes, *numbers), note


def _problem(given: Given, hardware: Iterable[str]) -> ProblemConfig:
    default = ProblemConfig(model=AUTO)
    texts = {key: _text(key, given.get(key, getattr(default, key))) for key in _TEXTS}
    guard = _text("guard", given.get("guard", "true")).lower()
    if guard not in _SWITCHES:
        raise UsageError(f"guard is {quoted(guard)}; allowed: {', '.join(_SWITCHES)}")
    if texts["model"] == AUTO:
        # The one that knows all that is said of all accelerators.
        models = {model_of(text) for text in hardware}
        texts["model"] = models.pop() if len(models) == 1 else DEFAULT_MODEL
    rules = _text(_RULES, given[_RULES]) if _RULES in given else None
    return ProblemConfig(guard=_SWITCHES[guard], constraints=rules, **texts)


def _hardware(given: Given) -> Sequence[str]:
    """Return the accelerators of a list, or of a grid: every combination of its fields."""
    value = given.get("hardware")
    if not isinstance(value, dict):
        return _names(given, "hardware")
    if not value:
        raise UsageError("hardware has no fields; give lists by field, such as num_pes: [64, 128]")
    fields = {field: _list(f"hardware's {field}", texts) for field, texts in value.items()}
    number = math.prod(map(len, fields.values()))
    if number > _MOST_ACCELERATORS:
        raise UsageError(
            f"hardware has {number:,} combinations; allowed: {_MOST_ACCELERATORS:,}; "
            "split the sweep into several"
        )
    written = (zip(fields, texts, strict=True) for texts in product(*fields.values()))
    return [",".join(map("=".join, pairs)) for pairs in written]


def _names(given: Given, key: str) -> Sequence[str]:
    return _list(key, given[key]) if key in given else _LISTS[key]


def _list(key: str, value: Plain) -> list[str]:
    """Return a list of different texts."""
    if not isinstance(value, list):
        raise UsageError(f"{key} is {quoted(value)}; allowed: a list, such as [a, b]")
    if not value:
        raise UsageError(f"{key} is an empty list; give one or more, or leave the key out")
    texts = [_text(f"one of {key}", each) for each in value]
    for text, times in Counter(texts).items():
        if times > 1:
            raise UsageError(f"{key}: {quoted(text)} is given {times} times; give it once")
    return texts


def _text(key: str, value: Plain) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key} is {quoted(value)}; allowed: a text")
    return value.strip()


def _number(given: Given, key: str) -> int:
    default, least, most = _NUMBERS[key]
    value = given.get(key, str(default))
    number = plain_integer(value) if isinstance(value, str) else None
    if number is None or not least <= number <= most:
        raise UsageError(f"{key} is {quoted(value)}; allowed: integers from {least:,} to {most:,}")
    return number
