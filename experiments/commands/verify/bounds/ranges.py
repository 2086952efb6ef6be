"""What no choice within a box falls below, loop by loop (docs/optimum.md, 3).

Arrays are float64[L, N]: a row for each loop that is cut, a column for each box. A letter after a
quantity says which end of its range stands for it: a the least, z the largest.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import UNDECIDED, Table, ends
from maestro_env.experiments.commands.verify.bounds.facts import NONE, Array, Facts, Flags, ceil_div

OfPiece = Callable[[Array], Array]
"""Something of a piece of so many indices along a loop, which does not fall as they rise."""


class Ranges:
    """Chunks, steps and indices of both levels."""

    def __init__(self, facts: Facts, boxes: Table) -> None:
        self._cut, self.extent = facts.cut, facts.column(facts.extent)
        self.ends = ends(facts, boxes)
        (self.Ta, self.Tz), (self.ta, self.tz) = self.ends.outer, self.ends.inner
        ca, cz = self.ends.cluster
        self.dealt = outer, inner = self.ends.dealt
        pes = float(facts.hardware.num_pes)
        self.n0a, self.n0z = (np.where(outer, np.floor(pes / c), 1.0) for c in (cz, ca))
        self.n1a, self.n1z = (np.where(inner, c, 1.0) for c in (ca, cz))
        self.chunks_a = ceil_div(self.extent, self.Tz)
        self.chunks_z = ceil_div(self.extent, self.Ta)
        self.steps_a = ceil_div(self.chunks_a, self.n0z)
        self.steps_z = ceil_div(self.chunks_z, self.n0a)
        self.same_steps = self.steps_a == self.steps_z
        # The least tail, and the least last piece of the first cluster, of mappings with the fewest
        # chunks and steps.
        self.tail = self.extent - (self.chunks_a - 1) * self.Tz
        self.behind = self.extent - (self.steps_a - 1) * self.Tz * self.n0z
        self.own_tail = np.minimum(self.Ta, self.behind)
        self.array_a = np.minimum(self.extent, self.n0a * self.Ta)
        # The largest tiles of the array, of the outer level and of the inner one.
        self.array_z = np.minimum(self.extent, self.n0z * self.Tz)
        self.piece_array_z = np.minimum(self.extent, self.n1z * self.tz)
        self.last_array_a = np.where(self.same_steps, self.behind, 1.0)
        # The least outer tiles of loops that move in the inner level.
        self.Tm = np.clip(facts.sizes_above(self.ta * self.n1a), self.Ta, self.Tz)

    def innermost(self, level: int) -> list[tuple[int, Flags]]:
        """Return what may move innermost in the outer (0) or inner (1) level, and in which boxes.

        These are dimensions and ``NONE``.
        """
        fewest, most = (
            (self.piece_steps_a, self.piece_steps_z) if level else (self.steps_a, self.steps_z)
        )
        possible = [(NONE, np.all(fewest == 1, axis=0)), *zip(self._cut, most > 1, strict=True)]
        decided = self.ends.innermost[level]
        return [(dim, can & ((decided == UNDECIDED) | (decided == dim))) for dim, can in possible]

    @cached_property
    def own(self) -> Array:
        """Indices of the first cluster (lemma 4)."""
        same = self.same_steps & (self.n0a == self.n0z)
        return _first_unit(self.extent, self.steps_a, self.Ta, self.Tz, self.n0z, same)

    def pieces(self, own: bool) -> tuple[Array, Array, Array, Array]:
        """Return counts of all pieces or of the first cluster's own.

        Returns:
            Indices, the fewest pieces, the most pieces where the loop moves in the inner level, and
            the least tail of mappings with the fewest.
        """
        most = np.ceil(self.extent / self.Tm)
        if own:
            tail = np.minimum(self.Tm, self.behind)
            return self.own, self.steps_a, np.ceil(most / self.n0a), tail
        return np.broadcast_to(self.extent, self.Ta.shape), self.chunks_a, most, self.tail

    def over_pieces(self, of_piece: OfPiece, of_all: Array) -> Array:
        """Return a sum over all pieces (lemma 3), which is no less than ``of_all``.

        With the fewest chunks, the last piece has the least tail or more; with more chunks there is
        one more piece of Ta indices or more, and a last one of one or more.
        """
        full, tail = of_piece(self.Ta), of_piece(self.tail)
        more = full + of_piece(np.ones_like(full))
        last = np.where(self.chunks_a == self.chunks_z, tail, np.minimum(tail, more))
        return np.maximum((self.chunks_a - 1) * full + last, of_all)

    def over_own(self, of_piece: OfPiece, of_all: Array) -> Array:
        """Return a sum over the first cluster's pieces: of Ta indices or more, but for the last."""
        last = of_piece(self.own_tail)
        return np.maximum((self.steps_a - 1) * of_piece(self.Ta) + last, of_all)

    def steps_in(self, indices: Array) -> Array:
        """Return the steps of the inner level in a piece."""
        return ceil_div(indices, self.tz * self.n1z)

    def chunks_in(self, indices: Array) -> Array:
        return ceil_div(indices, self.tz)

    def active_in(self, indices: Array) -> Array:
        """Return the units that are ever active in a piece."""
        return np.minimum(self.n1a, self.chunks_in(indices))

    @cached_property
    def piece_steps_z(self) -> Array:
        """Most steps of the inner level in any piece."""
        return ceil_div(self.Tz, self.ta * self.n1a)

    @cached_property
    def piece_steps_a(self) -> Array:
        """Fewest steps of the inner level in the largest piece."""
        return self.steps_in(self.Ta)

    def unit_indices_in(self, indices: Array) -> Array:
        """Return the indices of the first PE in a piece (lemma 5)."""
        same = (ceil_div(indices, self.ta) == self.chunks_in(indices)) & (self.n1a == self.n1z)
        return _first_unit(indices, self.steps_in(indices), self.ta, self.tz, self.n1z, same)

    def first_array_in(self, indices: Array) -> Array:
        """Return the indices of the array in the first step of a piece."""
        return np.minimum(indices, self.n1a * self.ta)

    def known_last_array_in(self, indices: Array) -> Array:
        """Return the indices of the array in the last step of a piece of so many."""
        outer = (self.Ta == self.Tz) & (self.n0a == self.n0z)
        known = outer & (self.ta == self.tz) & (self.n1a == self.n1z)
        rest = indices - (self.steps_in(indices) - 1) * self.tz * self.n1z
        return np.where(known, rest, 1.0)


def _first_unit(
    indices: Array, steps: Array, tile_a: Array, tile_z: Array, units_z: Array, same: Flags
) -> Array:
    """Return the indices of the first unit; ``same`` says where no tile makes other counts."""
    before = steps - 1

    def with_tile(tile: Array, largest: Array) -> Array:
        return before * tile + np.minimum(tile, indices - before * largest * units_z)

    least = np.maximum(ceil_div(indices, units_z), with_tile(tile_a, tile_z))
    at_ends = np.minimum(with_tile(tile_a, tile_a), with_tile(tile_z, tile_z))
    return np.where(same, np.maximum(least, at_ends), least)
