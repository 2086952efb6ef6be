"""What the flags of ``maestro-env paper`` ask for."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from experiments.paper.config import ITEMS, PaperConfig
from experiments.paper.frame import FULL, QUICK, Item
from experiments.search.goals import unique
from experiments.shell.flags import UsageError
from maestro_env.base.errors import UnknownNameError


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
    items = tuple(_kind(name)(scale, out / name, results, images) for name in ITEMS)
    asked = tuple(item for item in items if config.all or item.name in names)
    return Plan(items, asked, out, results, page)


def _kind(name: str) -> type[Item]:
    module, _, class_name = ITEMS[name].partition(":")
    kind: type[Item] = getattr(import_module(f"experiments.paper.{module}"), class_name)
    return kind
