"""Checks certificates one after the other."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import MISSING, dataclass
from pathlib import Path

from experiments import cli
from experiments.flags import option
from experiments.progress import Bar
from experiments.sheets import Sheet, shown, significant
from experiments.verify.stream import CertificateError, Claim, Stream, open_stream, read_claim
from experiments.verify.tree import Tally, Tree


@dataclass(frozen=True)
class VerifyConfig:
    """Check that certificates prove their optima, with bounds of our own."""

    certificate: tuple[str, ...] = option(MISSING, "files of experiments.optimum", several=True)


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


def execute(config: VerifyConfig) -> int:
    """Check, print, and return the exit status."""
    verified, status = [], 0
    for name in config.certificate:
        try:
            verified.append(verify(Path(name)))
        except CertificateError as error:
            print(f"refused: {shown(name)}: {error}", file=sys.stderr)
            status = cli.FAILED
    if verified:
        _sheet(verified).print()
    return status


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


def _sheet(verified: list[Verified]) -> Sheet:
    left = ("layer", "hardware", "objective")
    right = ("optimum", "bound", "gap", "boxes\nleft out", "mappings", "seconds", "digest")
    rows = []
    for each in verified:
        claim = each.claim
        problem = claim.problem
        rows.append(
            (
                str(problem.layer),
                problem.hardware.name or str(problem.hardware),
                claim.objective.name,
                significant(claim.value, 7),
                significant(claim.bound, 7),
                _gap(claim),
                f"{each.tally.left_out:,}",
                f"{each.tally.mappings:,}",
                f"{each.seconds:.1f}",
                each.digest[:16],
            )
        )
    note = ""
    if any(math.isinf(each.claim.bound) for each in verified):
        note = "without a bound: no mapping fits the buffers"
    return Sheet("verified", left, right, rows, note)


def _gap(claim: Claim) -> str:
    if claim.point is None:
        return "-"
    return "0" if claim.bound == claim.value else f"{claim.value / claim.bound - 1:.3%}"
