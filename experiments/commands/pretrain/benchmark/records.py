"""What methods found on held problems after so many samples: searches, and the records of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.commands.pretrain.benchmark.methods import Method
from experiments.commands.pretrain.benchmark.protocol import Held, Problems
from experiments.search.searches import UnspentError, stream
from experiments.shell import files
from experiments.shell.files import RecordError, distinct_name
from experiments.shown.statistics import Floats
from experiments.store.records import Record, Show
from maestro_env.evaluation.evaluator import Evaluator
from mappers import may_end_early

CHECKPOINTS = (1, 10, 100, 500, 1000, 5000, 20_000)
CELLS = "cells"

_WAY_OUT = "delete it, and the same command runs it again"


def checkpoints(samples: int) -> tuple[int, ...]:
    """Return the numbers of samples after which a search of so many is looked at."""
    return (*(each for each in CHECKPOINTS if each < samples), samples)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What the record of a method on the P problems of a held network from one seed tells.

    Args:
        path: of the record.
        method, network, seed, samples: of the searches, as ``Searches`` has them.
        values: float64[P, C], the least value after so many samples (``checkpoints``); infinite if
            none was valid.
        valid: float64[P, C], the share of valid ones among the samples spent.
    """

    path: Path
    method: str
    network: str
    seed: int
    samples: int
    values: Floats
    valid: Floats


def read_evaluations(directory: Path, problems: Problems) -> Iterator[Evaluation]:
    """Read all that a directory has of held networks; a record has to have all problems of its own.

    Raises:
        RecordError: one is damaged, or of other problems or another version of the cost model.
    """
    for network, held in problems.items():
        for path in sorted((directory / CELLS / distinct_name(network)).glob("*/*.json")):
            entry = files.read_record(path, _WAY_OUT)
            try:
                yield _evaluation(path, entry, held)
            except (LookupError, TypeError, ValueError, OverflowError) as error:
                reason = " ".join(f"{type(error).__name__}: {error}".split())
                raise RecordError(f"{path} is not an evaluation: {reason}; {_WAY_OUT}") from None


def _evaluation(path: Path, entry: dict[str, Any], problems: Sequence[Held]) -> Evaluation:
    facts = {name: entry["evaluation"][name] for name in ("method", "network", "seed", "samples")}
    counts = checkpoints(facts["samples"])
    found = [_read(held, entry["problems"][held.key], counts) for held in problems]
    values, valid = map(np.array, zip(*found, strict=True))
    return Evaluation(path, **facts, values=values, valid=valid)


def _read(held: Held, entry: dict[str, Any], counts: Sequence[int]) -> tuple[Floats, Floats]:
    """Return values and shares of valid ones, float64[C] each, once they fit the last vector."""
    values, valid, ended = entry["values"], entry["valid"], entry["ended"]
    if not len(values) == len(valid) == len(counts):
        raise ValueError(f"{len(values)} values for {len(counts)} numbers of samples")
    if ended is not None and not 0 < ended < counts[-1]:
        raise ValueError(f"it ended after {ended} of {counts[-1]} samples")
    held.goal.check_best(entry["point"], values[-1])
    least = [np.inf if value is None else value for value in values]
    return np.array(least, float), np.array(valid) / np.minimum(counts, ended or counts[-1])


@dataclass(frozen=True)
class Searches(Record[dict[str, Any]]):
    """A method on all problems of a held network from one seed.

    Args:
        method: what is scored.
        network: that is held out.
        problems: of it.
        seed: of the searches.
        samples: of a search.
    """

    method: Method
    network: str
    problems: Sequence[Held]
    seed: int
    samples: int

    def __str__(self) -> str:
        return f"{self.method} on {self.network}, seed {self.seed}"

    @property
    def path(self) -> Path:
        network, method = distinct_name(self.network), distinct_name(self.method.text)
        return self.directory / CELLS / network / method / f"{self.seed}.json"

    def facts(self) -> dict[str, Any]:
        facts = {
            "method": self.method.text,
            "files": self.method.files(self.network),
            "labels": self.method.labels,
            "network": self.network,
            "seed": self.seed,
            "samples": self.samples,
        }
        return {"evaluation": facts}

    def compute(self, show: Show) -> dict[str, Any]:
        mapper = self.method.mapper(self.network, self.problems)
        found = {}
        for index, held in enumerate(self.problems):
            show(index / len(self.problems), str(held))
            evaluator = Evaluator(held.goal.problem, held.goal.objective, self.samples)
            rng = stream(evaluator, self.method.key, self.seed)
            mapper.search(evaluator, self.samples, rng)
            if evaluator.remaining and not (evaluator.used and may_end_early(self.method.text)):
                raise UnspentError(f"it spent {evaluator.used} of {self.samples} evaluations")
            found[held.key] = _entry(evaluator, self.samples)
        return {"problems": found}

    def parse(self, entry: dict[str, Any]) -> dict[str, Any]:
        return entry


def _entry(evaluator: Evaluator, samples: int) -> dict[str, Any]:
    """Return what a search found, and after which sample it ended if it did not spend all."""
    values, status = evaluator.trace
    last = np.minimum(checkpoints(samples), evaluator.used) - 1
    bests = np.minimum.accumulate(values)[last].tolist()
    return {
        "values": [value if np.isfinite(value) else None for value in bests],
        "valid": np.cumsum(status == 0)[last].tolist(),
        "point": evaluator.best.point.tolist() if evaluator.best else None,
        "ended": evaluator.used if evaluator.remaining else None,
    }
