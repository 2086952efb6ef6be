"""Mappings that a policy proposes; the core computes its networks, so that no PyTorch is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.base.errors import MapSpaceError
from maestro_env.evaluation.context import context
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points

DECISIONS: int = _native.PRIOR_DECISIONS
"""Kinds of decisions, each with a network of its own."""

STATE: int = _native.PRIOR_STATE
"""Numbers that describe what is decided so far."""

FEATURES: int = _native.PRIOR_FEATURES
"""Numbers that describe an option."""

OPTIONS: int = _native.PRIOR_OPTIONS
"""The most options that a decision has."""

Drawn = tuple[Points, NDArray[np.float64]]
"""Vectors, int32[N, D], and logarithms of their probabilities, float64[N]."""

Trace = tuple[NDArray[Any], ...]
"""Decisions that lead to vectors (``Proposer.trace``)."""


class Networks:
    """The networks of a policy.

    Args:
        arrays: their weights by name, float32.

    Raises:
        ValueError: arrays that are missing, of another shape, or too many.
    """

    def __init__(self, arrays: Mapping[str, NDArray[np.float32]]) -> None:
        self.native = _native.PriorNetworks(dict(arrays))


class Proposer:
    """Draws mappings of a problem from a policy that sees layer, hardware and objective.

    What is proposed is valid where masks are complete (``maestro_env.Masks``).

    Args:
        problem: to be mapped.
        objective: to be minimised.

    Raises:
        MapSpaceError: no mapping of the space fits the buffers.
    """

    def __init__(self, problem: Problem, objective: Objective) -> None:
        space = problem.space
        seen = context(space.layer, space.hardware, objective)
        try:
            self.native = _native.PriorProposer(
                problem.model, space.layer.native, space.hardware.native, space.native, seen
            )
        except ValueError as error:
            raise MapSpaceError(problem.why_nothing_fits() or str(error)) from None

    def greedy(self, networks: Networks) -> Drawn:
        """Return the mapping whose decisions are each the likeliest, as ``draw`` does."""
        return self.native.propose(networks.native, np.zeros((1, self.native.steps)), 0.0)

    def draw(
        self, networks: Networks, n: int, rng: np.random.Generator, temperature: float = 1.0
    ) -> Drawn:
        """Draw ``n`` mappings, some more than once; the higher the temperature, the more differ.

        Returns vectors, int32[n, D], and logarithms of their probabilities, float64[n].
        """
        uniforms = rng.random((n, self.native.steps))
        return self.native.propose(networks.native, uniforms, temperature)

    def nearest(self, points: Points) -> Points:
        """Return, of int32[N, D] vectors, the nearest ones that a policy can propose."""
        return self.native.trace(np.ascontiguousarray(points))[0]

    def trace(self, points: Points) -> Trace:
        """Return the decisions that lead to int32[N, D] vectors, or near them, row by row.

        Rows are those that leave a choice: which vector each is of, int32[R], the decision, what
        is chosen, the number of options, the state before it, float32[R, S], and the features of
        all options of all rows, float32[T, F].
        """
        return self.native.trace(np.ascontiguousarray(points))[1:]
