"""What mappings need of the buffers at least (docs/optimum.md, lemma 21)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import Ends, Table, ends
from maestro_env.experiments.commands.verify.bounds.facts import Array, Facts, Flags, ceil_div

# Boxes at a time: their arrays stay in the processor's cache.
TOGETHER = 2048


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


def least_needs(facts: Facts, e: Ends) -> Needs:
    """Return what boxes need with the smallest tiles and the largest clusters."""
    largest = e.cluster[1]
    clusters = np.where(e.dealt[0], np.floor(facts.hardware.num_pes / largest), 1.0)

    def words(rows: Array) -> tuple[Array, Array, Array]:
        of_input, of_filter, of_output = (
            np.broadcast_to(each, largest.shape) for each in facts.tile_words(facts.tile(rows))
        )
        return of_input, of_filter, of_output

    inner, outer = sum(words(e.inner[0])), sum(words(e.outer[0]))
    array = words(np.minimum(facts.column(facts.extent), clusters * e.outer[0]))
    of_input, of_filter, of_output = (
        np.minimum(2 * own, whole) for own, whole in zip(array, facts.words, strict=True)
    )
    return Needs(2 * inner + ceil_div(2 * outer, largest), (of_input, of_filter, of_output))


def may_fit(facts: Facts, boxes: Table) -> Flags:
    """Say which boxes have a mapping whose buffers may fit, bool[N]: the smallest tiles do."""
    fit = np.zeros(len(boxes), dtype=bool)
    for start in range(0, len(boxes), TOGETHER):
        some = slice(start, start + TOGETHER)
        e = ends(facts, boxes[some])
        needs = least_needs(facts, e)
        fit[some] = ~e.empty & (needs.l1 <= facts.l1_words) & (needs.l2 <= facts.l2_words)
    return fit
