"""``maestro-env optima``: prove the optima of many layers and keep them in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, cast

from maestro_env.accelerators.accelerator import HELD, Accelerator
from maestro_env.accelerators.finding import chips_with
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.checks import look_up
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import AUTO
from maestro_env.experiments.proving.many import OptimumCell, Proof, unfinished
from maestro_env.experiments.proving.proof import ProofRecord, ProofState
from maestro_env.experiments.search.goals import Goal, ProblemConfig, make_goal
from maestro_env.experiments.shell.files import RecordError, is_empty, write_csv
from maestro_env.experiments.shell.flags import (
    option,
    out_option,
    resume_option,
    threads_option,
    unique,
)
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.tables import Table, significant
from maestro_env.experiments.store.claims import ANEW, CONFIG, claimed, remove_abandoned
from maestro_env.experiments.store.running import Running
from maestro_env.mapspace.two_level_space import SCHEMAS
from maestro_env.models import ANY_MEMORIES, find_accelerator, has_levels
from maestro_env.optimum.known import (
    COLUMNS,
    KEY,
    TABLE,
    KnownOptimum,
    accelerator_named,
    read_table,
)
from maestro_env.optimum.search import MOST_NODES
from maestro_env.optimum.solving import Limits, require_search
from maestro_env.workloads.finding import all_layers, find_layer
from maestro_env.workloads.layer import Layer


@dataclass(frozen=True)
class Config:
    """Find and prove the optima of many layers, accelerators and objectives, one after the other.

    Layers of one shape are one cell. Existing results are searched again only if limits are higher.
    Several processes can work on one directory.
    """

    layers: str = option("all", "names of layers, separated by commas; all: every shape of the zoo")
    hardware: str = option(
        "unlimited,edge",
        f"some of {', '.join((*PRESETS, HELD))}, or with all memories "
        f"{', '.join(chips_with('memories'))}, separated by commas",
    )
    objectives: str = option(
        "latency,edp", f"what to minimise, some of {', '.join(OBJECTIVES)}, separated by commas"
    )
    schema: str = option("legal13", f"parameters of a mapping: {', '.join(SCHEMAS)}")
    seconds: float = option(60.0, "end a search after this many seconds")
    nodes: int = option(
        MOST_NODES, "end a search after this many boxes of mappings", least=1, most=MOST_NODES
    )
    threads: int = threads_option("bounds and evaluation")
    out: str | None = out_option("the first free runs/optima-<n>")
    resume: bool = resume_option(extended=True)
    write: bool = option(False, "write the optima to the table of maestro_env.optimum.known")


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


def cells_of(config: Config) -> list[OptimumCell]:
    """Look up every cell that a config asks for.

    Raises:
        MaestroEnvError: an unknown name, or a goal whose optimum cannot be proven.
    """
    named = all_layers() if config.layers == "all" else map(find_layer, _names(config.layers))
    shapes: dict[str, Layer] = {}
    for layer in named:
        shapes.setdefault(layer.shape, layer)
    hardware = [_accelerator(name) for name in _names(config.hardware)]
    cells = []
    for layer, machine, objective in product(shapes.values(), hardware, _names(config.objectives)):
        nameless = Layer(layer.operator, layer.extents, layer.stride)
        schema = config.schema if has_levels(machine) else AUTO
        flags = ProblemConfig(model=machine.MODEL, schema=schema)
        goal = make_goal(flags, nameless, machine, objective)
        require_search(goal.problem, goal.objective)
        cells.append(OptimumCell(goal, layer.name))
    return cells


def _accelerator(name: str) -> Accelerator:
    chips = chips_with("memories")
    if name == HELD:
        return accelerator_named(name)
    look_up("hardware", name, {**PRESETS, HELD: HELD, **chips})
    return find_accelerator(name, ANY_MEMORIES if name in chips else DEFAULT_MODEL)


def _names(text: str) -> tuple[str, ...]:
    return unique(text.split(","))


def _write(records: Records) -> None:
    optima = ((cell.goal, optimum) for cell, each in records if (optimum := each.found.optimum))
    print_lines(f"table: {write_table(optima):,} optima in {TABLE}")


def write_table(found: Iterable[tuple[Goal, KnownOptimum]]) -> int:
    """Add lines to the table, or replace those of the same goals; return how many it then has."""
    with claimed(TABLE):
        lines = [*(read_table() if TABLE.exists() else ()), *(_line(*each) for each in found)]
        by_key = {tuple(line[name] for name in KEY): line for line in lines}
        rows = [[line[name] for name in COLUMNS] for _, line in sorted(by_key.items())]
        write_csv(TABLE, COLUMNS, rows)
    return len(rows)


def _line(goal: Goal, optimum: KnownOptimum) -> dict[str, str]:
    problem, space = goal.problem, cast(Any, goal.problem.space)
    return {
        "layer": problem.layer.shape,
        "hardware": problem.hardware.name,
        "schema": problem.schema,
        "tiles": space.tiles,
        "objective": goal.objective.name,
        "value": repr(optimum.value),
        "bound": repr(optimum.bound),
        "point": " ".join(map(str, optimum.point.tolist())),
        "nodes": str(optimum.nodes),
        "seconds": f"{optimum.seconds:.2f}",
        "certificate": optimum.certificate,
    }


def _report(records: Records) -> None:
    """Print how many cells are proven and how long it took, and the cells that are left."""
    columns = ("cells", "searched", "proven", "median seconds", "longest", "boxes")
    kinds = dict.fromkeys(_kind(cell) for cell, _ in records)
    rows = [
        (*kind, *_counts([record for cell, record in records if _kind(cell) == kind]))
        for kind in kinds
    ]
    rows.append(("all", "", *_counts([record for _, record in records])))
    Table("Optima", ("hardware", "objective"), columns, rows).print()
    left = [
        (str(cell), *_figures(record.found))
        for cell, record in records
        if record.left is not None and not record.found.proven
    ]
    if left:
        print_lines("")
        Table("Not proven", ("cell",), ("best", "bound", "gap", "seconds"), left).print()


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
