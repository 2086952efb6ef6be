"""Searches that move: they change one parameter of a mapping at a time, as agents do."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maestro_env.base.errors import MapSpaceError
from maestro_env.environments.moves import moves_of
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.mappers.base import Mapper, setting
from maestro_env.mapspace.space import Points

_ALWAYS = 1e9


@dataclass(frozen=True)
class MovingConfig:
    """Parameters of searches that move."""

    temperature: float = setting(
        0.3,
        "at the first move; it falls to 0 at the last. A move that makes the objective r times as "
        "large is kept with probability r ^ (-1 / temperature)",
        most=_ALWAYS,
    )


class AnnealingMapper(Mapper[MovingConfig]):
    """Simulated annealing by the moves of ``MaestroImproveEnv``, from a masked draw.

    Moves are drawn uniformly from those that the mask allows. One that is not kept is undone, which
    costs no sample.
    """

    DEFAULT = MovingConfig()

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        masks, moves = Masks(evaluator.problem), moves_of(evaluator.space)
        spent, present, allowed = 0, math.inf, np.empty(0, dtype=np.int64)
        after = np.empty((0, len(evaluator.space.sizes)), dtype=np.int32)
        points, values = self.begin(evaluator, budget)
        while True:
            spent += len(points)
            if spent == budget:
                return
            heat = self.config.temperature * (1 - spent / budget)
            best = int(values.argmin()) if len(values) else 0
            if len(values) and _keeps(present, float(values[best]), heat, rng):
                present = float(values[best])
                allowed = np.flatnonzero(moves.allowed(points[best], masks))
                after = moves.neighbours(points[best])
            if len(allowed):
                points = after[[rng.choice(allowed)]]
            else:
                points = evaluator.space.clipped(_drawn(masks, rng))
            values = evaluator.evaluate(points).values


def _drawn(masks: Masks, rng: np.random.Generator) -> Points:
    """Draw a vector, int32[1, D]: one that masks allow, if there is any."""
    try:
        return masks.sample(1, rng)
    except MapSpaceError:
        return masks.problem.space.sample(1, rng)


def _keeps(before: float, after: float, heat: float, rng: np.random.Generator) -> bool:
    """Say whether a move from one value to another is kept."""
    if after == math.inf:
        return False
    if after <= before:
        return True
    return heat > 0 and rng.random() < math.exp((math.log(before) - math.log(after)) / heat)


class HillClimbingMapper(AnnealingMapper):
    """Keeps a move unless it makes the objective larger."""

    DEFAULT = MovingConfig(temperature=0.0)


class RandomMovesMapper(AnnealingMapper):
    """Keeps every move to a valid mapping."""

    DEFAULT = MovingConfig(temperature=_ALWAYS)
