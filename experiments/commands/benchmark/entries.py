"""Entries: what a method found, with a card that says what it is.

A *counted* entry is a directory that ``benchmark run`` made: this side evaluated, and kept count.
A *reported* one is made by its author: ``card.json``, and for each split a file of JSON lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import count, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.base.errors import MaestroEnvError, TooLongError, quoted
from maestro_env.base.reading import open_bytes, read_lines
from maestro_env.experiments.commands.benchmark.methods import (
    Evaluation,
    Method,
    checkpoints,
    evaluation,
)
from maestro_env.experiments.problems.drawn import shapes_of
from maestro_env.experiments.problems.labels import Held, Problems
from maestro_env.experiments.problems.splits import MOST_SAMPLES, SPLITS
from maestro_env.experiments.search.goals import integers
from maestro_env.experiments.shell.files import (
    RecordError,
    cannot_read,
    distinct_name,
    read_json,
    read_record,
)
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.claims import ANEW, CONFIG
from maestro_env.workloads.finding import models

COMMAND = "benchmark run"
CARD = "card.json"

_MOST_BYTES = 10_000
"""Of a line of a reported entry."""

_LONGEST_TEXT = 1000
"""Of a card."""

KINDS = (
    "black box: programs; that they know no cost model is their authors' word",
    "white box: mappers, which may call the cost model too",
    "reported: samples are their authors' word",
)
"""Of entries; each has tables of its own."""

_BAD = (LookupError, TypeError, ValueError, OverflowError, RecursionError)
"""What records raise that are no records."""

_WAY_OUT = "delete it, and the same benchmark run makes it again"


@dataclass(frozen=True)
class Card:
    """What an entry is.

    Args:
        method: as ``Method`` takes it, or any name for a reported one.
        authors: who made it; may be empty.
        code: where its code is; may be empty.
        training: ``none``, ``zoo``, or networks of the zoo, separated by commas; ``{network}``
            stands for all but the held one.
        files: digests of the method's files, by their names.

    Raises:
        UnknownNameError: a network that the zoo does not have.
        UsageError: a text that is too long, cannot be printed, or is of no method.
        TypeError: something else than texts.
    """

    method: str
    authors: str = ""
    code: str = ""
    training: str = "none"
    files: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, value in self.entry().items():
            if name == "files":
                continue
            if not isinstance(value, str):
                raise TypeError(f"{name} is {quoted(value)}, no text")
            if not value.isprintable() or len(value) > _LONGEST_TEXT:
                raise UsageError(
                    f"{name} is {quoted(value)}; allowed: a line of {_LONGEST_TEXT:,} characters"
                )
        if not self.method:
            raise UsageError("method is ''; allowed: the name of a method")
        self.trained_on("")  # It refuses unknown networks.

    def entry(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        return asdict(self)

    def trained_on(self, network: str) -> frozenset[str]:
        """Return the shapes of the zoo's layers that it learnt before it saw a held network."""
        if self.training == "none":
            return frozenset()
        if self.training == "zoo":
            return shapes_of(*models())
        if self.training == "{network}":
            held = shapes_of(network) if network in models() else frozenset()
            return shapes_of(*models()) - held
        return shapes_of(*self.training.split(","))

    def require_fit(self, split: str, problems: Problems) -> None:
        """Refuse what has learnt from layers that a split holds out.

        Raises:
            RecordError: it has.
        """
        for network, each in problems.items() if SPLITS[split].held else ():
            learnt = self.trained_on(network)
            for held in each:
                if held.shape in learnt:
                    raise RecordError(
                        f"{self.method} has learnt from {self.training}, with the layer "
                        f"{held.shape} that is held out with {network}; train it without, and say "
                        "--training {network}"
                    )


