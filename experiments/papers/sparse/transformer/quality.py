"""How far proposed mappings are from the optima of held-out layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.store.records import Measured, Show
from maestro_env.mappers import make_mapper
from maestro_env.mappers.papers.transformer.tokens import of_layer
from maestro_env.mapspace.space import MapSpace
from maestro_env.optimum.known import KnownOptimum, optimum_in_table
from maestro_env.workloads.finding import models

COUNTS = (1, 10, 100)
"""Samples after which the best is looked at."""

LAYERS = 4
"""Layers of a held-out network."""

WORST = 1000.0
"""What counts as that is farther from the optimum, or no valid mapping at all."""

GOALS = tuple(product(("edge", "cloud"), ("latency", "edp")))
"""Accelerators and objectives."""

Spend = Callable[[Evaluator, np.random.Generator], None]
"""Proposes mappings and evaluates them, at most ``COUNTS[-1]``."""


@dataclass(frozen=True)
class Quality:
    """How good mappings are.

    Args:
        ratios: best value / optimum, of each problem after each of ``COUNTS``.
        samples: mappings that were evaluated, mean over problems.
    """

    ratios: list[list[float]]
    samples: float


def sought(networks: Sequence[str]) -> Iterator[tuple[Problem, Objective, KnownOptimum]]:
    """Yield the problems: layers of each network, evenly spaced, on two accelerators.

    Layers of the zoo have their optima in the table; one that is not proven counts as its bound.
    """
    for network in networks:
        layers = list({tuple(of_layer(layer)): layer for layer in models()[network]}.values())
        places = np.linspace(0, len(layers) - 1, min(LAYERS, len(layers))).round().astype(int)
        for place in places:
            for machine, name in GOALS:
                problem = Problem(MapSpace(layers[place], PRESETS[machine]))
                objective = find_objective(name)
                optimum = optimum_in_table(problem, objective)
                assert optimum is not None
                yield problem, objective, optimum


def quality(networks: Sequence[str], seed: int, spend: Spend, show: Show) -> Quality:
    """Return how good the mappings are that something proposes, each problem with its own draws."""
    ratios, samples, problems = [], 0, list(sought(networks))
    for number, (problem, objective, optimum) in enumerate(problems):
        show(number / len(problems), str(problem.layer))
        evaluator = Evaluator(problem, objective, COUNTS[-1])
        spend(evaluator, np.random.default_rng([seed, number]))
        values, _ = evaluator.trace
        best = np.minimum.accumulate(np.append(np.inf, values))
        after = best[np.minimum(COUNTS, evaluator.used)]
        ratios.append(np.minimum(1 + optimum.regret(after), WORST).tolist())
        samples += evaluator.used
    return Quality(ratios, samples / len(problems))


def _prior(evaluator: Evaluator, rng: np.random.Generator) -> None:
    make_mapper("prior").search(evaluator, COUNTS[-1], rng)


def _random(evaluator: Evaluator, rng: np.random.Generator) -> None:
    evaluator.evaluate(Masks(evaluator.problem).sample(COUNTS[-1], rng))


CONTROLS: Mapping[str, Spend] = {"prior": _prior, "random": _random}
"""What transformers are compared with: the mapper, and random valid mappings."""


@dataclass(frozen=True)
class ControlSetup:
    """All that decides the mappings of a control."""

    control: str
    seed: int
    held: tuple[str, ...]

    def __str__(self) -> str:
        return f"mappings of {self.control}, seed {self.seed}"


@dataclass(frozen=True)
class Control(Measured[Quality, ControlSetup]):
    """How good the mappings of a control are, as a directory keeps it."""

    NOUN, KEY, RESULT = "controls", "quality", Quality

    @property
    def kind(self) -> tuple[str]:
        return (self.setup.control,)

    def measure(self, show: Show) -> Quality:
        return quality(self.setup.held, self.setup.seed, CONTROLS[self.setup.control], show)
