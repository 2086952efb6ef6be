"""``maestro-env verify``: check the proofs that the command optimum writes.

It shares no code with the search that writes them.
"""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass
from pathlib import Path

from experiments.commands.verify.certificate.check import Verified, verify
from experiments.commands.verify.certificate.stream import CertificateError
from experiments.shell import cli
from experiments.shell.flags import option
from experiments.shell.telling import say, tell
from experiments.shown.tables import shown


@dataclass(frozen=True)
class Config:
    """Check that certificates prove their optima, with bounds that the search does not share."""

    certificate: tuple[str, ...] = option(
        MISSING, "files of the command optimum, or its directories", several=True
    )


def execute(config: Config) -> int:
    """Check, print, and return the exit status."""
    status = 0
    for name in config.certificate:
        path = Path(name)
        file = path / "certificate.gz" if path.is_dir() else path
        try:
            say(f"verified: {shown(name)}: {_told(verify(file))}")
        except CertificateError as error:
            tell(f"refused: {shown(str(file))}: {error}")
            status = cli.FAILED
    return status


def _told(verified: Verified) -> str:
    """Say in words what a certificate proves."""
    claim = verified.claim
    space, objective = claim.problem.space, claim.objective
    where = f"{space.layer} on {space.hardware.name or 'a machine without a name'}"
    mappings = f"no mapping of {space.schema} ({space.tiles})"
    if math.isinf(claim.bound):
        proven = f"{mappings} fits the buffers"
    else:
        unit = objective.unit
        proven = f"{mappings} has less {objective.name} than {claim.bound!r} {unit}"
        if claim.point is not None and claim.value == claim.bound:
            proven += ", which the vector in the file has"
        elif claim.point is not None:
            proven += f"; the vector in the file has {claim.value!r}"
    work = f"{verified.tally}, {verified.seconds:.1f} s"
    return f"{where}: {proven} ({work}; digest {verified.digest[:16]})"
