"""What an enumeration has found so far."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from experiments.exhaustive.enumeration import Vectors
from maestro_env.evaluator import Evaluator
from maestro_env.problem import OK


@dataclass(frozen=True)
class Tally:
    """Counts of mappings, and the best of them.

    Args:
        evaluated: vectors that were evaluated.
        mappings: different mappings they stand for.
        valid: of these, with a value.
        best: the least value; infinite if there is none.
        optimal: mappings that have it, to the last bit.
        best_point: vector of the first one; None if there is none.
    """

    evaluated: int = 0
    mappings: int = 0
    valid: int = 0
    best: float = math.inf
    optimal: int = 0
    best_point: tuple[int, ...] | None = None

    def __add__(self, later: Tally) -> Tally:
        first = self if self.best <= later.best else later
        return Tally(
            self.evaluated + later.evaluated,
            self.mappings + later.mappings,
            self.valid + later.valid,
            first.best,
            sum(each.optimal for each in (self, later) if each.best == first.best),
            first.best_point,
        )

    def to_entry(self) -> dict[str, Any]:
        """Return the tally as JSON holds it."""
        return {**asdict(self), "best": None if math.isinf(self.best) else self.best}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Tally:
        """Read what ``to_entry`` wrote.

        Raises:
            LookupError, TypeError: not such an entry.
        """
        names = [field.name for field in fields(cls)]
        read = {name: entry[name] for name in names}
        if read["best_point"] is None:
            return cls(**read | {"best": math.inf})
        return cls(**read | {"best_point": tuple(read["best_point"])})


def count(evaluator: Evaluator, batches: Iterable[Vectors]) -> Tally:
    """Evaluate batches and count what they stand for."""
    total = Tally()
    for batch in batches:
        scored = evaluator.evaluate(batch.points)
        best = int(np.argmin(scored.values))
        least = float(scored.values[best])
        found = math.isfinite(least)
        total += Tally(
            len(batch.points),
            int(batch.weights.sum()),
            int(batch.weights[scored.status == OK].sum()),
            least,
            int(batch.weights[scored.values == least].sum()) if found else 0,
            tuple(batch.points[best].tolist()) if found else None,
        )
    return total
