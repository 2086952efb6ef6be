"""Where an item's results come from: kept beside them, told on the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import asdict
from pathlib import Path
from typing import Any

from experiments.cells import Finished
from experiments.files import RecordError, read_json, write_json
from experiments.paper.item import Item, Run, Scale

_FILE = "about.json"
_HOUR = 3600


def write_about(
    results: Path,
    item: Item,
    scale: Scale,
    asked: Sequence[Run],
    finished: Mapping[Run, Finished],
    shared: Set[Run],
) -> None:
    """Write what was asked for, what is there, and what it was computed by.

    Args:
        results: directory of the item's result files.
        item: whose they are.
        scale: of what was run.
        asked: all of its searches.
        finished: those that have ended.
        shared: searches of the items before it on the page.
    """
    quick = " --quick" if scale.name == "quick" else ""
    found = list(finished.values())
    own = [each for run, each in finished.items() if run not in shared]
    write_json(
        results / _FILE,
        {
            "command": f"python -m experiments.paper --only {item.name}{quick}",
            "scale": asdict(scale),
            "asked": len(asked),
            "finished": len(found),
            "missing": Counter(run.mapper for run in asked if run not in finished),
            "seeds": sorted({run.seed for run in asked}),
            "budgets": sorted({run.samples for run in asked}),
            "evaluations": sum(each.evaluations for each in found),
            "warm_up": sum(each.warm_up for each in found),
            "seconds": _seconds(found),
            "own_seconds": _seconds(own),
            **{name: _counts(found, name) for name in ("commit", "processor", "date")},
        },
    )


def read_about(results: Path) -> dict[str, Any] | None:
    """Return what is kept beside an item's results; None if there are none.

    Raises:
        RecordError: it cannot be read, or is something else.
    """
    path = results / _FILE
    if not path.exists():
        return None
    about = read_json(path)
    wrong = [name for name, is_so in _ENTRIES.items() if not is_so(about.get(name))]
    if about.get("asked") and not about.get("seeds"):
        wrong.append("seeds")
    if wrong:
        raise RecordError(
            f"cannot read {path}: no valid {', '.join(wrong)}; the command that made it writes it "
            "anew"
        )
    return about


def _is_number(value: object) -> bool:
    return type(value) in (int, float)


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0


def _are_counts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


def _is_tally(value: object) -> bool:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


_ENTRIES: Mapping[str, Callable[[object], bool]] = {
    "command": lambda value: isinstance(value, str),
    **dict.fromkeys(("asked", "finished", "evaluations", "warm_up"), _is_count),
    **dict.fromkeys(("seconds", "own_seconds"), _is_number),
    **dict.fromkeys(("seeds", "budgets"), _are_counts),
    **dict.fromkeys(("missing", "commit", "processor", "date"), _is_tally),
}
"""What the page needs of it."""


def provenance(about: dict[str, Any]) -> str:
    """Return what the page says of where an item's results come from."""
    lines = [f"`{about['command']}`"]
    if about["asked"]:
        budgets = ", ".join(f"{each:,}" for each in about["budgets"])
        lines.append(
            f"{_how_many(about)}; samples of a search: {budgets}; seeds {min(about['seeds'])} to "
            f"{max(about['seeds'])}; {about['evaluations']:,} samples and {about['warm_up']:,} of "
            f"warm-up in {about['seconds'] / _HOUR:.2f} core-hours"
        )
        lines.append(
            f"commit {_names(about['commit'])}; {_names(about['date'])}; "
            f"{_names(about['processor'])}"
        )
    return ".\n".join(lines) + "."


def _how_many(about: dict[str, Any]) -> str:
    if about["asked"] == about["finished"]:
        return f"All {about['asked']:,} searches"
    missing = ", ".join(f"{count} of `{mapper}`" for mapper, count in about["missing"].items())
    return f"**{about['finished']:,} of {about['asked']:,} searches** (missing: {missing})"


def _seconds(found: Iterable[Finished]) -> float:
    return round(sum(each.seconds for each in found), 3)


def _counts(found: Iterable[Finished], name: str) -> dict[str, int]:
    counts = Counter(str(each.versions.get(name)) for each in found)
    return dict(sorted(counts.items()))


def _names(counts: dict[str, int]) -> str:
    if len(counts) < 2:
        return "".join(counts)
    return ", ".join(f"{name} ({count:,})" for name, count in counts.items())
