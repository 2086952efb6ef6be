"""Mappings in files that commands read: a mapping alone, or the best one of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from experiments.search.accelerators import (
    Accelerator,
    find_accelerator,
    recorded_accelerator,
)
from experiments.search.goals import GOAL, recorded_layer
from experiments.search.mapping_config import MappingConfig
from experiments.shell.files import RecordError, read_record
from experiments.shell.flags import UsageError
from experiments.store.directory import ANEW
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import MappingError
from maestro_env.base.reading import read_text
from maestro_env.evaluation.hierarchy_problem import MODEL, HierarchyProblem
from maestro_env.exchange import MappedLayer, format_by_ending, format_of
from maestro_env.hierarchy.evaluation import NestMapping
from maestro_env.hierarchy.written import SCHEMA, read_nest
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

_MAX_CHARACTERS = 2**24
# A loop nest is as wide as it is deep.
_MAX_ENTRIES = 1000
_BEST = "best_mapping.json"
_HARDWARE = "unlimited"


def read_mapped(config: MappingConfig) -> tuple[Mapping, MapSpace]:
    """Read a mapping file, or the best mapping in a directory of ``run`` or ``optimum``.

    Raises:
        UsageError: there is no layer.
        RecordError: a directory of another kind.
        MappingError: a file of another kind, one that cannot be read, or with too many loops.
    """
    given = None if config.layer is None else find_layer(config.layer)
    machine = None if config.hardware is None else find_hardware(config.hardware)
    file = config.file
    path = Path(file)
    found = _read_directory(path) if path.is_dir() else _read_file(path)
    if (entries := len(found.mapping.directives)) > _MAX_ENTRIES:
        raise MappingError(
            f"{file} has {entries:,} loops and clusters; allowed: at most {_MAX_ENTRIES:,}"
        )
    if (mapped := given or found.layer) is None:
        raise UsageError(f"{file} names no layer: give one with --layer")
    return found.mapping, MapSpace(mapped, machine or found.hardware or find_hardware(_HARDWARE))


def is_nest(config: MappingConfig) -> bool:
    """Say whether the mapping is one on an accelerator with any memories."""
    path = _nest_path(config)
    return path.suffix == ".json" and path.is_file() and f'"{SCHEMA}"' in _read(path)


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
    if config.layer is not None:
        layer = find_layer(config.layer)
    if config.hardware is not None:
        accelerator = find_accelerator(config.hardware, MODEL)
    if layer is None or not isinstance(accelerator, Hierarchy):
        flag = "--layer" if layer is None else "--hardware"
        raise UsageError(f"{config.file} does not say all: give {flag}")
    path = _nest_path(config)
    mapping = read_nest(_read(path), accelerator, str(path))
    return mapping, HierarchyProblem(HierarchySpace(layer, accelerator))


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


def _read_file(path: Path) -> MappedLayer:
    file = str(path)
    format_by_ending(file)
    text = _read(path)
    return format_of(file, text).read(text, file)


def _read(path: Path) -> str:
    try:
        return read_text(path, _MAX_CHARACTERS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MappingError(f"cannot read {path}: {reason}") from None


def _read_directory(directory: Path) -> MappedLayer:
    if (directory / "mappings").is_dir():
        given = f"{directory / 'mappings'}/LAYER.json"
        raise RecordError(f"{directory} has a mapping for each layer; give {given} and --layer")
    if not (directory / _BEST).exists():
        raise RecordError(f"{directory} has no {_BEST}; give a directory of run or optimum")
    mapping = _read_file(directory / _BEST).mapping
    for path in _records(directory):
        layer, accelerator = _recorded(path)
        if isinstance(accelerator, Hardware):
            return MappedLayer(mapping, layer, accelerator)
    return MappedLayer(mapping)


def _records(directory: Path) -> Iterator[Path]:
    """Yield the files that say what was searched; a run has searched one problem."""
    goals = sorted(directory.glob(f"cells/*/*/{GOAL}"))
    yield from goals if len(goals) == 1 else ()
    if (proof := directory / "optimum.json").exists():
        yield proof
