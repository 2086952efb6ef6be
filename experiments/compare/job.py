"""The comparison of mappers: run the searches that are not there yet, then make the tables."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from experiments import cli, flags
from experiments.cell_pool import run_cells
from experiments.cells import Cell, Finished, Work, read_cell
from experiments.compare.config import CompareConfig, Comparison, resolve
from experiments.compare.csv_tables import ledger_csv, seconds_csv, table_csv
from experiments.compare.plots import draw
from experiments.compare.tables import LEGEND, markdown, seconds_sheet, sheets
from experiments.files import (
    RecordError,
    is_empty,
    make_directory,
    read_json,
    write_json,
    write_text,
)
from experiments.goal_files import check_goal, write_goal
from experiments.goals import Goal
from experiments.machine import versions
from experiments.readback import check_same
from experiments.standings import Contest
from experiments.tables import print_table

_SETTINGS = "comparison.json"
_AGAIN = "--resume"


def execute(config: CompareConfig) -> int:
    """Do what a config asks and return the exit status."""
    comparison = resolve(config)
    warnings = _warnings(comparison)
    # Asking git takes a moment, in which an interrupt should leave nothing behind.
    versions_here = versions()
    directory = _open(comparison)
    finished = _read(comparison, directory)
    _write_settings(comparison, directory)
    for warning in warnings:
        print(f"warning: {warning}", file=sys.stderr)
    works = [
        Work(cell, _goal(comparison, cell), config.samples, directory, versions_here)
        for cell in comparison.cells()
        if cell not in finished
    ]
    status = _report(comparison, directory, run_cells(works, len(finished), config.jobs, _AGAIN))
    if status == cli.INTERRUPTED:
        resuming = flags.to_flags(replace(config, out=str(directory), resume=True))
        with cli.undisturbed():
            print(
                f"interrupted: what is finished is in {directory}; "
                f"continue with: python -m experiments.compare {shlex.join(resuming)}",
                file=sys.stderr,
            )
    return status


def _open(comparison: Comparison) -> Path:
    """Return the directory of a new comparison, or of one to resume."""
    config = comparison.config
    if not config.resume:
        return make_directory(config.out, "compare")
    if config.out is None:
        raise RecordError("--resume needs the directory of the comparison to continue: --out DIR")
    directory = Path(config.out)
    # A comparison killed at once has not come to write anything.
    if not is_empty(directory):
        _check_settings(comparison, directory)
    return directory


def _check_settings(comparison: Comparison, directory: Path) -> None:
    path = directory / _SETTINGS
    begun = read_json(path)
    check_same(path, begun, comparison.settings())
    _check_none_is_lost(comparison, directory, begun)
    for (layer, objective), goal in comparison.goals.items():
        check_goal(directory, layer, objective, goal)


def _check_none_is_lost(comparison: Comparison, directory: Path, begun: dict[str, Any]) -> None:
    """Check that every finished search is asked for: a comparison may grow, not shrink."""
    try:
        cells = begun["cells"]
        there = product(*(cells[f"{name}s"] for name in ("layer", "objective", "mapper", "seed")))
        lost = {Cell(*each) for each in there} - set(comparison.cells())
        kept = [str(cell) for cell in lost if cell.path(directory).exists()]
    except (LookupError, TypeError, AttributeError) as error:
        raise RecordError(f"{directory / _SETTINGS} does not say what was run: {error}") from None
    if kept:
        raise RecordError(
            f"{directory} has {len(kept)} searches that are not asked for, such as {min(kept)}: "
            f"name their layers, objectives, mappers and seeds too, or give another --out"
        )


def _write_settings(comparison: Comparison, directory: Path) -> None:
    # First, so that whatever lies in the directory belongs to these settings.
    write_json(directory / _SETTINGS, comparison.describe())
    for (layer, objective), goal in comparison.goals.items():
        write_goal(directory, layer, objective, goal)


def _goal(comparison: Comparison, cell: Cell) -> Goal:
    return comparison.goals[cell.layer, cell.objective]


def _read(comparison: Comparison, directory: Path) -> dict[Cell, Finished]:
    """Return the finished cells among those asked for."""
    samples = comparison.config.samples
    read = {
        cell: read_cell(directory, cell, _goal(comparison, cell), samples, _AGAIN)
        for cell in comparison.cells()
    }
    return {cell: each for cell, each in read.items() if each is not None}


def _warnings(comparison: Comparison) -> list[str]:
    warnings = (goal.problem.stride_warning() for goal in comparison.goals.values())
    return list(dict.fromkeys(each for each in warnings if each))


def _report(comparison: Comparison, directory: Path, status: int) -> int:
    """Write and show the tables; return the exit status of this and the searches."""
    try:
        finished = _read(comparison, directory)
        if not finished:
            return status
        _write_tables(comparison, directory, _contests(comparison, finished))
        _tell_commits(finished)
    except KeyboardInterrupt:
        return cli.INTERRUPTED
    return status


def _contests(comparison: Comparison, finished: Mapping[Cell, Finished]) -> list[Contest]:
    made = []
    for (layer, objective), goal in comparison.goals.items():
        searches = {
            mapper: [
                finished[cell]
                for seed in comparison.seeds
                if (cell := Cell(layer, objective, mapper, seed)) in finished
            ]
            for mapper in comparison.mappers
        }
        made.append(Contest(layer, objective, goal, searches))
    return made


def _write_tables(comparison: Comparison, directory: Path, contests: Sequence[Contest]) -> None:
    tables = list(sheets(comparison, contests))
    write_text(directory / "table.md", markdown(comparison, tables))
    write_text(directory / "table.csv", table_csv(comparison, contests))
    write_text(directory / "ledger.csv", ledger_csv(comparison, contests))
    write_text(directory / "seconds.csv", seconds_csv(contests))
    pictures = list(draw(comparison, contests, directory))
    for sheet in (*tables, seconds_sheet(comparison, contests)):
        print_table(sheet.table())
        print()
    print(LEGEND)
    print(f"tables: {directory / 'table.md'}")
    for path in pictures:
        print(f"plot: {path}")


def _tell_commits(finished: Mapping[Cell, Finished]) -> None:
    commits = Counter(str(each.versions.get("commit")) for each in finished.values())
    if len(commits) > 1:
        counts = ", ".join(f"{commit} ({count})" for commit, count in commits.items())
        print(f"note: the searches come from {len(commits)} commits: {counts}", file=sys.stderr)
