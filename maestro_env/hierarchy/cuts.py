"""What the loops of a mapping cut: the largest boxes, from element to element."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from maestro_env.hierarchy.shape import DIMS, Shape


@dataclass(frozen=True)
class Cut:
    """A loop of a mapping (docs/spec/hierarchy.md, H2).

    Args:
        dim: of ``DIMS``.
        extent: of the largest box that the loop gets.
        tile: of its chunks, at most the extent.
    """

    dim: str
    extent: int
    tile: int

    @property
    def chunks(self) -> int:
        """Chunks of the largest box."""
        return math.ceil(self.extent / self.tile)


def cuts_of(shape: Shape, mapping: Sequence[Sequence[tuple[str, int]]]) -> list[list[Cut]]:
    """Return the loops of each element of a mapping that has results, outermost first."""
    box = shape.sizes
    found = []
    for loops in mapping:
        cuts = []
        for name, tile in loops:
            dim = DIMS[shape.dim(name) or 0]
            cuts.append(Cut(dim, box[dim], min(tile, box[dim])))
            box[dim] = cuts[-1].tile
        found.append(cuts)
    return found


def units_of(cuts: Sequence[Cut]) -> int:
    """Return the instances at work that the loops of a fan-out make."""
    return math.prod(cut.chunks for cut in cuts)
