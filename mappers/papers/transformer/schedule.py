"""Mixed sparsity training (MST): how sparse a transformer is, when, and what that costs.

Three phases (Hu et al., *Mixed Sparsity Training*, 2024): in a warm-up, matrices get sparser; they
stay as sparse for most of the training, while their topology changes; in the restoration they
grow until all weights exist. Before the restoration attention is sparse too. Lengths and
curve of the phases are ours, as the paper's abstract has none and its code does not use any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from maestro_env.mappers.learners.topology import SparsityError
from maestro_env.mappers.papers.sparse.products import PER_LINK, FlopMeter
from maestro_env.mappers.papers.transformer.model import GptShape


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
