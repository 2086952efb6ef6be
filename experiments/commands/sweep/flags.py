"""The flags of ``maestro-env sweep``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from experiments.search.goals import RAY_HELP
from experiments.shell.flags import option


@dataclass(frozen=True)
class Config:
    """Search every cell that a file describes; write one table, and totals of the networks.

    Processes of several machines can work on one directory.
    """

    config: str = option(MISSING, "YAML file of the axes (docs/howto.md)")
    dry_run: bool = option(False, "print the cells and an estimate of core-hours; write nothing")
    jobs: int = option(1, "searches at a time, each in a process of its own", least=1, most=1024)
    ray: str | None = option(None, RAY_HELP, value="address")
    shard: str | None = option(
        None, "search a part alone, such as 2/4 for the second of four", value="i/n"
    )
    slurm: int | None = option(
        None, "write a Slurm script of so many tasks, and search nothing", 1, 100_000, kind=int
    )
    out: str | None = option(
        None, "where to write (default: a new directory below runs/)", value="directory"
    )
    resume: bool = option(False, "continue what is in --out, or join processes that work on it")
