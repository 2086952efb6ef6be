"""Words that a level moves at least, by the loop that moves innermost (docs/optimum.md, 4)."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.facts import FILTER, INPUT, LOOPS, OUTPUT, WINDOWS, Array, Facts
from experiments.commands.verify.sides import Side

Words = Array | float


class Traffic:
    """The words of a side, for any innermost loop.

    Args:
        facts: of the space.
        side: the level as its array or its units see it.
        windows_whole: bool[N], whether neither window is cut.
    """

    def __init__(self, facts: Facts, side: Side, windows_whole: NDArray[np.bool_]) -> None:
        self._facts, self._side, self._windows_whole = facts, side, windows_whole

    def filters(self, innermost: str | None) -> Words:
        """Return the words of the filter that are fetched or taken in."""
        return self._plain(FILTER, innermost)

    def outputs(self, innermost: str | None) -> Words:
        """Return the output words that leave."""
        return self._plain(OUTPUT, innermost)

    def inputs(self, innermost: str | None) -> Words:
        """Return the words of the input that are fetched or taken in."""
        least = self._distinct_inputs
        if innermost is not None and innermost in INPUT:
            full = self._indices(INPUT) * self._steps("K") * self._fetched["P"] * self._fetched["Q"]
            return least + self._share(innermost) * (full - least)
        if innermost is not None and innermost in "KPQ":
            more = self._next_sweeps if innermost == "K" else self._sweeps(innermost)
            return least + np.where(self._windows_whole, self._indices(INPUT) * more, 0.0)
        return least

    def at_begins(self, innermost: str) -> Words:
        """Return the words that are fetched where sweeps of a loop begin."""
        return self._inputs_at_begins(innermost) + self._at(FILTER, innermost, "begun")

    def at_ends(self, innermost: str) -> Words:
        """Return the output words that leave where sweeps of a loop end."""
        return self._at(OUTPUT, innermost, "ended")

    def before_ends(self, innermost: str) -> Words:
        """Return the output words that leave a step before sweeps of a loop end."""
        return self._at(OUTPUT, innermost, "begun") if innermost in OUTPUT else 0.0

    def all_move(self, name: str) -> NDArray[np.bool_]:
        """Say in which boxes of mappings a loop moves wherever it may."""
        return self._side[name].all_move

    def _at(self, axes: str, name: str, end: str) -> Words:
        """Return the words of a tensor at one end of the sweeps of a loop.

        What lacks the loop is moved nowhere else.
        """
        others = "".join(loop for loop in LOOPS if loop not in axes)
        if name not in axes:
            return self._indices(axes) * self._cold(others)
        tiles: Words = getattr(self._side[name], end)
        return self._indices(axes.replace(name, "")) * tiles * self._steps(others)

    def _inputs_at_begins(self, name: str) -> Words:
        loop = self._side[name]
        if name in INPUT:
            tiles = self._indices(INPUT.replace(name, "")) * loop.begun
            return tiles * self._steps("K") * self._fetched["P"] * self._fetched["Q"]
        if name == "K":
            return self.inputs("K")
        if loop.slide is None:
            return 0.0
        facts, other = self._facts, self._other(name)
        columns, each = self._fetched[other], self._steps("K")
        # Of the columns, those that may stay where a sweep begins.
        stay = facts.halo[other] * self._warm_steps(other) * each
        if "K" in self._side:
            known = self._distinct[other] * self._cold("K")
            if other in self._side:
                known = np.where(self._side[other].can_move, 0.0, known)
            stay = np.where(self._side["K"].can_move, columns * each - known, stay)
        slide = loop.slide
        rows = loop.begun * facts.step[name] + slide.cold * facts.halo[name]
        begun = np.maximum(0.0, rows * columns * each - slide.cold * slide.jump * stay)
        return np.where(self._windows_whole, self._indices(INPUT) * begun, 0.0)

    def _warm_steps(self, name: str) -> Words:
        """Return the steps of a loop that begin with something; none if no mapping cuts it."""
        loop = self._side.get(name)
        return 0.0 if loop is None else loop.steps - loop.cold

    def _plain(self, axes: str, innermost: str | None) -> Words:
        """Return the words of a tensor without a window (lemmas 7, 8 and 9)."""
        words = self._indices(axes)
        others = "".join(name for name in LOOPS if name not in axes)
        least = words * self._cold(others)
        if innermost is None or innermost not in axes:
            return least
        full = words * self._steps(others)
        return least + self._share(innermost) * (full - least)

    def _share(self, name: str) -> Words:
        """Return the share of a loop's indices that is in boxes where it moves."""
        loop = self._side[name]
        return loop.moving / loop.indices

    def _indices(self, names: str) -> Words:
        return self._product(names, "indices", self._facts.extent)

    def _steps(self, names: str) -> Words:
        return self._product(names, "steps", None)

    def _cold(self, names: str) -> Words:
        return self._product(names, "cold", None)

    def _product(self, names: str, what: str, whole: dict[str, float] | None) -> Words:
        key = names + what
        if key not in self._products:
            result: Words = 1.0
            for name in names:
                if name in self._side:
                    result = result * getattr(self._side[name], what)
                elif whole is not None:
                    result = result * whole[name]
            self._products[key] = result
        return self._products[key]

    @cached_property
    def _products(self) -> dict[str, Words]:
        return {}

    def _rows(self, name: str, times: str) -> Words:
        """Return the rows of so many tiles of P or Q that add up to its indices (lemma 10)."""
        facts = self._facts
        if name not in self._side:
            return facts.extent[name] * facts.step[name] + facts.halo[name]
        loop = self._side[name]
        count: Words = getattr(loop, times)
        return loop.indices * facts.step[name] + count * facts.halo[name]

    @cached_property
    def _fetched(self) -> dict[str, Words]:
        return {name: self._rows(name, "steps") for name in WINDOWS}

    @cached_property
    def _distinct(self) -> dict[str, Words]:
        return {name: self._rows(name, "cold") for name in WINDOWS}

    @cached_property
    def _distinct_inputs(self) -> Words:
        """Return the words of lemma 8."""
        rows = self._distinct["P"] * self._distinct["Q"]
        return self._indices(INPUT) * self._cold("K") * rows

    @cached_property
    def _next_sweeps(self) -> Words:
        """Return what K moving innermost adds to lemma 8 (lemma 12).

        P or Q is the next to move, or neither moves in any box. Then each has as many boxes as
        steps, and units are active for one chunk in each.
        """
        loops = [name for name in WINDOWS if name in self._side]
        still = self._fetched["P"] * self._fetched["Q"] - self._distinct["P"] * self._distinct["Q"]
        least: Words = np.inf
        surely: NDArray[np.bool_] | bool = False
        for name in loops:
            loop = self._side[name]
            least = np.minimum(least, np.where(loop.can_move, self._still(name), np.inf))
            surely = surely | loop.must_move
        return self._cold("K") * np.where(surely, least, np.minimum(least, still))

    def _sweeps(self, name: str) -> Words:
        """Return what sweeps of P or Q add to lemma 8 in boxes where it moves (lemma 11)."""
        if "K" not in self._side:
            return self._still(name)
        still = self._cold("K") * self._still(name)
        return np.where(self._side["K"].can_move, self._anew(name), still)

    def _other(self, name: str) -> str:
        return "Q" if name == "P" else "P"

    def _still(self, name: str) -> Words:
        """Return what sweeps add, for each position of K, if K does not move."""
        other = self._other(name)
        facts, slide, across = self._facts, self._side[name].slide, self._side.get(other)
        assert slide is not None
        columns: Words = 0.0
        stays: Words = 0.0
        if across is not None:
            assert across.slide is not None
            begins = across.steps - across.cold
            columns, stays = begins * facts.halo[other], begins * across.slide.advance
        halo = facts.halo[name]
        by_cold = halo * columns - slide.jump * stays
        by_more = (halo - slide.advance) * self._fetched[other]
        return slide.least(facts.step[name] * columns, by_cold, by_more)

    def _anew(self, name: str) -> Words:
        """Return what sweeps add if K can move, so that all columns may stay between them."""
        other = self._other(name)
        facts, slide = self._facts, self._side[name].slide
        assert slide is not None
        halo, once, each = facts.halo[name], self._cold("K"), self._steps("K")
        first, fetched = once * self._distinct[other], each * self._fetched[other]
        known = first * slide.jump
        if other in self._side:
            known = np.where(self._side[other].can_move, 0.0, known)
        by_cold = fetched * (halo - slide.jump) + known - first * halo
        by_index = facts.step[name] * (fetched - first)
        by_more = fetched * (halo - slide.advance)
        return np.maximum(0.0, slide.least(by_index, by_cold, by_more))
