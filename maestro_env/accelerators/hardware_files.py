"""Reads texts and files that describe an accelerator into entries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from maestro_env.base.errors import HardwareError, quoted
from maestro_env.base.m_file import tokens
from maestro_env.base.reading import read_text

Entry = tuple[str, str, str]
"""Where it stands, key and text of a value."""

_MAX_CHARACTERS = 2**16


def written_entries(text: str) -> Iterator[Entry]:
    """Yield the entries of a text such as ``num_pes=256,l1_bytes=512``."""
    written, named, name = f",{text}".partition(",name=")
    for piece in written.split(",")[1:]:
        key, _, value = piece.partition("=")
        yield f"hardware {quoted(text)}", key, value
    if named:
        yield f"hardware {quoted(text)}", "name", name


def read_hardware_file(path: Path) -> str:
    """Return the text of a file, or raise a ``HardwareError`` that names it."""
    try:
        return read_text(path, _MAX_CHARACTERS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise HardwareError(f"cannot read hardware file {path}: {reason}") from None


def yaml_entries(path: Path, allowed: Iterable[str]) -> Iterator[Entry]:
    """Yield the entries of a YAML file."""
    import yaml

    form = f"expected 'name: value' lines of {', '.join(allowed)}"
    try:
        root = yaml.compose(read_hardware_file(path), Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or form
        raise HardwareError(f"{path}{line}: {problem}") from None
    if not isinstance(root, yaml.MappingNode):
        raise HardwareError(f"{path}: {form}")
    for key, value in root.value:
        where = f"{path}, line {key.start_mark.line + 1}"
        if not isinstance(key, yaml.ScalarNode) or not isinstance(value, yaml.ScalarNode):
            raise HardwareError(f"{where}: {form}")
        yield where, key.value, value.value


def m_entries(path: Path) -> Iterator[Entry]:
    """Yield the entries of a MAESTRO hardware file."""
    text = read_hardware_file(path)
    for line, each in enumerate(text.splitlines(), 1):
        # MAESTRO reads over it.
        if re.search(r":\s*-", each.partition("//")[0]):
            raise HardwareError(f"{path}, line {line}: {quoted(each)}; allowed: integers, no sign")
    words = tokens(text)
    for line, key in words:
        _, value = next(words, (line, None))
        if value is None:
            raise HardwareError(f"{path}, line {line}: {quoted(key)} has no value")
        yield f"{path}, line {line}", key, value
