"""When intervals decide a claim: not by their middle."""

from __future__ import annotations

from collections.abc import Iterable


def at_least(low: float, high: float, threshold: float) -> bool | None:
    """Say whether what an interval is of reaches a threshold; None if the interval holds it."""
    if low >= threshold:
        return True
    return False if high < threshold else None


def everywhere(verdicts: Iterable[bool | None]) -> bool | None:
    """Say whether all of some hold: one that does not is enough; None if one is not decided."""
    found = list(verdicts)
    if False in found:
        return False
    return None if None in found else True


def mostly(yes: int, no: int, of: int) -> bool | None:
    """Say whether more than half hold; None if those not told apart decide."""
    if 2 * yes > of:
        return True
    return False if 2 * no >= of and of else None
