"""Rows of Fig. 5: what a single agent and MARL needed to get to the same place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.paper.reach import Factor, Reach, factor

SINGLE = ("ppo", "ppo_box")
MULTI = ("marl", "marl_clustered")
CONVERGED, BEST, LAST = "converged return", "best", "last best"
"""Where to get: what the single agent converged to, the best it had found by MARL's budget, or by
the end of its own."""

_KEYS = ("layer", "objective", "single", "target", "multi")
_SLOW, _FAST = "slow_", "fast_"


@dataclass(frozen=True)
class Comparison:
    """What a single agent and MARL needed to get where the single agent got.

    Args:
        layer: of the problem.
        objective: of the problem.
        single: the single agent.
        target: ``CONVERGED``, ``BEST`` or ``LAST``.
        multi: form of MARL.
        value: the mean return, or the cost.
        slow: what the single agent needed.
        fast: what MARL needed, without its warm-up.
        warm_up: samples that MARL spent before each search.
    """

    layer: str
    objective: str
    single: str
    target: str
    multi: str
    value: float
    slow: Reach
    fast: Reach
    warm_up: int

    @staticmethod
    def header() -> list[str]:
        """Return the columns of the file."""
        return [*_KEYS, "value", *Reach.header(_SLOW), *Reach.header(_FAST), "warm_up"]

    def row(self) -> list[object]:
        """Return it as a row of the file."""
        keys = (getattr(self, key) for key in _KEYS)
        return [*keys, self.value, *self.slow.row(), *self.fast.row(), self.warm_up]

    @classmethod
    def of(cls, row: Mapping[str, str]) -> Comparison:
        """Read a row of the file."""
        layer, objective, single, target, multi = (row[key] for key in _KEYS)
        slow, fast = (Reach.of(row, who) for who in (_SLOW, _FAST))
        value, warm_up = float(row["value"]), int(row["warm_up"])
        return cls(layer, objective, single, target, multi, value, slow, fast, warm_up)

    @property
    def factor(self) -> Factor:
        """Times fewer samples that MARL needs, the warm-up not counted."""
        return factor(self.slow, self.fast)

    @property
    def charged(self) -> Factor:
        """The same with the warm-up counted."""
        return factor(self.slow, self.fast_charged)

    @property
    def fast_charged(self) -> Reach:
        """What MARL needed, with its warm-up."""
        return self.fast.after(self.warm_up)
