"""From flags to result files and the page: run what is missing, write what there is."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import chain, takewhile

from experiments import cli
from experiments.files import ensure_directory, write_json
from experiments.flags import to_flags
from experiments.machine import processor, versions
from experiments.paper.config import ITEMS, PaperConfig, Plan, resolve
from experiments.paper.frame import Item
from experiments.paper.ledger import Finished, Run, in_turn, open_directory, read, run_rest
from experiments.paper.page import ABOUT, write_page


def execute(config: PaperConfig) -> int:
    """Do what a config asks and return the exit status."""
    plan = resolve(config)
    status = 0
    try:
        if plan.items:
            status = _make(plan)
        write_page(plan)
    except KeyboardInterrupt:
        status = cli.INTERRUPTED
    if status != cli.INTERRUPTED:
        print(f"page: {plan.page}")
        return status
    with cli.undisturbed():
        print(
            f"interrupted: what is finished is in {plan.out}; continue with: "
            f"python -m experiments.paper {shlex.join(to_flags(config))}",
            file=sys.stderr,
        )
    return status


def _make(plan: Plan) -> int:
    """Run and write all items asked for; return the exit status."""
    date = datetime.now(UTC).date().isoformat()
    here = {**versions(), "processor": processor(), "date": date}
    runs = in_turn(chain.from_iterable(item.runs(plan.scale) for item in plan.items))
    open_directory(plan.out, runs)
    for item in plan.items:
        item.prepare(plan.scale, plan.places(item))
    status = run_rest(plan.out, runs, read(plan.out, runs), plan.jobs, here)
    finished = read(plan.out, runs)
    for item in plan.items:
        _write(plan, item, finished)
    return status


def _write(plan: Plan, item: Item, finished: Mapping[Run, Finished]) -> None:
    asked = list(dict.fromkeys(item.runs(plan.scale)))
    found = {run: finished[run] for run in asked if run in finished}
    if asked and not found:
        print(f"{item.name}: no search has ended yet", file=sys.stderr)
        return
    places = plan.places(item)
    ensure_directory(places.results / item.name)
    item.write(found, plan.scale, places)
    before = takewhile(lambda each: each is not item, ITEMS.values())
    shared = set(chain.from_iterable(each.runs(plan.scale) for each in before))
    own = [each for run, each in found.items() if run not in shared]
    about = {**_about(item, plan, asked, found), "own_seconds": _seconds(own)}
    write_json(item.file(places.results, ABOUT), about)


def _about(
    item: Item, plan: Plan, asked: Sequence[Run], found: Mapping[Run, Finished]
) -> dict[str, object]:
    """Return what was asked for, what there is, and what it was computed by."""
    quick = " --quick" if plan.scale.name == "quick" else ""
    searches = list(found.values())
    return {
        "command": f"python -m experiments.paper --only {item.name}{quick}",
        "scale": asdict(plan.scale),
        "asked": len(asked),
        "finished": len(found),
        "missing": Counter(run.mapper for run in asked if run not in found),
        "seeds": sorted({run.seed for run in found}),
        "budgets": sorted({run.samples for run in asked}),
        "evaluations": sum(each.evaluations for each in searches),
        "warm_up": sum(each.warm_up for each in searches),
        "seconds": _seconds(searches),
        **{name: _counts(searches, name) for name in ("commit", "processor", "date")},
    }


def _seconds(searches: Sequence[Finished]) -> float:
    return round(sum(each.seconds for each in searches), 3)


def _counts(searches: Sequence[Finished], name: str) -> dict[str, int]:
    counts = Counter(str(each.versions.get(name)) for each in searches)
    return dict(sorted(counts.items()))
