"""What no mapping can go below, whatever its loop orders: by the work of its first PE."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.exhaustive.loop_steps import first_pe_macs
from experiments.flags import UsageError
from experiments.goals import Goal
from maestro_env.map_space import Points
from maestro_env.objectives import OBJECTIVES, latency_bound

# Bound and value are rounded in different places.
_ROUNDING = 1e-9


class FrameBound:
    """Tells frames that may hold an optimum from those that cannot.

    Args:
        goal: whose optimum.

    Raises:
        UsageError: an objective without such a bound, or figures that need not be physical.
    """

    def __init__(self, goal: Goal) -> None:
        if not goal.objective.of_latency:
            allowed = ", ".join(each.name for each in OBJECTIVES.values() if each.of_latency)
            raise UsageError(
                f"--prune: the bound of {goal.objective.name} rules nothing out; allowed: {allowed}"
            )
        if goal.lower_bound is None:
            raise UsageError(
                "--prune: figures without the guard, and csv energy, have no lower bound: "
                "leave out --no-guard and --energy"
            )
        self._space = goal.problem.space
        layer, hardware = goal.problem.layer, goal.problem.hardware
        # The objective of a mapping as fast as its first PE.
        self._per_cycle = goal.lower_bound / latency_bound(layer, hardware)
        self._lanes = hardware.simd_lanes

    def of(self, frames: Points) -> NDArray[np.float64]:
        """Return the bounds of frames, int32[N, D] to float64[N]."""
        return first_pe_macs(self._space, frames) / self._lanes * self._per_cycle

    def keep(self, frames: Points, limit: float) -> Points:
        """Return the frames, of int32[N, D], whose bound is not above a limit."""
        return frames[self.of(frames) <= limit * (1 + _ROUNDING)]
