"""What mappings need of the buffers at least, and idle PEs (docs/optimum.md, lemmas 21 and 28)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import (
    Array,
    Ends,
    Facts,
    Flags,
    Table,
    ceil_div,
    ends,
    first,
    last,
)

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


def only_idle(facts: Facts, boxes: Table) -> Flags:
    """Say in which boxes no cluster costs less than the next one that is larger than all of them.

    That is where a cluster has a PE for each chunk, and as many clusters are at work.
    """
    sizes, axis = facts.sizes[-1], len(facts.sizes) - 1
    following = boxes[:, last(axis)] + 1
    least = sizes.take(boxes[:, first(axis)], mode="clip")
    larger = sizes.take(following, mode="clip")
    of = ends(facts, boxes)
    most = (facts.column(facts.extent), of.outer[1])
    pieces, chunks = (
        np.where(dealt, ceil_div(whole, tile), 1.0).max(axis=0, initial=1.0)
        for dealt, whole, tile in zip(of.dealt, most, (of.outer[0], of.inner[0]), strict=True)
    )

    def working(cluster: Array) -> Array:
        found: Array = np.minimum(facts.hardware.num_pes // cluster, pieces)
        return found

    alike: Flags = (least >= chunks) & (working(least) == working(larger))
    return alike & (following < len(sizes))
