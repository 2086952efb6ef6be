"""The best samples so far."""

from __future__ import annotations

import numpy as np

from mappers.agents.heads import Floats, Integers


class Elites:
    """Remembers the best samples, of those with the same value the first one.

    Which samples these are follows from their values alone, which all agents see; so every agent
    can keep its own part of them, and the parts fit together.

    Args:
        capacity: samples it remembers at most.
        parameters: D of a sample.
    """

    def __init__(self, capacity: int, parameters: int) -> None:
        self.actions: Integers = np.empty((0, parameters), dtype=np.int64)
        self._values: Floats = np.empty(0)
        self._capacity = capacity

    def add(self, actions: Integers, values: Floats) -> None:
        """Consider int64[N, D] samples of float64[N] values; infinite ones are not remembered."""
        valid = np.isfinite(values)
        all_actions = np.concatenate([self.actions, actions[valid]])
        all_values = np.concatenate([self._values, values[valid]])
        # In ascending order, each with its first occurrence.
        distinct, first = np.unique(all_values, return_index=True)
        self._values = distinct[: self._capacity]
        self.actions = all_actions[first[: self._capacity]]
