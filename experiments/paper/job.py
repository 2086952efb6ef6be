"""From flags to result files and the page: run what is missing, write what there is."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain

from experiments.paper.config import PaperConfig
from experiments.paper.frame import Item
from experiments.paper.ledger import Finished, Run, in_turn, open_directory, read, run_rest
from experiments.paper.page import ABOUT, write_page
from experiments.paper.plan import Plan, resolve
from experiments.shell import cli
from experiments.shell.files import ensure_directory, write_json
from experiments.shell.flags import PROGRAM, UsageError, to_flags
from experiments.store.versions import processor, versions


def execute(config: PaperConfig) -> int:
    """Do what a config asks and return the exit status."""
    plan = resolve(config)
    status = 0
    if not plan.asked and not any(item.path(ABOUT).exists() for item in plan.items):
        raise UsageError(f"{plan.results} has no results; make them with --all or --only NAMES")
    try:
        if plan.asked:
            status = _make(plan, config.jobs)
        write_page(plan)
    except KeyboardInterrupt:
        status = cli.INTERRUPTED
    if status != cli.INTERRUPTED:
        print(f"page: {plan.page}")
        return status
    with cli.undisturbed():
        print(
            f"interrupted: what is finished is in {plan.out}; continue with: "
            f"{PROGRAM} paper {shlex.join(to_flags(config))}",
            file=sys.stderr,
        )
    return status


def _make(plan: Plan, jobs: int) -> int:
    """Run and write all items asked for; return the exit status."""
    date = datetime.now(UTC).date().isoformat()
    here = {**versions(), "processor": processor(), "date": date}
    runs = in_turn(chain.from_iterable(item.runs() for item in plan.asked))
    open_directory(plan.out, runs)
    for item in plan.asked:
        item.prepare()
    status = run_rest(plan.out, runs, jobs, here)
    finished = read(plan.out, runs)
    before: set[Run] = set()
    for item in plan.items:
        if item in plan.asked:
            _write(item, finished, before)
        before.update(item.runs())
    return status


def _write(item: Item, finished: Mapping[Run, Finished], before: Set[Run]) -> None:
    """Write the files of an item; searches that items before it have are not its own."""
    asked = list(dict.fromkeys(item.runs()))
    found = {run: finished[run] for run in asked if run in finished}
    if asked and not found:
        print(f"{item.name}: no search has ended yet", file=sys.stderr)
        return
    ensure_directory(item.path(ABOUT).parent)
    item.write(found)
    quick = " --quick" if item.scale.name == "quick" else ""
    searches = list(found.values())
    # What was asked for, what there is, and what it was computed by.
    about = {
        "command": f"maestro-env paper --only {item.name}{quick}",
        "scale": asdict(item.scale),
        "asked": len(asked),
        "finished": len(found),
        "missing": Counter(run.mapper for run in asked if run not in found),
        "seeds": sorted({run.seed for run in found}),
        "budgets": sorted({run.samples for run in asked}),
        "evaluations": sum(each.evaluations for each in searches),
        "warm_up": sum(each.warm_up for each in searches),
        "seconds": _seconds(searches),
        **{name: _counts(searches, name) for name in ("commit", "processor", "date")},
        "own_seconds": _seconds(each for run, each in found.items() if run not in before),
    }
    write_json(item.path(ABOUT), about)


def _seconds(searches: Iterable[Finished]) -> float:
    return round(sum(each.seconds for each in searches), 3)


def _counts(searches: Iterable[Finished], name: str) -> dict[str, int]:
    counts = Counter(str(each.versions.get(name)) for each in searches)
    return dict(sorted(counts.items()))
