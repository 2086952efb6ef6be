"""From flags to result files and the page: run what is missing, write what there is."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib import import_module
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from maestro_env.base.errors import UnknownNameError
from maestro_env.experiments.papers.paper.items import FULL, QUICK, Folder
from maestro_env.experiments.papers.paper.ledger import Run, in_turn, open_runs, run_rest
from maestro_env.experiments.papers.paper.page import ABOUT, write_about, write_page
from maestro_env.experiments.shell.flags import PROGRAM, UsageError, to_flags, unique
from maestro_env.experiments.shell.printing import print_errors, print_lines
from maestro_env.experiments.store.records import made_here
from maestro_env.experiments.store.running import Running


class Plan(NamedTuple):
    """The folders of all items, those of the items asked for, and the page."""

    folders: list[Folder]
    asked: list[Folder]
    page: Path


def resolve(config: Any, items: Sequence[str]) -> Plan:
    """Look up everything a config names, of these items.

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
        if name not in items:
            raise UnknownNameError("item", name, items)
    results, page = Path("experiments/results"), Path("docs/results.md")
    if config.quick:
        results, page = out / "results", out / "results.md"
    results, page = Path(config.results or results), Path(config.page or page)
    scale, images = QUICK if config.quick else FULL, page.parent / "images" / "paper"
    modules = [
        import_module(f"maestro_env.experiments.papers.paper.items.{name}") for name in items
    ]
    folders = [Folder(module.ITEM, scale, out, results, images) for module in modules]
    return Plan(folders, [each for each in folders if config.all or each.item.name in names], page)


def execute(config: Any, items: Sequence[str]) -> int:
    """Do what a config asks of these items and return the exit status."""
    folders, asked, page = resolve(config, items)
    out, results = folders[0].out, folders[0].results
    if not asked and not any(folder.path(ABOUT).exists() for folder in folders):
        raise UsageError(f"{results} has no results; make them with --all or --only NAMES")
    here = {**made_here(), "date": datetime.now(UTC).date().isoformat()}
    same = f"{PROGRAM} paper {shlex.join(to_flags(config))}"
    way_on = f"everything finished is in {out}; continue with: {same}"
    with Running(out, here, config.jobs, way_on=way_on) as running:
        if asked:
            _make(folders, asked, running)
        write_page(page, folders)
        if not running.interrupted:
            print_lines(f"page: {page}")
    return running.status


def _make(folders: Sequence[Folder], asked: Sequence[Folder], running: Running) -> None:
    """Run and write all items asked for."""
    runs = in_turn(chain.from_iterable(folder.runs for folder in asked))
    open_runs(running.directory, runs)
    for folder in asked:
        folder.prepare(folder.work)
    finished = run_rest(running, runs)
    before: set[Run] = set()
    for folder in folders:
        found = {run: finished[run] for run in folder.runs if run in finished}
        if folder in asked and folder.runs and not found:
            print_errors(f"{folder.item.name}: no search has ended yet")
        elif folder in asked:
            folder.write(found)
            write_about(folder, found, before)
        before.update(folder.runs)
