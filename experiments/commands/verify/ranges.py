"""What no choice within a box falls below, loop by loop (docs/optimum.md, 3).

Arrays are float64[L, N]: a row for each loop that is cut, a column for each box. A letter after a
quantity says which end of its range stands for it: a the least, z the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from experiments.commands.verify.boxes import Ends
from experiments.commands.verify.facts import Array, Facts, ceil_div

OfBox = Callable[[Array], Array]
"""Something of a box of so many indices along a loop, which does not fall as they rise."""


class Ranges:
    """Chunks, steps and indices of both levels."""

    def __init__(self, facts: Facts, ends: Ends) -> None:
        self.extent = np.array([[facts.extent[facts.names[d]]] for d in facts.cut]).reshape(-1, 1)
        (self.Ta, self.Tz), (self.ta, self.tz) = ends.outer, ends.inner
        self.ca, self.cz = ends.cluster
        pes = float(facts.hardware.num_pes)
        outer, inner = ends.dealt
        self.n0a, self.n0z = (np.where(outer, np.floor(pes / c), 1.0) for c in (self.cz, self.ca))
        self.n1a, self.n1z = (np.where(inner, c, 1.0) for c in (self.ca, self.cz))
        self.chunks_a = ceil_div(self.extent, self.Tz)
        self.chunks_z = ceil_div(self.extent, self.Ta)
        self.steps_a = ceil_div(self.chunks_a, self.n0z)
        self.steps_z = ceil_div(self.chunks_z, self.n0a)
        self.same_chunks = self.chunks_a == self.chunks_z
        self.same_steps = self.steps_a == self.steps_z
        # The least tail, and the least last piece of the first cluster, of mappings with the fewest
        # chunks and steps.
        self.tail = self.extent - (self.chunks_a - 1) * self.Tz
        behind = self.extent - (self.steps_a - 1) * self.Tz * self.n0z
        self.own_tail = np.minimum(self.Ta, behind)
        self.array_a = np.minimum(self.extent, self.n0a * self.Ta)
        # The least outer tiles of loops that move in the inner level.
        self.Tm = np.clip(facts.sizes_above(self.ta * self.n1a), self.Ta, self.Tz)
        self.last_array_a = np.where(self.same_steps, behind, 1.0)

    @cached_property
    def own(self) -> Array:
        """Indices of the first cluster (lemma 4)."""
        least = np.maximum(self.Ta, ceil_div(self.extent, self.n0z))
        least = np.maximum(least, (self.steps_a - 1) * self.Ta + self.own_tail)
        before = self.steps_a - 1
        at_ends = [
            before * T + np.minimum(T, self.extent - before * T * self.n0a)
            for T in (self.Ta, self.Tz)
        ]
        same = self.same_steps & (self.n0a == self.n0z)
        return np.where(same, np.maximum(least, np.minimum(*at_ends)), least)

    def over_boxes(self, of_box: OfBox, of_all: Array | None = None) -> Array:
        """Return a sum over all boxes (lemma 3).

        With the fewest chunks, the last box has the least tail or more; with more chunks there is
        one more box of Ta indices or more, and a last one of one or more.
        """
        full = of_box(self.Ta)
        rest = of_box(self.tail)
        more = full + of_box(np.ones_like(full))
        total = (self.chunks_a - 1) * full + np.where(
            self.same_chunks, rest, np.minimum(rest, more)
        )
        return total if of_all is None else np.maximum(total, of_all)

    def over_own(self, of_box: OfBox, of_all: Array | None = None) -> Array:
        """Return a sum over the first cluster's pieces: of Ta indices or more, but for the last."""
        total = (self.steps_a - 1) * of_box(self.Ta) + of_box(self.own_tail)
        return total if of_all is None else np.maximum(total, of_all)

    def steps_in(self, indices: Array) -> Array:
        """Return the steps of the inner level in a box."""
        return ceil_div(indices, self.tz * self.n1z)

    def chunks_in(self, indices: Array) -> Array:
        return ceil_div(indices, self.tz)

    def active_in(self, indices: Array) -> Array:
        """Return the units that are ever active in a box."""
        return np.minimum(self.n1a, self.chunks_in(indices))

    @cached_property
    def piece_steps_z(self) -> Array:
        """Most steps of the inner level in any box."""
        return ceil_div(self.Tz, self.ta * self.n1a)

    @cached_property
    def piece_steps_a(self) -> Array:
        """Fewest steps of the inner level in the largest box."""
        return self.steps_in(self.Ta)

    def unit_indices_in(self, indices: Array) -> Array:
        """Return the indices of the first PE in a box (lemma 5)."""
        steps = self.steps_in(indices)
        rest = indices - (steps - 1) * self.tz * self.n1z
        least = np.maximum(
            ceil_div(indices, self.n1z), (steps - 1) * self.ta + np.minimum(self.ta, rest)
        )
        same = (ceil_div(indices, self.ta) == self.chunks_in(indices)) & (self.n1a == self.n1z)
        at_ends = [
            (steps - 1) * t + np.minimum(t, indices - (steps - 1) * t * self.n1z)
            for t in (self.ta, self.tz)
        ]
        return np.where(same, np.maximum(least, np.minimum(*at_ends)), least)

    def first_array_in(self, indices: Array) -> Array:
        """Return the indices of the array in the first step of a box."""
        return np.minimum(indices, self.n1a * self.ta)

    def known_last_array_in(self, indices: Array) -> Array:
        """Return the indices of the array in the last step of a box of so many."""
        outer = (self.Ta == self.Tz) & (self.n0a == self.n0z)
        known = outer & (self.ta == self.tz) & (self.n1a == self.n1z)
        rest = indices - (self.steps_in(indices) - 1) * self.tz * self.n1z
        return np.where(known, rest, 1.0)
