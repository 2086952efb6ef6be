"""What an enumeration has found so far."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from experiments.exhaustive.loop_steps import Integers
from experiments.goals import Goal
from maestro_env.map_space import Points
from maestro_env.problem import OK


@dataclass(frozen=True)
class Found:
    """Counts of mappings, and the best of them.

    Args:
        units: finished units of work.
        ruled_out: mappings that were not evaluated, as their bound is too high.
        evaluated: vectors that were evaluated.
        mappings: different mappings they stand for.
        valid: of these, with a value.
        best: the least value; infinite if there is none.
        optimal: mappings with exactly this value.
        best_point: vector of the first one; None if there is none.
        seconds: time spent.
    """

    units: int = 0
    ruled_out: int = 0
    evaluated: int = 0
    mappings: int = 0
    valid: int = 0
    best: float = math.inf
    optimal: int = 0
    best_point: list[int] | None = None
    seconds: float = 0.0

    def __add__(self, later: Found) -> Found:
        first = self if self.best <= later.best else later
        return Found(
            self.units + later.units,
            self.ruled_out + later.ruled_out,
            self.evaluated + later.evaluated,
            self.mappings + later.mappings,
            self.valid + later.valid,
            first.best,
            sum(each.optimal for each in (self, later) if each.best == first.best),
            first.best_point,
            self.seconds + later.seconds,
        )


def evaluate(goal: Goal, batches: Iterable[tuple[Points, Integers]], threads: int = 1) -> Found:
    """Evaluate batches of vectors, and count the mappings they stand for."""
    total = Found()
    for points, weights in batches:
        values, status = goal.problem.score(points, goal.objective, threads)
        best = float(values.min(initial=math.inf))
        found = math.isfinite(best)
        total += Found(
            evaluated=len(points),
            mappings=int(weights.sum()),
            valid=int(weights[status == OK].sum()),
            best=best,
            optimal=int(weights[values == best].sum()) if found else 0,
            best_point=points[values.argmin()].tolist() if found else None,
        )
    return total
