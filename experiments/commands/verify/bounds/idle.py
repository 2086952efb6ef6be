"""Clusters that differ from larger ones in idle PEs alone (docs/optimum.md, lemma 28)."""

from __future__ import annotations

import numpy as np

from maestro_env.experiments.commands.verify.bounds.boxes import Table, ends, first, last
from maestro_env.experiments.commands.verify.bounds.facts import Array, Facts, Flags, ceil_div


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
