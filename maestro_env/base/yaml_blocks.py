"""Puts what a YAML text says together, event by event: texts, lists and tagged blocks.

What an alias names is shared. It counts with its size wherever it stands, within a limit, so that
who reads the parts takes no longer than for a text without aliases.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from maestro_env.base.errors import Refuse, quoted

INCLUDED = "!include_loaded"
"""Tag of the number of a value that is included."""

_MAX_DEPTH = 30
_MERGE, _DEEP_MERGE = "<<", "<<<"
# Values that aliases may stand for in a short text.
_LEAST_SHARED = 10_000


class YamlBlock(dict[str, "Plain"]):
    """A mapping of YAML: its tag (without ``!``), its line, and the lines of its own keys."""

    def __init__(self, tag: str = "", line: int = 0) -> None:
        super().__init__()
        self.tag, self.line = tag, line
        self.lines: dict[str, int] = {}


Plain: TypeAlias = str | list["Plain"] | YamlBlock
"""A scalar is a text, as it is written."""


@dataclass
class _Open:
    """A list or block that has not ended, its anchor, the key to come, and what it merges."""

    container: list[Plain] | YamlBlock
    anchor: str | None
    key: str | None = None
    merged: list[Plain] = field(default_factory=list)


class Builder:
    """Builds the documents of a text of some characters; ``read_yaml`` has the arguments."""

    def __init__(
        self,
        source: str,
        tags: Collection[str] | None,
        refuse: Refuse,
        included: Sequence[Plain],
        characters: int,
    ) -> None:
        self.done: list[Plain] = []
        self._source, self._tags, self._refuse = source, tags, refuse
        self._included = included
        self._open: list[_Open] = []
        # None while a value has not ended.
        self._anchored: dict[str | None, Plain | None] = {}
        self._shareable = max(characters, _LEAST_SHARED)

    def take(self, event: Any) -> None:
        """Take the next event."""
        kind = type(event).__name__
        if kind == "AliasEvent":
            self._add(event, self._named(event))
        elif kind == "ScalarEvent":
            self._scalar(event)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._begin(event, kind == "MappingStartEvent")
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            ended = self._open.pop()
            if isinstance(ended.container, YamlBlock):
                # What is merged is complete here.
                self._merge(event, ended.container, ended.merged)
            self._anchored[ended.anchor] = ended.container

    def _named(self, event: Any) -> Plain:
        if event.anchor not in self._anchored:
            self._fail(event, f"*{event.anchor} names nothing before it")
        found = self._anchored[event.anchor]
        if found is None:
            self._fail(event, f"*{event.anchor} is a part that contains itself")
        return self._shared(event, found)

    def _scalar(self, event: Any) -> None:
        value: Plain = event.value
        if event.tag == INCLUDED:
            value = self._shared(event, self._under(event))
        elif self._tags is not None and event.tag not in (None, "!"):
            self._fail(event, f"the tag {quoted(event.tag)} stands before a text")
        self._anchored[event.anchor] = value
        self._add(event, value)

    def _under(self, event: Any) -> Plain:
        """Return what is included, or what is in it under keys, such as ``0.workload.einsums``."""
        number, *keys = event.value.split(".")
        if number not in map(str, range(len(self._included))):
            self._fail(event, f"{quoted(event.value)} names nothing that is included")
        value = self._included[int(number)]
        for key in keys:
            if not isinstance(value, YamlBlock) or key not in value:
                self._fail(event, f"what is included has no {quoted(key)}")
            value = value[key]
        return value

    def _begin(self, event: Any, is_block: bool) -> None:
        tag = (event.tag or "").removeprefix("!")
        if tag and self._tags is not None and not (is_block and tag in self._tags):
            allowed = ", ".join(f"!{name}" for name in self._tags)
            self._fail(event, f"unknown tag {quoted(event.tag)}; allowed: {allowed}")
        if len(self._open) == _MAX_DEPTH:
            self._fail(event, f"more than {_MAX_DEPTH} blocks in each other")
        container: list[Plain] | YamlBlock = (
            YamlBlock(tag, event.start_mark.line + 1) if is_block else []
        )
        self._add(event, container)
        self._open.append(_Open(container, event.anchor))
        self._anchored[event.anchor] = None

    def _add(self, event: Any, value: Plain) -> None:
        if not self._open:
            self.done.append(value)
            return
        around = self._open[-1]
        container, key = around.container, around.key
        if isinstance(container, list):
            container.append(value)
        elif key is None:
            if not isinstance(value, str):
                self._fail(event, "a key is not a text")
            if value in container.lines and value != _MERGE:
                self._fail(event, f"key {quoted(value)} is given twice")
            around.key = value
            container.lines[value] = event.start_mark.line + 1
        else:
            around.key = None
            if key == _MERGE:
                around.merged.append(value)
            else:
                container[key] = value

    def _merge(self, event: Any, block: YamlBlock, merged: list[Plain]) -> None:
        """Give a block what it lacks of those under its merge keys, the first one first."""
        deep = [block.pop(_DEEP_MERGE, [])]
        for key, values in ((_MERGE, merged), (_DEEP_MERGE, deep)):
            for each in values:
                for other in each if isinstance(each, list) else [each]:
                    if not isinstance(other, YamlBlock):
                        self._fail(event, f"{key} has something else than blocks")
                    self._inherit(event, block, other, key == _DEEP_MERGE)

    def _inherit(self, event: Any, block: YamlBlock, other: YamlBlock, deep: bool) -> None:
        for key, value in other.items():
            own = block.get(key)
            if own is None:
                block[key] = value
                block.lines.setdefault(key, other.lines.get(key, other.line))
            elif deep and isinstance(own, YamlBlock) and isinstance(value, YamlBlock):
                self._count(event, len(own))
                block[key] = both = copy(own)
                both.lines = dict(own.lines)
                self._inherit(event, both, value, deep)
            elif deep and isinstance(own, list) and isinstance(value, list):
                self._count(event, len(own))
                block[key] = [*own, *value]

    def _shared(self, event: Any, value: Plain) -> Plain:
        """Return a value, whose parts count wherever it stands."""
        parts = [value]
        while parts:
            self._count(event, 1)
            part = parts.pop()
            if not isinstance(part, str):
                parts += part.values() if isinstance(part, YamlBlock) else part
        return value

    def _count(self, event: Any, size: int) -> None:
        self._shareable -= size
        if self._shareable < 0:
            self._fail(event, "aliases stand for more values than the text has characters")

    def _fail(self, event: Any, problem: str) -> NoReturn:
        raise self._refuse(f"{self._source}, line {event.start_mark.line + 1}: {problem}")
