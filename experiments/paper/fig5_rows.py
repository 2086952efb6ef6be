"""Rows of Fig. 5: what a single agent and MARL needed to get to the same place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from experiments.paper.reach import Factor, Reach, factor

SINGLE = ("ppo", "ppo_box")
MULTI = ("marl", "marl_clustered")
CONVERGED, BEST = "converged return", "best"
"""Where to get: what the single agent converged to, or the best it had found by MARL's budget."""

_KEYS = ("layer", "objective", "single", "target", "multi")
_REACHES = ("slow", "fast")
_REACH = tuple(field.name for field in fields(Reach))


@dataclass(frozen=True)
class Comparison:
    """What a single agent and MARL needed to get where the single agent got.

    Args:
        layer: of the problem.
        objective: of the problem.
        single: the single agent.
        target: ``CONVERGED`` or ``BEST``.
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
        return [
            *_KEYS,
            "value",
            *(f"{who}_{each}" for who in _REACHES for each in _REACH),
            "warm_up",
        ]

    def row(self) -> list[object]:
        """Return it as a row of the file."""
        reaches = [getattr(each, name) for each in (self.slow, self.fast) for name in _REACH]
        return [*(getattr(self, key) for key in _KEYS), self.value, *reaches, self.warm_up]

    @classmethod
    def of(cls, row: Mapping[str, str]) -> Comparison:
        """Read a row of the file."""
        slow, fast = (
            Reach(
                float(row[f"{who}_median"]),
                *(int(row[f"{who}_{each}"]) for each in _REACH[1:]),
            )
            for who in _REACHES
        )
        return cls(
            layer=row["layer"],
            objective=row["objective"],
            single=row["single"],
            target=row["target"],
            multi=row["multi"],
            value=float(row["value"]),
            slow=slow,
            fast=fast,
            warm_up=int(row["warm_up"]),
        )

    @property
    def factor(self) -> Factor:
        """Times fewer samples that MARL needs, the warm-up not counted."""
        return factor(self.slow, self.fast)

    @property
    def charged(self) -> Factor:
        """The same with the warm-up counted."""
        return factor(self.slow, self.fast.after(self.warm_up))
