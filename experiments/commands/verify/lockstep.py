"""Cycles of a level whose transfers and computing take turns (docs/optimum.md, 6)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from experiments.commands.verify.cluster import BUT_BOTH, BUT_FIRST, BUT_LAST, Transfers, Words
from experiments.commands.verify.traffic import Traffic


@dataclass(frozen=True)
class StepEnds:
    """Cycles of the first fill, the last drain, and the first and the last step's computing."""

    fill: Words
    drain: Words
    begun: Words
    ended: Words


@dataclass(frozen=True)
class Lockstep:
    """The steps of a level.

    Args:
        ends: their ends.
        transfers: each way.
        computing: cycles of the steps along a loop that are none of its ends.
    """

    ends: StepEnds
    transfers: Transfers
    computing: Callable[[str, int], Words]

    def cycles(self, traffic: Traffic, innermost: str | None) -> Words:
        """Return the least cycles if this loop moves innermost."""
        e = self.ends
        fetched = traffic.inputs(innermost) + traffic.filters(innermost)
        coming = self.transfers.cycles(fetched) + e.ended + e.drain
        leaving = e.fill + e.begun + self.transfers.cycles(traffic.outputs(innermost))
        cycles = np.maximum(coming, leaving)
        return cycles if innermost is None else np.maximum(cycles, self._swept(traffic, innermost))

    def _swept(self, traffic: Traffic, x: str) -> Words:
        """Return the cycles if sweeps of the loop begin or end with a transfer."""
        e = self.ends
        begins = self.transfers.cycles(traffic.at_begins(x)) + e.ended
        last = np.maximum(begins, e.fill + self.transfers.cycles(traffic.before_ends(x)))
        first = e.begun + self.transfers.cycles(traffic.at_ends(x))
        one = np.maximum(
            last + self.computing(x, BUT_LAST) + e.drain,
            e.fill + self.computing(x, BUT_FIRST) + first,
        )
        both = last + self.computing(x, BUT_BOTH) + first
        return np.where(traffic.all_move(x), np.maximum(one, both), one)
