"""Runs methods on held problems, and keeps what they found after so many samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.commands.pretrain.methods import Method
from experiments.commands.pretrain.protocol import Held
from experiments.search.cells import tell_failure
from experiments.search.searches import UnspentError, stream
from experiments.shell import files
from experiments.shell.files import RecordError, check_same, distinct_name
from experiments.store.versions import Versions
from maestro_env.evaluation.evaluator import Evaluator

CHECKPOINTS = (1, 10, 100, 500, 1000, 5000, 20_000)
CELLS = "cells"

_WAY_OUT = "delete it, and the same command runs it again"

Floats = NDArray[np.float64]


def checkpoints(samples: int) -> tuple[int, ...]:
    """Return the numbers of samples after which a search of so many is looked at."""
    return (*(each for each in CHECKPOINTS if each < samples), samples)


@dataclass(frozen=True)
class Found:
    """What one search found.

    Args:
        values: the least value after so many samples (``checkpoints``); None if none was valid.
        valid: valid ones among so many samples.
        point: the vector of the last value.
        ended: samples after which the search ended early; None if it spent all.
    """

    values: list[float | None]
    valid: list[int]
    point: list[int] | None
    ended: int | None = None

    def shares(self, counts: Sequence[int]) -> Floats:
        """Return the share of valid ones among what was spent of so many samples, float64[C]."""
        shares: Floats = np.array(self.valid) / np.minimum(counts, self.ended or counts[-1])
        return shares

    def check(self, held: Held, counts: Sequence[int]) -> None:
        """Check that it is of searches of so many samples, and that the vector has the last value.

        Raises:
            ValueError, TypeError: it does not fit.
        """
        if len(self.values) != len(counts) or len(self.valid) != len(counts):
            raise ValueError(f"{len(self.values)} values for {len(counts)} numbers of samples")
        if self.ended is not None and not 0 < self.ended < counts[-1]:
            raise ValueError(f"it ended after {self.ended} of {counts[-1]} samples")
        held.goal.check_best(self.point, self.values[-1])


@dataclass(frozen=True)
class Evaluation:
    """What the record of a method on a held network from one seed tells.

    Args:
        path: of the record.
        method: its text.
        network: that was held out.
        seed: of the searches.
        samples: of a search.
        found: what each search found, by the keys of the problems.
    """

    path: Path
    method: str
    network: str
    seed: int
    samples: int
    found: dict[str, Found]


def read_evaluation(path: Path, problems: Sequence[Held]) -> Evaluation:
    """Read a record, which has to have all problems of its network.

    Raises:
        RecordError: it is damaged, or of other problems or another version of the cost model.
    """
    entry = files.read_record(path, _WAY_OUT)
    try:
        facts = entry["evaluation"]
        method, network, seed, samples = (
            facts[name] for name in ("method", "network", "seed", "samples")
        )
        found = {held.key: Found(**entry["problems"][held.key]) for held in problems}
        for held in problems:
            found[held.key].check(held, checkpoints(samples))
        return Evaluation(path, method, network, seed, samples, found)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise RecordError(f"{path} is no evaluation: {reason}; {_WAY_OUT}") from None


def read_evaluations(directory: Path, network: str, problems: Sequence[Held]) -> list[Evaluation]:
    """Read all that a directory has of a held network."""
    paths = sorted((directory / CELLS / distinct_name(network)).glob("*/*.json"))
    return [read_evaluation(path, problems) for path in paths]


@dataclass(frozen=True)
class Scored:
    """A method on all problems of a held network from one seed: the work that makes a record.

    Args:
        method: what is scored.
        network: that is held out.
        problems: of it.
        seed: of the searches.
        samples: of a search.
        directory: that keeps the record.
        labels: directory of solved training problems, for a method that needs them.
        versions: of what computes it.
    """

    method: Method
    network: str
    problems: tuple[Held, ...]
    seed: int
    samples: int
    directory: Path
    labels: str | None = None
    versions: Versions = field(default_factory=dict)

    again = "the same command"

    def __str__(self) -> str:
        return f"{self.method} on {self.network}, seed {self.seed}"

    @property
    def path(self) -> Path:
        """Where the record is."""
        network, method = distinct_name(self.network), distinct_name(self.method.text)
        return self.directory / CELLS / network / method / f"{self.seed}.json"

    @property
    def error_path(self) -> Path:
        """Where the traceback of a failure is."""
        return self.path.with_suffix(".error.txt")

    def run(self, show: Callable[[float, str], None]) -> str | None:
        """Search for all problems, write the record; return the line that tells of a failure."""
        files.ensure_directory(self.path.parent)
        found = {}
        try:
            mapper = self.method.mapper(self.problems, self.labels)
            for index, held in enumerate(self.problems):
                show(index / len(self.problems), f"{self}: {held.cell}")
                evaluator = Evaluator(held.goal.problem, held.goal.objective, self.samples)
                rng = stream(evaluator, self.method.key, self.seed)
                mapper.search(evaluator, self.samples, rng)
                found[held.key] = self._found(evaluator)
        except (Exception, SystemExit) as error:  # noqa: BLE001 (a mapper may raise anything)
            return tell_failure(self, error, self.error_path, self.again)
        problems = {key: vars(each) for key, each in found.items()}
        entry = self._facts() | {"problems": problems, "versions": self.versions}
        files.write_record(self.path, entry)
        self.error_path.unlink(missing_ok=True)
        return None

    def check(self) -> None:
        """Check that the record, if there is one, is of these searches.

        Raises:
            RecordError: it is damaged, or was begun with something else.
        """
        if self.path.exists():
            check_same(self.path, files.read_record(self.path, _WAY_OUT), self._facts())

    def _facts(self) -> dict[str, Any]:
        facts = {
            "method": self.method.text,
            "files": self.method.files(self.network),
            "labels": self.labels,
            "network": self.network,
            "seed": self.seed,
            "samples": self.samples,
        }
        return {"evaluation": facts}

    def _found(self, evaluator: Evaluator) -> Found:
        used = evaluator.used
        if not used or (used < self.samples and not self.method.may_end_early):
            raise UnspentError(f"it spent {used} of {self.samples} evaluations")
        values, status = evaluator.trace
        last = np.minimum(checkpoints(self.samples), used) - 1
        bests = np.minimum.accumulate(values)[last].tolist()
        valid = np.cumsum(status == 0)[last].tolist()
        best = evaluator.best
        point = best.point.tolist() if best else None
        found = [value if np.isfinite(value) else None for value in bests]
        return Found(found, valid, point, used if used < self.samples else None)
