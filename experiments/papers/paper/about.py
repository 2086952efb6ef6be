"""Where an item's results come from: written beside its result files, and read for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from maestro_env.experiments.papers.paper.frame import Folder
from maestro_env.experiments.papers.paper.ledger import Finished, Run
from maestro_env.experiments.shell.files import RecordError, read_json, write_json

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
