"""The flags of ``experiments.paper``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.flags import UsageError, option
from experiments.goals import unique
from experiments.paper.decomposition import Decomposition
from experiments.paper.fig4 import Fig4
from experiments.paper.fig5 import Fig5
from experiments.paper.fig6 import Fig6
from experiments.paper.fig7 import Fig7
from experiments.paper.frame import FULL, QUICK, Item
from experiments.paper.optima import Optima
from experiments.paper.overhead import Overhead
from experiments.paper.table2 import Table2
from experiments.paper.table3 import MarlPaper, Table3
from maestro_env.errors import UnknownNameError

_KINDS = (Table2, Table3, MarlPaper, Optima, Fig4, Fig5, Decomposition, Fig6, Fig7, Overhead)
ITEMS: dict[str, type[Item]] = {kind.name: kind for kind in _KINDS}
"""The tables and figures by name, in the order of the page."""


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


@dataclass(frozen=True)
class Plan:
    """A config resolved.

    Args:
        items: all of them.
        asked: those to make; without any only the page is made.
        out: where searches are kept.
        results: directory of the result files.
        page: that is made from them.
    """

    items: tuple[Item, ...]
    asked: tuple[Item, ...]
    out: Path
    results: Path
    page: Path


def resolve(config: PaperConfig) -> Plan:
    """Look up everything a config names.

    Raises:
        MaestroEnvError: an unknown name, or flags that cannot be combined.
    """
    if config.all and config.only is not None:
        raise UsageError(f"--all and --only {config.only} cannot be combined: give one of them")
    out = Path(config.out or ("runs/paper-quick" if config.quick else "runs/paper"))
    if set(str(out)) & set(":,"):
        raise UsageError(
            f"--out {out}: settings of mappers name files in it, which allow no colon or comma; "
            "give a directory without"
        )
    names = unique(config.only.split(",")) if config.only is not None else ()
    for name in names:
        if name not in ITEMS:
            raise UnknownNameError("item", name, ITEMS)
    results, page = Path("experiments/results"), Path("docs/results.md")
    if config.quick:
        results, page = out / "results", out / "results.md"
    results, page = Path(config.results or results), Path(config.page or page)
    scale, images = QUICK if config.quick else FULL, page.parent / "images" / "paper"
    items = tuple(kind(scale, out / name, results, images) for name, kind in ITEMS.items())
    asked = tuple(item for item in items if config.all or item.name in names)
    return Plan(items, asked, out, results, page)
