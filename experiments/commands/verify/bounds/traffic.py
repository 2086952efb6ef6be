"""Words that a level moves at least, by the loop that moves innermost (docs/optimum.md, 4).

And its cycles, where transfers and computing take turns (docs/optimum.md, 6).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import (
    FILTER,
    INPUT,
    OUTPUT,
    WINDOWS,
    Facts,
    Flags,
    Words,
    ceil_div,
    others,
    product,
)
from maestro_env.experiments.commands.verify.bounds.sides import Side

_ACROSS = {"P": "Q", "Q": "P"}
_AXES = {window: axis for axis, window in WINDOWS.items()}


class SideTraffic:
    """The words of a side, for any innermost loop.

    Args:
        facts: of the space.
        side: the level as its array or its units see it.
    """

    def __init__(self, facts: Facts, side: Side) -> None:
        self._facts, self.side = facts, side
        self._windows_whole = side["R"].whole & side["S"].whole
        # Rows of lemma 10: of all steps, and distinct ones.
        self._step = {p: self._least_step(p, side[r].tile) for p, r in WINDOWS.items()}
        self._halo = {p: facts.extent[r] - self._step[p] for p, r in WINDOWS.items()}
        self._fetched = {p: self._rows(p, self._step[p], side[p].steps) for p in WINDOWS}
        own = {p: self._least_step(p, side[r].piece) for p, r in WINDOWS.items()}
        self._own_step = own
        self._own_halo = {p: facts.extent[r] - own[p] for p, r in WINDOWS.items()}
        self._distinct = {p: self._rows(p, own[p], side[p].cold) for p in WINDOWS}
        self._indices, self._steps, self._cold = (
            cache(partial(product, {name: getattr(loop, what) for name, loop in side.items()}))
            for what in ("indices", "steps", "cold")
        )
        self._words: dict[str | None, tuple[Words, Words, Words]] = {}

    def words(self, innermost: str | None) -> tuple[Words, Words, Words]:
        """Return the words of input and filter that come in, and those of output that leave."""
        if innermost not in self._words:
            filters, outputs = (self._plain(axes, innermost) for axes in (FILTER, OUTPUT))
            self._words[innermost] = self._inputs(innermost), filters, outputs
        return self._words[innermost]

    def _inputs(self, innermost: str | None) -> Words:
        least = self._distinct_inputs
        if innermost is not None and innermost in INPUT:
            full = self._indices(INPUT) * self._fetched_anew
            return least + self._share(innermost) * (full - least)
        if innermost is None:
            return least
        more: Words = 0.0
        if innermost in "KPQ":
            more = self._next_sweeps if innermost == "K" else self._sweeps(innermost)
        of_cut = np.maximum(least, self._indices(INPUT) * self._of_cut(innermost))
        return np.where(self._windows_whole, least + self._indices(INPUT) * more, of_cut)

    def _of_cut(self, innermost: str) -> Words:
        """Return rows times columns, for K too, where windows may be cut (lemmas 13 and 29)."""
        if innermost != "K":
            return self._swept_cut(innermost, self._steps("K"))
        least: Words = np.inf
        moves: Flags | bool = False
        for name in "PQRS":
            swept = self._swept_cut(name, self._cold("K"))
            least = np.minimum(least, np.where(self.side[name].can_move, swept, np.inf))
            moves = moves | self.side[name].must_move
        return np.where(moves, least, 0.0)

    def _swept_cut(self, name: str, repeats: Words) -> Words:
        """Return the same where one of P, Q, R and S moves innermost but for K."""
        later = self.side[name].moving.later * repeats
        if name in WINDOWS:
            columns = self._fetched[_ACROSS[name]]
            cold = self._cold("K") * self._distinct["P"] * self._distinct["Q"]
            # A sweep that ends far from where it begins leaves nothing.
            far = np.equal(self.side[name].moving.jump, 0)
            swept = cold + self._anew(name, repeats)
            return np.where(far, swept, later * self._step[name] * columns)
        axis = _AXES[name]
        # Taps of tiles that are no larger than half a stride share no rows.
        apart = 2 * self.side[name].tile <= self._facts.stride[axis]
        times = np.where(apart, self.side[axis].indices, self.side[axis].steps)
        return later * times * self._fetched[_ACROSS[axis]]

    def at_begins(self, innermost: str) -> Words:
        """Return the words that are fetched where sweeps of a loop begin."""
        return self._inputs_at_begins(innermost) + self._at(FILTER, innermost, "begun")

    def at_ends(self, innermost: str) -> Words:
        """Return the output words that leave where sweeps of a loop end."""
        return self._at(OUTPUT, innermost, "ended")

    def before_ends(self, innermost: str) -> Words:
        """Return the output words that leave a step before sweeps of a loop end."""
        return self._at(OUTPUT, innermost, "begun") if innermost in OUTPUT else 0.0

    def _at(self, axes: str, name: str, end: str) -> Words:
        """Return the words of a tensor at one end of the sweeps of a loop.

        What lacks the loop is moved nowhere else.
        """
        if name not in axes:
            return self._indices(axes) * self._cold(others(axes))
        tiles: Words = getattr(self.side[name].moving, end)
        return self._indices(axes.replace(name, "")) * tiles * self._steps(others(axes))

    def _inputs_at_begins(self, name: str) -> Words:
        moving = self.side[name].moving
        if name in INPUT:
            return self._indices(INPUT.replace(name, "")) * moving.begun * self._fetched_anew
        if name == "K":
            return self._inputs("K")
        if name not in WINDOWS:
            return 0.0
        across = self.side[_ACROSS[name]]
        columns = self._fetched[_ACROSS[name]] * self._steps("K")
        # Of the columns, those that may stay where a sweep begins.
        known = self._distinct[_ACROSS[name]] * self._cold("K")
        known = np.where(across.can_move, 0.0, known)
        stay = self._halo[_ACROSS[name]] * (across.steps - across.cold) * self._steps("K")
        stay = np.where(self.side["K"].can_move, columns - known, stay)
        rows = moving.begun * self._step[name] + moving.cold * self._halo[name]
        begun = np.maximum(0.0, rows * columns - moving.cold * moving.jump * stay)
        return np.where(self._windows_whole, self._indices(INPUT) * begun, 0.0)

    def _plain(self, axes: str, innermost: str | None) -> Words:
        """Return the words of a tensor without a window (lemmas 7, 8 and 9)."""
        words = self._indices(axes)
        least = words * self._cold(others(axes))
        if innermost is None or innermost not in axes:
            return least
        full = words * self._steps(others(axes))
        return least + self._share(innermost) * (full - least)

    def _share(self, name: str) -> Words:
        """Return the share of a loop's indices that is in pieces where it moves."""
        return self.side[name].moving.indices / self.side[name].indices

    def _least_step(self, name: str, tile: Words) -> Words:
        """Return the rows that an output adds, summed over tiles of the window of P or Q."""
        taps = self._facts.extent[WINDOWS[name]]
        return np.ceil(taps * np.minimum(self._facts.stride[name], tile) / tile)

    def _rows(self, name: str, step: Words, times: Words) -> Words:
        """Return the rows of so many tiles of P or Q that add up to its indices (lemma 10)."""
        taps = self._facts.extent[WINDOWS[name]]
        return self.side[name].indices * step + times * (taps - step)

    @cached_property
    def _fetched_anew(self) -> Words:
        """Rows, columns and positions of K of an input that is fetched in full in every step."""
        return self._steps("K") * self._fetched["P"] * self._fetched["Q"]

    @cached_property
    def _distinct_inputs(self) -> Words:
        """Return the words of lemma 8."""
        rows = self._distinct["P"] * self._distinct["Q"]
        return self._indices(INPUT) * self._cold("K") * rows

    @cached_property
    def _next_sweeps(self) -> Words:
        """Return what K moving innermost adds to lemma 8 (lemma 12).

        P or Q is the next to move, or neither moves in any piece. Then each has as many pieces as
        steps, and units are active for one chunk in each.
        """
        still = self._fetched["P"] * self._fetched["Q"] - self._distinct["P"] * self._distinct["Q"]
        p, q = (np.where(self.side[x].can_move, self._still(x), np.inf) for x in WINDOWS)
        surely = self.side["P"].must_move | self.side["Q"].must_move
        least = np.minimum(p, q)
        return self._cold("K") * np.where(surely, least, np.minimum(least, still))

    def _sweeps(self, name: str) -> Words:
        """Return what sweeps of P or Q add to lemma 8 in pieces where it moves (lemma 11)."""
        still = self._cold("K") * self._still(name)
        return np.where(self.side["K"].can_move, self._anew(name, self._steps("K")), still)

    def _still(self, name: str) -> Words:
        """Return what sweeps add, for each position of K, if K does not move."""
        moving, across = self.side[name].moving, self.side[_ACROSS[name]]
        begins = across.steps - across.cold
        columns, stays = begins * self._halo[_ACROSS[name]], begins * across.moving.advance
        by_cold = self._halo[name] * columns - moving.jump * stays
        by_more = (self._halo[name] - moving.advance) * self._fetched[_ACROSS[name]]
        return moving.least(self._step[name] * columns, by_cold, by_more)

    def _anew(self, name: str, repeats: Words) -> Words:
        """Return what sweeps add if all columns may stay between them, so often for K."""
        moving, across = self.side[name].moving, self.side[_ACROSS[name]]
        halo = self._halo[name]
        first = self._cold("K") * self._distinct[_ACROSS[name]]
        fetched = repeats * self._fetched[_ACROSS[name]]
        known = np.where(across.can_move, 0.0, first * moving.jump)
        by_cold = fetched * (halo - moving.jump) + known - first * self._own_halo[name]
        by_index = fetched * self._step[name] - first * self._own_step[name]
        by_more = fetched * (halo - np.minimum(halo, moving.advance))
        return np.maximum(0.0, moving.least(by_index, by_cold, by_more))


