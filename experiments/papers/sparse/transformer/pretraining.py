"""One training of a transformer, its file, what its mappings are worth, and the record of all."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.problem import require
from maestro_env.experiments.papers.sparse.curves import Curve
from maestro_env.experiments.papers.sparse.transformer.quality import COUNTS, Quality, quality
from maestro_env.experiments.papers.sparse.transformer.shards import (
    TRAINING,
    VALIDATION,
    Source,
    read_rows,
)
from maestro_env.experiments.shell.files import check_digest, file_digest, replacing
from maestro_env.experiments.store.records import Measured, Show

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
