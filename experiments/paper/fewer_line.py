"""How many times fewer samples MARL needs than a single agent, as a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.paper.arena import Arena
from experiments.paper.line import Line, cells_told, not_yet
from experiments.paper.ratios import found_after, times_fewer, valid_share

START, WHERE = "times fewer samples than ", " under "
"""How its text begins, and what is before a hardware."""

_FEWER = 30


def fewer_line(
    arenas: Sequence[Arena], multi: str, slow: str, cells: int, where: str = "", *, required: bool
) -> Line:
    """Return the line.

    Args:
        arenas: that there are; those that lack a search of one of both are missing.
        multi: the form of MARL.
        slow: the single agent.
        cells: that there should be.
        where: the hardware, if these are the cells of one.
        required: whether there is a threshold.
    """
    shared = [arena for arena in arenas if arena.has_all(multi, slow)]
    under = f"{WHERE}{where}" if where else ""
    what = f"{START}{slow} spends to its median best, median over cells{under}"
    threshold = f"at least {_FEWER}" if required else ""
    found = [(arena, times_fewer(arena, multi, slow)) for arena in shared]
    counted = [(arena, factor) for arena, factor in found if factor is not None]
    if not counted:
        return Line(what, threshold, "-", None)
    factors = [factor for _, factor in counted]
    holds = median_reaches(factors, cells - len(shared), _FEWER)
    parts = [f"{len(counted)} of {cells} cells", *_notes(shared, counted, slow)]
    if holds is None:
        parts.append(not_yet(len(shared), cells))
    shown = f"{np.median(factors):.1f}"
    return Line(what, threshold, shown, holds if required else None, "; ".join(parts))


def _notes(
    shared: Sequence[Arena], counted: Sequence[tuple[Arena, float]], slow: str
) -> Iterator[str]:
    factors = [factor for _, factor in counted]
    yield f"{min(factors):.1f} to {max(factors):.1f}"
    stricter = [factor * found_after(arena, slow) / arena.samples for arena, factor in counted]
    yield (
        f"counted to the sample at which {slow} found its best instead of all it spends: "
        f"{np.median(stricter):.1f}"
    )
    yield f"{100 * valid_share(shared, slow):.3g} % of {slow}'s samples were valid"
    if len(counted) < len(shared):
        yield (
            f"not counted: {cells_told(len(shared) - len(counted))} where {slow}'s median search "
            "finds nothing valid"
        )
    if 0 in factors:
        never = cells_told(factors.count(0))
        yield f"0 for {never} where MARL's median search never gets there"


def median_reaches(factors: Sequence[float], missing: int, least: float) -> bool | None:
    """Say whether the median of some factors and missing ones is enough; None if these decide."""
    worst, best = (np.median([*factors, *[each] * missing]) >= least for each in (0.0, np.inf))
    return bool(best) if best == worst else None
