"""One training of agents on a cooperative task: its file, what they return, and the record."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.papers.sparse.agent_arms import (
    ARMS,
    BATCH,
    COPIES,
    UPDATES,
    AgentSize,
    Tuning,
    course_of,
)
from maestro_env.experiments.papers.sparse.curves import Curve
from maestro_env.experiments.shell.files import check_digest, file_digest, replacing
from maestro_env.experiments.store.records import Measured, Show
from maestro_env.mappers.papers.tasks import Task
from maestro_env.mappers.papers.tasks.foraging import Foraging
from maestro_env.mappers.papers.tasks.improving import Improvement
from maestro_env.mappers.papers.value_based.checkpoint import (
    AgentsCheckpoint,
    AgentsError,
    read_agents,
)
from maestro_env.mappers.papers.value_based.episodes import REMEMBERED, Acting, Episodes, play
from maestro_env.mappers.papers.value_based.learner import ValueLearner
from maestro_env.mappers.papers.value_based.qmix import Course
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

# Streams of trainings are spawned from their seeds: none is one of these.
_EVALUATION, _RANDOM = 1_000_000, 2_000_000
_LAYER, _HARDWARE, _OBJECTIVE = "resnet18_l2", "edge", "edp"


def _mapping(copies: int) -> Task:
    """Return mapping by four agents: both levels' loops, and the sizes of their tiles."""
    problem = Problem(MapSpace(find_layer(_LAYER), PRESETS[_HARDWARE]))
    names = [parameter.name for parameter in problem.space.parameters]
    owners = np.array([2 * (not name.startswith("l2_")) + ("_tile_" in name) for name in names])
    return Improvement(problem, find_objective(_OBJECTIVE), copies, owners)


TASKS: Mapping[str, Callable[[int], Task]] = {
    "foraging": partial(Foraging, name="Foraging-5x5-2p-2f-coop-v3"),
    "foraging-8x8": Foraging,
    "mapping": _mapping,
}
"""What makes so many copies."""


def evaluate(task: str, act: Acting, resets: int) -> float:
    """Return the mean return of so many episodes, which always begin alike."""
    return float(play(TASKS[task](resets), act, np.random.default_rng(_EVALUATION)).mean())


def random_return(task: str, resets: int) -> float:
    """Return the same of choices that are all equally likely."""
    rng, choices = np.random.default_rng(_RANDOM), np.concatenate(TASKS[task](1).heads)
    return evaluate(task, lambda seen: rng.integers(choices, size=(resets, len(choices))), resets)


RESETS = 500
"""Episodes that agents are evaluated with after the training; the same ones of all."""

_POINTS, _RESETS_OF_POINT = 20, 100
# The share of random choices falls from 1 to the least in a part of the training.
_LEAST_RANDOM, _EXPLORING = 0.05, 0.3
# The share of a record that is done when the training is.
_TRAINED = 0.97


@dataclass(frozen=True)
class Setup:
    """All that decides a training.

    Args:
        task: one of ``TASKS``.
        learner: one of ``LEARNERS``.
        arm: one of ``ARMS``.
        seed: of weights, masks, choices, first states and batches.
        tuning: for the task.
        size: of the networks.
    """

    task: str
    learner: str
    arm: str
    seed: int
    tuning: Tuning
    size: AgentSize

    def course(self) -> Course:
        """What is done, in full."""
        return course_of(self.arm, self.learner, TASKS[self.task](1), self.size, self.tuning)

    def __str__(self) -> str:
        return f"{self.arm} by {self.learner} on {self.task}, seed {self.seed}"


@dataclass(frozen=True)
class Trained:
    """What a training gave. Returns are of greedy choices.

    Args:
        last: mean return of ``RESETS`` episodes after the training.
        random: the same of random choices.
        curve: of 100 episodes after each twentieth of the training.
        flops: operations by purpose, counted from the masks.
        choosing: operations of a choice of all agents.
        cpu_seconds: the training took, without evaluations.
        checkpoint: digest of its file.
    """

    last: float
    random: float
    curve: Curve
    flops: dict[str, int]
    choosing: int
    cpu_seconds: float
    checkpoint: str


@dataclass(frozen=True)
class Training(Measured[Trained, Setup]):
    """A training as a directory keeps it, with a file of the agents beside it."""

    NOUN, KEY, RESULT = "trainings", "trained", Trained

    @property
    def kind(self) -> tuple[str, str, str]:
        setup = self.setup
        how = f"{setup.tuning.episodes}-{setup.tuning.rate:g}-{setup.tuning.copy}"
        return f"{setup.task}-{setup.learner}", setup.arm, how

    @property
    def checkpoint(self) -> Path:
        """Where the agents are."""
        return self.path.with_suffix(".npz")

    def measure(self, show: Show) -> Trained:
        setup, course = self.setup, self.setup.course()
        learner, curve, seconds = _train(setup, course, show)
        agents = AgentsCheckpoint.of(course, learner)
        if not all(np.isfinite(each).all() for each in agents.parameters):
            raise AgentsError("some weights are no numbers any more; lower the rate")
        with replacing(self.checkpoint) as temporary, temporary.open("wb") as file:
            agents.save(file)
        show(_TRAINED, "evaluation")
        # What is evaluated is what the file holds.
        last = evaluate(setup.task, read_agents(self.checkpoint).learner().greedy, RESETS)
        flops = dict(learner.meter.spent)
        return Trained(
            *(last, random_return(setup.task, RESETS), curve, flops),
            flops["act agents"] // course.acted,
            seconds,
            file_digest(self.checkpoint),
        )

    def read_figures(self, told: dict[str, Any]) -> Trained:
        trained = Trained(**told)
        check_digest(self.checkpoint, trained.checkpoint)
        if read_agents(self.checkpoint).operations() != Counter(trained.flops):
            raise AgentsError(f"{self.checkpoint} took other operations")
        return trained


def _train(setup: Setup, course: Course, show: Show) -> tuple[ValueLearner, Curve, float]:
    """Return what has learnt, the curve, and the CPU seconds without those of evaluations."""
    first, starts, draws = np.random.default_rng(setup.seed).spawn(3)
    task, learner = TASKS[setup.task](COPIES), course.learner(first)
    episodes = Episodes(task, REMEMBERED, draws)
    curve, seconds, rounds = Curve(), 0.0, setup.tuning.episodes // COPIES
    ends = np.unique(np.linspace(0, rounds, _POINTS + 1).astype(int)).tolist()
    for begin, end in pairwise(ends):
        began = time.process_time()
        for done in range(begin, end):
            act = partial(learner.act, epsilon=_randomness(done / rounds))
            play(task, act, starts, episodes.replay)
            for _ in range(UPDATES):
                learner.update(episodes.draw(BATCH, recent=ARMS[setup.arm].recent), task.length)
        seconds += time.process_time() - began
        found = evaluate(setup.task, learner.greedy, _RESETS_OF_POINT)
        curve.append((end * COPIES, learner.meter.total, found))
        show(_TRAINED * end / rounds, f"{end * COPIES:,} episodes, return {found:.3f}")
    return learner, curve, seconds


def _randomness(done: float) -> float:
    """Return the share of random choices after a part of the training."""
    return max(_LEAST_RANDOM, 1 - (1 - _LEAST_RANDOM) * done / _EXPLORING)
