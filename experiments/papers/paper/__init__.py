"""``maestro-env paper``: make the tables and figures of the paper."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.flags import option

ITEMS = (
    *("table2", "table3", "marl_paper", "optima", "fig4", "fig5", "decomposition", "fig6", "fig7"),
    "overhead",
)
"""The tables and figures in the order of the page, a file of ``items`` each."""


@dataclass(frozen=True)
class Config:
    """Make the paper's tables and figures; without --all and --only, the page from the results."""

    all: bool = option(False, "make every table and figure")
    only: str | None = option(
        None, f"make some of these, separated by commas: {', '.join(ITEMS)}", value="names"
    )
    quick: bool = option(False, "few layers, seeds and samples, to check that everything works")
    jobs: int = option(1, "number of searches at a time, one process each", least=1, most=1024)
    out: str | None = option(
        None,
        "where searches are kept; existing ones are not run again "
        "(default: runs/paper; runs/paper-quick with --quick)",
        value="directory",
    )
    results: str | None = option(
        None,
        "where result files go (default: experiments/results; OUT/results with --quick)",
        value="directory",
    )
    page: str | None = option(
        None,
        "the page made from them, with pictures in images/paper next to it "
        "(default: docs/results.md; OUT/results.md with --quick)",
        value="file",
    )


def execute(config: Config) -> int:
    """Do what the flags ask and return the exit status."""
    with cli.importing():
        from maestro_env.experiments.papers.paper import job
    return job.execute(config, ITEMS)
