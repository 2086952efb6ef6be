"""The training of a prior: imitation of labels, then policy gradient; kept and continued.

Every step draws from a random stream of its own, of the seed and its number, so that what is kept
between steps is weights, their moments and the ranges of what was seen.
"""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from numpy.typing import NDArray

from experiments.commands.pretrain.experience import experience
from experiments.commands.pretrain.lessons import Lesson, draw_lessons, training_layers
from experiments.shell.files import RecordError, check_same, read_record, replacing, write_record
from maestro_env.evaluation.context import CONTEXT
from maestro_env.evaluation.proposer import Networks
from maestro_env.mapspace.space import Points
from mappers.learners.prior.learner import Learner
from mappers.learners.prior.policy import Batch, Policy

_BEFORE, _AFTER = "imitation", "policy gradient"
_RATE = 1e-3
# Imitation: labels of a step, and mappings of each.
_LABELS, _MAPPINGS = 96, 4
# Policy gradient: problems of a step, and which share of them have labels.
_PROBLEMS, _LABELLED = 24, 0.25
# How much better mappings than the policy's count, in the first step and in the last.
_TARGETS = (1.0, 0.3)
_IMITATED, _IMITATION = 24, 0.05
# The networks of the first decisions, which loops are parallel.
_PARALLEL = slice(0, 2)
_STEPS_KEPT = 100

Show = Callable[[int, str], None]


@dataclass(frozen=True)
class Settings:
    """What decides a training.

    Args:
        seed: of all draws.
        hold: networks whose layers it does not see, with commas between; empty for none.
        imitation: steps on labels.
        steps: of policy gradient.
        labels: digest of the labels; empty without.
    """

    seed: int
    hold: str
    imitation: int
    steps: int
    labels: str


