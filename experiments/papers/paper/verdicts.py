"""Whether claims hold: three values, of which None is "not decided"."""

from __future__ import annotations

from collections.abc import Iterable


def at_least(low: float, high: float, threshold: float) -> bool | None:
    """Say whether what an interval is of reaches a threshold; None if the threshold is inside."""
    if low >= threshold:
        return True
    return False if high < threshold else None


def at_most(low: float, high: float, threshold: float) -> bool | None:
    """Say whether what an interval is of is within a threshold; None if that is inside."""
    return at_least(-high, -low, -threshold)


def everywhere(verdicts: Iterable[bool | None]) -> bool | None:
    """Say whether all hold: False if one does not, otherwise None if one is not decided."""
    found = list(verdicts)
    if False in found:
        return False
    return None if None in found or not found else True


def mostly(verdicts: Iterable[bool | None]) -> bool | None:
    """Say whether more than half hold; None if those not decided could change that."""
    yes, no, undecided = tally(verdicts)
    of = yes + no + undecided
    if 2 * yes > of:
        return True
    return False if 2 * no >= of and of else None


def tally(verdicts: Iterable[bool | None]) -> tuple[int, int, int]:
    """Return how many hold, how many do not, and how many are not decided."""
    found = list(verdicts)
    return found.count(True), found.count(False), found.count(None)
