"""The training of a prior: imitation of labels, then policy gradient; kept and continued.

Every step draws from a random stream of its own, of the seed and its number, so that what is kept
between steps is weights, their moments and the ranges of what was seen.
"""

from __future__ import annotations

import io
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

from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.observations_and_rewards import CONTEXT
from maestro_env.experiments.commands.pretrain.lessons import (
    Lesson,
    Taught,
    draw_lessons,
    experience,
    lessons_of,
)
from maestro_env.experiments.problems import drawn
from maestro_env.experiments.problems.drawn import distinct_layers
from maestro_env.experiments.problems.labels import Label
from maestro_env.experiments.shell import files
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.store.claims import only_process
from maestro_env.experiments.store.running import Running
from maestro_env.mappers.parts.prior_policy import Learner, Policy, TraceBatch, sparse_topology
from maestro_env.prior.file import PriorFile
from maestro_env.prior.proposals import Networks

_RATE = 1e-3
# Imitation: labels of a step, and mappings of each.
_LABELS, _MAPPINGS = 96, 4
# Policy gradient: problems of a step, and how many of them have labels.
_PROBLEMS, _LABELLED = 24, 6
# How much better mappings than the policy's count, in the first step and in the last.
_TARGETS = (1.0, 0.3)
_IMITATED, _IMITATION = 24, 0.05
# The networks of the first decisions, which loops are parallel.
_PARALLEL = slice(0, 2)
_STEPS_KEPT = 100
_CURVE = ("step", "cpu_seconds", "gap", "entropy", "targets")
_FLAGS = ("hold", "labels", "seed", "imitation", "steps", "density")
_WAY_OUT = "give another --out, or delete it to train again"


@dataclass(frozen=True)
class Settings:
    """What decides a training.

    Args:
        seed: of all draws.
        hold: networks whose layers it does not see, with commas between; empty for none.
        imitation: steps on labels.
        steps: of policy gradient.
        labels: digest of the labels; empty without.
        density: share of the weights of matrices that exist.
    """

    seed: int
    hold: str
    imitation: int
    steps: int
    labels: str
    density: float


def train(
    settings: Settings, held: frozenset[str], labels: Sequence[Label], directory: Path
) -> int:
    """Train in a directory, or go on there, and write the prior; return the exit status."""
    path = directory / "prior.safetensors"
    way_on = f"to continue, repeat the command with --out {directory}"
    with Running(directory, {}, way_on=way_on) as running, only_process(path):
        training = Training(settings, held, labels, directory)
        with Bar("training", training.total, training.done) as bar:
            training.run(bar.show)
        files.write_bytes(path, training.prior().to_bytes())
        curve = f", curve: {training.curve}" if training.done else ""
        print_lines(f"prior: {path}{curve}")
    return running.status


