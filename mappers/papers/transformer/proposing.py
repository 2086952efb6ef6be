"""Mappings that a transformer proposes for a layer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers.papers.transformer.model import Cache, Gpt
from maestro_env.mappers.papers.transformer.tokens import (
    END,
    Step,
    advance,
    of_layer,
    of_machine,
    writing,
)
from maestro_env.mappers.parts.arrays import Floats32, Integers
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
