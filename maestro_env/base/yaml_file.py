"""Reads YAML that users name: texts, lists and tagged blocks, never an object, within limits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

from maestro_env.base.checks import require_type
from maestro_env.base.errors import MaestroEnvError, Refuse, close_matches, quoted
from maestro_env.base.expressions import Names, no_names, value_of
from maestro_env.base.reading import read_or_refuse
from maestro_env.base.yaml_blocks import INCLUDED, Builder, Plain, YamlBlock

_MAX_CHARACTERS = 2**22
# Bits of the largest memory.
_MOST = 2**53
_MOST_NUMBER = 10**30


@dataclass(frozen=True)
class Part:
    """A value in a file: readers ask it for what they expect.

    Args:
        value: of the part.
        source: the file, as errors call it.
        refuse: makes the error to raise.
        path: keys and numbers that lead to the part.
        line: on which the part stands; 0 for all of the file.
        names: what names in its expressions stand for.
        notes: on what its readers leave out, one sentence each; shared by all parts of a file.
    """

    value: Plain
    source: str
    refuse: Refuse
    path: str = ""
    line: int = 0
    names: Names = no_names
    notes: list[str] = field(default_factory=list, compare=False)

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

    def note(self, sentence: str) -> None:
        """Say once of the file that something in it is not read."""
        if (note := f"{self.source}: {sentence}") not in self.notes:
            self.notes.append(note)

    def knowing(self, parts: Mapping[str, Part]) -> Part:
        """Return this part with names for its expressions: those of other parts of the file."""
        known: dict[str, Fraction | None] = {}

        def value(name: str) -> Fraction | None:
            part = parts.get(name)
            if part is None or not isinstance(part.value, str):
                return self.names(name)
            if name not in known:
                # What a name stands for does not hold the name itself.
                known[name] = self.names(name)
                known[name] = value_of(part.value, value)
            return known[name]

        return replace(self, names=value)

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
        return self._within(block.get(key, default), f", {key}", line)

    def only(self, *allowed: str) -> None:
        """Raise an error that names the first key beside those allowed."""
        for key in self._block():
            if key not in allowed:
                hint = close_matches(key, allowed)
                self.fail(
                    f"{quoted(key)} is not supported here; {hint}allowed: {', '.join(allowed)}"
                )

    def spelt(self, *used: str) -> None:
        """Raise an error that names the first key that looks like one of those used, misspelt."""
        for key in self._block():
            if key not in used and (hint := close_matches(key, used, alike=0.8)):
                self.get(key, "").fail(f"unknown key; {hint}".strip())

    def one_of(self, *keys: str) -> str:
        """Return which of some keys that mean the same is given, the first one if none is."""
        given = [key for key in keys if key in self]
        if len(given) > 1:
            self.fail(f"{given[0]} and {given[1]} are given; allowed: one of them")
        return given[0] if given else keys[0]

    def without(self, name: str) -> Part:
        """Return this part without the part of a key."""
        block = copy(self._block())
        block.pop(name, None)
        return replace(self, value=block)

    def named(self) -> dict[str, Part]:
        """Return the parts of a block by their keys."""
        return {key: self[key] for key in self._block()}

    def read(self, readers: Mapping[str, Callable[[Part], Any]]) -> dict[str, Any]:
        """Return the values of a block; each has a reader."""
        self.only(*readers)
        return {key: readers[key](each) for key, each in self.named().items()}

    def items(self) -> Iterator[Part]:
        """Yield the parts of a list."""
        if not isinstance(self.value, list):
            self.fail(f"expected a list, found {_shown(self.value)}")
        for number, each in enumerate(self.value, start=1):
            line = each.line if isinstance(each, YamlBlock) else self.line
            yield self._within(each, f" {number}", line)

    def text(self) -> str:
        """Return a text."""
        if not isinstance(self.value, str):
            self.fail(f"expected a text, found {_shown(self.value)}")
        return self.value

    def texts(self) -> list[str]:
        """Return a list of texts."""
        return [each.text() for each in self.items()]

    def is_true(self, key: str) -> bool:
        """Whether the text under a key is ``true``, not ``false``; it may be missing."""
        part = self.get(key, "false")
        text = part.text().lower()
        if text not in ("true", "false"):
            part.fail(f"is {quoted(part.text())}; allowed: true or false")
        return text == "true"

    def integer(self) -> int:
        """Return a whole number from 1, or an expression that comes to one (``2**20 * 8``)."""
        number = value_of(self.text(), self.names)
        if number is None or number.denominator != 1 or not 1 <= number <= _MOST:
            self.fail(
                f"is {quoted(self.text().strip())}; allowed: integers from 1 to {_MOST}, or a "
                "product such as 1024 * 8"
            )
        return int(number)

    def number(self) -> Fraction:
        """Return a number from 0, or an expression that comes to one (``8 * 1.5e9``), exactly."""
        number = value_of(self.text(), self.names)
        if number is None or not 0 <= number <= _MOST_NUMBER:
            self.fail(
                f"is {quoted(self.text())}; allowed: numbers from 0 to {_MOST_NUMBER:g}, or a "
                "product such as 8 * 1.5e9"
            )
        return number

    def positive(self) -> Fraction:
        """Return a number above 0, as ``number`` does."""
        return self.number() or self.fail(f"is {quoted(self.text())}; allowed: numbers above 0")

    def _within(self, value: Plain, step: str, line: int) -> Part:
        path = self.path + step
        return Part(value, self.source, self.refuse, path, line, self.names, self.notes)

    def _block(self) -> YamlBlock:
        if not isinstance(self.value, YamlBlock):
            self.fail(f"expected 'name: value' lines, found {_shown(self.value)}")
        return self.value


def read_yaml_file(
    path: str | Path,
    refuse: Refuse,
    tags: Collection[str] | None = None,
    given: Mapping[str, Any] | None = None,
) -> Part:
    """Return what a file contains, as ``read_yaml`` does; a template may include files near it."""
    text = read_or_refuse(path, _MAX_CHARACTERS, refuse)
    return read_yaml(text, str(path), refuse, tags, given, Path(path))


def read_yaml(
    text: str,
    source: str,
    refuse: Refuse,
    tags: Collection[str] | None = None,
    given: Mapping[str, Any] | None = None,
    path: Path | None = None,
) -> Part:
    """Return the one document of a text.

    A Jinja template is rendered. Under ``<<`` stand blocks whose keys a block has too, unless it
    says them itself; under ``<<<`` those that it has as well are merged in turn.

    Args:
        text: of a file.
        source: what errors call it.
        refuse: makes the error to raise.
        tags: that blocks may have. If None, tags mean nothing.
        given: values by the names that a template has for them.
        path: of the file, for what a template includes.
    """
    require_type("text", text, str, "of a YAML file")
    included: list[Plain] = []
    if any(mark in text for mark in ("{{", "{%", "{#")):
        from maestro_env.base.yaml_templates import Templates

        def load(text: str, source: str, keys: str) -> str:
            part = _document(text, source, refuse, tags, included)
            for key in filter(None, keys.split(".")):
                part = part[key]
            included.append(part.value)
            return f"{INCLUDED} {len(included) - 1}"

        text = Templates(path, refuse, load).first(text, source, given or {})
        source = f"{source} as rendered"
    elif given:
        raise refuse(f"{source}: it is no template, and leaves no {quoted(next(iter(given)))} open")
    return _document(text, source, refuse, tags, included)


def _document(
    text: str, source: str, refuse: Refuse, tags: Collection[str] | None, included: Sequence[Plain]
) -> Part:
    import yaml

    if len(text) > _MAX_CHARACTERS:
        raise refuse(f"{source}: it has more than {_MAX_CHARACTERS:,} characters, the limit")
    builder = Builder(source, tags, refuse, included, len(text))
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


def _shown(value: Plain) -> str:
    if isinstance(value, str):
        return quoted(value)
    return "a list" if isinstance(value, list) else "'name: value' lines"


# Files of other tools by their keys, those that are not read too: errors say what they are.
_KINDS: Mapping[str, tuple[str, ...]] = {
    "a hardware file of ZigZag": ("operational_array", "memories"),
    "a hardware file of Stream": ("cores",),
    "a workload of ZigZag or Stream": ("operator_type", "loop_dims"),
    "a mapping of ZigZag": ("spatial_mapping",),
    "a mapping of Stream": ("core_allocation",),
    "an architecture of Timeloop": ("architecture",),
    "an architecture of AccelForge": ("arch",),
    "a problem of Timeloop": ("problem",),
    "a workload of AccelForge": ("workload",),
    "a mapping of Timeloop or AccelForge": ("mapping",),
}


def kind_of(root: Part) -> str:
    """Return what a document is, such as ``, but a mapping of ZigZag``; empty if it is unknown.

    Of a list, the first entry tells; of a block with ``layers``, the first of them.
    """
    value = root.value
    while not isinstance(value, str) and value:
        if isinstance(value, list):
            value = value[0]
            continue
        for kind, keys in _KINDS.items():
            if any(key in value for key in keys):
                return f", but {kind}"
        value = value.get("layers", "")
    return ""
