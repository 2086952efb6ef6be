"""The flags of ``maestro-env verify``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.shell.flags import option


@dataclass(frozen=True)
class VerifyConfig:
    """Check that certificates prove their optima, with bounds that the search does not share."""

    certificate: tuple[str, ...] = option(MISSING, "files of the command optimum", several=True)