BUT_LAST, BUT_FIRST, BUT_BOTH = range(3)
"""Steps of a level along a loop: all but the last, all but the first, all but both."""


@dataclass(frozen=True)
class Transfers:
    """Transfers one way on the network (lemma 20).

    Args:
        facts: of the space.
        fewest, most: how many there are.
        alone: how many of them have no step of a cycle or more beside them, at most.
    """

    facts: Facts
    fewest: Words
    most: Words
    alone: Words

    def cycles(self, words: Words) -> Words:
        """Return the cycles in which so many words pass, or the steps beside them.

        A transfer takes the latency - 1 longer than its words, rounded up. Without latency, v words
        take ceil(v / b) - 1 cycles: that or 1, whichever is more, is at least v / 2b; alone they
        take at least (v / b - 1) / 2.
        """
        of = self.facts.hardware
        cycles = ceil_div(words, of.noc_bw)
        if of.noc_latency >= 1:
            return (of.noc_latency - 1) * self.fewest + np.maximum(self.fewest, cycles)
        half = np.ceil((np.divide(words, of.noc_bw) - self.alone) / 2)
        return np.maximum(np.maximum(0.0, cycles - self.most), half)


@dataclass(frozen=True)
class Lockstep:
    """The steps of a level.

    Args:
        fill, drain: cycles of the first fill and the last drain.
        begun, ended: cycles of the first and the last step's computing.
        transfers: each way.
        computing: cycles of the steps along a loop that are none of its ends.
    """

    fill: Words
    drain: Words
    begun: Words
    ended: Words
    transfers: Transfers
    computing: Callable[[str, int], Words]

    def cycles(self, traffic: SideTraffic, innermost: str | None) -> Words:
        """Return the least cycles if this loop moves innermost (lemmas 17 and 18)."""
        inputs, filters, outputs = traffic.words(innermost)
        coming = self.transfers.cycles(inputs + filters) + self.ended + self.drain
        leaving = self.fill + self.begun + self.transfers.cycles(outputs)
        cycles = np.maximum(coming, leaving)
        return cycles if innermost is None else np.maximum(cycles, self._swept(traffic, innermost))

    def _swept(self, traffic: SideTraffic, x: str) -> Words:
        """Return the cycles if sweeps of the loop begin or end with a transfer."""
        begins = self.transfers.cycles(traffic.at_begins(x)) + self.ended
        last = np.maximum(begins, self.fill + self.transfers.cycles(traffic.before_ends(x)))
        first = self.begun + self.transfers.cycles(traffic.at_ends(x))
        one = np.maximum(
            last + self.computing(x, BUT_LAST) + self.drain,
            self.fill + self.computing(x, BUT_FIRST) + first,
        )
        both = last + self.computing(x, BUT_BOTH) + first
        return np.where(traffic.side[x].moving.everywhere, np.maximum(one, both), one)
