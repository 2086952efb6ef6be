"""Makes labels, or trains a prior."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from maestro_env.experiments.commands.pretrain.making import make_labels
from maestro_env.experiments.problems.drawn import shapes_of
from maestro_env.experiments.problems.labels import labels_digest, read_labels
from maestro_env.experiments.search.goals import unique
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import any_directory
from maestro_env.experiments.shell.flags import (
    UsageError,
    option,
    out_option,
    refuse_others,
    to_flags,
)
from maestro_env.experiments.store.directory import open_directory
from maestro_env.workloads.finding import models


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
