"""The counts of a level from which its traffic follows, as seen by its array or by its units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.facts import WINDOWS, Array, Facts
from experiments.commands.verify.ranges import OfBox, Ranges


@dataclass(frozen=True)
class Slide:
    """How a loop with a window slides, in boxes where it surely moves.

    Attributes:
        indices: its indices in these boxes.
        chunks: of units that it is dealt to; for an array these do not matter.
        cold: what begins in these boxes with nothing: boxes, or units that are ever active.
        most_cold: no more begin with nothing if as few do in all boxes together as may.
        more: chunks beyond those.
        advance: rows, at most, that stay from one step to the next, or in a unit to its next chunk.
        jump: rows, at most, that stay where a sweep begins anew.
    """

    indices: Array
    chunks: Array
    cold: Array
    most_cold: Array
    more: Array
    advance: Array
    jump: Array

    def least(
        self, by_index: Array | float, by_cold: Array | float, by_more: Array | float
    ) -> Array:
        """Return the least that so much for each index, cold beginning and further chunk makes.

        Chunks are cold beginnings and further ones. Of the beginnings there are ``cold`` or more.
        Each of them that is not among the fewest of all boxes adds to the words of lemma 8, which
        is no less than what a further chunk adds: so there are at most ``most_cold``.
        """
        between = np.clip(self.chunks - self.more, self.cold, self.most_cold)
        cold = np.where(by_cold >= 0, between, self.most_cold)
        cold = np.where(by_cold >= by_more, self.cold, cold)
        more = np.maximum(self.more, self.chunks - cold)
        return self.indices * by_index + cold * by_cold + more * by_more


@dataclass(frozen=True)
class Loop:
    """What is known of a loop, summed over the boxes of a level; float64[N] each.

    Attributes:
        indices: of all boxes.
        moving: of boxes where the loop moves, if it moves in the largest one (lemma 6).
        steps: of the array; chunks of units that the loop is dealt to.
        cold: boxes; units that are ever active.
        begun, ended: of the array in the first and in the last step of the same boxes.
        all_move: whether it moves in all boxes, if it moves in the largest one.
        can_move, must_move: whether it moves in any box of some mapping, of every mapping.
        slide: None without a window.
    """

    indices: Array
    moving: Array
    steps: Array
    cold: Array
    begun: Array
    ended: Array
    all_move: NDArray[np.bool_]
    can_move: NDArray[np.bool_]
    must_move: NDArray[np.bool_]
    slide: Slide | None


Side = dict[str, Loop]
"""The loops that are cut, by name."""


def outer_side(facts: Facts, r: Ranges, units: bool, dealt: NDArray[np.bool_]) -> Side:
    """Return the loops of the outer level, whose one box is the layer."""
    whole = np.broadcast_to(r.extent, r.Ta.shape)
    one = np.ones_like(r.Ta)
    as_units = dealt if units else np.zeros_like(dealt)
    steps = np.where(as_units, r.chunks_a, r.steps_a)
    cold = np.where(as_units, np.minimum(r.n0a, r.chunks_a), one)
    more = np.maximum(r.chunks_a - r.n0z, 0)
    moves = np.maximum(r.steps_a, 2)
    ends = r.array_a, r.last_array_a, np.ones_like(dealt)
    moving = _Moving(whole, moves, r.chunks_a, cold, cold, more, *ends)
    slides = _slides(facts, r.n0a, r.Ta, as_units, moving)
    return _side(facts, whole, moving, steps, cold, (r.steps_z > 1, r.steps_a > 1), slides)


def inner_side(
    facts: Facts, r: Ranges, units: bool, dealt: NDArray[np.bool_], own: bool = False
) -> Side:
    """Return the loops of the inner level, over all boxes or the first cluster's own."""
    total = r.over_own if own else r.over_boxes
    indices = r.own if own else np.broadcast_to(r.extent, r.Ta.shape)
    boxes_a = r.steps_a if own else r.chunks_a
    as_units = dealt if units else np.zeros_like(dealt)

    def choose(of_units: OfBox, of_array: OfBox) -> OfBox:
        return lambda x: np.where(as_units, of_units(x), of_array(x)) if units else of_array(x)

    per_step = np.where(as_units, r.tz, r.tz * r.n1z)
    steps = total(choose(r.chunks_in, r.steps_in), np.ceil(indices / per_step))
    active = choose(r.active_in, np.ones_like)
    cold = boxes_a
    if units:
        # min(n, chunks) is at least chunks times min(1, n / most chunks).
        share = np.minimum(1.0, r.n1a / np.ceil(r.Tz / r.ta))
        cold = total(active, np.where(as_units, steps * share, 0.0))
    moving = _inner_moving(r, own, indices, boxes_a, cold, active)
    slides = _slides(facts, r.n1a, r.ta, as_units, moving)
    moves = r.piece_steps_z > 1, r.piece_steps_a > 1
    return _side(facts, indices, moving, steps, cold, moves, slides)


