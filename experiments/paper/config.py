"""The flags of ``experiments.paper``, and what they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from experiments.flags import UsageError, option
from experiments.goals import unique
from experiments.paper.item import FULL, QUICK, Item, Places, Scale
from experiments.paper.items import ITEMS
from maestro_env.errors import UnknownNameError

_IMAGES = Path("images") / "paper"
_SEPARATORS = ":,"


@dataclass(frozen=True)
class PaperConfig:
    """Make the paper's tables and figures; without --all and --only, the page from the results."""

    all: bool = option(False, "make every table and figure")
    only: str | None = option(
        None, f"make some of these, with commas between: {', '.join(ITEMS)}", value="names"
    )
    quick: bool = option(False, "a few layers, seeds and samples: does everything work?")
    jobs: int = option(1, "searches at a time, each in a process of its own", least=1, most=1024)
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
        "the page that is made of them, pictures in images/paper beside it "
        "(default: docs/results.md; OUT/results.md with --quick)",
        value="file",
    )


@dataclass(frozen=True)
class Plan:
    """A config resolved.

    Args:
        items: to be made; none if only the page is.
        scale: how much is run.
        jobs: searches at a time.
        out: directory of the searches.
        results: directory of the result files.
        page: file.
    """

    items: tuple[Item, ...]
    scale: Scale
    jobs: int
    out: Path
    results: Path
    page: Path

    def places(self, item: Item) -> Places:
        """Return where an item's files lie."""
        return Places(
            work=self.out / item.name,
            results=self.results / item.name,
            images=self.page.parent / _IMAGES,
            link=_IMAGES.as_posix(),
        )


def resolve(config: PaperConfig) -> Plan:
    """Look up everything a config names.

    Raises:
        MaestroEnvError: a name that does not exist, or flags that do not go together.
    """
    if config.all and config.only is not None:
        raise UsageError(f"--all and --only {config.only} do not go together: give one of them")
    out = Path(config.out or ("runs/paper-quick" if config.quick else "runs/paper"))
    if set(str(out)) & set(_SEPARATORS):
        raise UsageError(
            f"--out {out}: settings of mappers name files in it, and cannot hold a colon or a "
            "comma; give a directory without"
        )
    results, page = (
        (out / "results", out / "results.md")
        if config.quick
        else (Path("experiments/results"), Path("docs/results.md"))
    )
    return Plan(
        items=_items(config),
        scale=QUICK if config.quick else FULL,
        jobs=config.jobs,
        out=out,
        results=Path(config.results or results),
        page=Path(config.page or page),
    )


def _items(config: PaperConfig) -> tuple[Item, ...]:
    if config.all:
        return tuple(ITEMS.values())
    names = unique(config.only.split(",")) if config.only is not None else ()
    for name in names:
        if name not in ITEMS:
            raise UnknownNameError("item", name, ITEMS)
    return tuple(item for item in ITEMS.values() if item.name in names)
