"""Reads YAML of other tools: texts, lists and tagged blocks, never an object, and within limits.

Files of Timeloop and AccelForge tag their blocks (``!Component``). Events are read one by one, so
that neither depth nor aliases cost more than the text is long.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from maestro_env.base.checks import MAX_INT, require_type
from maestro_env.base.errors import MaestroEnvError, quoted

_MAX_DEPTH = 30
_MAX_CHARACTERS = 2**20
# Bits of the largest buffer.
_MOST = MAX_INT * 64
_PRODUCT = re.compile(r"[0-9]{1,10}(\s*\*\s*[0-9]{1,10}){0,5}")

Refuse = Callable[[str], MaestroEnvError]
"""Makes the error of a format from a message."""


class Block(dict[str, Any]):
    """A YAML mapping of texts, lists and blocks, with its tag (without ``!``; empty if none)."""

    tag: str = ""


@dataclass(frozen=True)
class Part:
    """A value in a file: readers ask it for what they expect.

    Args:
        value: a text, a list or a ``Block``.
        where: the file and the path in it.
        refuse: makes the error to raise.
    """

    value: Any
    where: str
    refuse: Refuse

    def error(self, problem: str) -> MaestroEnvError:
        """Make the error that names this part."""
        return self.refuse(f"{self.where}: {problem}")

    def fail(self, problem: str) -> NoReturn:
        """Raise the error that names this part."""
        raise self.error(problem)

    def refusing(self, refuse: Refuse) -> Part:
        """Return this part with another error."""
        return Part(self.value, self.where, refuse)

    @property
    def tag(self) -> str:
        """Tag of a block, empty if there is none or no block."""
        return self.value.tag if isinstance(self.value, Block) else ""

    def __contains__(self, key: str) -> bool:
        return key in self._block()

    def __getitem__(self, key: str) -> Part:
        """Return the part under a key, or raise an error that names the key."""
        if key not in self._block():
            self.fail(f"{key} is missing")
        return Part(self.value[key], f"{self.where}, {key}", self.refuse)

    def names(self) -> Collection[str]:
        """Return the keys of a block."""
        return self._block().keys()

    def only(self, *allowed: str) -> None:
        """Raise an error that names the first key beside those allowed."""
        for key in self.names():
            if key not in allowed:
                self.fail(f"{quoted(key)} cannot be said here; allowed: {', '.join(allowed)}")

    def items(self) -> Iterator[Part]:
        """Yield the parts of a list."""
        if not isinstance(self.value, list):
            self.fail(f"expected a list, found {_shown(self.value)}")
        for number, each in enumerate(self.value, start=1):
            yield Part(each, f"{self.where} {number}", self.refuse)

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            self.fail(f"expected a text, found {_shown(self.value)}")
        return self.value

    def texts(self) -> list[str]:
        """Return a list of texts."""
        return [each.text() for each in self.items()]

    def integer(self, least: int = 1) -> int:
        """Return a number written in digits, or a product of some (``1024 * 8``)."""
        text = self.text().strip()
        number = 0
        if _PRODUCT.fullmatch(text):
            number = math.prod(int(factor) for factor in text.split("*"))
        if not least <= number <= _MOST:
            self.fail(
                f"is {quoted(text)}; allowed: integers from {least} to {_MOST}, or a product such "
                "as 1024 * 8"
            )
        return number

    def _block(self) -> Block:
        if not isinstance(self.value, Block):
            self.fail(f"expected 'name: value' lines, found {_shown(self.value)}")
        return self.value


def read_yaml(text: str, source: str, tags: Collection[str], refuse: Refuse) -> Part:
    """Return the one document of a text, whose tags are among those given."""
    import yaml

    require_type("text", text, str, "of a YAML file")
    if len(text) > _MAX_CHARACTERS:
        raise refuse(f"{source}: it has more than {_MAX_CHARACTERS:,} characters, the limit")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(source, tags, refuse)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, MaestroEnvError):
            raise
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not a YAML text"
        raise refuse(f"{source}{line}: {problem}") from None
    if len(builder.done) != 1:
        raise refuse(f"{source}: has {len(builder.done)} YAML documents; allowed: one")
    return Part(builder.done[0], source, refuse)


class _Builder:
    """Puts a document together, event by event."""

    def __init__(self, source: str, tags: Collection[str], refuse: Refuse) -> None:
        self.done: list[Any] = []
        self._source, self._tags, self._refuse = source, tags, refuse
        self._open: list[list[Any] | Block] = []
        self._keys: list[str | None] = []

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "AliasEvent":
            self._fail(event, f"*{event.anchor} is an alias; write its value out")
        if kind == "ScalarEvent":
            if event.tag not in (None, "!"):
                self._fail(event, f"the tag {quoted(event.tag)} stands before a text")
            self._add(event, event.value)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._begin(event, kind == "MappingStartEvent")
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._open.pop()
            self._keys.pop()

    def _begin(self, event: Any, is_block: bool) -> None:
        container: list[Any] | Block = Block() if is_block else []
        if event.tag is not None:
            tag = event.tag.removeprefix("!")
            if tag not in self._tags or not is_block:
                allowed = ", ".join(f"!{name}" for name in self._tags)
                self._fail(event, f"unknown tag {quoted(event.tag)}; allowed: {allowed}")
            container.tag = tag  # type: ignore[union-attr]
        if len(self._open) == _MAX_DEPTH:
            self._fail(event, f"more than {_MAX_DEPTH} blocks in each other")
        self._add(event, container)
        self._open.append(container)
        self._keys.append(None)

    def _add(self, event: Any, value: Any) -> None:
        if not self._open:
            self.done.append(value)
        elif isinstance(self._open[-1], list):
            self._open[-1].append(value)
        elif self._keys[-1] is None:
            if not isinstance(value, str):
                self._fail(event, "a key is no text")
            if value in self._open[-1]:
                self._fail(event, f"{quoted(value)} is given twice")
            self._keys[-1] = value
        else:
            self._open[-1][self._keys[-1]] = value
            self._keys[-1] = None

    def _fail(self, event: Any, problem: str) -> NoReturn:
        raise self._refuse(f"{self._source}, line {event.start_mark.line + 1}: {problem}")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    return "a list" if isinstance(value, list) else "'name: value' lines"
