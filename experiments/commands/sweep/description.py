"""Reads the file that describes a sweep."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import MaestroEnvError, UnknownNameError, quoted
from maestro_env.base.texts.blocks import Plain
from maestro_env.base.yaml_file import read_yaml_file
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import AUTO
from maestro_env.experiments.search.goals import ProblemConfig
from maestro_env.experiments.search.named_mappers import find_mappers
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.study.sweep.axes import Sweep, make_sweep
from maestro_env.models import find_accelerator, model_of
from maestro_env.workloads.finding import find_layer, find_network

_LISTS = ("networks", "layers", "hardware", "objectives", "mappers")
# Defaults and limits.
_NUMBERS = {"samples": (500, 1, 10**9), "seeds": (1, 1, 10_000), "seed": (0, 0, 10**9)}
_TEXTS = ("model", "schema", "tiles", "energy")
_SWITCHES = {"true": True, "false": False}
_KEYS = (*_LISTS, *_NUMBERS, *_TEXTS, "guard")
_HARDWARE = ["unlimited"]
_MOST_ACCELERATORS = 100_000

Given = Mapping[str, Plain]


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
    mappers, note = find_mappers("mappers", ",".join(_names(given, "mappers", ["prior"])))
    objectives = _names(given, "objectives", ["edp"])
    for name in objectives:
        find_objective(name)
    problem = _problem(given)
    hardware = _hardware(given, problem.model)
    sweep = make_sweep(
        problem,
        [find_network(name) for name in _names(given, "networks", [])],
        [find_layer(name) for name in _names(given, "layers", [])],
        hardware,
        objectives,
        mappers,
        **{key: _number(given, key) for key in _NUMBERS},
    )
    return sweep, note


def _problem(given: Given) -> ProblemConfig:
    default = ProblemConfig()
    texts = {key: _text(key, given.get(key, getattr(default, key))) for key in _TEXTS}
    guard = _text("guard", given.get("guard", "true")).lower()
    if guard not in _SWITCHES:
        raise UsageError(f"guard is {quoted(guard)}; allowed: {', '.join(_SWITCHES)}")
    if texts["model"] == AUTO:
        texts["model"] = _model(given)
    return ProblemConfig(guard=_SWITCHES[guard], **texts)


def _model(given: Given) -> str:
    """Return the cost model that knows all that is said of all accelerators."""
    if isinstance(given.get("hardware"), dict):
        return DEFAULT_MODEL
    models = {model_of(text) for text in _names(given, "hardware", _HARDWARE)}
    return models.pop() if len(models) == 1 else DEFAULT_MODEL


def _hardware(given: Given, model: str) -> list[Accelerator]:
    """Return the accelerators of a list, or of a grid: every combination of its fields."""
    value = given.get("hardware", _HARDWARE)
    if not isinstance(value, dict):
        return [find_accelerator(text, model) for text in _names(given, "hardware", _HARDWARE)]
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
    return [find_hardware(",".join(map("=".join, pairs))) for pairs in written]


def _names(given: Given, key: str, default: list[str]) -> Sequence[str]:
    return _list(key, given[key]) if key in given else default


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
