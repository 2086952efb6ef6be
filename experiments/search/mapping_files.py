"""Mappings that commands read: flags that name one, a file of it, or the best one of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import cast

from maestro_env import exchange
from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.constraints import CONSTRAINTS_HELP, constraints_text
from maestro_env.accelerators.finding import find_hardware, is_hierarchy
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import MappingError
from maestro_env.base.reading import read_text
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.experiments.search.goals import (
    GOAL,
    HARDWARE_HELP,
    LAYER_HELP,
    ProblemConfig,
    recorded_layer,
)
from maestro_env.experiments.shell.files import RecordError, read_record
from maestro_env.experiments.shell.flags import UsageError, option
from maestro_env.experiments.store.claims import ANEW
from maestro_env.hierarchy.evaluation import NestMapping
from maestro_env.hierarchy.written import SCHEMA, read_nest
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.models import (
    ANY_MEMORIES,
    find_accelerator,
    has_levels,
    recorded_accelerator,
    room_of,
)
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer


@dataclass(frozen=True)
class MappingConfig:
    """The flags of commands about one mapping; ``mapping_files.read_mapped`` reads it."""

    file: str = option(
        MISSING,
        "a mapping: a directory of run or optimum, its best_mapping.json, a MAESTRO file such as "
        "F.m, or a Timeloop or AccelForge file such as F.yaml",
    )
    layer: str | None = option(None, f"{LAYER_HELP} (default: the layer in FILE)")
    hardware: str | None = option(
        None, f"{HARDWARE_HELP} (default: the accelerator in FILE, or unlimited)"
    )
    constraints: str | None = option(None, CONSTRAINTS_HELP, value="rules")


_MAX_CHARACTERS = 2**24
# A loop nest is as wide as it is deep.
_MAX_ENTRIES = 1000
_BEST = "best_mapping.json"
_HARDWARE = "unlimited"


def read_mapped(config: MappingConfig) -> list[tuple[Mapping, MapSpace]]:
    """Read the mappings of a file, or the best one in a directory of ``run`` or ``optimum``.

    Raises:
        UsageError: there is no layer, or several beside one that is given.
        RecordError: a directory of another kind.
        MappingError: a file of another kind, one that cannot be read, or with too many loops.
    """
    if config.constraints is not None:
        raise UsageError(
            f"--constraints: {config.file} is a mapping of two levels; allowed: one on an "
            "accelerator with all its memories"
        )
    given = None if config.layer is None else find_layer(config.layer)
    machine: Accelerator | None = None
    if config.hardware is not None:
        machine = ProblemConfig(config.hardware).accelerator()
    file = config.file
    path = Path(file)
    found = [_read_directory(path)] if path.is_dir() else _read_file(path)
    if given is not None and len(found) > 1:
        raise UsageError(f"{file} has {len(found)} layers: leave --layer out")
    mapped = []
    for each in found:
        if (entries := len(each.mapping.directives)) > _MAX_ENTRIES:
            raise MappingError(
                f"{file} has {entries:,} loops and clusters; allowed: at most {_MAX_ENTRIES:,}"
            )
        if (layer := given or each.layer) is None:
            raise UsageError(f"{file} names no layer: give one with --layer")
        hardware = machine or each.hardware or find_hardware(_HARDWARE)
        space = MapSpace(layer, cast(Hardware, hardware))
        mapped.append((each.mapping, space))
    return mapped


def is_nest(config: MappingConfig) -> bool:
    """Say whether the mapping is one on an accelerator with any memories."""
    path = _nest_path(config)
    if path.suffix not in (".json", *exchange.YAML) or not path.is_file():
        return False
    text = _read(path)
    if path.suffix == ".json":
        return f'"{SCHEMA}"' in text
    given = config.hardware is not None and is_hierarchy(config.hardware)
    return given or exchange.is_nest_yaml(text, str(path))


def read_nest_mapped(config: MappingConfig) -> tuple[NestMapping, HierarchyProblem]:
    """Read such a mapping, of a file or of a directory of ``run``, and what it is a mapping of.

    Raises:
        UsageError: there is no layer, or no accelerator.
        RecordError: a directory whose record cannot be read.
        MappingError: no such mapping, or one of another accelerator.
    """
    directory, layer, accelerator = Path(config.file), None, None
    for record in _records(directory):
        layer, accelerator = _recorded(record)
    path = _nest_path(config)
    text, source, is_yaml = _read(path), str(path), path.suffix in exchange.YAML
    if config.layer is not None:
        layer = find_layer(config.layer)
    elif is_yaml:
        layer = exchange.nest_layer(text, source)
    beside = exchange.nest_hierarchy(text, source) if is_yaml and not config.hardware else None
    if (given := config.hardware or beside) is not None:
        accelerator = find_accelerator(given, ANY_MEMORIES)
    if layer is None or accelerator is None or has_levels(accelerator):
        flag = "--layer" if layer is None else "--hardware"
        raise UsageError(f"{config.file} does not say all: give {flag}")
    if config.constraints is not None:
        rules = constraints_text(config.constraints)
        accelerator = room_of(accelerator.MODEL).constrained(accelerator, rules)
    hierarchy = cast(Hierarchy, accelerator)
    if is_yaml:
        found = exchange.nest_from_yaml(text, layer, hierarchy, source)
        return found.mapping, HierarchyProblem(HierarchySpace(layer, found.hierarchy))
    mapping = read_nest(text, hierarchy, source)
    return mapping, HierarchyProblem(HierarchySpace(layer, hierarchy))


def _nest_path(config: MappingConfig) -> Path:
    path = Path(config.file)
    return path / _BEST if path.is_dir() else path


def _recorded(path: Path) -> tuple[Layer, Accelerator]:
    """Return layer and accelerator of a record."""
    facts = read_record(path, ANEW)
    try:
        return recorded_layer(facts), recorded_accelerator(facts["hardware"])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(f"cannot read {path}: {error!r}; {ANEW}") from None


def recorded_objective(path: Path) -> str | None:
    """Return the objective that a directory was searched for; None for a file, or without one."""
    if path.is_dir():
        for record in _records(path):
            return str(read_record(record, ANEW).get("objective", {}).get("name"))
    return None


def _read_file(path: Path) -> list[exchange.MappedLayer]:
    file = str(path)
    exchange.format_by_ending(file)
    text = _read(path)
    form = exchange.format_of(file, text)
    found = [form.read(text, file)] if form.read_all is None else form.read_all(text, file)
    if not found:
        raise MappingError(f"{file} has no layers; give a file with one")
    return found


def _read(path: Path) -> str:
    try:
        return read_text(path, _MAX_CHARACTERS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MappingError(f"cannot read {path}: {reason}") from None


def _read_directory(directory: Path) -> exchange.MappedLayer:
    if (directory / "mappings").is_dir():
        given = f"{directory / 'mappings'}/LAYER.json"
        raise RecordError(f"{directory} has a mapping for each layer; give {given} and --layer")
    if not (directory / _BEST).exists():
        raise RecordError(f"{directory} has no {_BEST}; give a directory of run or optimum")
    mapping = _read_file(directory / _BEST)[0].mapping
    for path in _records(directory):
        layer, accelerator = _recorded(path)
        if has_levels(accelerator):
            return exchange.MappedLayer(mapping, layer, cast(Hardware, accelerator))
    return exchange.MappedLayer(mapping)


def _records(directory: Path) -> Iterator[Path]:
    """Yield the files that say what was searched; a run has searched one problem."""
    goals = sorted(directory.glob(f"cells/*/*/{GOAL}"))
    yield from goals if len(goals) == 1 else ()
    if (proof := directory / "optimum.json").exists():
        yield proof