@dataclass(frozen=True, eq=False)
class Entry:
    """A directory that is scored.

    Args:
        path: of it.
        counted: whether ``benchmark run`` made it.
        card: what it is.
    """

    path: Path
    counted: bool
    card: Card

    @property
    def kind(self) -> str:
        """One of ``KINDS``."""
        if not self.counted:
            return KINDS[2]
        return KINDS[Method(self.card.method).command is None]

    @cached_property
    def hidden_runs(self) -> int:
        """How many draws of the hidden split its author has seen results of."""
        return len([each for each in self.path.glob("hidden-*") if each.is_dir()])

    def evaluations(self, split: str, seed: int | None, problems: Problems) -> list[Evaluation]:
        """Return all that it has of the problems of a split.

        Raises:
            RecordError: what cannot be scored; the message names the file and why.
        """
        stream = stream_name(split, seed)
        if self.counted:
            return list(self._counted(stream, problems))
        return list(self._reported(split, stream, problems))

    def require_fit(self, split: str, seed: int | None, problems: Problems) -> None:
        """Refuse what a split does not allow.

        Raises:
            RecordError: it has learnt from held layers, or reports mappings of the hidden split.
        """
        path = self.path / f"{stream_name(split, seed)}.jsonl"
        if SPLITS[split].takes == "seed" and not self.counted and path.exists():
            raise RecordError(
                f"{path} is its author's word; split {split} takes what its scorer makes: "
                f"maestro-env {COMMAND} METHOD --split {split} --seed N --out ANOTHER"
            )
        self.card.require_fit(split, problems)

    def _counted(self, stream: str, problems: Problems) -> Iterator[Evaluation]:
        for network, held in problems.items():
            # A seed behind a gap does not count: nobody may choose the lucky ones.
            directory = self.path / stream / distinct_name(network)
            paths = [*takewhile(Path.exists, (directory / f"{seed}.json" for seed in count()))]
            if not paths and any(directory.glob("*.json")):
                raise RecordError(f"{directory} has no 0.json: seeds count from 0, without gaps")
            for path in paths:
                entry = read_record(path, _WAY_OUT)
                try:
                    found = evaluation(path, entry, held)
                    self._check(entry["searches"], found, stream, network)
                except _BAD as error:
                    reason = " ".join(f"{type(error).__name__}: {error}".split())
                    what = f"{path} is not an evaluation: {reason}; {_WAY_OUT}"
                    raise RecordError(what) from None
                yield found

    def _check(self, told: Mapping[str, Any], found: Evaluation, stream: str, network: str) -> None:
        asked = {"method": self.card.method, "split": stream, "network": network}
        for name, value in {**asked, "seed": int(found.path.stem)}.items():
            if (type(told[name]), told[name]) != (type(value), value):
                raise ValueError(f"its {name} is {told[name]!r}, not {value!r}")
        if found.samples not in range(1, MOST_SAMPLES + 1):
            raise ValueError(f"it has {found.samples} samples; allowed: 1 to {MOST_SAMPLES}")
        if not 0 <= found.seconds < np.inf:
            raise ValueError(f"it took {found.seconds} seconds")
        for name, kind in {"files": dict, "labels": str | None, "samples": int}.items():
            if not isinstance(told[name], kind) or told[name] is True:
                raise TypeError(f"its {name} are {quoted(told[name])}")

    def _reported(self, split: str, stream: str, problems: Problems) -> Iterator[Evaluation]:
        path, rules = self.path / f"{stream}.jsonl", SPLITS[split]
        if not path.exists():
            return
        places: dict[str, list[tuple[str, int]]] = {}  # Networks share layers.
        for network, each in problems.items():
            for index, held in enumerate(each):
                places.setdefault(held.key, []).append((network, index))
        counts = checkpoints(rules.samples)
        found: dict[tuple[str, int], Floats] = {}
        most = len(places) * rules.seeds * len(counts)
        for number, line in enumerate(self._lines(path), 1):
            if number > most:
                raise RecordError(
                    f"{path} has more than {most:,} lines; allowed: one for each problem, seed "
                    f"from 0 to {rules.seeds - 1} and number of samples of {counts}"
                )
            try:
                told = json.loads(line)
                if (where := places.get(told["problem"])) is None:
                    raise ValueError(f"{quoted(told['problem'])} is none of the problems asked for")
                seed = _one_of("seed", told["seed"], range(rules.seeds))
                column = _one_of("samples", told["samples"], counts)
                network, index = where[0]
                value = _value(problems[network][index], told["vector"])
            except (*_BAD, MaestroEnvError) as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                raise RecordError(f"{path}, line {number} is no mapping: {reason}") from None
            for network, index in where:
                shape = (len(problems[network]), len(counts))
                values = found.setdefault((network, seed), np.full(shape, np.inf))
                values[index, column] = min(values[index, column], value)
        for (network, seed), values in found.items():
            best = np.minimum.accumulate(values, axis=1)
            unknown = np.full(best.shape, np.nan)
            yield Evaluation(path, network, seed, rules.samples, best, unknown, np.nan)

    def _lines(self, path: Path) -> Iterator[bytes]:
        try:
            with open_bytes(path) as file:
                yield from read_lines(file, _MOST_BYTES)
        except (OSError, TooLongError) as error:
            raise cannot_read(path, error) from None


def read_entry(path: Path) -> Entry:
    """Read the card of an entry.

    Raises:
        RecordError: the directory holds none.
    """
    counted = (path / CONFIG).exists()
    told = read_record(path / CONFIG, ANEW) if counted else {"card": read_json(path / CARD)}
    if counted and (command := told.get("command")) != COMMAND:
        raise RecordError(f"{path} is a directory of {command}, not of {COMMAND}")
    try:
        return Entry(path, counted, Card(**told["card"]))
    except (LookupError, TypeError, MaestroEnvError) as error:
        raise RecordError(f"{path} has no card of an entry: {error}") from None


def stream_name(split: str, seed: int | None) -> str:
    """Return what entries call a split: with the seed that drew it, if one did."""
    return split if seed is None else f"{split}-{seed}"


def _one_of(name: str, value: Any, allowed: Sequence[int]) -> int:
    """Return the place of a value among those that are allowed."""
    if type(value) is not int or value not in allowed:
        raise ValueError(f"{name} is {quoted(value)}; allowed: {', '.join(map(str, allowed))}")
    return allowed.index(value)


def _value(held: Held, vector: Sequence[int]) -> float:
    """Return the value of a mapping; infinite if it is not valid."""
    space = held.goal.problem.space
    points = space.as_points([integers(vector)], 1)
    space.decode(points[0])  # It refuses what is out of range.
    return float(held.goal.problem.score(points, held.goal.objective)[0][0])
