"""Training of a transformer in one of the ways of ``schedule``, and its loss."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from maestro_env.mappers.learners.topology import Topology, adam_moments, cosine_share
from maestro_env.mappers.papers.sparse.products import FlopMeter
from maestro_env.mappers.papers.transformer.corpus import TokenRows
from maestro_env.mappers.papers.transformer.model import Gpt
from maestro_env.mappers.papers.transformer.schedule import Arm
from maestro_env.mappers.parts.threads import one_thread

_BETAS, _DECAY, _MOST_CHANGE = (0.9, 0.95), 0.1, 1.0
# Share of the steps until the learning rate is reached, and what is left of it in the end.
_WARM_UP, _LAST_RATE = 0.05, 0.1
_IGNORED = -100
_BATCH = 64


@dataclass(frozen=True)
class Progress:
    """What a step did.

    Args:
        step: counted from 0.
        loss: of its batch before it, in nats for a token of a mapping.
        flops: operations of the training up to its end.
    """

    step: int
    loss: float
    flops: int


class Training:
    """A transformer and its optimiser, AdamW (arXiv:1711.05101).

    Weights that do not exist stay 0: decay shrinks 0 to 0, and without gradients no moments arise.

    Args:
        arm: how it is trained.
        rows: what it is trained with, one token longer than it reads.
        seed: of first weights, masks and batches.
        rate: the highest learning rate.

    Attributes:
        model: the transformer.
        topology: its weights that exist.
        meter: operations so far.
        history: weights of each sparse matrix that existed in each interval so far.
    """

    def __init__(self, arm: Arm, rows: TokenRows, seed: int, rate: float = 1e-3) -> None:
        self.arm, self._rate = arm, rate
        self._rng = np.random.default_rng(seed)
        self._tokens, self._targets = tensors(rows)
        self.model = Gpt(arm.shape, seed)
        self._parameters = list(self.model.parameters())
        first = arm.schedule.density(0)
        self.topology = Topology(self._parameters, self.model.sparse, first, self._rng)
        self.meter = FlopMeter()
        self.history = [self.topology.links]
        # Gains are vectors, and do not decay.
        groups = [
            {"params": [each for each in self._parameters if each.ndim > 1]},
            {"params": [each for each in self._parameters if each.ndim == 1], "weight_decay": 0.0},
        ]
        self._adam = torch.optim.AdamW(groups, rate, _BETAS, weight_decay=_DECAY, foreach=True)

    def steps(self) -> Iterator[Progress]:
        """Train, and yield every step."""
        for step in range(self.arm.steps):
            yield self._step(step)

    @one_thread()
    def _step(self, step: int) -> Progress:
        chosen = torch.from_numpy(self._rng.integers(len(self._tokens), size=self.arm.batch))
        logits = self.model(self._tokens[chosen], self.arm.attention(step))
        loss = _loss(logits, self._targets[chosen])
        gradients = torch.autograd.grad(loss, self._parameters)
        self.arm.charge(self.meter, step, sum(self.topology.links))
        if self.arm.evolves(step):
            self._evolve(step, gradients)
        else:
            self._descend(step, gradients)
        return Progress(step, float(loss.detach()), self.meter.total)

    def _evolve(self, step: int, gradients: tuple[Tensor, ...]) -> None:
        arm, done = self.arm, self.arm.done(step)
        self.topology.evolve(
            cosine_share(arm.changed, done),
            gradients,
            adam_moments(self._adam, self._parameters),
            random=arm.random,
            density=arm.schedule.density(done),
        )
        self.history.append(self.topology.links)

    def _descend(self, step: int, gradients: tuple[Tensor, ...]) -> None:
        for group in self._adam.param_groups:
            group["lr"] = self._rate * _share_of_rate((step + 1) / self.arm.steps)
        masked = zip(self._parameters, gradients, self.topology.masks, strict=True)
        for parameter, gradient, mask in masked:
            parameter.grad = gradient * mask
        torch.nn.utils.clip_grad_norm_(self._parameters, _MOST_CHANGE)
        self._adam.step()


@one_thread()
def mean_loss(model: Gpt, rows: TokenRows, window: int | None = None) -> float:
    """Return the mean loss of the tokens of mappings, in nats.

    Args:
        model: that predicts them.
        rows: one token longer than it reads.
        window: of sparse attention; None for full attention, of whichever a model was trained with.
    """
    tokens, targets = tensors(rows)
    total = 0.0
    with torch.no_grad():
        for seen, wanted in zip(tokens.split(_BATCH), targets.split(_BATCH), strict=True):
            total += float(_loss(model(seen, window), wanted, "sum"))
    return total / int(rows.chosen[:, 1:].sum())


def tensors(rows: TokenRows) -> tuple[Tensor, Tensor]:
    """Return what a model reads and what follows, int64[N, W - 1]; only mappings are learnt."""
    tokens = torch.from_numpy(rows.tokens.astype(np.int64))
    targets = torch.where(torch.from_numpy(rows.chosen), tokens, _IGNORED)
    return tokens[:, :-1], targets[:, 1:]


def _loss(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    return cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=_IGNORED, reduction=reduction
    )


def _share_of_rate(done: float) -> float:
    risen = min(1.0, done / _WARM_UP)
    falls = (1 + math.cos(math.pi * done)) / 2
    return risen * (_LAST_RATE + (1 - _LAST_RATE) * falls)
