"""Loop orders that a model tells apart, where it ignores loops of one step.

In most mappings most loops take one step. Orders that agree on the other loops cost the same, so
one of each such class is enough.
"""

from __future__ import annotations

import numpy as np

from experiments.exhaustive.loop_steps import Integers
from experiments.exhaustive.restriction import Choices
from maestro_env.map_space import MapSpace
from mappers.choices import orders_of


class OrderClasses:
    """The orders of a level in classes, for every mask of moving loops.

    Args:
        space: with d dimensions; bit i of a mask says whether the loop over the i-th moves.
        choices: the orders that are left.

    Attributes:
        counts: int64[2^d], classes of every mask.
    """

    def __init__(self, space: MapSpace, choices: Choices) -> None:
        d, listed = len(space.extents), np.array(choices, dtype=np.int64)
        orders, classes = orders_of(listed, d), []
        # Loops that no mapping cuts never move.
        cut = [
            any(space.tile(level, dim) != extent for level in ("l2", "l1"))
            for dim, extent in space.extents.items()
        ]
        for mask in range(2**d):
            moves = np.array([cut[i] and bool(mask >> i & 1) for i in range(d)])
            # A number in base d, the same where the moving loops are in the same order.
            numbers = np.zeros(len(listed), dtype=np.int64)
            for dims in orders.T:
                numbers = np.where(moves[dims], numbers * d + dims, numbers)
            classes.append(np.unique(numbers, return_index=True, return_counts=True)[1:])
        self.counts = np.array([len(first) for first, _ in classes])
        self._starts = np.cumsum(self.counts) - self.counts
        first, self._sizes = np.concatenate(classes, axis=1)
        self._ranks = listed[first]

    def pick(self, masks: Integers) -> tuple[Integers, Integers, Integers]:
        """Return the first order of every class of each mask, mask after mask.

        Returns:
            The index of its mask, its rank, and the number of orders in its class; int64[M] each.
        """
        owners, places = spread(self.counts[masks])
        picked = self._starts[masks][owners] + places
        return owners, self._ranks[picked], self._sizes[picked]


def spread(counts: Integers) -> tuple[Integers, Integers]:
    """Return the owner of each item, and its place among the owner's, if i owns counts[i]."""
    owners = np.repeat(np.arange(len(counts)), counts)
    return owners, np.arange(len(owners)) - (np.cumsum(counts) - counts)[owners]
