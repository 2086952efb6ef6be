"""Samplers of a replay: which rows a batch has.

All N agents of a joint sample have the same rows. In MADDPG every agent draws rows of its own for
its update, N joint samples a round; to share one batch, call ``rows`` once a round and update all
agents with what it gathers, which is another algorithm: their updates are then correlated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from maestro_env.base.checks import look_up
from maestro_env.mappers.papers.replay.layouts import Replay, ReplayError
from maestro_env.mappers.parts.arrays import Floats, Floats32, Integers

_SMALLEST_ERROR = 1e-6


class Sampler(ABC):
    """Draws rows that are filled.

    Args:
        replay: whose rows are drawn; it may grow and overwrite rows between two draws.
        rng: which draws.
    """

    def __init__(self, replay: Replay, rng: np.random.Generator) -> None:
        self._replay, self._rng = replay, rng

    def rows(self, batch: int) -> Integers:
        """Return int64[batch]: rows of a joint sample; one may be there more than once.

        Raises:
            ReplayError: the replay has too few rows.
        """
        if batch < 1:
            raise ReplayError(f"batch of {batch} rows: allowed are 1 or more")
        if len(self._replay) < self._fewest:
            raise ReplayError(
                f"replay of {len(self._replay)} rows: {type(self).__name__} needs {self._fewest} "
                "or more; add steps"
            )
        return self._rows(batch)

    _fewest = 1

    @abstractmethod
    def _rows(self, batch: int) -> Integers: ...


class Uniform(Sampler):
    """Every row is as likely as any other."""

    def _rows(self, batch: int) -> Integers:
        return self._rng.integers(len(self._replay), size=batch)


class Neighbour(Sampler):
    """Random rows with those written just before and after them.

    This is Algorithm 1 of Gogineni et al., *Towards Efficient Multi-Agent Learning Systems*.
    Neighbours are rows of neighbouring age: none is beyond the oldest or the newest, so that no
    neighbourhood crosses the head of a full ring or has rows that are not filled. Of E copies, the
    neighbours of a row are the other copies of its step first. Episodes are crossed: rows are whole
    transitions.

    Args:
        replay: as of ``Sampler``.
        rng: as of ``Sampler``.
        neighbours: rows before, and rows after.
        exact: whether the random row itself is in the batch and the last neighbourhood is cut, so
            that the batch has its size. As printed, the row is left out, and a batch ends with a
            whole neighbourhood: 1,026 rows for a batch of 1,024 with 3 neighbours.
    """

    _fewest = 2

    def __init__(
        self, replay: Replay, rng: np.random.Generator, neighbours: int = 3, exact: bool = False
    ) -> None:
        super().__init__(replay, rng)
        if neighbours < 1:
            raise ReplayError(f"{neighbours} neighbours: allowed are 1 or more")
        offsets = np.arange(-neighbours, neighbours + 1)
        self._offsets = offsets if exact else offsets[offsets != 0]
        self._neighbours, self._exact = neighbours, exact

    def _rows(self, batch: int) -> Integers:
        filled = len(self._replay)
        # At the ends of the ring a neighbourhood has this many rows, elsewhere more.
        fewest = min(self._neighbours, filled - 1) + self._exact
        anchors = self._rng.integers(filled, size=-(-batch // fewest))
        ages = anchors[:, np.newaxis] + self._offsets
        inside = (ages >= 0) & (ages < filled)
        used = np.searchsorted(inside.sum(axis=1).cumsum(), batch) + 1
        found = ages[:used][inside[:used]]
        oldest = self._replay.added - filled
        return (oldest + (found[:batch] if self._exact else found)) % self._replay.capacity


class Prioritised(Sampler):
    """Rows as likely as their priority: proportional prioritisation (arXiv:1511.05952).

    The priority of a row is (its last error + 1e-6) to the power alpha; a new row has the greatest
    so far, at first 1. Priorities are the leaves of a tree of sums.

    Args:
        replay: as of ``Sampler``.
        rng: as of ``Sampler``.
        alpha: 0 makes all rows as likely.
        beta: how far weights make up for it; 1 is wholly.
    """

    def __init__(
        self, replay: Replay, rng: np.random.Generator, alpha: float = 0.6, beta: float = 0.4
    ) -> None:
        super().__init__(replay, rng)
        for name, value in (("alpha", alpha), ("beta", beta)):
            if not 0 <= value <= 1:
                raise ReplayError(f"{name} {value}: allowed are 0 to 1")
        self._alpha, self._beta = alpha, beta
        self._depth = (replay.capacity - 1).bit_length()
        # Node 1 is the root, 2n and 2n + 1 are below n, and the leaves come last.
        self._sums = np.zeros(2 << self._depth)
        self._greatest, self._known = 1.0, 0

    def weights(self, rows: Integers) -> Floats32:
        """Return float32[B]: the importance of rows drawn, divided by the greatest of them."""
        priorities = self._sums[rows + (1 << self._depth)]
        weights: Floats32 = ((priorities / priorities.min()) ** -self._beta).astype(np.float32)
        return weights

    def update(self, rows: Integers, errors: ArrayLike) -> None:
        """Set priorities from the TD errors [B] of rows, of either sign.

        Raises:
            ReplayError: an error is not finite.
        """
        sizes = np.abs(np.asarray(errors, np.float64))
        if not np.isfinite(sizes).all():
            raise ReplayError("an error of a row is not finite: allowed are finite numbers")
        priorities = (sizes + _SMALLEST_ERROR) ** self._alpha
        self._see_new()
        self._greatest = max(self._greatest, float(priorities.max(initial=0)))
        self._set(rows, priorities)

    def _rows(self, batch: int) -> Integers:
        self._see_new()
        left = self._rng.random(batch) * self._sums[1]
        nodes = np.ones(batch, np.int64)
        for _ in range(self._depth):
            nodes *= 2
            below = self._sums[nodes]
            # Sums are rounded: no draw may end in a row without a priority.
            right = (left >= below) & (self._sums[nodes + 1] > 0)
            left -= below * right
            nodes += right
        return nodes - (1 << self._depth)

    def _see_new(self) -> None:
        """Give a priority to rows that were written since the last look."""
        new = min(self._replay.added - self._known, self._replay.capacity)
        self._known = self._replay.added
        rows = (self._known - new + np.arange(new)) % self._replay.capacity
        self._set(rows, np.full(new, self._greatest))

    def _set(self, rows: Integers, priorities: Floats) -> None:
        nodes = rows + (1 << self._depth)
        self._sums[nodes] = priorities
        for _ in range(self._depth):
            nodes = nodes // 2
            self._sums[nodes] = self._sums[2 * nodes] + self._sums[2 * nodes + 1]


SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "uniform": Uniform,
    "neighbour_literal": Neighbour,
    "neighbour_exact": partial(Neighbour, exact=True),
    "prioritised": Prioritised,
}


def make_sampler(name: str, replay: Replay, rng: np.random.Generator, **settings: float) -> Sampler:
    """Make a sampler of a replay: one of ``SAMPLERS``, with settings of its class."""
    return look_up("sampler of a replay", name, SAMPLERS)(replay, rng, **settings)
