"""The best mapping of a problem, and the proof: proposals of the prior, then branch and bound."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from maestro_env.base.checks import require_type
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import require
from maestro_env.mapspace.space import Points
from maestro_env.optimum.memories import MemoriesSearch
from maestro_env.optimum.search import MOST_NODES, OptimumError, OptimumSearch, ProofSearch
from maestro_env.prior.proposals import PROPOSALS, likeliest

_NODES_BETWEEN_LOOKS = 100_000


@dataclass(frozen=True)
class Limits:
    """Where a search ends without its proof.

    Args:
        gap: share of the bound that the best value is above it.
        nodes: boxes of mappings; on any memories thousands of states.
        samples: evaluated mappings.
        seconds: that it took.

    Raises:
        OptimumError: a limit below 0.
    """

    gap: float = 0.0
    nodes: int = MOST_NODES
    samples: int = 10**9
    seconds: float = 1e9

    def __post_init__(self) -> None:
        for name, limit in vars(self).items():
            if not limit >= 0:
                raise OptimumError(f"a limit of {limit} {name}; allowed: 0 or more")

    def reached(self, found: Solution) -> bool:
        """Say whether a search ends here, if not for its samples."""
        spent = found.nodes >= self.nodes or found.seconds >= self.seconds
        return spent or found.gap <= self.gap


@dataclass(frozen=True, eq=False)
class Solution:
    """The best mapping that a search has found so far, and how good any can be.

    Args:
        value: of the objective, in its unit; infinite if no mapping was valid.
        point: its vector, int32[D]; None if no mapping was valid.
        bound: no mapping has a lower value; infinite if none is valid.
        nodes: boxes of mappings whose bound was computed.
        samples: mappings that were evaluated.
        seconds: spent, proposals included.
    """

    value: float = math.inf
    point: Points | None = None
    bound: float = 0.0
    nodes: int = 0
    samples: int = 0
    seconds: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether no mapping is better; if none is valid, that this is so."""
        return self.value == self.bound

    @property
    def gap(self) -> float:
        """How far the value is above the bound, as a share of it; infinite without either."""
        if self.proven:
            return 0.0
        return self.value / self.bound - 1 if self.bound else math.inf


def prover(problem: AnyProblem) -> type[ProofSearch]:
    """Return the kind of search for the optimum of a problem.

    Raises:
        ModelError: a model without bounds of mappings.
    """
    if "relaxed" in problem.abilities:
        return MemoriesSearch
    require(problem, "levels", "the optimum")
    return OptimumSearch


def search_for(problem: AnyProblem, objective: Objective) -> ProofSearch:
    """Return the search for the optimum of a problem.

    Raises:
        OptimumError: an objective, or a problem, whose optimum cannot be proven.
        ModelError: a model without bounds of mappings.
    """
    return prover(problem)(problem, objective)


def require_search(problem: AnyProblem, objective: Objective) -> None:
    """Refuse what ``search_for`` refuses."""
    prover(problem).require(problem, objective)


def solve(
    problem: AnyProblem, objective: Objective, limits: Limits | None = None, threads: int = 1
) -> Solution:
    """Find the best mapping of a problem and prove that none is better.

    Args:
        problem: under the model ``exact`` or ``hierarchy``.
        objective: to be minimised: a product of latency and energy, under ``exact`` of area too.
        limits: where the search ends without the proof; None for nowhere.
        threads: of bounds and evaluation; without a limit of seconds the result does not depend
            on it.

    Raises:
        ArgumentTypeError: a problem or an objective of a wrong type.
        OptimumError: a problem or an objective whose optimum cannot be proven.
        PriorFileError: the package's prior cannot be used.
    """
    require_type("problem", problem, AnyProblem, "such as Problem(MapSpace(layer, hardware))")
    require_type("objective", objective, Objective, "see find_objective")
    search = search_for(problem, objective)
    *_, last = solving(search, opening(problem, objective), limits or Limits(), threads)
    return last


def opening(
    problem: AnyProblem, objective: Objective, samples: int = PROPOSALS
) -> Iterator[Points]:
    """Yield the mappings that a search begins with, int32[N, D]: proposals of the prior.

    There are none on any memories, for which it has not been trained.
    """
    if "levels" in problem.abilities:
        yield likeliest(require(problem, "levels", "a proposal"), objective, samples)


def solving(
    search: ProofSearch,
    start: Iterable[Points],
    limits: Limits,
    threads: int = 1,
    before: Solution | None = None,
    evaluate: Callable[[Points], NDArray[np.float64]] | None = None,
) -> Iterator[Solution]:
    """Search, and yield what is found after the start and after every few boxes.

    Args:
        search: that has not begun, or goes on.
        start: vectors int32[N, D] to evaluate first.
        limits: of the search, what went before included.
        threads: of bounds and evaluation.
        before: what a search that goes on had found; None for one that begins.
        evaluate: returns the objective of vectors, float64[N]; None for that of the problem.
    """
    began, spent = time.perf_counter(), before or Solution()
    samples = spent.samples

    def now() -> Solution:
        seconds = spent.seconds + time.perf_counter() - began
        nodes = spent.nodes + search.nodes
        return Solution(search.best, search.best_point, search.bound, nodes, samples, seconds)

    def look_at(points: Points) -> int:
        if not len(points):
            return 0
        if evaluate is None:
            values, _ = search.problem.score(points, search.objective, threads)
        else:
            values = evaluate(points)
        search.tell(points, values)
        return len(points)

    for points in chain(start, search.opening()):
        samples += look_at(points[: limits.samples - samples])
    found = now()
    yield found
    while not (search.finished or limits.reached(found)):
        nodes = min(_NODES_BETWEEN_LOOKS, limits.nodes - found.nodes)
        points = search.ask(nodes, threads)
        if samples + len(points) > limits.samples:
            break
        samples += look_at(points)
        found = now()
        yield found
