"""Reads YAML that users name: texts, lists and tagged blocks, never an object, within limits.

Events are read one by one, and what an alias names is shared, so that neither depth nor aliases
cost more than the text is long.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

from maestro_env.base.checks import MAX_INT, plain_number, require_type
from maestro_env.base.errors import MaestroEnvError, Refuse, close_matches, quoted
from maestro_env.base.reading import read_or_refuse

_MAX_DEPTH = 30
_MAX_CHARACTERS = 2**22
# Bits of the largest buffer.
_MOST = MAX_INT * 64
_MOST_NUMBER = 10.0**30
_MOST_FACTORS = 6
_PRODUCT = re.compile(r"[0-9]{1,10}(\s*\*\s*[0-9]{1,10}){0,5}")


class YamlBlock(dict[str, "Plain"]):
    """A mapping of YAML: its tag (without ``!``), its line, and the lines of its own keys."""

    def __init__(self, tag: str = "", line: int = 0) -> None:
        super().__init__()
        self.tag, self.line = tag, line
        self.lines: dict[str, int] = {}


Plain: TypeAlias = str | list["Plain"] | YamlBlock
"""A scalar is a text, as it is written."""


@dataclass(frozen=True)
class Part:
    """A value in a file: readers ask it for what they expect.

    Args:
        value: of the part.
        source: the file, as errors call it.
        refuse: makes the error to raise.
        path: keys and numbers that lead to the part.
        line: on which the part stands; 0 for all of the file.
    """

    value: Plain
    source: str
    refuse: Refuse
    path: str = ""
    line: int = 0

    @property
    def where(self) -> str:
        """The file and the place in it."""
        return f"{self.source}, line {self.line}{self.path}" if self.line else self.source

    def error(self, problem: str) -> MaestroEnvError:
        """Make the error that names this part."""
        return self.refuse(f"{self.where}: {problem}")

    def fail(self, problem: str) -> NoReturn:
        """Raise the error that names this part."""
        raise self.error(problem)

    def refusing(self, refuse: Refuse) -> Part:
        """Return this part with another error."""
        return replace(self, refuse=refuse)

    @property
    def tag(self) -> str:
        """Tag of a block, empty if there is none or no block."""
        return self.value.tag if isinstance(self.value, YamlBlock) else ""

    def __contains__(self, key: str) -> bool:
        return key in self._block()

    def __getitem__(self, key: str) -> Part:
        """Return the part under a key, or raise an error that names the key."""
        if key not in self._block():
            self.fail(f"{key} is missing")
        return self.get(key, "")

    def get(self, key: str, default: Plain) -> Part:
        """Return the part under a key, or one of a value where the key is missing."""
        block = self._block()
        line = block.lines.get(key, self.line)
        return Part(block.get(key, default), self.source, self.refuse, f"{self.path}, {key}", line)

    def only(self, *allowed: str) -> None:
        """Raise an error that names the first key beside those allowed."""
        for key in self._block():
            if key not in allowed:
                hint = close_matches(key, allowed)
                self.fail(
                    f"{quoted(key)} is not supported here; {hint}allowed: {', '.join(allowed)}"
                )

    def named(self) -> dict[str, Part]:
        """Return the parts of a block by their keys."""
        return {key: self[key] for key in self._block()}

    def items(self) -> Iterator[Part]:
        """Yield the parts of a list."""
        if not isinstance(self.value, list):
            self.fail(f"expected a list, found {_shown(self.value)}")
        for number, each in enumerate(self.value, start=1):
            line = each.line if isinstance(each, YamlBlock) else self.line
            yield Part(each, self.source, self.refuse, f"{self.path} {number}", line)

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            self.fail(f"expected a text, found {_shown(self.value)}")
        return self.value

    def texts(self) -> list[str]:
        """Return a list of texts."""
        return [each.text() for each in self.items()]

    def is_true(self, key: str) -> bool:
        """Whether the text under a key is ``true``; it may be missing."""
        return self.get(key, "false").text().lower() == "true"

    def integer(self) -> int:
        """Return a number from 1, written in digits, or a product of some (``1024 * 8``)."""
        text = self.text().strip()
        number = 0
        if _PRODUCT.fullmatch(text):
            number = math.prod(int(factor) for factor in text.split("*"))
        if not 1 <= number <= _MOST:
            self.fail(
                f"is {quoted(text)}; allowed: integers from 1 to {_MOST}, or a product such as "
                "1024 * 8"
            )
        return number

    def number(self) -> Fraction:
        """Return a number from 0, or a product of some (``8 * 1.5e9``), exactly."""
        factors = [each.strip() for each in self.text().split("*", _MOST_FACTORS)]
        numbers = [Fraction(each) for each in factors if plain_number(each) is not None]
        product = math.prod(numbers, start=Fraction(1))
        if len(numbers) < len(factors) or product > _MOST_NUMBER:
            self.fail(
                f"is {quoted(self.text())}; allowed: numbers from 0 to {_MOST_NUMBER:g}, or a "
                "product such as 8 * 1.5e9"
            )
        return product

    def positive(self) -> Fraction:
        """Return a number above 0, as ``number`` does."""
        return self.number() or self.fail(f"is {quoted(self.text())}; allowed: numbers above 0")

    def _block(self) -> YamlBlock:
        if not isinstance(self.value, YamlBlock):
            self.fail(f"expected 'name: value' lines, found {_shown(self.value)}")
        return self.value


def read_yaml_file(path: str | Path, refuse: Refuse, tags: Collection[str] | None = None) -> Part:
    """Return what a file contains, as ``read_yaml`` does."""
    return read_yaml(read_or_refuse(path, _MAX_CHARACTERS, refuse), str(path), refuse, tags)


def read_yaml(text: str, source: str, refuse: Refuse, tags: Collection[str] | None = None) -> Part:
    """Return the one document of a text.

    Args:
        text: of a file.
        source: what errors call it.
        refuse: makes the error to raise.
        tags: that blocks may have; there are no aliases and merged keys then. If None, tags mean
            nothing.
    """
    import yaml

    require_type("text", text, str, "of a YAML file")
    if len(text) > _MAX_CHARACTERS:
        raise refuse(f"{source}: it has more than {_MAX_CHARACTERS:,} characters, the limit")
    if "{{" in text or "{%" in text:
        raise refuse(f"{source}: it is a Jinja template; render it first")
    builder = _Builder(source, tags, refuse)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            builder.take(event)
    except (yaml.YAMLError, UnicodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "not a YAML text"
        raise refuse(f"{source}{line}: {problem}") from None
    if len(builder.done) != 1:
        number = (
            f"has {len(builder.done)} YAML documents; allowed: one" if builder.done else "is empty"
        )
        raise refuse(f"{source}: it {number}")
    return Part(builder.done[0], source, refuse)


class _Builder:
    """Puts a document together, event by event."""

    def __init__(self, source: str, tags: Collection[str] | None, refuse: Refuse) -> None:
        self.done: list[Plain] = []
        self._source, self._tags, self._refuse = source, tags, refuse
        self._open: list[list[Plain] | YamlBlock] = []
        self._keys: list[str | None] = []
        self._anchored: dict[str, Plain] = {}
        self._merged = 0

    def take(self, event: Any) -> None:
        kind = type(event).__name__
        if kind == "AliasEvent":
            self._add(event, self._named(event))
        elif kind == "ScalarEvent":
            if self._tags is not None and event.tag not in (None, "!"):
                self._fail(event, f"the tag {quoted(event.tag)} stands before a text")
            self._anchored[event.anchor] = event.value
            self._add(event, event.value)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            self._begin(event, kind == "MappingStartEvent")
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            self._keys.pop()
            ended = self._open.pop()
            if isinstance(ended, YamlBlock) and self._tags is None:
                self._merge(event, ended)

    def _named(self, event: Any) -> Plain:
        if self._tags is not None:
            self._fail(event, f"*{event.anchor} is an alias; write its value out")
        if event.anchor not in self._anchored:
            self._fail(event, f"*{event.anchor} names nothing before it")
        found = self._anchored[event.anchor]
        if any(found is each for each in self._open):
            self._fail(event, f"*{event.anchor} is a part that contains itself")
        return found

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
        self._open.append(container)
        self._keys.append(None)
        self._anchored[event.anchor] = container

    def _add(self, event: Any, value: Plain) -> None:
        if not self._open:
            self.done.append(value)
            return
        container, key = self._open[-1], self._keys[-1]
        if isinstance(container, list):
            container.append(value)
        elif key is None:
            if not isinstance(value, str):
                self._fail(event, "a key is not a text")
            if value in container.lines and value != "<<":
                self._fail(event, f"key {quoted(value)} is given twice")
            self._keys[-1] = value
            container.lines[value] = event.start_mark.line + 1
        else:
            self._keys[-1] = None
            # What is merged is merged where it is complete, at the end of the block.
            container[key] = [*container.get(key, []), value] if key == "<<" else value

    def _merge(self, event: Any, block: YamlBlock) -> None:
        """Give a block the keys that it lacks of those under ``<<``, the first one first."""
        for value in block.pop("<<", []):
            for each in value if isinstance(value, list) else [value]:
                for key, inherited in each.items() if isinstance(each, YamlBlock) else ():
                    self._merged += 1
                    block.setdefault(key, inherited)
                if self._merged > _MAX_CHARACTERS:
                    self._fail(event, f"more than {_MAX_CHARACTERS:,} merged keys, the limit")

    def _fail(self, event: Any, problem: str) -> NoReturn:
        raise self._refuse(f"{self._source}, line {event.start_mark.line + 1}: {problem}")


def _shown(value: Plain) -> str:
    if isinstance(value, str):
        return quoted(value)
    return "a list" if isinstance(value, list) else "'name: value' lines"
