"""One entry of a vector: its name, and what its choices stand for."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from maestro_env.base.errors import MapSpaceError, quoted


@dataclass(frozen=True)
class Parameter:
    """One entry of a vector.

    Args:
        name: such as ``l2_order``, ``l1_parallel``, ``l2_tile_K`` or ``cluster_size``.
        kind: ``order`` (Lehmer rank of a loop order), ``parallel`` (a dimension), ``tile`` or
            ``cluster`` (a size; that of a cluster is a number of units).
        values: what each choice stands for; the rank itself for an order.
    """

    name: str
    kind: str
    values: tuple[int, ...] | tuple[str, ...] | range

    @property
    def choices(self) -> int:
        """Number of choices."""
        return len(self.values)

    @property
    def is_size(self) -> bool:
        """Whether the choices are sizes, in ascending order."""
        return self.kind in ("tile", "cluster")

    @property
    def log(self) -> bool:
        """Whether to search the values on a logarithmic scale: those of sizes."""
        return self.is_size

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and largest value; of a parallel dimension, first and last choice.

        With ``tiles="divisors"`` not every integer between them is a value.
        """
        if self.kind == "parallel":
            return 0, self.choices - 1
        return int(self.values[0]), int(self.values[-1])

    def choice(self, value: object) -> int:
        """Return the choice that stands for a value, or raise a ``MapSpaceError``."""
        try:
            if hasattr(value, "__index__"):
                # Of other integers than its own, Python looks through a whole range.
                value = operator.index(value)
            return self.values.index(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            listed = f"{self.bounds[0]} to {self.bounds[1]}"
            if not isinstance(self.values, range):
                listed = ", ".join(map(str, self.values))
            raise MapSpaceError(
                f"{self.name} = {quoted(value)} is not in this space; allowed: {listed}"
            ) from None
