"""The bound of frames: what no order of their loops goes below."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from experiments.flags import UsageError
from experiments.goals import Goal
from experiments.loop_steps import first_pe_macs
from maestro_env.map_space import Points
from maestro_env.objectives import OBJECTIVES, latency_bound

Bound = Callable[[Points], NDArray[np.float64]]


def frame_bound(goal: Goal) -> Bound:
    """Return the function that bounds frames, int32[N, D] to float64[N], whatever their orders."""
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
    space, layer, hardware = goal.problem.space, goal.problem.layer, goal.problem.hardware
    per_cycle = goal.lower_bound / latency_bound(layer, hardware)
    return lambda frames: first_pe_macs(space, frames) / hardware.simd_lanes * per_cycle
