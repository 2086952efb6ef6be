"""Mappings in files that commands read: a mapping alone, or the best one of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from experiments.search.goals import GOAL, recorded_layer
from experiments.search.mapping_config import MappingConfig
from experiments.shell.files import RecordError, read_record
from experiments.shell.flags import UsageError
from experiments.store.directory import ANEW
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MappingError
from maestro_env.base.reading import read_text
from maestro_env.exchange import MappedLayer, format_by_ending, format_of
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.finding import find_layer

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


def recorded_objective(path: Path) -> str | None:
    """Return the objective that a directory was searched for; None for a file, or without one."""
    if path.is_dir():
        for record in _records(path):
            return str(read_record(record, ANEW).get("objective", {}).get("name"))
    return None


def _read_file(path: Path) -> MappedLayer:
    file = str(path)
    format_by_ending(file)
    try:
        text = read_text(path, _MAX_CHARACTERS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MappingError(f"cannot read {file}: {reason}") from None
    return format_of(file, text).read(text, file)


def _read_directory(directory: Path) -> MappedLayer:
    if (directory / "mappings").is_dir():
        given = f"{directory / 'mappings'}/LAYER.json"
        raise RecordError(f"{directory} has a mapping for each layer; give {given} and --layer")
    if not (directory / _BEST).exists():
        raise RecordError(f"{directory} has no {_BEST}; give a directory of run or optimum")
    mapping = _read_file(directory / _BEST).mapping
    for path in _records(directory):
        facts = read_record(path, ANEW)
        try:
            return MappedLayer(mapping, recorded_layer(facts), Hardware(**facts["hardware"]))
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise RecordError(f"cannot read {path}: {error!r}; {ANEW}") from None
    return MappedLayer(mapping)


def _records(directory: Path) -> Iterator[Path]:
    """Yield the files that say what was searched; a run has searched one problem."""
    goals = sorted(directory.glob(f"cells/*/*/{GOAL}"))
    yield from goals if len(goals) == 1 else ()
    if (proof := directory / "optimum.json").exists():
        yield proof