class Training:
    """A training in a directory.

    Args:
        settings: what decides it.
        held: shapes of layers that it does not see.
        labels: solved problems.
        directory: keeps what is needed to go on, and the curve.

    Raises:
        RecordError: the directory has another training, or a damaged one.
    """

    def __init__(
        self, settings: Settings, held: frozenset[str], labels: Sequence[Label], directory: Path
    ) -> None:
        # Sums of several threads differ in their last bits.
        torch.set_num_threads(1)
        self._settings, self._held = settings, held
        self._zoo = list(distinct_layers(held).values())
        self._labelled = lessons_of(labels, held)
        self._state, self.curve = directory / "training.npz", directory / "curve.csv"
        self._policy, self._topology = Policy(seed=settings.seed), None
        if settings.density < 1:
            (links,) = np.random.default_rng(settings.seed).spawn(1)
            self._topology = sparse_topology(self._policy, settings.density, links)
        self._least = np.full(len(CONTEXT), np.inf, np.float32)
        self._most = -self._least
        self._rows: list[list[str]] = []
        self.done = 0
        self._learner = self._new_learner(settings.imitation)
        begun, asked = directory / "training.json", {"training": asdict(settings)}
        if not begun.exists():
            files.write_record(begun, asked)
        files.check_same(begun, files.read_record(begun, _WAY_OUT), asked)
        if self._state.exists():
            self._read()

    @property
    def total(self) -> int:
        """Steps of the whole training."""
        return self._settings.imitation + self._settings.steps

    def run(self, show: Callable[[int, str], None]) -> None:
        """Train to the end; what is done is kept."""
        while self.done < self.total:
            began = time.process_time()
            told = [self._step() for _ in range(min(_STEPS_KEPT, self.total - self.done))]
            spent = time.process_time() - began
            means = [_mean(each) for each in zip(*told, strict=True)]
            self._rows.append([str(self.done), f"{spent:.1f}", *means])
            self._write()
            show(self.done, f"gap {means[0] or '-'}")

    def prior(self) -> PriorFile:
        """Return what has been trained, with what it was trained on."""
        card = {
            **asdict(self._settings),
            "labelled_problems": len(self._labelled),
            "layers": "the zoo's but for those of the held network, and random ones",
            "machines": "edge, unlimited, cloud and random ones, but for the held machine",
            "held_machine": drawn.HELD_MACHINE.record(),
            "model": [DEFAULT_MODEL],
            "schema": list(drawn.SCHEMAS),
            "tiles": ["integers"],
        }
        if self._settings.density == 1:
            del card["density"]  # Files of dense networks are those of before there were others.
        flags = {name: card[name] for name in _FLAGS if name in card}
        flags["labels"] = flags["labels"] and "LABELS"
        given = " ".join(f"--{name} {value}" for name, value in flags.items() if value != "")
        ranges = dict.fromkeys(CONTEXT, (0.0, 1.0))
        if self.done:
            seen = zip(self._least.tolist(), self._most.tolist(), strict=True)
            ranges = dict(zip(CONTEXT, seen, strict=True))
        return PriorFile(self._policy.arrays(), card, f"maestro-env pretrain {given}", ranges)

    def _new_learner(self, steps: int) -> Learner:
        return Learner(self._policy, _RATE, max(steps, 1), self._topology)

    def _step(self) -> tuple[float, float, float]:
        """Take a step; return the gap, the entropy and the share of lessons with targets."""
        rng = np.random.default_rng((self._settings.seed, self.done))
        if self.done < self._settings.imitation:
            entropy = self._learner.imitate(self._labelled_batch(rng, _LABELS))
            told = (np.nan, entropy, np.nan)
        else:
            if self.done == self._settings.imitation:
                self._learner = self._new_learner(self._settings.steps)
            told = self._improve(rng)
        self.done += 1
        return told

    def _improve(self, rng: np.random.Generator) -> tuple[float, float, float]:
        lessons = self._lessons(rng)
        arrays = self._policy.arrays()
        networks = Networks(arrays)
        # Every option of the first decisions is as likely as another.
        arrays["score"][_PARALLEL] = 0
        explorer = Networks(arrays)
        seen = [experience(each, networks, explorer, rng) for each in lessons]
        learnt = [each for each in seen if len(each.points)]
        found = [each for each in seen if len(each.target)]
        targets = {}
        if found:
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

    def _lessons(self, rng: np.random.Generator) -> list[Lesson]:
        labelled = self._choose(rng, _LABELLED) if self._labelled else []
        draws = Random(f"{self._settings.seed} step {self.done}")
        drawn = draw_lessons(draws, self._zoo, self._held)
        lessons = list(islice(drawn, _PROBLEMS - len(labelled)))
        lessons += [lesson for lesson, _ in labelled]
        self._see(lessons)
        return lessons

    def _labelled_batch(self, rng: np.random.Generator, number: int) -> TraceBatch:
        chosen = self._choose(rng, number)
        self._see([lesson for lesson, _ in chosen])
        return _batch(
            (lesson, points[rng.permutation(len(points))[:_MAPPINGS]]) for lesson, points in chosen
        )

    def _choose(self, rng: np.random.Generator, number: int) -> list[Taught]:
        return [self._labelled[i] for i in rng.integers(0, len(self._labelled), number)]

    def _see(self, lessons: Iterable[Lesson]) -> None:
        contexts = np.stack([each.task.context for each in lessons])
        self._least = np.minimum(self._least, contexts.min(axis=0))
        self._most = np.maximum(self._most, contexts.max(axis=0))

    def _read(self) -> None:
        try:
            with self._state.open("rb") as file, np.load(file, allow_pickle=False) as kept:
                arrays: dict[str, Any] = dict(kept)
            done = int(arrays["done"])
            improved = done - self._settings.imitation
            if improved > 0:
                self._learner = self._new_learner(self._settings.steps)
            self._learner.load(arrays, improved if improved > 0 else done)
            self._least, self._most = arrays["least"], arrays["most"]
            self._rows = arrays["curve"].tolist()
        except (OSError, ValueError, LookupError, RuntimeError, BadZipFile) as error:
            raise RecordError(f"{self._state} is damaged: {error}; {_WAY_OUT}") from None
        self.done = done

    def _write(self) -> None:
        buffer = io.BytesIO()
        np.savez(
            buffer,
            **self._learner.arrays(),  # type: ignore[arg-type]
            done=self.done,
            least=self._least,
            most=self._most,
            curve=self._rows,
        )
        files.write_bytes(self._state, buffer.getvalue())
        files.write_csv(
            self.curve, ("step", "cpu_seconds", "gap", "entropy", "targets"), self._rows
        )


def _mean(numbers: Iterable[float]) -> str:
    """Return the mean of what was told; imitation knows no gaps."""
    told = [each for each in numbers if not math.isnan(each)]
    return f"{sum(told) / len(told):.4f}" if told else ""


def _batch(chosen: Iterable[Taught]) -> TraceBatch:
    return TraceBatch.of(
        [
            (len(points), lesson.proposer.trace(points), lesson.task.context)
            for lesson, points in chosen
        ]
    )
