"""The methods that are scored: mappers by name, in files of weights, of modules; programs."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from maestro_env.evaluation.problem import require
from maestro_env.evaluation.transfer import Mapped
from maestro_env.experiments.commands.benchmark.program import ProgramMapper, split_command
from maestro_env.experiments.problems.labels import Held, read_labels
from maestro_env.experiments.shell.files import file_digest
from maestro_env.mappers import make_mapper, mapper_names, may_end_early
from maestro_env.mappers.base import Mapper, changed
from maestro_env.mappers.library import Entry, Library, LibraryMapper, known_entries
from maestro_env.mappers.plugins import MapperError, make, require_mapper
from maestro_env.workloads.finding import models

_WEIGHTS, _PROGRAM = ".safetensors", "program"


@dataclass(frozen=True)
class Method:
    """What is scored.

    Args:
        text: a mapper with settings, as ``make_mapper`` takes it; a file of weights for the mapper
            ``prior``; ``module:Class`` of somebody's own mapper, settings behind it; or
            ``program:COMMAND`` (``ProgramMapper``). In each, ``{network}`` is replaced by the held
            network.
        labels: directory of solved training problems, for the mapper ``library``.
        seconds: that a search of a program may take.
    """

    text: str
    labels: str | None = None
    seconds: float = 600.0

    def __str__(self) -> str:
        return self.text

    @cached_property
    def key(self) -> str:
        """What decides its random streams: the mapper without its settings."""
        if self.command is not None:
            return self.text
        parts = self._made("").split(":")
        return ":".join(part for part in parts if "=" not in part)

    @property
    def command(self) -> str | None:
        """Of a program; None for a mapper."""
        name, _, command = self.text.partition(":")
        return command if name == _PROGRAM else None

    @property
    def may_end_early(self) -> bool:
        """Whether a search may end before its budget is spent."""
        return self.command is not None or may_end_early(self.text)

    def mapper(self, network: str, problems: Iterable[Held]) -> Mapper[Any]:
        """Make the mapper for problems of a held network, whose layers it may not know.

        Raises:
            MaestroEnvError: nothing of this name, or a setting it does not have.
        """
        if self.command is not None:
            return ProgramMapper(self.command.replace("{network}", network), self.seconds)
        made = _make(self._made(network))
        if isinstance(made, LibraryMapper):
            held = frozenset(each.shape for each in problems)
            return LibraryMapper(made.config, training_library(held, self.labels))
        return made

    def files(self, network: str) -> dict[str, str]:
        """Return the digests of the files that it names, by setting or name.

        Raises:
            ProgramError: a command that no shell would split.
        """
        text = self._made(network)
        if self.command is not None:
            named = {each: each for each in split_command(text.partition(":")[2])}
        else:
            parts = [part.partition("=") for part in text.split(":")]
            named = {name: value for name, _, value in parts} | _source(parts[0][0])
        return {name: file_digest(Path(at)) for name, at in named.items() if os.path.isfile(at)}

    def digests(self) -> dict[str, str]:
        """Return the digests of all its files, by held network where their names have it."""
        if "{network}" not in self.text:
            return self.files("")
        every = {network: self.files(network) for network in models()}
        return {f"{net} {name}": sha for net, found in every.items() for name, sha in found.items()}

    def _made(self, network: str) -> str:
        text = self.text.replace("{network}", network)
        return f"prior:file={text}" if text.endswith(_WEIGHTS) and "=" not in text else text


@cache
def training_library(held: frozenset[str], labels: str | None) -> Library:
    """Return the solved training problems whose layers have none of the held shapes.

    They are those of the table of known optima, and of a directory of labels if there is one.
    """
    entries = [*known_entries(), *(_labelled(labels) if labels else ())]
    return Library(entry for entry in entries if entry[0].problem.layer.shape not in held)


@cache
def _labelled(labels: str) -> list[Entry]:
    return [
        (
            Mapped(require(each.task.problem, "levels", "a label"), each.points[0]),
            each.task.objective.factors,
        )
        for each in read_labels(Path(labels))
    ]


def _source(module: str) -> dict[str, str]:
    """Return the file of somebody's own module by its name; none of a mapper of the package."""
    path = Path(f"{module.replace('.', '/')}.py")
    return {} if module in mapper_names() else {path.name: str(path)}


def _make(text: str) -> Mapper[Any]:
    name, *rest = text.split(":")
    if name in mapper_names() or not rest or "=" in rest[0]:
        return make_mapper(text)
    return _from_module(name, *rest)


def _from_module(module: str, class_name: str, *changes: str) -> Mapper[Any]:
    """Make the mapper of a class in a module, which the working directory may have."""
    what = f"mapper {module}:{class_name}"
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = getattr(importlib.import_module(module), class_name)
    except Exception as error:
        raise MapperError(f"{what} cannot be loaded: {type(error).__name__}: {error}") from error
    mapper_class = require_mapper(what, found)
    return make(what, mapper_class, changed(mapper_class.DEFAULT, changes))
