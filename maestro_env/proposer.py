"""Mappings that a policy proposes; the core computes its networks, so that no PyTorch is needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.context import context
from maestro_env.errors import MapSpaceError
from maestro_env.map_space import Points
from maestro_env.objectives import Objective
from maestro_env.problem import Problem

DECISIONS: int = _native.PRIOR_DECISIONS
"""Kinds of decisions, each with a network of its own."""

STATE: int = _native.PRIOR_STATE
"""Numbers that describe what is decided so far."""

FEATURES: int = _native.PRIOR_FEATURES
"""Numbers that describe an option."""


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
            self._native = _native.PriorProposer(
                problem.model, space.layer.native, space.hardware.native, space.native, seen
            )
        except ValueError as error:
            raise MapSpaceError(str(error)) from None

    def trace(self, points: Points) -> tuple[NDArray[Any], ...]:
        """Return the decisions that lead to int32[N, D] vectors, for training.

        They are the nearest vectors that options lead to, int32[N, D], then of each decision that
        had a choice, R in all: its vector, its kind, what it chose and how many options it had,
        int32[R] each; the state, float32[R, ``STATE``]; and the features of its options, of all
        decisions one after the other, float32[T, ``FEATURES``].

        Raises:
            MapSpaceError: what is no vector of the space.
        """
        try:
            return self._native.trace(points)
        except ValueError as error:
            raise MapSpaceError(str(error)) from None

    def likeliest(self, networks: Networks) -> Points:
        """Return the mapping whose decisions are each the likeliest, int32[1, D]."""
        return self._native.propose(networks.native, np.zeros((1, self._native.steps)), 0.0)

    def draw(
        self, networks: Networks, n: int, rng: np.random.Generator, temperature: float = 1.0
    ) -> Points:
        """Draw ``n`` mappings, int32[n, D]; the higher the temperature, the more they differ."""
        uniforms = rng.random((n, self._native.steps))
        return self._native.propose(networks.native, uniforms, temperature)
