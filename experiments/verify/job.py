"""Checks certificates one after the other."""

from __future__ import annotations

import math
import sys
from dataclasses import MISSING, dataclass
from pathlib import Path

from experiments import cli
from experiments.flags import option
from experiments.sheets import Sheet, shown, significant
from experiments.verify.check import Verified, verify
from experiments.verify.stream import CertificateError, Claim


@dataclass(frozen=True)
class VerifyConfig:
    """Check that certificates prove their optima, with bounds of our own."""

    certificate: tuple[str, ...] = option(MISSING, "files of experiments.optimum", several=True)


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
                problem.hardware.name or "unnamed",
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
