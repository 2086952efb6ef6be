"""``maestro-env audit``: score a run's best mappings under both cost models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path

from maestro_env.experiments.commands.audit.scores import (
    NONE,
    Auditor,
    headers_of,
    is_sweep,
    tables_of,
)
from maestro_env.experiments.search.cells import Finished
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shell.flags import option, svg_option
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.study.study import read_all


@dataclass(frozen=True)
class Config:
    """Score a run's best mappings under both models: are their figures possible?"""

    rundir: str = option(MISSING, "directory of run, compare, sweep or codesign")
    exploit: str | None = option(
        None,
        "repeat the searches for latency under maestro without the guard, and draw in this "
        "directory how they exploit its errors",
        value="directory",
    )
    svg: bool = svg_option()


def execute(config: Config) -> int:
    """Score, print, and return the exit status."""
    directory = Path(config.rundir)
    if config.exploit is not None:
        # It draws, which takes a while to import.
        from maestro_env.experiments.commands.audit.exploitation import show_exploitation

        show_exploitation(directory, Path(config.exploit), config.svg)
        return 0
    tables = tables_of(directory) if is_sweep(directory) else _tables(directory)
    for table in tables:
        table.print()
    return 0


def _tables(directory: Path) -> Iterator[Table]:
    """Yield a table for every problem that searches are for."""
    found = read_all(directory)
    if not found:
        raise RecordError(f"{directory} has no searches; give a directory of run or compare")
    for goal, searches in found:
        auditor = Auditor(goal)
        if warning := auditor.warning:
            print_errors(f"warning: {warning}")
        yield _table(goal, auditor, searches)


def _table(goal: Goal, auditor: Auditor, searches: Sequence[Finished]) -> Table:
    problem, objective = goal.problem, goal.objective
    layer = problem.layer
    rows = [
        (each.cell.mapper, str(each.cell.seed), *_columns(goal, auditor, each)) for each in searches
    ]
    title = (
        f"{layer} ({layer.operator} {layer.dimensions}) on {problem.hardware.name}, searched "
        f"for {objective.name} ({objective.unit}) under {problem.model}; "
        f"roofline {auditor.roofline:,} cycles"
    )
    return Table(title, ("mapper", "seed", "verdict on maestro"), headers_of(objective), rows)


def _columns(goal: Goal, auditor: Auditor, search: Finished) -> Iterator[str]:
    """Yield the verdict on a search's best mapping, and figures of both models."""
    if search.best_point is None:
        yield NONE
        return
    score = auditor.score(search.best_point)
    yield score.verdict
    yield from score.columns(goal.objective)
