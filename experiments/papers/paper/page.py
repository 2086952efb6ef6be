"""The page of results: what it says of a result, and its template with the figures of the files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import TemplateError

from maestro_env.experiments.pages.writer import templates
from maestro_env.experiments.papers.paper.items import Folder
from maestro_env.experiments.papers.paper.ledger import Finished, Run
from maestro_env.experiments.papers.paper.reach import everywhere, tally
from maestro_env.experiments.shell.files import (
    RecordError,
    ensure_directory,
    read_json,
    write_json,
    write_text,
)
from maestro_env.experiments.shown.plots import drawn

ABOUT = "about.json"


def write_about(folder: Folder, found: Mapping[Run, Finished], before: Collection[Run]) -> None:
    """Write what was asked for, what there is, and what it was computed by.

    Searches that items before it have are not its own.
    """
    asked, searches = folder.runs, list(found.values())
    quick = " --quick" if folder.scale.name == "quick" else ""
    about = {
        "command": f"maestro-env paper --only {folder.item.name}{quick}",
        "scale": asdict(folder.scale),
        "asked": len(asked),
        "finished": len(found),
        "missing": Counter(run.mapper for run in asked if run not in found),
        "seeds": sorted({run.seed for run in found}),
        "budgets": sorted({run.samples for run in asked}),
        "evaluations": sum(each.evaluations for each in searches),
        "warm_up": sum(each.warm_up for each in searches),
        "seconds": _seconds(searches),
        **{
            name: dict(sorted(Counter(str(each.versions.get(name)) for each in searches).items()))
            for name in ("commit", "processor", "date")
        },
        "own_seconds": _seconds(each for run, each in found.items() if run not in before),
    }
    write_json(folder.path(ABOUT), about)


def read_about(folder: Folder) -> dict[str, Any]:
    """Return what ``write_about`` wrote.

    Raises:
        RecordError: it cannot be read.
    """
    path = folder.path(ABOUT)
    about = read_json(path)
    kinds: dict[str, Any] = {
        **dict.fromkeys(("asked", "finished", "evaluations", "warm_up"), int),
        **dict.fromkeys(("seconds", "own_seconds"), (int, float)),
        **dict.fromkeys(("missing", "commit", "processor", "date"), dict),
        **dict.fromkeys(("seeds", "budgets"), list),
        "command": str,
    }
    wrong = [name for name, kind in kinds.items() if not isinstance(about.get(name), kind)]
    if wrong:
        raise RecordError(
            f"cannot read {path}: no valid {', '.join(wrong)}; the command that made it writes it"
        )
    return about


def _seconds(searches: Iterable[Finished]) -> float:
    return round(sum(each.seconds for each in searches), 3)


def write_page(page: Path, folders: Sequence[Folder]) -> None:
    """Write the page, then its pictures.

    Raises:
        RecordError: a result file cannot be read, or the page not be written.
    """
    items = {folder.item.name: _shown(folder) for folder in folders}
    seconds = sum(each["about"]["own_seconds"] for each in items.values() if each)
    environment = templates(Path(__file__).parent)
    environment.filters |= _FILTERS
    try:
        text = environment.get_template("results.md.j2").render(**items, seconds=seconds)
    except TemplateError as error:
        results = folders[0].results
        raise RecordError(f"cannot make {page} from {results}: {error}") from None
    ensure_directory(page.parent)
    write_text(page, re.sub(r"\n{3,}", "\n\n", text).strip() + "\n")
    for folder in folders:
        if items[folder.item.name]:
            ensure_directory(folder.images)
            drawn(partial(folder.item.draw, folder))


def _shown(folder: Folder) -> dict[str, Any] | None:
    """Return what the template shows of an item; None if it was not run yet."""
    if not folder.path(ABOUT).exists():
        return None
    about = read_about(folder)
    try:
        shown = folder.item.view(folder)
    except RecordError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise RecordError(
            f"cannot read the results in {folder.path('')}: {error}; "
            f"`{about['command']}` writes them anew"
        ) from None
    if about["finished"] < about["asked"]:
        # Missing searches may decide any claim.
        shown["verdicts"] = dict.fromkeys(shown["verdicts"])
    return {**shown, "about": about}


def _median(values: Sequence[float], form: str) -> str:
    """Return the median of some values, if there are any."""
    return form % np.median(values) if values else "-"


_FILTERS: dict[str, Callable[..., object]] = {
    "median": _median,
    "tally": tally,
    "everywhere": everywhere,
    "span": "{0[0]:.2f} to {0[1]:.2f}".format,
    "percent": "{:.0%}".format,
    "power": "10^{:.1f}".format,
    "thousands": "{:,}".format,
}
