"""What one search left behind, and figures over the seeds of a mapper."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from experiments.stats import iqm
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import PRESETS
from maestro_env.problem import OK
from mappers import make_mapper

_FIGURES = (
    "best",
    "times_lower_bound",
    "samples_to_best",
    "evaluations",
    "invalid",
    "unique",
    "warm_up",
    "seconds",
    "model_seconds",
)


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
    def best(self) -> float | None:
        return None if self.best_point is None else float(self.values.min())

    @property
    def samples_to_best(self) -> int | None:
        """1-based evaluation that found the best."""
        return None if self.best_point is None else int(self.values.argmin()) + 1

    @property
    def invalid(self) -> int:
        return int(np.count_nonzero(self.status != OK))

    def figures(self, lower_bound: float | None) -> dict[str, Any]:
        """Return the search's entry of ``summary.json``."""
        best = self.best
        return {
            "seed": self.seed,
            "evaluations": len(self.values),
            "invalid": self.invalid,
            "unique": self.unique,
            "warm_up": self.warm_up,
            "best": best,
            "times_lower_bound": best / lower_bound if best and lower_bound else None,
            "samples_to_best": self.samples_to_best,
            "seconds": self.seconds,
            "model_seconds": self.model_seconds,
            "best_point": self.best_point,
        }


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


def summarise(searches: Iterable[Search], lower_bound: float | None) -> dict[str, dict[str, Any]]:
    """Return, for every mapper, the interquartile mean of each figure and its ``seeds``."""
    by_mapper: dict[str, list[dict[str, Any]]] = {}
    for search in searches:
        by_mapper.setdefault(search.mapper, []).append(search.figures(lower_bound))
    return {
        mapper: {**{name: _over_seeds(name, seeds) for name in _FIGURES}, "seeds": seeds}
        for mapper, seeds in by_mapper.items()
    }


def best_search(searches: Sequence[Search]) -> Search | None:
    """Return the search that found the least value, the first one of equals."""
    found = [search for search in searches if search.best is not None]
    return min(found, key=lambda search: search.values.min(), default=None)


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
    keys = [crc32(text.encode()) for text in (mapper, goal)]
    return np.random.default_rng(np.random.SeedSequence([seed, *keys]))


def _over_seeds(figure: str, seeds: list[dict[str, Any]]) -> float | None:
    values = [math.inf if seed[figure] is None else seed[figure] for seed in seeds]
    mean = float(iqm(np.array(values, dtype=np.float64)))
    return mean if math.isfinite(mean) else None
