"""Renders YAML that is written as a Jinja template, as Timeloop's and AccelForge's files are.

Templates run in Jinja's sandbox. What they do is counted by the size of every value that they come
to, so that no template, however it loops, runs long. They may include YAML files near the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

from maestro_env.base.errors import MaestroEnvError, Refuse, quoted
from maestro_env.base.reading import open_regular

_MOST_CHARACTERS = 2**17
_MOST_TAGS = 1000
_MOST_WORK = 2**16
_WORK_OF_A_FILE = 2**9
_CHARACTERS_AT_ONCE = 64
_MOST_BITS = 64
_LARGEST = 2**_MOST_BITS
_DEEPEST = 8
# Files lie below the folder so many above that of the first one.
_FOLDERS_ABOVE = 2
_SUFFIXES = (".yaml", ".yml")
_FILTERS = (
    *("abs", "d", "default", "first", "float", "int", "join", "last", "length", "list", "lower"),
    *("max", "min", "round", "sort", "string", "trim", "upper"),
)
_METHODS = ("get", "items", "keys", "values")
_LISTS: Any = (list, tuple, dict, range, *map(type, ({}.keys(), {}.values(), {}.items())))
_NOT_READ = (
    *(nodes.AssignBlock, nodes.Block, nodes.CallBlock, nodes.FilterBlock),
    *(nodes.Extends, nodes.FromImport, nodes.Import, nodes.Include),
)
_ERRORS: tuple[type[Exception], ...] = (
    *(jinja2.TemplateError, ArithmeticError, LookupError, OSError, RuntimeError),
    *(MemoryError, SyntaxError, TypeError, ValueError),
)

Load = Callable[[str, str, str], str]
"""Reads a rendered text, as errors call it, and returns what stands for its value of a key."""


class Templates(ImmutableSandboxedEnvironment):
    """Renders a file and what it includes, and counts what that takes.

    Args:
        path: of the first file; None for a text, which includes nothing.
        refuse: makes the error to raise.
        load: of what is included as YAML.
    """

    intercepted_binops = frozenset(("+", "-", "*", "/", "//", "**", "%"))

    def __init__(self, path: Path | None, refuse: Refuse, load: Load) -> None:
        super().__init__(undefined=jinja2.StrictUndefined, extensions=[_Assert])
        self._refuse, self._load_yaml = refuse, load
        self._left = _MOST_WORK
        self._asked: set[str] = set()
        above = path.resolve().parents if path else ()
        self._first, self._reach = [*above[:1]], above[: _FOLDERS_ABOVE + 1][-1:]
        # Where names begin, of the first file and of those that are included in turn.
        self._folders: list[list[Path]] = []
        self.filters = {name: self.filters[name] for name in _FILTERS}
        self.globals = {
            "include_text": self._include_text,
            "include": self._include,
            "add_to_path": self._add_to_path,
            "find_path": lambda name: str(self._found(name) or name),
            "assert_that": _assert_that,
            "dict": dict,
            "range": range,
        }

    def first(self, text: str, source: str, given: Mapping[str, Any]) -> str:
        """Return the YAML of the first file, which may name what is given.

        Raises:
            MaestroEnvError: no template, one that asks for too much, or a name nobody gives.
        """
        rendered = self._rendered(text, source, self._first, given)
        for name in given.keys() - self._asked:
            raise self._refuse(
                f"{source}: the template has no {quoted(name)}, or sets it itself; take out one"
            )
        return rendered

    def _rendered(
        self, text: str, source: str, folders: list[Path], given: Mapping[str, Any]
    ) -> str:
        if len(text) > _MOST_CHARACTERS or text.count("{%") > _MOST_TAGS:
            raise self._refuse(
                f"{source}: it is a Jinja template of more than {_MOST_CHARACTERS:,} characters or "
                f"{_MOST_TAGS:,} tags, the limits; render it first"
            )
        self._folders.append(folders)
        try:
            if len(self._folders) > _DEEPEST:
                raise ValueError(f"more than {_DEEPEST} files include each other")
            tree = self.parse(text)
            for found in tree.find_all(_NOT_READ):
                raise jinja2.TemplateRuntimeError(f"{type(found).__name__} is not read here")
            self._asked |= meta.find_undeclared_variables(tree)
            code = self.compile(_Counting().visit(tree))
            return jinja2.Template.from_code(self, code, self.globals).render(given)
        except MaestroEnvError:
            raise
        except _ERRORS as error:
            line = getattr(error, "lineno", None)
            where = f"{source}, line {line}" if line else source
            raise self._refuse(f"{where}: as a Jinja template: {error}") from None
        finally:
            self._folders.pop()

    @jinja2.pass_context
    def _include_text(self, context: Context, name: str, **given: Any) -> str:
        return self._included(context, name, given)[0]

    @jinja2.pass_context
    def _include(self, context: Context, name: str, key: str = "", **given: Any) -> str:
        return self._load_yaml(*self._included(context, name, given), key)

    def _add_to_path(self, name: str) -> str:
        self._folders[-1].extend(each / name for each in self._folders[-1][:1])
        return ""

    def _included(self, context: Context, name: str, given: Mapping[str, Any]) -> tuple[str, str]:
        """Return a file, rendered with the values around it, and what errors call it."""
        path = self._found(name)
        if path is None:
            raise jinja2.TemplateRuntimeError(
                f"{quoted(name)} cannot be included; allowed: YAML files at most {_FOLDERS_ABOVE} "
                "folders above, by a file"
            )
        with open_regular(path) as file:
            text = self.count(file.read(_MOST_CHARACTERS + 1).decode())
        around = {key: each for key, each in context.get_all().items() if not callable(each)}
        folders = [path.parent, *self._folders[-1][1:]]
        return self._rendered(text, str(path), folders, {**around, **given}), str(path)

    def _found(self, name: str) -> Path | None:
        """Return the first file of a name that may be included."""
        for folder in self._folders[-1]:
            self._spend(_WORK_OF_A_FILE)
            path = (folder / name).resolve()
            if path.suffix in _SUFFIXES and path.is_relative_to(*self._reach) and path.is_file():
                return path
        return None

    def count(self, value: Any) -> Any:
        """Count the size of a value, what it has twice twice, and return it."""
        parts = [value]
        while parts:
            part = parts.pop()
            if isinstance(part, str):
                self._spend(1 + len(part) // _CHARACTERS_AT_ONCE)
            elif isinstance(part, _LISTS):
                self._spend(1 + len(part))
                parts += part.values() if isinstance(part, dict) else part
            else:
                self._spend(1)
        return value

    def _spend(self, work: int) -> None:
        self._left -= work
        if self._left < 0:
            raise jinja2.TemplateRuntimeError("it does more than the limit; render it first")

    def is_safe_callable(self, obj: Any) -> bool:
        """Whether a template may call something: what it is given here, and macros of its own."""
        of_dict = isinstance(getattr(obj, "__self__", None), dict) and obj.__name__ in _METHODS
        return of_dict or isinstance(obj, Macro) or obj in (self.count, *self.globals.values())

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Return what an operator comes to: of numbers that are not large, but for ``+``."""
        # What is undefined says so itself.
        known = all(isinstance(each, int | float | jinja2.Undefined) for each in (left, right))
        if not known and operator != "+":
            raise TypeError(f"{operator} of something else than numbers")
        numbers = [each for each in (left, right) if isinstance(each, int | float)]
        if any(abs(each) > _LARGEST for each in numbers):
            raise ValueError("a number that is too large")
        if operator == "**" and any(abs(each) > _MOST_BITS for each in numbers[1:]):
            raise ValueError("a power that is too large")
        return super().call_binop(context, operator, left, right)


class _Assert(Extension):
    """``{% assert CONDITION, MESSAGE %}`` of AccelForge."""

    tags = frozenset(("assert",))  # type: ignore[assignment]

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        said = parser.parse_tuple(with_condexpr=True)
        call = nodes.Call(nodes.Name("assert_that", "load"), [said], [], None, None)
        return nodes.Output([call], lineno=line)


def _assert_that(said: Any) -> str:
    holds, message = said if isinstance(said, tuple) else (said, "an assertion does not hold")
    if not holds:
        raise ValueError(message)
    return ""


class _Counting(NodeTransformer):
    """Counts every value that an expression comes to."""

    def generic_visit(self, node: nodes.Node, *args: Any, **kwargs: Any) -> nodes.Node:
        super().generic_visit(node)
        is_value = isinstance(node, nodes.Expr) and not isinstance(node, nodes.Slice | nodes.NSRef)
        if not is_value or getattr(node, "ctx", "load") != "load":
            return node
        count = nodes.EnvironmentAttribute("count")
        return nodes.Call(count, [node], [], None, None, lineno=node.lineno)
