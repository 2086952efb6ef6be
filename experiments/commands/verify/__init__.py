"""``maestro-env verify``: check the proofs that the command optimum writes.

It shares no code with the search that writes them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.experiments.commands.verify.check import Verified, verify
from maestro_env.experiments.commands.verify.claim import CertificateError
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.flags import option
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.tables import printable_name
from maestro_env.models import room_of


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
            proven, *more = _told(verify(file))
            print_lines(f"verified: {printable_name(name)}: {proven}", *more)
        except CertificateError as error:
            print_errors(f"refused: {printable_name(str(file))}: {error}")
            status = cli.FAILED
    return status


def _told(verified: Verified) -> Iterator[str]:
    """Yield what a certificate proves, in words, and the figures of its accelerator.

    The file may be anybody's, so a name counts only where all figures are those of this name.
    """
    claim = verified.claim
    problem, objective = claim.problem, claim.objective
    where = f"{problem.layer} on {_name(problem.hardware)}"
    mappings = f"no mapping of {_kind(problem)}"
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
    # Names of accelerators do not count.
    room = room_of(problem.model)
    unnamed: Any = problem.hardware
    record = room.record(replace(unnamed, name=""))
    facts = [problem.layer.shape, record, *_space(problem)]
    text = json.dumps([*facts, objective.name], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    digests = f"digest {verified.digest[:16]}, of the problem {digest[:16]}"
    yield f"{where}: {proven} ({work}; {digests})"
    yield f"accelerator: {room.all_fields(problem.hardware)}"


def _space(problem: AnyProblem) -> tuple[str, str]:
    """Return the schema and the tiles of a space."""
    space: Any = problem.space
    return problem.schema, space.tiles


def _kind(problem: AnyProblem) -> str:
    schema, tiles = _space(problem)
    return f"{schema or 'equal shares'} ({tiles})"


def _name(hardware: Accelerator) -> str:
    """Return the name of an accelerator that has all the figures of this name."""
    known = room_of(hardware.MODEL).published(hardware.name)
    return hardware.name if known == hardware else "an accelerator of its own"
