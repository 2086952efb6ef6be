"""The file of agents that learnt values: weights, masks, and what their training did."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch
from torch import Tensor

from maestro_env.base.errors import MaestroEnvError
from maestro_env.mappers.papers.stacked_networks import Networks
from maestro_env.mappers.papers.value_based.learner import ValueLearner
from maestro_env.mappers.papers.value_based.qmix import Course
from maestro_env.mappers.papers.value_based.settings import Settings
from maestro_env.mappers.parts.arrays import Booleans, Floats32, opened_checkpoint


class AgentsError(MaestroEnvError, ValueError):
    """A file that holds no agents, or damaged ones."""


@dataclass(frozen=True, eq=False)
class AgentsCheckpoint:
    """Agents, their mixer, and how they were trained.

    Args:
        course: how.
        parameters: weights [N, I, O] and biases [N, 1, O] of each layer, those of agents first.
        masks: which of the weights exist, bool[N, I, O] of each layer; not those of padding.
    """

    course: Course
    parameters: Sequence[Floats32]
    masks: Sequence[Booleans]

    @classmethod
    def of(cls, course: Course, learner: ValueLearner) -> AgentsCheckpoint:
        """Return that of a learner after its training."""
        parameters, shapes = list[Floats32](), list[Sequence[tuple[int, int]]]()
        for one in learner.networks:
            with one.whole():
                parameters += [each.detach().numpy().copy() for each in one.parameters]
            shapes += one.shapes
        masks = map(_without_padding, learner.topology.masks[::2], shapes)
        return cls(course, parameters, list(masks))

    def learner(self) -> ValueLearner:
        """Return the agents, which play, and would learn as dense ones."""
        settings = replace(self.course.settings, density=1.0, kernels="dense")
        learner = replace(self.course, settings=settings).learner(np.random.default_rng(0))
        with torch.no_grad():
            for own, kept in zip(_parameters(learner.networks), self.parameters, strict=True):
                own.copy_(torch.from_numpy(kept))
        return learner

    def operations(self) -> Counter[str]:
        """Count the operations of the training again, by purpose, from the masks."""
        return self.course.operations([int(each.sum()) for mask in self.masks for each in mask])

    def save(self, file: Path | str | BinaryIO) -> None:
        """Write it to a file, in the format of ``numpy.savez``."""
        arrays: dict[str, Any] = {f"parameter/{i}": each for i, each in enumerate(self.parameters)}
        arrays |= {f"mask/{i}": each for i, each in enumerate(self.masks)}
        np.savez_compressed(file, course=json.dumps(asdict(self.course)), **arrays)


def read_agents(path: Path | str) -> AgentsCheckpoint:
    """Read a file that ``AgentsCheckpoint.save`` wrote.

    Raises:
        AgentsError: no such file, or one with weights that its masks do not have.
    """
    with opened_checkpoint(path, AgentsError) as file:
        fields = json.loads(str(file["course"]))
        hidden = tuple(fields["settings"].pop("hidden"))
        settings = Settings(**fields.pop("settings"), hidden=hidden)
        course = Course(**fields, settings=settings)
        layers = range(sum(name.startswith("mask/") for name in file.files))
        parameters = [file[f"parameter/{number}"] for number in range(2 * len(layers))]
        masks = [file[f"mask/{number}"] for number in layers]
        for weights, mask in zip(parameters[::2], masks, strict=True):
            if weights.shape != mask.shape or weights[~mask].any():
                raise AgentsError("it has weights that its masks do not have")
    return AgentsCheckpoint(course, parameters, masks)


def _parameters(every: Sequence[Networks]) -> Iterator[Tensor]:
    for one in every:
        yield from one.parameters


def _without_padding(mask: Tensor, shapes: Sequence[tuple[int, int]]) -> Booleans:
    """Return the mask of a layer, in which networks smaller than the largest have no padding."""
    found = np.zeros(mask.shape, dtype=bool)
    for own, all_of_it, (inputs, outputs) in zip(found, mask.numpy(), shapes, strict=True):
        own[:inputs, :outputs] = all_of_it[:inputs, :outputs] > 0
    return found
