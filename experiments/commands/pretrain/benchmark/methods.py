"""The methods that the protocol scores: mappers by name, in files of weights, of other modules."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from experiments.commands.pretrain.benchmark.protocol import Held
from experiments.commands.pretrain.training.labels import read_labels
from experiments.shell.files import file_digest
from maestro_env.evaluation.problem import require_two_levels
from maestro_env.evaluation.transfer import Mapped
from mappers import make_mapper, mapper_names
from mappers.base import Mapper
from mappers.library import Entry, Library, LibraryMapper, known_entries
from mappers.outside import MapperError, make, require_mapper
from mappers.settings import changed

_WEIGHTS = ".safetensors"


@dataclass(frozen=True)
class Method:
    """What is scored.

    Args:
        text: a mapper with settings, as ``make_mapper`` takes it; a file of weights for the mapper
            ``prior``; or ``module:Class`` of somebody's own mapper, settings behind it. In each,
            ``{network}`` is replaced by the held network.
        labels: directory of solved training problems, for the mapper ``library``.
    """

    text: str
    labels: str | None = None

    def __str__(self) -> str:
        return self.text

    @cached_property
    def key(self) -> str:
        """What decides its random streams: the mapper without its settings."""
        parts = self._made("").split(":")
        return ":".join(part for part in parts if "=" not in part)

    def mapper(self, network: str, problems: Iterable[Held]) -> Mapper[Any]:
        """Make the mapper for problems of a held network, whose layers it may not know.

        Raises:
            MaestroEnvError: nothing of this name, or a setting it does not have.
        """
        made = _make(self._made(network))
        if isinstance(made, LibraryMapper):
            held = frozenset(each.shape for each in problems)
            return LibraryMapper(made.config, training_library(held, self.labels))
        return made

    def files(self, network: str) -> dict[str, str]:
        """Return the digests of the files that its settings name, by setting."""
        parts = (part.partition("=") for part in self._made(network).split(":"))
        return {name: file_digest(Path(value)) for name, _, value in parts if Path(value).is_file()}

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
            Mapped(require_two_levels(each.task.problem, "a label"), each.points[0]),
            each.task.objective.factors,
        )
        for each in read_labels(Path(labels))
    ]


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
