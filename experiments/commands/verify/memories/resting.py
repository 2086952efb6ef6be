"""The share of words that loops of a memory leave where they are, at most (P9)."""

from __future__ import annotations

import numpy as np

from maestro_env.experiments.commands.verify.memories.facts import Facts, Units, least_tail


def share_resting(facts: Facts, memory: int, dim: int, units: Units, low: int, tile: int) -> float:
    """Return the share of a dimension that rests at tiles from ``low`` to ``tile``."""
    extent = facts.extents[dim]
    cutting = [e for e in range(memory) if facts.is_memory(e) and dim in facts.loops(e)]
    cuts = len(cutting)
    if not cuts or tile >= extent:
        return 0.0
    anywhere = in_tails(extent, low, tile, cuts, 0 in cutting)
    if 0 not in cutting:
        return anywhere
    least, most = units.outer[dim]
    if low >= most:
        return 0.0
    # In the first memory's tiles there is a cut less; the last one is smaller.
    inner = cuts - 1
    ragged = inner / (inner + 1)
    between = range(1, cutting[1] if inner else 1)
    once = all(int(units.most[f, dim]) == 1 for f in facts.fanouts if f in between)
    if least == most:
        inside = in_tails(least, low, tile, inner, once)
    else:
        inside = of_tails(least, tile, inner, once)
    tail = least_tail(extent, least, most)
    if least < most:
        rests = (1 - inside) * min(tile, extent / 2) if tail <= tile else 0.0
        last = max(rests, (ragged - inside) * min(most, extent / 2))
    elif tail < least:
        last = ((1 if tail <= tile else ragged) - inside) * tail
    else:
        last = 0.0
    return min(anywhere, inside + last / extent)


def of_tails(size: int, tile: int, cuts: int, once: bool) -> float:
    """Return the share of a box of such a size or more that is in tails of at most a tile (P9).

    Args:
        size: of the box.
        tile: that the tails have at most.
        cuts: that leave them.
        once: the outermost cut leaves one.
    """
    if not cuts:
        return 0.0
    share = cuts / (cuts + 1)
    return min(share, (cuts - 1 + min(1.0, tile / size)) / cuts) if once else share


def in_tails(size: int, low: int, tile: int, cuts: int, once: bool) -> float:
    """Return the same of a box of just this size, beside pieces that are larger than ``low``."""
    counts = np.arange(1, size // (low + 1) + 1)
    if not cuts or not len(counts):
        return 0.0
    tails = (counts * (cuts - 1) + 1 if once else counts * cuts) * tile
    room = np.minimum(tails, size - counts * (low + 1)).max()
    return min(of_tails(size, tile, cuts, once), float(room) / size)
