"""Training of a transformer with mixed sparsity (MST): how sparse it is and when, and its loss."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from maestro_env.mappers.papers.sparse_networks import PER_LINK, FlopMeter
from maestro_env.mappers.papers.transformer.corpus import TokenRows
from maestro_env.mappers.papers.transformer.model import Gpt, GptShape
from maestro_env.mappers.parts.sparse_topology import (
    SparsityError,
    Topology,
    adam_moments,
    cosine_share,
)
from maestro_env.mappers.parts.threads import one_thread


@dataclass(frozen=True)
class Schedule:
    """Sparsity over a training, which is done from 0 to 1.

    Between phases it changes as a cosine does, without a jump.

    Args:
        start: sparsity at first.
        most: from the end of the warm-up to the restoration.
        end: in the end.
        warm_up: share of the training.
        restoration: share of the training.

    Raises:
        SparsityError: a sparsity or a share that is not allowed.
    """

    start: float = 0.5
    most: float = 0.9
    end: float = 0.0
    warm_up: float = 0.1
    restoration: float = 0.2

    def __post_init__(self) -> None:
        for name in ("start", "most", "end"):
            if not 0 <= getattr(self, name) < 1:
                raise SparsityError(f"{name} is {getattr(self, name)}; allowed: 0 to below 1")
        if not (min(self.warm_up, self.restoration) > 0 and self.warm_up + self.restoration <= 1):
            raise SparsityError(
                f"warm_up is {self.warm_up}, restoration {self.restoration}; allowed: above 0, "
                "together at most 1"
            )

    @classmethod
    def constant(cls, sparsity: float) -> Schedule:
        """Return one that never changes."""
        return cls(sparsity, sparsity, sparsity)

    @property
    def changes(self) -> bool:
        """Whether it ever changes."""
        return len({self.start, self.most, self.end}) > 1

    def density(self, done: float) -> float:
        """Return the share of weights that exist."""
        if done < self.warm_up:
            return 1 - _between(self.start, self.most, done / self.warm_up)
        return 1 - _between(self.most, self.end, 1 - (1 - done) / self.restoration)

    def mean_density(self) -> float:
        """Return the mean of ``density`` from 0 to 1; that of each curve is its middle."""
        warming = self.warm_up * (self.start + self.most) / 2
        restoring = self.restoration * (self.most + self.end) / 2
        return 1 - warming - restoring - (1 - self.warm_up - self.restoration) * self.most

    def restores(self, done: float) -> bool:
        """Say whether the restoration has begun."""
        return done > 1 - self.restoration


DENSE = Schedule.constant(0)
"""Nothing is sparse."""


@dataclass(frozen=True)
class Arm:
    """One way to train a transformer.

    Every ``interval`` steps, the topology changes instead of the weights. The last change, from
    which on nothing changes, is where the schedule is done.

    Args:
        shape: of the transformer.
        steps: of the training, a multiple of ``interval``.
        batch: rows of a step.
        schedule: of sparsity.
        changed: share of the weights of a matrix that are dropped, and as many grown, at the first
            change; it falls to 0 as a cosine does.
        random: share of what grows that is drawn at random; the others have the steepest gradients.
        window: of attention until the restoration; None for full attention.
        interval: steps from one change to the next.

    Raises:
        SparsityError: a number of steps that is not allowed.
    """

    shape: GptShape
    steps: int
    batch: int = 16
    schedule: Schedule = DENSE
    changed: float = 0.0
    random: float = 0.0
    window: int | None = None
    interval: int = 100

    def __post_init__(self) -> None:
        if self.steps % self.interval or self.steps < 2 * self.interval:
            raise SparsityError(
                f"steps is {self.steps}; allowed: a multiple of the interval, {self.interval}, "
                f"and at least {2 * self.interval}"
            )

    def done(self, step: int) -> float:
        """Return how much of the schedule is done before a step, counted from 0: 0 to 1."""
        return min(step / (self.steps - self.interval), 1)

    def evolves(self, step: int) -> bool:
        """Say whether the topology changes in a step."""
        dynamic = self.changed > 0 or self.schedule.changes
        return dynamic and step > 0 and step % self.interval == 0

    def attention(self, step: int) -> int | None:
        """Return the window of attention in a step; None for full attention."""
        return None if self.schedule.restores(self.done(step)) else self.window

    def charge(self, meter: FlopMeter, step: int, links: int) -> None:
        """Count a step.

        Args:
            meter: that counts.
            step: of the training, counted from 0.
            links: weights of the sparse matrices that exist before it.
        """
        tokens = self.batch * self.shape.length
        if self.evolves(step):
            meter.dense_gradients("matrices", links, self.shape.matrices, tokens)
        else:
            meter.update("matrices", links, tokens)
        meter.update("head", self.shape.head, tokens)
        meter.update("attention", self.shape.attention(self.attention(step)), self.batch)

    def planned(self) -> float:
        """Return the operations of the training, in closed form, without counting anything.

        A density holds for an interval from a change on. As the schedule starts with the first
        interval and is done with the last, the sum over intervals is a trapezoidal rule, plus half
        an interval at either end.
        """
        shape, schedule, interval = self.shape, self.schedule, self.interval
        scheduled = self.steps - interval
        ends = interval * (schedule.density(0) + schedule.density(1)) / 2
        dense_steps = scheduled * schedule.mean_density() + ends
        links = 3 * shape.matrices * dense_steps
        if self.evolves(interval):
            # The gradients of weights that do not exist.
            changes = scheduled / interval
            links += shape.matrices * changes * (1 - schedule.mean_density())
        links += 3 * shape.head * self.steps
        sparse_steps = (1 - schedule.restoration) * scheduled
        pairs = sparse_steps * shape.attention(self.window)
        pairs += (self.steps - sparse_steps) * shape.attention(None)
        return PER_LINK * self.batch * (shape.length * links + 3 * pairs)


def arms(shape: GptShape, steps: int, window: int, batch: int = 16) -> Mapping[str, Arm]:
    """Return the ways to train that are compared, by name.

    ``dense``, ``static``, ``rigl`` and ``mst`` see equally many tokens, the last three with few
    weights. ``early`` and ``small`` take as many operations as ``mst``: the dense one in fewer
    steps, and a dense one of fewer weights.

    Args:
        shape: of all but ``small``.
        steps: of all but ``early``.
        window: of sparse attention, a divisor of the length.
        batch: rows of a step.
    """
    dense = Arm(shape, steps, batch)
    static = replace(dense, schedule=Schedule.constant(0.8))
    mst = replace(dense, schedule=Schedule(), changed=0.3, random=0.25, window=window)
    fewer = dense.steps * mst.planned() / dense.planned()
    # Its topology never changes, whatever the interval.
    early = replace(dense, steps=max(2, round(fewer)), interval=1)
    narrower = (
        replace(shape, width=width) for width in range(shape.heads, shape.width, shape.heads)
    )
    smaller = (replace(dense, shape=each) for each in narrower)
    small = min(smaller, key=lambda arm: abs(math.log(arm.planned() / mst.planned())))
    return {
        "dense": dense,
        "static": static,
        "rigl": replace(static, changed=0.3),
        "mst": mst,
        "early": early,
        "small": small,
    }


def _between(first: float, last: float, done: float) -> float:
    """Return a number between two, as a cosine goes; ends are exact."""
    share = (1 - math.cos(math.pi * min(max(done, 0), 1))) / 2
    return first * (1 - share) + last * share


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
