"""What an observation is made of: cost, choices so far, context."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.base.errors import UnknownNameError
from maestro_env.environments.actions import Actions
from maestro_env.environments.task import Task
from maestro_env.evaluation.context import CONTEXT
from maestro_env.evaluation.rewards import Observations

OBSERVATIONS = ("cost", "context")
"""What an observation tells: of mappings, or also of layer, hardware and objective."""


class Observer:
    """Puts observations together, of one environment or of N copies that step together.

    Args:
        kind: a name of ``OBSERVATIONS``.
        actions: whose choices so far are seen.
        copies: empty for one environment, (N,) for N copies.
    """

    def __init__(self, kind: str, actions: Actions, copies: tuple[int, ...] = ()) -> None:
        if kind not in OBSERVATIONS:
            raise UnknownNameError("observation", kind, OBSERVATIONS)
        self._actions = actions
        self._cost_alone = kind == "cost" and not actions.seen()
        self._with_context = kind == "context"
        self._copies = copies
        entries = _native.OBSERVED + sum(part.shape[-1] for part in actions.seen())
        entries += len(CONTEXT) if self._with_context else 0
        self.space: spaces.Space[Observations] = spaces.Box(0.0, 1.0, (entries,), np.float32)

    def see(self, cost: NDArray[np.float32], task: Task) -> Observations:
        """Return observations, float32[(N,) n], of costs as float32[(N,) 4]."""
        if self._cost_alone:
            return cost
        parts = [cost, *self._actions.seen()]
        if self._with_context:
            parts.append(np.broadcast_to(task.context, (*self._copies, len(CONTEXT))))
        return np.concatenate(parts, axis=-1)
