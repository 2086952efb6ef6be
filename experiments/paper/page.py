"""The page of results: the template with the figures of the result files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined, TemplateError

from experiments.paper.frame import Item
from experiments.paper.plan import Plan
from experiments.paper.verdicts import everywhere, tally
from experiments.shell.files import RecordError, ensure_directory, read_json, write_text

ABOUT = "about.json"
"""Beside an item's result files: where they come from."""


def write_page(plan: Plan) -> None:
    """Write the page and its pictures.

    Raises:
        RecordError: a result file cannot be read, or the page not be written.
    """
    items = {item.name: _shown(item) for item in plan.items}
    seconds = sum(each["about"]["own_seconds"] for each in items.values() if each)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters |= _FILTERS
    try:
        text = environment.get_template("results.md.j2").render(**items, seconds=seconds)
    except TemplateError as error:
        raise RecordError(f"cannot make {plan.page} from {plan.results}: {error}") from None
    ensure_directory(plan.page.parent)
    write_text(plan.page, re.sub(r"\n{3,}", "\n\n", text).strip() + "\n")


def _shown(item: Item) -> dict[str, Any] | None:
    """Return what the template shows of an item; None if it was not run yet."""
    path = item.path(ABOUT)
    if not path.exists():
        return None
    about = _read_about(path)
    ensure_directory(item.images)
    try:
        shown = item.view()
        item.draw()
    except RecordError:
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise RecordError(
            f"cannot read the results in {item.results / item.name}: {error}; "
            f"`{about['command']}` writes them anew"
        ) from None
    if about["finished"] < about["asked"]:
        # Missing searches may decide any claim.
        shown["verdicts"] = dict.fromkeys(shown["verdicts"])
    return {**shown, "about": about}


def _read_about(path: Path) -> dict[str, Any]:
    """Return where an item's results come from."""
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
