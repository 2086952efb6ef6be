"""The best samples so far."""

from __future__ import annotations

import numpy as np

from maestro_env.mappers.parts.arrays import Floats, Integers


class Elites:
    """Keeps the best samples; of samples with the same value, the first.

    Which samples are kept depends only on their values, which all agents see. So each agent can
    store its own parameters of them, and the parts fit together without communication.
    """

    def __init__(self, capacity: int, parameters: int) -> None:
        self.actions: Integers = np.empty((0, parameters), dtype=np.int64)
        self.values: Floats = np.empty(0)
        self._capacity = capacity

    def add(self, actions: Integers, values: Floats) -> None:
        """Add int64[N, D] samples with float64[N] values; infinite ones are never kept."""
        full = len(self.values) == self._capacity
        better = values < (self.values[-1] if full else np.inf)
        if not better.any():
            return
        all_actions = np.concatenate([self.actions, actions[better]])
        all_values = np.concatenate([self.values, values[better]])
        # Values ascending, each with the index of its first occurrence.
        distinct, first = np.unique(all_values, return_index=True)
        self.values = distinct[: self._capacity]
        self.actions = all_actions[first[: self._capacity]]
