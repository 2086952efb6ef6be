"""The page of results: the template with the figures of the result files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import TemplateError

from maestro_env.experiments.papers.paper.about import ABOUT, read_about
from maestro_env.experiments.papers.paper.frame import Folder
from maestro_env.experiments.papers.paper.reach import everywhere, tally
from maestro_env.experiments.shell.files import RecordError, ensure_directory, write_text
from maestro_env.experiments.shown.plots import drawn
from maestro_env.experiments.shown.templates import templates


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
