"""Reads YAML files that users name as plain lists, dicts and texts; nothing is constructed."""

from __future__ import annotations

from pathlib import Path

import yaml

from maestro_env.base.errors import LayerError, NetworkError, quoted
from maestro_env.base.reading import read_text

Plain = str | list["Plain"] | dict[str, "Plain"]
"""A scalar is a text, as it is written."""

_MAX_CHARACTERS = 2**22


def read_yaml(path: str | Path) -> Plain:
    """Return what a file contains.

    Raises:
        NetworkError: naming the file and the fault.
    """
    try:
        text = read_text(path, _MAX_CHARACTERS)
        if "{{" in text or "{%" in text:
            raise NetworkError("it is a Jinja template; render it first")
        return _Reader().plain(yaml.compose(text, Loader=yaml.SafeLoader))
    except RecursionError:
        reason: object = "it is nested too deeply"
    except yaml.YAMLError as error:
        reason = " ".join(str(error).split())
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
    raise NetworkError(f"{str(path)!r} cannot be read: {reason}")


def scalar(what: str, value: Plain | None) -> str:
    """Return a text, or raise a ``LayerError`` that says what is none."""
    if not isinstance(value, str):
        raise LayerError(f"{what} is missing, or no text")
    return value


def entries(what: str, value: Plain | None) -> dict[str, Plain]:
    """Return a dict, or raise a ``LayerError`` that says what is none."""
    if not isinstance(value, dict):
        raise LayerError(f"{what} is no mapping")
    return value


def items(what: str, value: Plain | None) -> list[Plain]:
    """Return a list, or raise a ``LayerError`` that says what is none."""
    if not isinstance(value, list):
        raise LayerError(f"{what} is no list")
    return value


class _Reader:
    """Reads every node once, however often it is named: else a small file could fill the memory."""

    def __init__(self) -> None:
        self._read: dict[int, Plain | None] = {}

    def plain(self, node: yaml.Node | None) -> Plain:
        if node is None:
            raise NetworkError("it is empty")
        if id(node) not in self._read:
            self._read[id(node)] = None
            self._read[id(node)] = self._convert(node)
        found = self._read[id(node)]
        if found is None:
            raise NetworkError("a part of it contains itself")
        return found

    def _convert(self, node: yaml.Node) -> Plain:
        if isinstance(node, yaml.SequenceNode):
            return [self.plain(each) for each in node.value]
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node)
        return str(node.value)

    def _mapping(self, node: yaml.MappingNode) -> dict[str, Plain]:
        own: dict[str, Plain] = {}
        merged: dict[str, Plain] = {}
        for key, value in node.value:
            found = self.plain(value)
            if not isinstance(key, yaml.ScalarNode):
                raise NetworkError("a key that is no text")
            if key.value in own:
                raise NetworkError(f"key {quoted(key.value)} is given twice")
            if key.value != "<<":
                own[key.value] = found
            for each in found if isinstance(found, list) else [found]:
                if key.value == "<<" and isinstance(each, dict):
                    merged = each | merged
        return merged | own
