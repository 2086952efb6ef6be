"""Ranges of a box, and the counts of a level that its traffic follows from (docs/optimum.md, 3)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import (
    LOOPS,
    NONE,
    UNDECIDED,
    Array,
    Facts,
    Flags,
    Table,
    Words,
    ceil_div,
    ends,
)

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


class Moving(NamedTuple):
    """What is known of a loop in pieces where it moves, if it moves in the largest (lemma 6).

    Attributes:
        indices: in these pieces.
        chunks: of units that it is dealt to; for an array these do not matter.
        cold: what begins in these pieces with nothing: pieces, or units that are ever active.
        most_cold: no more begin with nothing if as few do in all pieces together as may.
        more: chunks beyond those.
        begun, ended: indices of the array in the first and in the last step of the same pieces.
        everywhere: whether these are all pieces.
        later: indices of these pieces without those of their first steps.
        advance: rows, at most, that stay from one step to the next, or in a unit to its next chunk;
            0 without a window.
        jump: rows, at most, that stay where a sweep begins anew.
    """

    indices: Words
    chunks: Words
    cold: Words
    most_cold: Words
    more: Words
    begun: Words
    ended: Words
    everywhere: Flags | bool
    later: Words
    advance: Words
    jump: Words

    def least(self, by_index: Words, by_cold: Words, by_more: Words) -> Array:
        """Return the least that so much for each index, cold beginning and further chunk makes.

        Chunks are cold beginnings and further ones. Of the beginnings there are ``cold`` or more.
        Each of them that is not among the fewest of all pieces adds to the words of lemma 8, which
        is no less than what a further chunk adds: so there are at most ``most_cold``.
        """
        between = np.clip(self.chunks - self.more, self.cold, self.most_cold)
        cold = np.where(by_cold >= 0, between, self.most_cold)
        cold = np.where(by_cold >= by_more, self.cold, cold)
        more = np.maximum(self.more, self.chunks - cold)
        return self.indices * by_index + cold * by_cold + more * by_more


class SideLoop(NamedTuple):
    """What is known of a loop, summed over the pieces of a level; float64[N] each.

    Attributes:
        indices: of all pieces.
        steps: of the array; chunks of units that the loop is dealt to.
        cold: pieces; units that are ever active.
        tile, piece: the most indices of a tile and of a piece.
        whole: whether no tile cuts it.
        can_move, must_move: whether it moves in any piece of some mapping, of every mapping.
        moving: where it moves.
    """

    indices: Words
    steps: Words
    cold: Words
    tile: Words
    piece: Words
    whole: Flags | bool
    can_move: Flags | bool
    must_move: Flags | bool
    moving: Moving


Side = dict[str, SideLoop]
"""All eight loops, by name."""


def outer_side(facts: Facts, r: Ranges, units: bool) -> Side:
    """Return the loops of the outer level, whose one piece is the layer."""
    indices = np.broadcast_to(r.extent, r.Ta.shape)
    as_units = r.dealt[0] & units
    steps = np.where(as_units, r.chunks_a, r.steps_a)
    cold = np.where(as_units, np.minimum(r.n0a, r.chunks_a), 1.0)
    more = np.maximum(r.chunks_a - r.n0z, 0)
    ends = r.array_a, r.last_array_a, np.ones_like(as_units)
    stay = _stay(facts, r.n0a, r.Ta, as_units, np.maximum(r.steps_a, 2))
    later = r.extent - r.array_z
    moving = Moving(indices, r.chunks_a, cold, cold, more, *ends, later, *stay)
    moves = r.steps_z > 1, r.steps_a > 1
    return _side(facts, moving, indices, steps, cold, r.array_z, indices, r.Ta == r.extent, *moves)


def inner_side(facts: Facts, r: Ranges, units: bool, own: bool = False) -> Side:
    """Return the loops of the inner level, over all pieces or the first cluster's own."""
    total = r.over_own if own else r.over_pieces
    indices, pieces, _, _ = r.pieces(own)
    as_units = r.dealt[1] & units

    def steps_in(x: Array) -> Array:
        return np.where(as_units, r.chunks_in(x), r.steps_in(x)) if units else r.steps_in(x)

    def cold_in(x: Array) -> Array:
        return np.where(as_units, r.active_in(x), 1.0) if units else np.ones_like(x)

    per_step = np.where(as_units, r.tz, r.tz * r.n1z)
    steps, cold = total(steps_in, np.ceil(indices / per_step)), pieces
    if units:
        # min(n, chunks) is at least chunks times min(1, n / most chunks).
        share = np.minimum(1.0, r.n1a / np.ceil(r.Tz / r.ta))
        cold = total(cold_in, np.where(as_units, steps * share, 0.0))
    moving = _inner_moving(facts, r, own, as_units, cold, cold_in)
    moves = r.piece_steps_z > 1, r.piece_steps_a > 1
    tile, whole = r.piece_array_z, r.ta == r.extent
    return _side(facts, moving, indices, steps, cold, tile, r.Tz, whole, *moves)


