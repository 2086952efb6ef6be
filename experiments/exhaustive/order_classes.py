"""Loop orders that a model tells apart: in most mappings most loops take one step.

A loop of one step may stand anywhere in its level where the model ignores such loops (exact model,
E8), so one of all orders that agree on the other loops is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.exhaustive.loop_steps import Integers
from experiments.exhaustive.restriction import Choices
from maestro_env.map_space import MapSpace
from mappers.choices import Orders, orders_of


@dataclass(frozen=True, eq=False)
class OrderClasses:
    """Orders of a level in classes, for every mask of the d loops that take more than one step.

    Args:
        counts: int64[2^d], classes of a mask.
        starts: int64[2^d], where they begin in what follows.
        ranks: int64[...], the first order of each class.
        sizes: int64[...], orders in each class.
    """

    counts: Integers
    starts: Integers
    ranks: Integers
    sizes: Integers

    @classmethod
    def of(cls, space: MapSpace, choices: Choices) -> OrderClasses:
        """Sort the orders that are left of a space's."""
        listed = np.array(choices, dtype=np.int64)
        orders = orders_of(listed, len(space.extents))
        cut, ranks, sizes = _cut_dims(space), [], []
        for mask in range(2 ** len(space.extents)):
            part = _moving_part(orders, mask & cut)
            _, first, size = np.unique(part, return_index=True, return_counts=True)
            ranks.append(listed[first])
            sizes.append(size)
        counts = np.array([len(each) for each in ranks])
        starts = np.cumsum(counts) - counts
        return cls(counts, starts, np.concatenate(ranks), np.concatenate(sizes))

    def pick(self, masks: Integers) -> tuple[Integers, Integers, Integers]:
        """Return one order of every class, mapping after mapping.

        Args:
            masks: int64[N], of the mappings.

        Returns:
            Whose order it is (0 to N - 1), its rank, and the orders in its class; int64[M] each.
        """
        counts = self.counts[masks]
        owners = np.repeat(np.arange(len(masks)), counts)
        before = np.cumsum(counts) - counts
        picked = np.arange(len(owners)) + (self.starts[masks] - before)[owners]
        return owners, self.ranks[picked], self.sizes[picked]


def _cut_dims(space: MapSpace) -> int:
    """Return the mask of the dimensions that some mapping cuts."""
    return sum(
        1 << bit
        for bit, (dim, extent) in enumerate(space.extents.items())
        if any(space.tile(level, dim) != extent for level in ("l2", "l1"))
    )


def _moving_part(orders: Orders, mask: int) -> Integers:
    """Return a number for each order, the same where the loops of a mask are in the same order."""
    base = orders.shape[1]
    numbers = np.zeros(len(orders), dtype=np.int64)
    for dims in orders.T:
        numbers = np.where(mask >> dims & 1, numbers * base + dims, numbers)
    return numbers
