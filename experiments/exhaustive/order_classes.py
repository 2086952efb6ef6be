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
        # Loops that no mapping cuts never move.
        cut = [
            any(space.tile(level, dim) != extent for level in ("l2", "l1"))
            for dim, extent in space.extents.items()
        ]
        masks = np.arange(2**d)[:, np.newaxis]
        moves = (masks >> np.arange(d) & cut).astype(bool)
        # A number in base d for every mask and order: the moving loops, as they are nested.
        numbers = np.zeros((len(masks), len(listed)), dtype=np.int64)
        for dims in orders_of(listed, d).T:
            numbers = np.where(moves[:, dims], numbers * d + dims, numbers)
        _, first, self._sizes = np.unique(
            masks * d**d + numbers, return_index=True, return_counts=True
        )
        owners, places = np.divmod(first, len(listed))
        self.counts = np.bincount(owners)
        self._starts = np.cumsum(self.counts) - self.counts
        self._ranks = listed[places]

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
