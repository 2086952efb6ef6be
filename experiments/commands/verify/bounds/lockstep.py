"""Cycles of a level whose transfers and computing take turns (docs/optimum.md, 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import Facts, Words, ceil_div
from maestro_env.experiments.commands.verify.bounds.traffic import SideTraffic

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
