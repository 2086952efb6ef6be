"""The flags of ``maestro-env report``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.shell.flags import option


@dataclass(frozen=True)
class ReportConfig:
    """Write report.html (one page without any other file), report.md and report.csv."""

    directories: tuple[str, ...] = option(
        MISSING, "what map, run or compare has written", value="directory", several=True
    )
    out: str | None = option(
        None, "where to write (default: the first directory)", value="directory"
    )
