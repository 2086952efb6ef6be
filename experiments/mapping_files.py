"""Mappings in files that commands read: a mapping alone, or the best one of a run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from experiments.files import RecordError, read_record
from experiments.flags import UsageError
from experiments.goals import ANEW, GOAL, recorded_layer
from maestro_env.errors import MappingError
from maestro_env.hardware import Hardware
from maestro_env.layer import Layer
from maestro_env.m_file import parse
from maestro_env.mapping import Mapping
from maestro_env.reading import read_text

_MAX_CHARACTERS = 2**24
# A loop nest is as wide as it is deep.
_MAX_ENTRIES = 1000
_BEST = "best_mapping.json"


@dataclass(frozen=True)
class MappingFile:
    """What is in a file, or in the directory of a run.

    Args:
        mapping: that it has.
        layer: that it names, if any.
        hardware: that it names, if any.
    """

    mapping: Mapping
    layer: Layer | None = None
    hardware: Hardware | None = None


def read_mapping(file: str) -> MappingFile:
    """Read a mapping file, or the best mapping in a directory of ``run`` or ``optimum``.

    Raises:
        UsageError: a file of another kind.
        RecordError: a directory of another kind.
        MappingError: a file that cannot be read, or has too many loops.
    """
    path = Path(file)
    found = _read_directory(path) if path.is_dir() else _read_file(path)
    if (entries := len(found.mapping.directives)) > _MAX_ENTRIES:
        raise MappingError(
            f"{file} has {entries:,} loops and clusters; allowed: at most {_MAX_ENTRIES:,}"
        )
    return found


def _read_file(path: Path) -> MappingFile:
    if path.suffix not in (".m", ".json"):
        raise UsageError(f"{path}: allowed: a file whose name ends in .m or .json")
    try:
        text = read_text(path, _MAX_CHARACTERS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise MappingError(f"cannot read {path}: {reason}") from None
    if path.suffix == ".json":
        return MappingFile(Mapping.from_json(text, str(path)))
    mapping = Mapping.from_m(text, str(path))
    (layer,) = parse(text).layers
    strides = {"Y": 1, "X": 1, **dict(layer.strides)}
    stride = (strides["Y"], strides["X"])
    return MappingFile(mapping, Layer(layer.operator, dict(layer.extents), stride, layer.name))


def _read_directory(directory: Path) -> MappingFile:
    if not (directory / _BEST).exists():
        raise RecordError(f"{directory} has no {_BEST}; give a directory of run or optimum")
    mapping = _read_file(directory / _BEST).mapping
    for path in _records(directory):
        facts = read_record(path, ANEW)
        try:
            return MappingFile(mapping, recorded_layer(facts), Hardware(**facts["hardware"]))
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            raise RecordError(f"cannot read {path}: {error!r}; {ANEW}") from None
    return MappingFile(mapping)


def _records(directory: Path) -> Iterator[Path]:
    """Yield the files that say what was searched; a run has searched one problem."""
    goals = sorted(directory.glob(f"cells/*/*/{GOAL}"))
    yield from goals if len(goals) == 1 else ()
    if (proof := directory / "optimum.json").exists():
        yield proof
