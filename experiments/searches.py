"""One search: what a mapper does with a budget from a seed."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from maestro_env.evaluator import Evaluator
from maestro_env.hardware import PRESETS
from maestro_env.problem import OK
from mappers import make_mapper


@dataclass(frozen=True, eq=False)
class Search:
    """One mapper's search from one seed, finished or not.

    Args:
        mapper: its name.
        seed: it began with.
        values: float64[N], objective of every evaluation; infinite if invalid.
        status: uint8[N], indices into ``STATUSES``.
        best_point: the vector of the best mapping; None if no mapping was valid.
        unique: different mappings among the evaluated.
        warm_up: samples spent beside the budget.
        seconds: it took.
        model_seconds: of these, in the cost model.
    """

    mapper: str
    seed: int
    values: NDArray[np.float64]
    status: NDArray[np.uint8]
    best_point: tuple[int, ...] | None
    unique: int
    warm_up: int
    seconds: float
    model_seconds: float

    @classmethod
    def of(cls, evaluator: Evaluator, mapper: str, seed: int, seconds: float) -> Search:
        """Return the search an evaluator has seen."""
        best = evaluator.best
        return cls(
            mapper,
            seed,
            *evaluator.trace,
            best_point=tuple(best.point.tolist()) if best else None,
            unique=evaluator.unique,
            warm_up=evaluator.warmed_up,
            seconds=seconds,
            model_seconds=evaluator.model_seconds,
        )

    @property
    def invalid(self) -> int:
        return int(np.count_nonzero(self.status != OK))


class UnspentError(RuntimeError):
    """A mapper ended its search before its budget was spent."""


def run_search(evaluator: Evaluator, mapper: str, seed: int, made: str | None = None) -> Search:
    """Let a mapper spend all the budget of a new evaluator.

    Args:
        evaluator: knows what is searched, and the budget.
        mapper: its name, and changes of its settings if need be.
        seed: the same one makes the same search, whichever other searches are run.
        made: the text to make the mapper of, where files are named by their place; None for
            ``mapper``, which decides the random stream.

    Raises:
        UnspentError: the mapper did not spend it.
        Exception: whatever the mapper raises.
    """
    began = time.perf_counter()
    assert evaluator.budget is not None
    stream = _stream(evaluator, mapper, seed)
    make_mapper(made or mapper).search(evaluator, evaluator.budget, stream)
    if evaluator.remaining:
        raise UnspentError(
            f"{mapper} ended its search after {evaluator.used} of {evaluator.budget} evaluations"
        )
    return Search.of(evaluator, mapper, seed, time.perf_counter() - began)


def _stream(evaluator: Evaluator, mapper: str, seed: int) -> np.random.Generator:
    """Return the stream of a search, another one for every problem and objective too.

    Searches of one seed that shared it would have their luck in common, and figures over problems
    be less certain than their intervals say.
    """
    problem, objective = evaluator.problem, evaluator.objective
    layer, space, hardware = problem.layer, problem.space, problem.hardware
    if hardware == PRESETS["unlimited"]:
        # This preset was once called "paper"; under that name its seeds make the same searches.
        hardware = replace(hardware, name="paper")
    goal = (
        f"{layer.operator} {layer.dimensions} {layer.stride} {hardware} {space.schema} "
        f"{space.tiles} {problem.model} {problem.guard} {objective.name}"
    )
    keys = [crc32(os.fsencode(text)) for text in (mapper, goal)]
    return np.random.default_rng(np.random.SeedSequence([seed, *keys]))
