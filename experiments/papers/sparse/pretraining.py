"""One training of a transformer, its file, what its mappings are worth, and the record of all.

How far proposed mappings are from the optima of held-out layers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem, require
from maestro_env.experiments.papers.sparse.corpus import TRAINING, VALIDATION, Source, read_rows
from maestro_env.experiments.papers.sparse.curves import Curve
from maestro_env.experiments.shell.files import check_digest, file_digest, replacing
from maestro_env.experiments.store.records import Measured, Show
from maestro_env.mappers import make_mapper
from maestro_env.mappers.papers.transformer.tokens import of_layer
from maestro_env.mapspace.two_level_space import MapSpace
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


try:
    from maestro_env.mappers.papers.transformer.model import GptShape, TransformerError
    from maestro_env.mappers.papers.transformer.proposing import GptCheckpoint, propose, read_gpt
    from maestro_env.mappers.papers.transformer.training import Arm, Training, arms, mean_loss
except ModuleNotFoundError as error:
    raise MissingExtraError("maestro-env sparse transformer", str(error.name), "rl") from error

WINDOW = 16
"""Of sparse attention."""

# Steps of a point of the curve.
_POINT = 100
# The share of a record that is done when the training is.
_TRAINED = 0.95


@dataclass(frozen=True)
class Size:
    """Blocks and width of a transformer, and rows of a step."""

    blocks: int
    width: int
    batch: int

    def arms(self, steps: int) -> Mapping[str, Arm]:
        """Return the ways to train by name.

        Raises:
            SparsityError, TransformerError: a number that is not allowed.
        """
        return arms(GptShape(self.blocks, self.width), steps, WINDOW, self.batch)


@dataclass(frozen=True)
class Setup:
    """All that decides a training.

    Args:
        arm: how it is trained.
        seed: of weights, masks, batches and drawn mappings.
        steps: of all arms but ``early``.
        rate: the highest learning rate.
        size: of the transformer; ``small`` is narrower.
        source: of the corpus.
    """

    arm: str
    seed: int
    steps: int
    rate: float
    size: Size
    source: Source

    @property
    def way(self) -> Arm:
        """How it is trained, in full."""
        return self.size.arms(self.steps)[self.arm]

    def __str__(self) -> str:
        return f"{self.arm}, seed {self.seed}"


@dataclass(frozen=True)
class Trained:
    """What a training gave.

    Args:
        flops: operations, counted from the masks of the checkpoint.
        loss: of held-out rows, with full attention, in nats for a token of a mapping.
        loss_as_trained: the same with the attention of most of the training.
        quality: of its mappings of held-out layers.
        curve: of each hundred steps: step, operations so far, mean loss of the batches.
        cpu_seconds: the training took.
        checkpoint: digest of its file.
    """

    flops: int
    loss: float
    loss_as_trained: float
    quality: Quality
    curve: Curve
    cpu_seconds: float
    checkpoint: str


@dataclass(frozen=True)
class Pretraining(Measured[Trained, Setup]):
    """A training as a directory keeps it, with a file of the transformer beside it."""

    NOUN, KEY, RESULT = "trainings", "trained", Trained

    @property
    def kind(self) -> tuple[str, str]:
        return self.setup.arm, f"{self.setup.steps}-{self.setup.rate:g}"

    @property
    def checkpoint(self) -> Path:
        """Where the transformer is."""
        return self.path.with_suffix(".npz")

    def measure(self, show: Show) -> Trained:
        setup, way = self.setup, self.setup.way
        rows = read_rows(setup.source, self.directory, TRAINING)
        training, began = Training(way, rows, setup.seed, setup.rate), time.process_time()
        curve = _learn(training, show)
        seconds = time.process_time() - began
        with replacing(self.checkpoint) as temporary, temporary.open("wb") as file:
            GptCheckpoint.of(training).save(file)
        # What is measured is what the file holds.
        kept = read_gpt(self.checkpoint)
        model, held = kept.model(), read_rows(setup.source, self.directory, VALIDATION)
        loss = mean_loss(model, held)
        sparse = loss if way.window is None else mean_loss(model, held, way.window)

        def spend(evaluator: Evaluator, rng: np.random.Generator) -> None:
            problem = require(evaluator.problem, "levels", "a transformer")
            evaluator.evaluate(propose(model, problem, evaluator.objective, COUNTS[-1], rng))

        def show_rest(share: float, note: str) -> None:
            show(_TRAINED + (1 - _TRAINED) * share, f"mappings of {note}")

        found = quality(setup.source.held, setup.seed, spend, show_rest)
        digest = file_digest(self.checkpoint)
        return Trained(kept.operations(), loss, sparse, found, curve, seconds, digest)

    def read_figures(self, told: dict[str, Any]) -> Trained:
        trained = Trained(**{**told, "quality": Quality(**told["quality"])})
        check_digest(self.checkpoint, trained.checkpoint)
        if read_gpt(self.checkpoint).operations() != trained.flops:
            raise TransformerError(f"{self.checkpoint} took other operations")
        return trained


def _learn(training: Training, show: Show) -> Curve:
    """Train, and return the curve.

    Raises:
        TransformerError: losses are no numbers any more.
    """
    curve, losses, steps = Curve(), list[float](), training.arm.steps
    for progress in training.steps():
        losses.append(progress.loss)
        done = progress.step + 1
        if not math.isfinite(progress.loss):
            raise TransformerError(f"the loss is {progress.loss} in step {done}; lower the rate")
        if len(losses) == _POINT or done == steps:
            curve.append((done, progress.flops, float(np.mean(losses))))
            losses.clear()
            show(_TRAINED * done / steps, f"{done:,} steps, loss {curve[-1][2]:.3f}")
    return curve