def _inner_moving(
    facts: Facts, r: Ranges, own: bool, as_units: Flags, cold: Array, cold_in: OfPiece
) -> Moving:
    """Return the sums over the full pieces, and a tail where the loop surely moves."""
    indices, pieces, most_pieces, tail = r.pieces(own)
    tail_moves = ((pieces == most_pieces) & (r.steps_in(tail) > 1)) | (most_pieces == 1)
    some = np.maximum(pieces, 2)
    in_full = np.maximum((some - 1) * r.Tm, np.ceil(indices * (some - 1) / some))

    def over(of_piece: OfPiece) -> Array:
        full = of_piece(r.Tm)
        return np.where(tail_moves, (pieces - 1) * full + of_piece(tail), (some - 1) * full)

    left, of_tail = (np.maximum(0, each - r.piece_array_z) for each in (r.Tm, tail))
    # Of full pieces no larger share than of larger ones.
    later = np.ceil(in_full * left / r.Tm)
    known = (r.Ta == r.Tz) & (r.n0a == r.n0z) if own else r.Ta == r.Tz
    later = np.where(known, (pieces - 1) * left + np.where(tail_moves, of_tail, 0), later)
    fewest_steps = r.steps_in(np.where(tail_moves, tail, r.Tm))
    cold_moving = over(cold_in)
    # A last piece where it does not move has a cold beginning too.
    rest = np.where(tail_moves | (pieces < 2), 0, 1)
    return Moving(
        np.where(tail_moves, indices, in_full),
        over(r.chunks_in),
        cold_moving,
        np.maximum(cold - rest, cold_moving),
        over(lambda x: np.maximum(r.chunks_in(x) - r.n1z, 0)),
        over(r.first_array_in),
        over(r.known_last_array_in),
        tail_moves,
        later,
        *_stay(facts, r.n1a, r.ta, as_units, np.maximum(fewest_steps, 2)),
    )


def _stay(
    facts: Facts, units: Array, tile: Array, as_units: Flags, steps: Array
) -> tuple[Array, Array]:
    """Return the rows, at most, that stay from step to step and where a sweep begins anew."""
    halo, stride = facts.column(facts.halo), facts.column(facts.stride)
    # Indices between the ends of what is there and what comes, beyond those that touch.
    apart = np.where(as_units, (units - 1) * tile, 0)
    jump = np.where(as_units, ((steps - 1) * units - 1) * tile, (steps - 2) * units * tile)
    kept, kept_anew = (np.maximum(0, halo - gap * stride) for gap in (apart, jump))
    return kept, np.minimum(kept, kept_anew)


def _side(facts: Facts, moving: tuple[Any, ...], *of_all: Any) -> Side:
    """Return the loops by name, of figures of those that are cut; the others are one step."""
    side = {}
    for name in LOOPS:
        extent, row = facts.extent[name], facts.rows.get(name)
        if row is None:
            still = Moving(extent, 1.0, 1.0, 1.0, 0.0, extent, extent, True, 0.0, 0.0, 0.0)
            side[name] = SideLoop(extent, 1.0, 1.0, extent, extent, True, False, False, still)
        else:
            here = Moving(*(each[row] for each in moving))
            side[name] = SideLoop._make([*(each[row] for each in of_all), here])
    return side