def _inner_moving(
    r: Ranges, own: bool, indices: Array, boxes_a: Array, cold: Array, active: OfBox
) -> _Moving:
    """Return the sums over boxes where a loop moves: the full ones, and a tail that surely does."""
    boxes_z = np.ceil(r.extent / r.Tm)
    tail = r.tail
    if own:
        boxes_z = np.ceil(boxes_z / r.n0a)
        tail = np.minimum(r.Tm, r.extent - (boxes_a - 1) * r.Tz * r.n0z)
    tail_moves = ((boxes_a == boxes_z) & (r.steps_in(tail) > 1)) | (boxes_z == 1)
    some = np.maximum(boxes_a, 2)
    in_full = np.maximum((some - 1) * r.Tm, np.ceil(indices * (some - 1) / some))

    def over(of_box: OfBox) -> Array:
        full = of_box(r.Tm)
        return np.where(tail_moves, (boxes_a - 1) * full + of_box(tail), (some - 1) * full)

    fewest_steps = r.steps_in(np.where(tail_moves, tail, r.Tm))
    cold_moving = over(active)
    # A last box where it does not move has a cold beginning too.
    rest = np.where(tail_moves | (boxes_a < 2), 0, 1)
    return _Moving(
        np.where(tail_moves, indices, in_full),
        np.maximum(fewest_steps, 2),
        over(r.chunks_in),
        cold_moving,
        np.maximum(cold - rest, cold_moving),
        over(lambda x: np.maximum(r.chunks_in(x) - r.n1z, 0)),
        over(r.first_array_in),
        over(r.known_last_array_in),
        tail_moves,
    )


@dataclass(frozen=True)
class _Moving:
    """Of all loops, float64[L, N], what ``Slide`` and ``Loop`` have, and the steps of each box."""

    indices: Array
    steps: Array
    chunks: Array
    cold: Array
    most_cold: Array
    more: Array
    begun: Array
    ended: Array
    all_move: NDArray[np.bool_]


def _slides(
    facts: Facts, units: Array, tile: Array, as_units: NDArray[np.bool_], moving: _Moving
) -> dict[str, Slide]:
    slides = {}
    for row, name in enumerate(facts.cut_names):
        if name not in WINDOWS:
            continue
        halo, stride = facts.halo[name], facts.stride[name]
        # Indices between the ends of what is there and what comes, beyond those that touch.
        size, there, steps = tile[row], units[row], moving.steps[row]
        apart = np.where(as_units[row], (there - 1) * size, 0)
        jump = np.where(as_units[row], ((steps - 1) * there - 1) * size, (steps - 2) * there * size)
        kept, kept_anew = (np.maximum(0, halo - gap * stride) for gap in (apart, jump))
        slides[name] = Slide(
            moving.indices[row],
            moving.chunks[row],
            moving.cold[row],
            moving.most_cold[row],
            moving.more[row],
            kept,
            np.minimum(kept, kept_anew),
        )
    return slides


def _side(
    facts: Facts,
    indices: Array,
    moving: _Moving,
    steps: Array,
    cold: Array,
    moves: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    slides: dict[str, Slide],
) -> Side:
    can_move, must_move = moves
    return {
        name: Loop(
            indices[row],
            moving.indices[row],
            steps[row],
            cold[row],
            moving.begun[row],
            moving.ended[row],
            moving.all_move[row],
            can_move[row],
            must_move[row],
            slides.get(name),
        )
        for row, name in enumerate(facts.cut_names)
    }
