"""From flags to result files and the page: run what is missing, write what there is."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from itertools import chain, takewhile

from experiments import cli
from experiments.cells import Finished, Versions
from experiments.files import ensure_directory
from experiments.flags import to_flags
from experiments.machine import processor, versions
from experiments.paper.about import write_about
from experiments.paper.config import PaperConfig, Plan, resolve
from experiments.paper.item import Item, Run, Scale
from experiments.paper.items import ITEMS
from experiments.paper.page import write_page
from experiments.paper.searches import in_turn, open_directory, read, run_rest


def execute(config: PaperConfig) -> int:
    """Do what a config asks and return the exit status."""
    plan = resolve(config)
    here = _here()
    status = 0
    try:
        if plan.items:
            status = _make(plan, here)
        write_page(plan)
    except KeyboardInterrupt:
        status = cli.INTERRUPTED
    if status == cli.INTERRUPTED:
        with cli.undisturbed():
            print(
                f"interrupted: what is finished is in {plan.out}; continue with: "
                f"python -m experiments.paper {shlex.join(to_flags(config))}",
                file=sys.stderr,
            )
        return status
    print(f"page: {plan.page}")
    return status


def _here() -> Versions:
    return {
        **versions(),
        "processor": processor(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def _make(plan: Plan, here: Versions) -> int:
    """Run and write all items asked for; return the exit status."""
    runs = in_turn(chain.from_iterable(item.runs(plan.scale) for item in plan.items))
    open_directory(plan.out, runs)
    for item in plan.items:
        item.prepare(plan.scale, plan.places(item))
    there = read(plan.out, runs)
    status = run_rest(plan.out, runs, there, plan.jobs, here) if len(there) < len(runs) else 0
    _write(plan, read(plan.out, runs))
    return status


def _write(plan: Plan, finished: Mapping[Run, Finished]) -> None:
    for item in plan.items:
        asked = list(dict.fromkeys(item.runs(plan.scale)))
        found = {run: finished[run] for run in asked if run in finished}
        if asked and not found:
            print(f"{item.name}: no search has ended yet", file=sys.stderr)
            continue
        places = plan.places(item)
        ensure_directory(places.results)
        item.write(found, plan.scale, places)
        write_about(places.results, item, plan.scale, asked, found, _runs_before(item, plan.scale))


def _runs_before(item: Item, scale: Scale) -> frozenset[Run]:
    before = takewhile(lambda each: each is not item, ITEMS.values())
    return frozenset(chain.from_iterable(each.runs(scale) for each in before))
