"""Trains a prior and writes its file, with what it was trained on."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.commands.pretrain import drawn
from experiments.commands.pretrain.flags import Config
from experiments.commands.pretrain.labels import Label, labels_digest, read_labels, without
from experiments.commands.pretrain.lessons import lessons_of
from experiments.commands.pretrain.problems import HELD_MACHINE, shapes_of
from experiments.commands.pretrain.training import Settings, Training
from experiments.search.goals import unique
from experiments.shell import cli, files
from experiments.shell.flags import UsageError
from experiments.shown.progress import Bar
from experiments.store.claims import only_process
from maestro_env.evaluation.context import CONTEXT
from maestro_env.evaluation.models import DEFAULT_MODEL
from mappers.learners.prior.file import PriorFile

_NAME = "prior.safetensors"
_IMITATION = 300


def train(config: Config) -> int:
    """Train in --out, or go on there, and write the file; return the exit status."""
    networks = unique(config.hold.split(",")) if config.hold else ()
    held = shapes_of(*networks)
    labels = read_labels(Path(config.labels)) if config.labels else []
    settings = _settings(config, networks, labels)
    directory = files.run_directory(None, "pretrain") if config.out is None else Path(config.out)
    files.ensure_directory(directory)
    with only_process(directory / _NAME):
        lessons = lessons_of(without(labels, held))
        training = Training(settings, held, lessons, directory)
        try:
            with Bar("training", training.total, training.done) as bar:
                training.run(bar.show)
        except KeyboardInterrupt:
            print(f"interrupted: --out {directory} and the same flags go on", file=sys.stderr)
            return cli.INTERRUPTED
        path = directory / _NAME
        with files.replacing(path) as temporary:
            temporary.write_bytes(_file(config, settings, training, len(lessons)).to_bytes())
    print(f"prior: {path}, curve: {training.curve}" if training.done else f"prior: {path}")
    return 0


def _settings(config: Config, networks: tuple[str, ...], labels: list[Label]) -> Settings:
    imitation = config.imitation
    if imitation is None:
        imitation = _IMITATION if labels else 0
    if imitation < 0 or (imitation and not labels):
        raise UsageError(
            f"--imitation is {imitation}; allowed: numbers from 0 on, and 0 without --labels"
        )
    digest = labels_digest(labels) if labels else ""
    return Settings(config.seed, ",".join(networks), imitation, config.steps, digest)


def _file(config: Config, settings: Settings, training: Training, lessons: int) -> PriorFile:
    card: dict[str, Any] = {
        **asdict(settings),
        "labelled_problems": lessons,
        "layers": "the zoo's but for those of the held network, and random ones",
        "machines": "edge, unlimited, cloud and random ones, but for the held machine",
        "held_machine": HELD_MACHINE.record(),
        "model": [DEFAULT_MODEL],
        "schema": list(drawn.SCHEMAS),
        "tiles": ["integers"],
    }
    flags = {
        "hold": settings.hold or None,
        "labels": config.labels and "LABELS",
        "seed": config.seed,
        "imitation": settings.imitation,
        "steps": settings.steps,
    }
    given = " ".join(f"--{name} {value}" for name, value in flags.items() if value is not None)
    ranges = dict.fromkeys(CONTEXT, (0.0, 1.0))
    if training.done:
        seen = zip(training.least.tolist(), training.most.tolist(), strict=True)
        ranges = dict(zip(CONTEXT, seen, strict=True))
    return PriorFile(training.policy.arrays(), card, f"maestro-env pretrain {given}", ranges)
