"""``maestro-env verify``: check the proofs that the command optimum writes.

It shares no code with the search that writes them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

from maestro_env.accelerators.finding import named_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import technology_text
from maestro_env.experiments.commands.verify.certificate.check import Verified, verify
from maestro_env.experiments.commands.verify.certificate.claim import CertificateError
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.flags import option
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.shown.tables import printable_name


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
    space, objective = claim.problem.space, claim.objective
    hardware = space.hardware
    known = named_hardware(hardware.name) == hardware
    where = f"{space.layer} on {hardware.name if known else 'an accelerator of its own'}"
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
    # Names of accelerators do not count.
    facts = [space.layer.shape, hardware.record() | {"name": ""}, space.schema, space.tiles]
    text = json.dumps([*facts, objective.name], sort_keys=True)
    problem = hashlib.sha256(text.encode()).hexdigest()
    digests = f"digest {verified.digest[:16]}, of the problem {problem[:16]}"
    yield f"{where}: {proven} ({work}; {digests})"
    yield f"accelerator: {_figures(hardware)}"


def _figures(hardware: Hardware) -> str:
    """Return all that an accelerator has but its name, as ``--hardware`` takes it."""
    said = {each.name: getattr(hardware, each.name) for each in fields(Hardware)}
    said["technology"] = technology_text(hardware.technology)
    return ",".join(f"{key}={value}" for key, value in said.items() if key != "name")
