"""The flags of ``maestro-env sweep``."""

from __future__ import annotations

from dataclasses import MISSING, dataclass

from maestro_env.experiments.shell.flags import (
    jobs_option,
    option,
    out_option,
    ray_option,
    resume_option,
)


@dataclass(frozen=True)
class Config:
    """Search every cell that a file describes; write one table, and totals of the networks.

    Processes of several machines can work on one directory.
    """

    config: str = option(MISSING, "YAML file of the axes (docs/howto.md)")
    dry_run: bool = option(False, "print the cells and an estimate of core-hours; write nothing")
    jobs: int = jobs_option()
    ray: str | None = ray_option()
    shard: str | None = option(
        None, "search only a part, such as 2/4 for the second of four", value="i/n"
    )
    slurm: int | None = option(
        None, "write a Slurm script of this many tasks; search nothing", 1, 100_000, kind=int
    )
    out: str | None = out_option()
    resume: bool = resume_option()
