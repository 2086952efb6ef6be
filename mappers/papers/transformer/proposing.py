"""Mappings that a transformer proposes for a layer, and the file of a trained one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import torch

from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers.papers.sparse_networks import FlopMeter
from maestro_env.mappers.papers.transformer.model import Cache, Gpt, GptShape, TransformerError
from maestro_env.mappers.papers.transformer.tokens import (
    END,
    Step,
    advance,
    of_layer,
    of_machine,
    writing,
)
from maestro_env.mappers.papers.transformer.training import Arm, Schedule, Training
from maestro_env.mappers.parts.arrays import Booleans, Floats32, Integers, opened_checkpoint
from maestro_env.mappers.parts.threads import one_thread
from maestro_env.mapspace.space import Points

# So many are written for each that is asked for: some are equal, some do not fit.
_SPARE = 4


@one_thread()
def propose(
    model: Gpt, problem: Problem, objective: Objective, samples: int, rng: np.random.Generator
) -> Points:
    """Propose mappings: the one whose tokens are each the likeliest, then others, drawn.

    Only tokens that continue a mapping are chosen from, and what masks do not allow is left out.

    Args:
        model: that writes them.
        problem: to be mapped.
        objective: to be minimised.
        samples: how many mappings are wanted.
        rng: draws them.

    Returns:
        Vectors, int32[N, D], none twice: fewer than asked for if the model does not write more.
    """
    space, count = problem.space, _SPARE * samples
    walks = [writing(space) for _ in range(count)]
    states = [advance(walk) for walk in walks]
    asked = [*of_machine(space.hardware, objective), *of_layer(space.layer)]
    cache: Cache = []
    with torch.no_grad():
        scores = model(torch.tensor([asked]), cache=cache)[:, -1].expand(count, -1)
        cache = [tuple(each.expand(count, -1, -1, -1) for each in pair) for pair in cache]
        while any(isinstance(state, Step) for state in states):
            tokens = _drawn(states, scores.numpy(), rng)
            states = [
                advance(walk, int(token)) if isinstance(state, Step) else state
                for walk, state, token in zip(walks, states, tokens, strict=True)
            ]
            scores = model(torch.from_numpy(tokens)[:, None], cache=cache)[:, -1]
    points = np.stack([state for state in states if not isinstance(state, Step)])
    _, first = np.unique(space.identities(points), return_index=True)
    points = points[np.sort(first)]
    return points[Masks(problem).allow(points)][:samples]


def _drawn(states: Sequence[Step | Points], scores: Floats32, rng: np.random.Generator) -> Integers:
    """Draw a token of each step, int64[N], of scores [N, V]; the first row takes the likeliest."""
    noise = rng.gumbel(size=scores.shape)
    noise[0] = 0
    tokens = np.full(len(states), END)
    for row, state in enumerate(states):
        if isinstance(state, Step):
            options = list(state.options)
            tokens[row] = options[(scores[row] + noise[row])[options].argmax()]
    return tokens


@dataclass(frozen=True, eq=False)
class GptCheckpoint:
    """A transformer and how it was trained.

    Args:
        arm: how.
        weights: by name, float32.
        masks: which weights of the sparse matrices exist, by name, bool.
        history: how many of each matrix existed in each interval, int64[intervals, matrices].
    """

    arm: Arm
    weights: Mapping[str, Floats32]
    masks: Mapping[str, Booleans]
    history: Integers

    @classmethod
    def of(cls, training: Training) -> GptCheckpoint:
        """Return that of a training at its end."""
        named = list(training.model.named_parameters())
        masks = {
            named[matrix.parameter][0]: matrix.of(training.topology.masks).bool().numpy()
            for matrix in training.model.sparse
        }
        weights = {name: weight.detach().numpy() for name, weight in named}
        return cls(training.arm, weights, masks, np.array(training.history, dtype=np.int64))

    def model(self) -> Gpt:
        """Return the transformer."""
        model = Gpt(self.arm.shape)
        with torch.no_grad():
            for name, weight in model.named_parameters():
                weight.copy_(torch.from_numpy(self.weights[name]))
        return model

    def operations(self) -> int:
        """Count the operations of the training again, from the history."""
        meter, interval = FlopMeter(), 0
        for step in range(self.arm.steps):
            self.arm.charge(meter, step, int(self.history[interval].sum()))
            interval += self.arm.evolves(step)
        return meter.total

    def save(self, file: Path | str | BinaryIO) -> None:
        """Write it to a file, in the format of ``numpy.savez``."""
        arrays: dict[str, Any] = {f"weight/{name}": array for name, array in self.weights.items()}
        arrays |= {f"mask/{name}": array for name, array in self.masks.items()}
        arrays |= {"history": self.history, "arm": json.dumps(asdict(self.arm))}
        np.savez_compressed(file, **arrays)


def read_gpt(path: Path | str) -> GptCheckpoint:
    """Read a file that ``GptCheckpoint.save`` wrote.

    Raises:
        TransformerError: no such file, or one whose masks do not fit its weights and its history.
    """
    with opened_checkpoint(path, TransformerError) as file:
        fields = json.loads(str(file["arm"]))
        shape, schedule = GptShape(**fields.pop("shape")), Schedule(**fields.pop("schedule"))
        arrays = {
            kind: {
                name.removeprefix(kind): file[name] for name in file.files if name.startswith(kind)
            }
            for kind in ("weight/", "mask/")
        }
        history = file["history"]
        arm = Arm(**fields, shape=shape, schedule=schedule)
        weights, masks = arrays["weight/"], arrays["mask/"]
        matrices = [
            (name, weights[name], mask, links)
            for links, (name, mask) in zip(history[-1].tolist(), masks.items(), strict=True)
        ]
        for name, matrix, mask, links in matrices:
            if matrix.shape != mask.shape or matrix[~mask].any() or mask.sum() != links:
                raise TransformerError(f"{name} has weights that its mask does not have")
    return GptCheckpoint(arm, weights, masks, history)
