"""``maestro-env tabulate``: evaluate every vector of small spaces."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.base.registry import look_up
from maestro_env.datasets.tabulated import TABLES, TABULATED, TabulatedProblem, TabulatedSpace
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.experiments.commands.tabulate.writer import bytes_left, write_table
from maestro_env.experiments.search.goals import unique
from maestro_env.experiments.shell import cli, files
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shell.flags import UsageError, option, threads_option
from maestro_env.experiments.shell.telling import say, tell
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Sheet, significant
from maestro_env.experiments.store.claims import Claim, remove_abandoned
from maestro_env.experiments.store.versions import processor, versions


@dataclass(frozen=True)
class Config:
    """Evaluate every vector of small spaces; existing tables are kept and resumed."""

    spaces: str = option(
        MISSING, f"all, or some of these, separated by commas: {', '.join(TABULATED)}"
    )
    out: str = option(
        str(TABLES), "where to write; several processes may share it", value="directory"
    )
    threads: int = threads_option()


_SECONDS_BETWEEN_LOOKS = 0.2
_GB = 10**9

TableFacts = dict[str, Any]


def execute(config: Config) -> int:
    """Make the tables that are missing, print what they hold, and return the exit status."""
    spaces, directory = _find_spaces(config.spaces), Path(config.out)
    _require_room(spaces, directory)
    files.ensure_directory(directory)
    remove_abandoned(directory)
    try:
        records = _make_all(spaces, directory, config.threads)
    except KeyboardInterrupt:
        tell(f"interrupted: everything evaluated is in {directory}; repeat the command")
        return cli.INTERRUPTED
    _sheet([(each, records[each.name]) for each in spaces]).print()
    say(f"tables: {directory}")
    return 0


def _find_spaces(text: str) -> list[TabulatedSpace]:
    names = unique(text.split(","))
    if names == ("all",):
        return list(TABULATED.values())
    return [look_up("tabulated space", name, TABULATED) for name in names]


def _require_room(spaces: Sequence[TabulatedSpace], directory: Path) -> None:
    """Say how much disk the tables need, and refuse more than there is."""
    needed = sum(bytes_left(each.problem(), each.path(directory)) for each in spaces)
    there = (each for each in (directory, *directory.absolute().parents) if each.exists())
    free = shutil.disk_usage(next(there)).free
    told = f"{needed / _GB:.2f} GB to write in {directory}, {free / _GB:.2f} GB free"
    if needed > free:
        raise UsageError(f"{told}: name fewer spaces, or give another --out")
    say(told, flush=True)


def _make_all(
    spaces: Sequence[TabulatedSpace], directory: Path, threads: int
) -> dict[str, TableFacts]:
    """Make every table that no other process makes, and wait for the others."""
    claims = {each.name: Claim(each.path(directory)) for each in spaces}
    records: dict[str, TableFacts] = {}
    told: list[str] = []
    while True:
        for space in spaces:
            if space.name not in records and claims[space.name].take():
                try:
                    records[space.name] = _make(space, directory, threads)
                finally:
                    claims[space.name].give_back()
        left = [each.name for each in spaces if each.name not in records]
        if not left:
            return records
        if left != told:
            say(f"waiting for the process that makes {', '.join(left)}", flush=True)
            told = left
        time.sleep(_SECONDS_BETWEEN_LOOKS)


def _make(space: TabulatedSpace, directory: Path, threads: int) -> TableFacts:
    """Make a table and its record, or check them if they are there."""
    path, problem = space.path(directory), space.problem()
    kept = path.with_suffix(".json")
    way_out = f"delete {path} and {kept}, and repeat the command"
    record = files.read_record(kept, way_out) if kept.exists() else {"seconds": 0.0}
    if not path.exists():
        record = {"seconds": record["seconds"]}
        began = time.process_time()
        try:
            with Bar(space.name, problem.space.size()) as bar:
                write_table(problem, path, threads, lambda done: bar.show(done, ""))
        finally:
            record["seconds"] += time.process_time() - began
            with cli.undisturbed():
                files.write_record(kept, record)
    table = TabulatedProblem(problem.space, path=path)
    if "sha256" not in record:
        record |= _summary(space, table, path)
        files.write_record(kept, record)
    elif files.file_digest(path) != record["sha256"]:
        raise RecordError(f"{path} does not fit its digest: it was changed; {way_out}")
    return record


def _summary(space: TabulatedSpace, table: TabulatedProblem, path: Path) -> TableFacts:
    """Return what a table holds, and whence it is."""
    optima = {}
    for name, objective in OBJECTIVES.items():
        least = table.optimum(objective)
        vectors = sum(int(np.count_nonzero(each == least)) for each in table.scan(objective))
        optima[name] = {"optimum": least, "vectors": vectors}
    return {
        "problem": {**_problem(space), "model": table.model},
        "vectors": table.space.size(),
        "valid": int(table.rank(OBJECTIVES["latency"], np.inf)),
        "objectives": optima,
        "sha256": files.file_digest(path),
        "versions": {**versions(), "processor": processor()},
    }


def _problem(space: TabulatedSpace) -> dict[str, str]:
    return {"layer": space.layer, "hardware": space.hardware, "schema": space.schema}


def _sheet(records: Sequence[tuple[TabulatedSpace, TableFacts]]) -> Sheet:
    rows = [
        (
            space.name,
            *_problem(space).values(),
            f"{record['vectors']:,}",
            f"{record['valid'] / record['vectors']:.1%}",
            *(
                f"{significant(found['optimum'], 7)} ({found['vectors']:,})"
                for found in record["objectives"].values()
            ),
            f"{record['seconds']:.0f}",
        )
        for space, record in records
    ]
    optima = (f"{each.name} ({each.unit})" for each in OBJECTIVES.values())
    return Sheet(
        "Tabulated spaces: the optimum of each objective, and the vectors that have it",
        ("space", "layer", "hardware", "schema"),
        ("vectors", "valid", *optima, "seconds"),
        rows,
        "seconds of all processors together, for the evaluation; not those of a killed process",
    )
