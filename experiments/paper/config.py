"""The flags of ``maestro-env paper``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.shell.flags import option

ITEMS: Mapping[str, str] = {
    "table2": "table2:Table2",
    "table3": "table3:Table3",
    "marl_paper": "table3:MarlPaper",
    "optima": "optima:Optima",
    "fig4": "fig4:Fig4",
    "fig5": "fig5:Fig5",
    "decomposition": "decomposition:Decomposition",
    "fig6": "fig6:Fig6",
    "fig7": "fig7:Fig7",
    "overhead": "overhead:Overhead",
}
"""The tables and figures in the order of the page: name to ``module:class`` beside this file."""


@dataclass(frozen=True)
class PaperConfig:
    """Make the paper's tables and figures; without --all and --only, the page from the results."""

    all: bool = option(False, "make every table and figure")
    only: str | None = option(
        None, f"make some of these, separated by commas: {', '.join(ITEMS)}", value="names"
    )
    quick: bool = option(False, "few layers, seeds and samples, to check that everything works")
    jobs: int = option(1, "number of searches at a time, one process each", least=1, most=1024)
    out: str | None = option(
        None,
        "where searches are kept; those that are there are not run again "
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
        "the page that is made from them, pictures in images/paper beside it "
        "(default: docs/results.md; OUT/results.md with --quick)",
        value="file",
    )
