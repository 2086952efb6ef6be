"""What mappings need of the buffers at least (docs/optimum.md, lemma 21)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from experiments.commands.verify.boxes import Ends, Table, ends
from experiments.commands.verify.facts import Array, Facts, Tile, ceil_div

_TOGETHER = 16_384


@dataclass(frozen=True)
class Needs:
    """The least needs of boxes, float64[N].

    Attributes:
        l1: words of a PE, with its share of the cluster's buffer.
        streamed: words of L2 for input, filter and output, none of them resident.
    """

    l1: Array
    streamed: tuple[Array, Array, Array]

    @property
    def l2(self) -> Array:
        return self.streamed[0] + self.streamed[1] + self.streamed[2]

    def fit(self, facts: Facts) -> NDArray[np.bool_]:
        """Say which boxes may hold a mapping that fits: those whose smallest tiles do."""
        return (self.l1 <= facts.l1_words) & (self.l2 <= facts.l2_words)


def least_needs(facts: Facts, e: Ends) -> Needs:
    """Return what boxes need with the smallest tiles and the largest clusters."""
    count = len(e.empty)
    largest = e.cluster[1]
    clusters = np.where(e.dealt[0], np.floor(facts.hardware.num_pes / largest), 1.0)

    def tile(rows: Array) -> Tile:
        found: Tile = dict(facts.extent)
        return found | dict(zip(facts.cut_names, rows, strict=True))

    def words(rows: Array) -> tuple[Array, Array, Array]:
        of_input, of_filter, of_output = (
            np.broadcast_to(np.asarray(each), (count,)) for each in facts.tile_words(tile(rows))
        )
        return of_input, of_filter, of_output

    extents = np.array([facts.extent[name] for name in facts.cut_names]).reshape(-1, 1)
    inner, outer = sum(words(e.inner[0])), sum(words(e.outer[0]))
    array = words(np.minimum(extents, clusters * e.outer[0]))
    streamed = [np.minimum(2 * own, all_) for own, all_ in zip(array, facts.words, strict=True)]
    return Needs(2 * inner + ceil_div(2 * outer, largest), tuple(streamed))  # type: ignore[arg-type]


def may_fit(facts: Facts, boxes: Table) -> NDArray[np.bool_]:
    """Say which boxes have a mapping whose buffers may fit, bool[N]."""
    fit = np.zeros(len(boxes), dtype=bool)
    for start in range(0, len(boxes), _TOGETHER):
        e = ends(facts, boxes[start : start + _TOGETHER])
        fit[start : start + _TOGETHER] = ~e.empty & least_needs(facts, e).fit(facts)
    return fit
