"""The methods that are scored, and records of what one found on a network's problems from one seed.

Methods are mappers by name, in files of weights, of modules; and programs.
"""

from __future__ import annotations

import importlib
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.base.errors import MaestroEnvError, quoted
from maestro_env.evaluation.problem import require
from maestro_env.evaluation.transfer import Mapped
from maestro_env.experiments.commands.benchmark.program import (
    ProgramMapper,
    TimedOutError,
    split_command,
)
from maestro_env.experiments.problems.labels import Held, read_labels
from maestro_env.experiments.search.searches import Recorder, UnspentError, stream
from maestro_env.experiments.shell.files import distinct_name, file_digest
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.records import Record, Show
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


class SearchError(MaestroEnvError, RuntimeError):
    """A search that ended by an error; the message names its problem."""


TIMED_OUT = {"status": "timed out"}
"""What an entry has besides if a program did not end its search in time."""

CHECKPOINTS = (1, 10, 100, 500, 1000, 5000, 10_000, 20_000)


def checkpoints(samples: int) -> tuple[int, ...]:
    """Return the numbers of samples after which a search of so many is looked at."""
    return (*(each for each in CHECKPOINTS if each < samples), samples)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What was found on the P problems of a network from one seed, evaluated again.

    Args:
        path: of what tells it.
        network, seed, samples: of the searches, as ``Searches`` has them.
        values: float64[P, C], the least value after so many samples (``checkpoints``); infinite if
            none was valid.
        valid: float64[P, C], the share of valid ones among the samples spent; NaN if it is not
            known.
        seconds: that the searches took; NaN if it is not known.
    """

    path: Path
    network: str
    seed: int
    samples: int
    values: Floats
    valid: Floats
    seconds: float


@dataclass(frozen=True)
class Searches(Record[Evaluation]):
    """A method on all problems of a network from one seed.

    Args:
        method: what is scored.
        split: name of the split, with its seed if it has one.
        network: of the problems.
        problems: of it.
        seed: of the searches.
        samples: of a search.
    """

    method: Method
    split: str
    network: str
    problems: Sequence[Held]
    seed: int
    samples: int

    def __str__(self) -> str:
        return f"{self.method} on {self.network}, seed {self.seed}"

    @property
    def path(self) -> Path:
        return self.directory / self.split / distinct_name(self.network) / f"{self.seed}.json"

    def facts(self) -> dict[str, Any]:
        facts = {
            "method": self.method.text,
            "files": self.method.files(self.network),
            "labels": self.method.labels,
            "split": self.split,
            "network": self.network,
            "seed": self.seed,
            "samples": self.samples,
        }
        return {"searches": facts}

    def compute(self, show: Show) -> dict[str, Any]:
        began, found = time.perf_counter(), {}
        for index, held in enumerate(self.problems):
            show(index / len(self.problems), str(held))
            try:
                found[held.key] = self.search(held)
            except Exception as error:
                told = " ".join(f"{type(error).__name__}: {error}".split())
                raise SearchError(f"{held}: {told}") from error
        return {"problems": found, "seconds": round(time.perf_counter() - began, 3)}

    def search(self, held: Held, until: int | None = None) -> dict[str, Any]:
        """Return what the method finds on one of the problems, as the record has it.

        Args:
            held: the problem.
            until: number of samples after which it has timed out before.
        """
        evaluator = Recorder(held.goal.problem, held.goal.objective, until or self.samples)
        mapper, more = self.method.mapper(self.network, self.problems), TIMED_OUT if until else {}
        try:
            mapper.search(evaluator, self.samples, stream(evaluator, self.method.key, self.seed))
        except TimedOutError as error:
            if not (evaluator.used and evaluator.remaining):
                raise
            more, told = TIMED_OUT, f"{error}; {evaluator.used} of {self.samples} samples count"
            print_errors(f"warning: {held}: {told}")
        if evaluator.remaining and not (evaluator.used and self.method.may_end_early):
            raise UnspentError(f"it spent {evaluator.used} of {self.samples} evaluations")
        return _entry(evaluator, self.samples) | more

    def parse(self, entry: dict[str, Any]) -> Evaluation:
        return evaluation(self.path, entry, self.problems)


def evaluation(path: Path, entry: dict[str, Any], problems: Sequence[Held]) -> Evaluation:
    """Return what a record tells of problems, once its mappings have the values that it claims.

    Raises:
        LookupError, TypeError, ValueError, OverflowError: it is no such record.
    """
    told = entry["searches"]
    network, seed, samples = told["network"], told["seed"], told["samples"]
    if foreign := sorted(set(entry["problems"]) - {held.key for held in problems}):
        raise ValueError(f"it has a problem that is not of the split: {foreign[0]}")
    found = [_read(held, entry["problems"][held.key], checkpoints(samples)) for held in problems]
    values, valid = map(np.array, zip(*found, strict=True))
    if type(entry["seconds"]) not in (int, float):
        raise TypeError(f"seconds are {quoted(entry['seconds'])}, no number")
    return Evaluation(path, network, seed, samples, values, valid, float(entry["seconds"]))


def _read(held: Held, entry: dict[str, Any], counts: Sequence[int]) -> tuple[Floats, Floats]:
    """Return values and shares of valid ones, float64[C] each, once vectors have these values."""
    values, valid, vectors = entry["values"], entry["valid"], entry["vectors"]
    if not len(values) == len(valid) == len(vectors) == len(counts):
        raise ValueError(f"{len(values)} values for {len(counts)} numbers of samples")
    ended = entry["ended"]
    if ended is not None and not (type(ended) is int and 0 < ended < counts[-1]):
        raise ValueError(f"it ended after {ended!r} of {counts[-1]} samples")
    if "status" in entry and (ended is None or not TIMED_OUT.items() <= entry.items()):
        raise ValueError(f"its status is {entry['status']!r}, and it ended after {ended} samples")
    if len(bytes.fromhex(entry["trace"])) != 32:
        raise ValueError(f"the digest of its samples is {entry['trace']!r}")
    for vector, value in zip(vectors, values, strict=True):
        held.goal.check_best(vector, value)
    spent = np.minimum(counts, ended or counts[-1])
    shares = np.array(valid) / spent
    if (
        not all(type(each) is int for each in valid)
        or not (np.diff(valid) >= 0).all()
        or not ((shares >= 0) & (shares <= 1)).all()
    ):
        raise ValueError(f"{valid} are no numbers of valid ones among {spent.tolist()}")
    least = np.array([np.inf if value is None else value for value in values], float)
    if (least[1:] > least[:-1]).any():
        raise ValueError("its best values get worse")
    return least, shares


def _entry(evaluator: Recorder, samples: int) -> dict[str, Any]:
    """Return what a search found, and after which sample it ended if it did not spend all."""
    values, status = evaluator.trace
    last = np.minimum(checkpoints(samples), evaluator.used) - 1
    best = [int(np.argmin(values[: end + 1])) for end in last]
    found = [each if np.isfinite(values[each]) else None for each in best]
    return {
        "values": [None if each is None else float(values[each]) for each in found],
        "vectors": [None if each is None else evaluator.points[each].tolist() for each in found],
        "valid": np.cumsum(status == 0)[last].tolist(),
        "ended": evaluator.used if evaluator.used < samples else None,
        "trace": evaluator.digest,
    }
