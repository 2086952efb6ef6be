"""The sweep over layers, accelerators and objectives: prove each optimum, keep it, report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from statistics import median

from maestro_env.experiments.commands.optima.cells import cells_of
from maestro_env.experiments.commands.optima.flags import Config
from maestro_env.experiments.commands.optima.table import write_table
from maestro_env.experiments.proving.many import OptimumCell, Proof, unfinished
from maestro_env.experiments.proving.records import ProofRecord, ProofState
from maestro_env.experiments.shell.files import RecordError, is_empty
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.tables import Sheet, significant
from maestro_env.experiments.store.claims import remove_abandoned
from maestro_env.experiments.store.directory import ANEW, CONFIG
from maestro_env.experiments.store.running import Running
from maestro_env.optimum.known import TABLE
from maestro_env.optimum.solving import Limits

Records = Sequence[tuple[OptimumCell, ProofRecord]]


def execute(config: Config) -> int:
    """Search, write, print, and return the exit status."""
    cells = cells_of(config)
    limits = Limits(nodes=config.nodes, seconds=config.seconds)
    with Running.of(config, "optima", "optima", "found") as running:
        directory, here = running.directory, running.versions
        _require_of_optima(directory)
        remove_abandoned(directory)
        proofs = [
            Proof(cell, limits, config.threads, directory=directory, versions=here)
            for cell in cells
        ]
        left = unfinished(proofs)
        running.run(left, len(proofs) - len(left))
        records = [(each.cell, each.kept) for each in proofs]
        _report(records)
        print_lines(f"optima: {directory}")
        if config.write and not running.status:
            _write(records)
    return running.status


def _require_of_optima(directory: Path) -> None:
    # Others have a config.
    if (directory / CONFIG).exists() or not ((directory / "cells").is_dir() or is_empty(directory)):
        raise RecordError(f"{directory} has other files: it is not a directory of optima; {ANEW}")


def _write(records: Records) -> None:
    optima = ((cell.goal, optimum) for cell, each in records if (optimum := each.found.optimum))
    print_lines(f"table: {write_table(optima):,} optima in {TABLE}")


def _report(records: Records) -> None:
    """Print how many cells are proven and how long it took, and the cells that are left."""
    columns = ("cells", "searched", "proven", "median seconds", "longest", "boxes")
    kinds = dict.fromkeys(_kind(cell) for cell, _ in records)
    rows = [
        (*kind, *_counts([record for cell, record in records if _kind(cell) == kind]))
        for kind in kinds
    ]
    rows.append(("all", "", *_counts([record for _, record in records])))
    Sheet("Optima", ("hardware", "objective"), columns, rows).print()
    left = [
        (str(cell), *_figures(record.found))
        for cell, record in records
        if record.left is not None and not record.found.proven
    ]
    if left:
        print_lines("")
        Sheet("Not proven", ("cell",), ("best", "bound", "gap", "seconds"), left).print()


def _kind(cell: OptimumCell) -> tuple[str, str]:
    return cell.goal.problem.hardware.name, cell.goal.objective.name


def _counts(records: Sequence[ProofRecord]) -> tuple[str, ...]:
    found = [record.found for record in records if record.left is not None]
    seconds = [each.seconds for each in found] or [0.0]
    counts = (len(records), len(found), sum(each.proven for each in found))
    return (
        *map(str, counts),
        f"{median(seconds):.2f}",
        f"{max(seconds):.1f}",
        f"{sum(each.nodes for each in found):,}",
    )


def _figures(found: ProofState) -> tuple[str, ...]:
    values = (significant(value or float("inf"), 7) for value in (found.best, found.bound))
    return (*values, f"{found.gap:.3%}", f"{found.seconds:.1f}")
