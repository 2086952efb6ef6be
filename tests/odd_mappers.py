"""Mappers that misbehave, where processes started by a test can import them."""

from __future__ import annotations

import os

import numpy as np

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.mappers.base import Mapper


class Failing(Mapper):
    """Raises after half its budget, unless a variable of the environment says not to."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        evaluator.evaluate(evaluator.space.sample(budget // 2, rng))
        if "MENDED" not in os.environ:
            raise ArithmeticError("lost\ncount")
        evaluator.evaluate(evaluator.space.sample(budget - budget // 2, rng))


class Greedy(Mapper):
    """Asks for more than its budget."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        evaluator.evaluate(evaluator.space.sample(budget + 1, rng))


class Lazy(Mapper):
    """Spends one sample."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        evaluator.evaluate(evaluator.space.sample(1, rng))


class Leaving(Mapper):
    """Asks its process to end."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        raise SystemExit(0)


class Dying(Mapper):
    """Takes its process with it."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        os._exit(3)


class Warming(Mapper):
    """Random search that looks at some points beside its budget."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        evaluator.warm_up(evaluator.space.sample(7, rng))
        evaluator.evaluate(evaluator.space.sample(budget, rng))


class Moody(Mapper):
    """Raises from some seeds."""

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        if rng.integers(2):
            raise ArithmeticError
        evaluator.evaluate(evaluator.space.sample(budget, rng))


_CLASSES = (Failing, Greedy, Lazy, Leaving, Dying, Warming, Moody)
ODD = {each.__name__.lower(): f"{__name__}:{each.__name__}" for each in _CLASSES}


# Run by every process that starts with its directory on the path.
SITE = """
from maestro_env import mappers
from odd_mappers import ODD
mappers.MAPPERS = {**mappers.MAPPERS, **ODD}
"""
