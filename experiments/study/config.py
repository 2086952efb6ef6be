"""The flags of every command that conducts a study."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.experiments.search.goals import AnyProblemConfig
from maestro_env.experiments.shell.flags import (
    jobs_option,
    option,
    out_option,
    ray_option,
    resume_option,
    svg_option,
    threads_option,
)


@dataclass(frozen=True)
class _Budget:
    """The flags that say how much is spent on a problem."""

    samples: int = option(20_000, "evaluations of one search", least=1)
    seeds: int = option(
        10, "searches per layer, objective and mapper, one per seed", least=1, most=10_000
    )
    seed: int = option(0, "the first seed; the others count up from it")
    library: str | None = option(
        None,
        "library of mapped layers to start from, which map writes; cache: the user's own",
        value="file",
    )


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class StudyConfig(AnyProblemConfig, _Budget):
    """The flags of a study but for its layers, objectives and mappers."""

    threads: int = threads_option()
    jobs: int = jobs_option()
    ray: str | None = ray_option()
    out: str | None = out_option()
    resume: bool = resume_option(extended=True)
    svg: bool = svg_option()
    verbose: bool = option(False, "print the full tables, the ledger and the times too")
