"""The searches of the paper's items: which there are, which are finished, the rest run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path

from experiments.cell_pool import run_cells
from experiments.cells import Finished, Versions, Work, read_cell
from experiments.claims import claimed, remove_abandoned
from experiments.files import read_json, write_json
from experiments.goal_files import check_goal, write_goal
from experiments.goals import Goal, ProblemConfig, make_goal
from experiments.paper.item import Run
from experiments.readback import check_same
from maestro_env.hardware import find_hardware
from maestro_env.workloads import find_layer
from mappers import make_mapper

AGAIN = "the same command"
_MAPPERS = "mappers.json"
_GROUPS = ":groups="


def in_turn(runs: Iterable[Run]) -> list[Run]:
    """Return runs, each once, seed by seed, so that a part of them treats all alike."""
    return sorted(dict.fromkeys(runs), key=lambda run: run.seed)


def open_directory(out: Path, runs: Sequence[Run]) -> None:
    """Check that what a directory holds is of the same settings, and write them.

    Those of the mappers are among them: defaults may have changed since a search was run.

    Raises:
        RecordError: it holds other searches under the same names, or cannot be read or written.
        MaestroEnvError: a run names what does not exist.
    """
    # Everything is looked up and checked before anything is written.
    mappers = {
        name: asdict(make_mapper(name).config) for name in sorted({run.mapper for run in runs})
    }
    goals = {(out / run.setting, run.layer, run.objective): goal(run) for run in runs}
    path = out / _MAPPERS
    remove_abandoned(out)
    with claimed(path):
        begun = read_json(path) if path.exists() else {}
        check_same(path, begun, {name: mappers[name] for name in mappers if name in begun})
        for place, found in goals.items():
            check_goal(*place, found)
        write_json(path, begun | mappers)
        for place, found in goals.items():
            write_goal(*place, found)


def read(out: Path, runs: Iterable[Run]) -> dict[Run, Finished]:
    """Return the searches that have ended, among those asked for.

    Raises:
        RecordError: a file is damaged.
    """
    found = (
        (run, read_cell(out / run.setting, run.cell, goal(run), run.samples, AGAIN)) for run in runs
    )
    return {run: finished for run, finished in found if finished is not None}


def run_rest(
    out: Path, runs: Sequence[Run], finished: Mapping[Run, Finished], jobs: int, versions: Versions
) -> int:
    """Run what is not finished; return the exit status of that.

    Raises:
        RecordError: a file cannot be written.
    """
    works = [
        Work(
            run.cell,
            goal(run),
            run.samples,
            out / run.setting,
            versions,
            made=run.mapper.replace(_GROUPS, f"{_GROUPS}{out}/"),
            watched=True,
        )
        for run in runs
        if run not in finished
    ]
    return run_cells(works, len(finished), jobs, AGAIN)


def goal(run: Run) -> Goal:
    """Return what a run is after."""
    return _goal(run.layer, run.objective, run.hardware, run.model, run.schema)


@cache
def _goal(layer: str, objective: str, hardware: str, model: str, schema: str) -> Goal:
    config = ProblemConfig(hardware=hardware, model=model, schema=schema)
    return make_goal(config, find_layer(layer), find_hardware(hardware), objective)
