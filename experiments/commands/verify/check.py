"""Checks a certificate."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from experiments.commands.verify.stream import (
    CertificateError,
    Claim,
    Stream,
    open_stream,
    read_claim,
)
from experiments.commands.verify.tree import Tally, Tree
from experiments.shown.progress import Bar


@dataclass(frozen=True)
class Verified:
    """A certificate that holds.

    Args:
        claim: what it proves.
        tally: what was checked.
        seconds: that took.
        digest: SHA-256 of its content.
    """

    claim: Claim
    tally: Tally
    seconds: float
    digest: str


def verify(path: Path) -> Verified:
    """Check a certificate.

    Raises:
        CertificateError: it cannot be read, or does not hold.
    """
    began = time.perf_counter()
    with open_stream(path) as stream, Bar("checked", stream.size) as bar:
        claim, tally = read_claim(stream.line()), Tally()
        _check_optimum(claim)
        Tree(stream, claim, tally).check(lambda: _show(bar, stream, tally))
        return Verified(claim, tally, time.perf_counter() - began, stream.digest)


def _check_optimum(claim: Claim) -> None:
    """Require that the claimed vector has the claimed value, to the last bit."""
    if claim.point is None:
        return
    points = claim.problem.space.as_points([claim.point], 1)
    (value,) = claim.problem.score(points, claim.objective)[0].tolist()
    if value != claim.value:
        raise CertificateError(f"the optimum's point costs {value}, but claimed is {claim.value}")


def _show(bar: Bar, stream: Stream, tally: Tally) -> None:
    bar.show(stream.position, f"{tally.left_out:,} boxes, {tally.mappings:,} mappings")