class Training:
    """A training in a directory.

    Args:
        settings: what decides it.
        held: shapes of layers that it does not see.
        labelled: lessons of labels.
        directory: keeps what is needed to go on, and the curve.

    Raises:
        RecordError: the directory has another training, or a damaged one.
    """

    def __init__(
        self,
        settings: Settings,
        held: frozenset[str],
        labelled: Sequence[Lesson],
        directory: Path,
    ) -> None:
        # Sums of several threads differ in their last bits.
        torch.set_num_threads(1)
        self._settings, self._held, self._labelled = settings, held, labelled
        self._zoo = training_layers(held)
        self._state, self.curve = directory / "training.npz", directory / "curve.csv"
        self.policy = Policy(seed=settings.seed)
        self.least = np.full(len(CONTEXT), np.inf, np.float32)
        self.most = np.full(len(CONTEXT), -np.inf, np.float32)
        self.done = 0
        self._learner = self._begin(_BEFORE)
        self._rows: list[list[str]] = []
        self._settings_path = directory / "training.json"
        self._read()

    @property
    def total(self) -> int:
        """Steps of the whole training."""
        return self._settings.imitation + self._settings.steps

    def run(self, show: Show) -> None:
        """Train to the end; what is done is kept."""
        while self.done < self.total:
            began = time.process_time()
            told = [self._step() for _ in range(min(_STEPS_KEPT, self.total - self.done))]
            spent = time.process_time() - began
            means = [_mean(each) for each in zip(*told, strict=True)]
            self._rows.append([str(self.done), f"{spent:.1f}", *means])
            self._write()
            show(self.done, f"gap {means[0] or '-'}")

    def _begin(self, phase: str) -> Learner:
        steps = self._settings.imitation if phase == _BEFORE else self._settings.steps
        return Learner(self.policy, _RATE, max(steps, 1))

    def _step(self) -> tuple[float, float, float]:
        number, before = self.done, self._settings.imitation
        if number == before:
            self._learner = self._begin(_AFTER)
        rng = np.random.default_rng((self._settings.seed, number))
        if number < before:
            entropy = self._learner.imitate(self._labelled_batch(rng, _LABELS))
            found = (np.nan, entropy, np.nan)
        else:
            found = self._improve(rng, Random(f"{self._settings.seed} step {number}"))
        self.done += 1
        return found

    def _improve(self, rng: np.random.Generator, draws: Random) -> tuple[float, float, float]:
        lessons = self._lessons(rng, draws)
        arrays = self.policy.arrays()
        networks = Networks(arrays)
        # Every option of the first decisions is as likely as another.
        arrays["score"][_PARALLEL] = 0
        explorer = Networks(arrays)
        seen = [experience(each, networks, explorer, rng) for each in lessons]
        learnt = [each for each in seen if len(each.points)]
        targets = {}
        if found := [each for each in seen if len(each.target)]:
            first, last = _TARGETS
            gone = (self.done - self._settings.imitation) / self._settings.steps
            weight = (first + (last - first) * gone) * len(found) / len(seen)
            targets[weight] = _batch((each.lesson, each.target) for each in found)
        if self._labelled:
            targets[_IMITATION] = self._labelled_batch(rng, _IMITATED)
        entropy = self._learner.improve(
            _batch((each.lesson, each.points) for each in learnt),
            np.concatenate([each.advantages for each in learnt]),
            targets,
        )
        return float(np.mean([each.gap for each in seen])), entropy, len(found) / len(seen)

    def _lessons(self, rng: np.random.Generator, draws: Random) -> list[Lesson]:
        labelled = round(_PROBLEMS * _LABELLED) if self._labelled else 0
        drawn = draw_lessons(draws, self._zoo, self._held)
        lessons = list(islice(drawn, _PROBLEMS - labelled))
        lessons += [self._labelled[i] for i in self._choose(rng, labelled)]
        for each in lessons:
            self._see(each)
        return lessons

    def _labelled_batch(self, rng: np.random.Generator, number: int) -> Batch:
        chosen = []
        for i in self._choose(rng, number):
            lesson = self._labelled[i]
            self._see(lesson)
            most = min(_MAPPINGS, len(lesson.good))
            chosen.append((lesson, lesson.good[rng.permutation(len(lesson.good))[:most]]))
        return _batch(chosen)

    def _choose(self, rng: np.random.Generator, number: int) -> list[int]:
        indices: list[int] = rng.integers(0, len(self._labelled) or 1, number).tolist()
        return indices

    def _see(self, lesson: Lesson) -> None:
        np.minimum(self.least, lesson.context, out=self.least)
        np.maximum(self.most, lesson.context, out=self.most)

    def _read(self) -> None:
        asked = {"training": asdict(self._settings)}
        way_out = "give another --out, or delete it to train anew"
        if not self._settings_path.exists():
            write_record(self._settings_path, asked)
        check_same(self._settings_path, read_record(self._settings_path, way_out), asked)
        if not self._state.exists():
            return
        try:
            with self._state.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                arrays: dict[str, Any] = dict(kept)
            done = int(arrays["done"])
            phase_done = (
                done if done <= self._settings.imitation else done - self._settings.imitation
            )
            if done > self._settings.imitation:
                self._learner = self._begin(_AFTER)
            self._learner.load(arrays, phase_done)
            self.least, self.most = arrays["least"], arrays["most"]
            self._rows = arrays["curve"].tolist()
        except (OSError, ValueError, LookupError, RuntimeError, BadZipFile) as error:
            raise RecordError(f"{self._state} is damaged: {error}; {way_out}") from None
        self.done = done

    def _write(self) -> None:
        kept: dict[str, NDArray[Any]] = {
            **self._learner.arrays(),
            "done": np.array(self.done),
            "least": self.least,
            "most": self.most,
            "curve": np.array(self._rows),
        }
        with replacing(self._state) as temporary, temporary.open("wb") as file:
            np.savez(file, **kept)  # type: ignore[arg-type]
        with replacing(self.curve) as temporary, temporary.open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("step", "cpu_seconds", "gap", "entropy", "targets"))
            writer.writerows(self._rows)


def _mean(numbers: Iterable[float]) -> str:
    """Return the mean of what was told; imitation knows no gaps."""
    told = [each for each in numbers if not math.isnan(each)]
    return f"{sum(told) / len(told):.4f}" if told else ""


def _batch(chosen: Iterable[tuple[Lesson, Points]]) -> Batch:
    return Batch.of(
        [(len(points), lesson.proposer.trace(points), lesson.context) for lesson, points in chosen]
    )
