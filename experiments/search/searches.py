"""One search: what a mapper does with a budget from a seed."""

from __future__ import annotations

import hashlib
import os
import time
from functools import cached_property
from zlib import crc32

import numpy as np

from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.mappers import make_mapper, may_end_early
from maestro_env.mapspace.space import Points


class Recorder(Evaluator):
    """An evaluator, with the vectors of all samples of its budget."""

    @cached_property
    def _points(self) -> Points:
        return np.empty((self.budget or 0, len(self.space.parameters)), dtype=np.int32)

    @property
    def points(self) -> Points:
        """Vectors of all samples so far, int32[N, D]."""
        return self._points[: self.used]

    @property
    def digest(self) -> str:
        """Of all vectors and values so far, in hexadecimal digits."""
        return hashlib.sha256(self.points.tobytes() + self.trace[0].tobytes()).hexdigest()

    def record(self, points: Points, batch: Batch) -> None:
        self._points[self.used : self.used + len(points)] = points
        super().record(points, batch)


class UnspentError(RuntimeError):
    """A mapper ended its search before its budget was spent."""


def run_search(evaluator: Evaluator, mapper: str, seed: int, made: str | None = None) -> float:
    """Let a mapper spend the budget of a new evaluator; return the seconds it took.

    Args:
        evaluator: knows what is searched, and the budget.
        mapper: its name, and changes of its settings if need be.
        seed: the same one makes the same search, whichever other searches are run.
        made: the text to make the mapper of, where files are named by their place; None for
            ``mapper``, which decides the random stream.

    Raises:
        UnspentError: the mapper did not spend all of it, and is no prover.
        Exception: whatever the mapper raises.
    """
    began = time.perf_counter()
    assert evaluator.budget is not None
    rng = stream(evaluator, mapper, seed)
    make_mapper(made or mapper).search(evaluator, evaluator.budget, rng)
    if evaluator.remaining and not may_end_early(mapper):
        raise UnspentError(
            f"{mapper} ended its search after {evaluator.used} of {evaluator.budget} evaluations"
        )
    return time.perf_counter() - began


def stream(evaluator: Evaluator, mapper: str, seed: int) -> np.random.Generator:
    """Return the stream of a search, another one for every problem and objective too.

    Searches of one seed that shared it would have their luck in common, and figures over problems
    be less certain than their intervals say.
    """
    goal = f"{evaluator.problem.seed_text} {evaluator.objective.name}"
    keys = [crc32(os.fsencode(text)) for text in (mapper, goal)]
    return np.random.default_rng(np.random.SeedSequence([seed, *keys]))
