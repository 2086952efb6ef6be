"""``maestro-env pretrain``: train the mapper prior, or make its labels.

Several processes may make labels in one directory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.environments.task import Task
from maestro_env.evaluation.problem import require
from maestro_env.experiments.commands.pretrain.lessons import NearEvaluator
from maestro_env.experiments.problems.drawn import is_bounded, shapes_of, training_problem
from maestro_env.experiments.problems.labels import (
    SUFFIX,
    Label,
    labels_digest,
    read_labels,
    write_labels,
)
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import any_directory, ensure_directory
from maestro_env.experiments.shell.flags import (
    UsageError,
    option,
    out_option,
    refuse_others,
    to_flags,
    unique,
)
from maestro_env.experiments.store.claims import open_directory
from maestro_env.experiments.store.records import Record, Show
from maestro_env.experiments.store.running import run_records
from maestro_env.mappers import make_mapper
from maestro_env.optimum.known import optimum_in_table
from maestro_env.optimum.search import OptimumSearch
from maestro_env.workloads.finding import models

PROBLEMS = 32
"""Problems of a file."""

MOST_POINTS = 16
"""Near-optima of a label at most."""

_START = 1000
# About three seconds, of which a mapping that is evaluated takes as long as five boxes.
_MOST_BOXES = 3_000_000
_BOXES_OF_A_SAMPLE = 5
_BOXES_BETWEEN_LOOKS = 100_000
_ROUNDS = 2


def make_labels(directory: Path, seed: int, shards: int, jobs: int = 1) -> int:
    """Make the labels of the first shards that are not there yet; return the exit status.

    Other processes may do the same in the same directory. Shards that have been written stay after
    Ctrl-C.

    Raises:
        RecordError: the directory has labels of another seed.
    """
    ensure_directory(directory)
    open_directory(directory, "pretrain", {"labels": {"seed": seed}})
    all_shards = [
        Shard(seed, number, directory=directory, again="the same command")
        for number in range(shards)
    ]
    return run_records(all_shards, jobs)


@dataclass(frozen=True)
class Shard(Record[list[Label]]):
    """The labels of some problems, with consecutive numbers, in a file of its own kind."""

    seed: int
    number: int

    def __str__(self) -> str:
        return f"labels {self.number}"

    @property
    def path(self) -> Path:
        return self.directory / f"labels-{self.number:05}{SUFFIX}"

    def facts(self) -> dict[str, Any]:
        return {"labels": {"seed": self.seed}}

    def compute(self, show: Show) -> dict[str, Any]:
        return {"labels": list(self._labels(show))}

    def write(self, entry: dict[str, Any]) -> None:
        write_labels(self.path, entry["labels"])

    def parse(self, entry: dict[str, Any]) -> list[Label]:
        raise NotImplementedError("read_labels reads the files of a directory")

    def _labels(self, show: Show) -> Iterator[Label]:
        for done in range(PROBLEMS):
            number = self.number * PROBLEMS + done
            show(done / PROBLEMS, f"problem {number}")
            task = training_problem(self.seed, number)
            label = make_label(task, np.random.default_rng([self.seed, number]))
            if label is not None:
                yield label


def make_label(task: Task, rng: np.random.Generator) -> Label | None:
    """Search for the best mappings; None if there are no proofs of such problems, or no mapping.

    It takes ``ga_log`` to start with, then the search for the optimum with a limit of boxes, then
    the neighbours of the best mappings. So the label depends on the random stream alone.
    """
    problem, objective = require(task.problem, "levels", "a label"), task.objective
    if not is_bounded(problem, objective):
        return None
    evaluator = NearEvaluator(problem, objective)
    make_mapper("ga_log").search(evaluator, _START, rng)
    known = optimum_in_table(problem, objective)
    if known:
        evaluator.evaluate(known.point[np.newaxis])
    evaluator.descend()
    search = OptimumSearch(problem, objective)
    search.begin_with(evaluator.best)
    spent = 0
    while not search.finished and spent < _MOST_BOXES:
        points = search.ask(_BOXES_BETWEEN_LOOKS)
        search.tell(points, evaluator.evaluate(points).values)
        spent = search.nodes + _BOXES_OF_A_SAMPLE * evaluator.used
    bound = max(search.bound, known.bound if known else 0.0)
    for _ in range(_ROUNDS):
        evaluator.look_around(MOST_POINTS)
    points, values = evaluator.near(MOST_POINTS)
    return Label(task, bound, points, values) if len(points) else None


@dataclass(frozen=True)
class Config:
    """Train the mapper prior.

    Training writes prior.safetensors, which prior:file=FILE uses, and the curve; benchmark scores
    it. With --make-labels, training problems are solved, with proofs. Both resume what is there;
    several processes can make labels in one directory.
    """

    hold: str | None = option(
        None,
        f"train without the layers of these networks, separated by commas: {', '.join(models())}",
        value="networks",
    )
    imitation: int | None = option(
        None,
        "first steps, of imitation (default: 300 with labels, else 0)",
        kind=int,
    )
    steps: int = option(27_000, "steps of policy gradient", least=0, most=10**7)
    density: float = option(
        1.0, "share of the weights that exist; fewer than all move by RigL", least=0.01, most=1
    )
    seed: int = option(0, "seed of the training or of the labels")
    make_labels: int | None = option(
        None, "number of files of labels to make in --labels, 32 problems each", least=1, kind=int
    )
    labels: str | None = option(None, "solved training problems", value="directory")
    jobs: int = option(1, "number of processes", least=1, most=1024)
    out: str | None = out_option("the first free runs/pretrain-<n>")


_IMITATION = 300
_OF_TRAINING = ("hold", "imitation", "steps", "density", "seed", "labels", "out")
_OF_LABELS = ("make-labels", "labels", "seed", "jobs")


def execute(config: Config) -> int:
    """Do what a config asks and return the exit status."""
    given = to_flags(config)
    if config.make_labels is not None:
        refuse_others("--make-labels", given, _OF_LABELS)
        return _label(config, config.make_labels)
    refuse_others("a training", given, _OF_TRAINING)
    return _train(config)


def _label(config: Config, shards: int) -> int:
    if config.labels is None:
        raise UsageError("--make-labels needs --labels DIRECTORY to write them to")
    return make_labels(Path(config.labels), config.seed, shards, config.jobs)


def _train(config: Config) -> int:
    with cli.importing():
        from maestro_env.experiments.commands.pretrain.trainer import Settings, train
    networks = unique(config.hold.split(",")) if config.hold else ()
    held = shapes_of(*networks)
    labels = read_labels(Path(config.labels)) if config.labels else []
    imitation = config.imitation
    if imitation is None:
        imitation = _IMITATION if labels else 0
    if imitation < 0 or (imitation and not labels):
        raise UsageError(
            f"--imitation is {imitation}; allowed: numbers from 0 on, and 0 without --labels"
        )
    digest = labels_digest(labels) if labels else ""
    settings = Settings(
        config.seed, ",".join(networks), imitation, config.steps, digest, config.density
    )
    directory = any_directory(config.out, "pretrain")
    open_directory(directory, "pretrain", {})
    return train(settings, held, labels, directory)


__all__ = ["Config", "execute"]
