"""Searches of the paper's items: run once, kept, read back and grouped by problem.

Everything this package needs of the stores of other commands comes through this file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from maestro_env.accelerators.finding import find_hardware
from maestro_env.clustering import Samples
from maestro_env.experiments.papers.paper.reach import Reach, middle
from maestro_env.experiments.search.cells import Cell, SearchRecord, Windows
from maestro_env.experiments.search.cells import Finished as Finished
from maestro_env.experiments.search.goals import (
    Goal,
    ProblemConfig,
    goal_directory,
    make_goal,
    write_goals,
)
from maestro_env.experiments.search.samples import collect
from maestro_env.experiments.shell.files import check_same, distinct_name, read_json, write_json
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.store.claims import claimed, remove_abandoned
from maestro_env.experiments.store.records import Versions, refuse_damaged
from maestro_env.experiments.store.running import Running
from maestro_env.experiments.study.standings import Contest
from maestro_env.mappers import make_mapper
from maestro_env.optimum.known import optimum_in_table
from maestro_env.workloads.finding import find_layer

_CHARGED = "marl_clustered"
WARMED = f"{_CHARGED}, warm-up charged"
"""Its searches again, their warm-up counted as samples."""

_GROUPS = ":groups="


@dataclass(frozen=True)
class Run:
    """One search, which several items may need.

    The mapper is its name and changes of its settings; a ``groups`` file is named by its place in
    the directory of the runs.
    """

    layer: str
    objective: str
    mapper: str
    seed: int
    samples: int
    hardware: str = "paper"
    model: str = "exact"
    schema: str = "legal13"

    @property
    def cell(self) -> Cell:
        return Cell(self.layer, self.objective, self.mapper, self.seed)

    @property
    def setting(self) -> str:
        """Everything else, as a file name."""
        parts = (self.model, self.hardware, self.schema, str(self.samples))
        return "-".join(map(distinct_name, parts))


def in_turn(runs: Iterable[Run]) -> list[Run]:
    """Return runs without duplicates, seed by seed, so that a part of them treats all alike."""
    return sorted(dict.fromkeys(runs), key=lambda run: run.seed)


def open_runs(out: Path, runs: Sequence[Run]) -> None:
    """Check that a directory holds searches of the same problems and settings; record both.

    Raises:
        RecordError: it holds other searches under the same names, or cannot be read or written.
        MaestroEnvError: a run has an unknown name.
    """
    # Everything is looked up and checked before anything is written.
    names = sorted({run.mapper for run in runs})
    mappers = {name: asdict(make_mapper(name).config) for name in names}
    goals = {goal_directory(out / run.setting, run.layer, run.objective): goal(run) for run in runs}
    path = out / "mappers.json"
    remove_abandoned(out)
    with claimed(path):
        begun = read_json(path) if path.exists() else {}
        check_same(path, begun, {name: mappers[name] for name in mappers if name in begun})
        write_goals(goals)
        write_json(path, begun | mappers)


def run_rest(running: Running, runs: Sequence[Run]) -> dict[Run, Finished]:
    """Run what is not finished; return the searches that have ended then.

    Raises:
        RecordError: a file is damaged, or cannot be written.
    """
    records = {run: _record(running.directory, run, running.versions) for run in runs}
    refuse_damaged([*records.values()])
    running.run([*records.values()])
    return {run: found for run, record in records.items() if (found := record.read())}


def _record(out: Path, run: Run, versions: Versions) -> SearchRecord:
    made = run.mapper.replace(_GROUPS, f"{_GROUPS}{out}/")
    return SearchRecord(
        run.cell,
        goal(run),
        run.samples,
        made=made,
        watched=True,
        directory=out / run.setting,
        versions=versions,
        again="the same command",
    )


def samples_of(run: Run, cache_directory: Path) -> Samples:
    """Return every sample of a run, from a cache if they are there."""
    return collect(goal(run), run.mapper, run.samples, run.seed, cache_directory).samples


def goal(run: Run) -> Goal:
    """Return the problem and objective of a run."""
    return _goal(run.layer, run.objective, run.hardware, run.model, run.schema)


@cache
def _goal(layer: str, objective: str, hardware: str, model: str, schema: str) -> Goal:
    config = ProblemConfig(hardware=hardware, model=model, schema=schema)
    return make_goal(config, find_layer(layer), find_hardware(hardware), objective)


@dataclass(frozen=True, eq=False)
class Arena(Contest):
    """The finished searches of one problem.

    Args:
        model: name of the cost model.
        hardware: name of the accelerator.
        samples: budget of the searches that are compared.
    """

    model: str
    hardware: str
    samples: int

    @property
    def problem(self) -> tuple[str, str]:
        return self.layer, self.objective

    @property
    def keys(self) -> tuple[str, str, str, str]:
        """Its columns in result files, ``ARENA_COLUMNS``."""
        return self.model, self.hardware, *self.problem

    @property
    def least(self) -> float:
        """The optimum; not a number where it is not known."""
        return self.optimum.value if self.optimum else np.nan

    def bests_after(self, mapper: str, samples: int) -> Floats:
        """Return the least cost of each search of a mapper after so many samples, float64[S]."""
        return self.bests(mapper, np.array([samples]))[:, 0]

    def median_best(self, mapper: str, samples: int) -> float:
        """Return the median of the same over searches."""
        return float(middle(self.bests_after(mapper, samples)))

    def samples_to(self, mapper: str, cost: float) -> Reach:
        """Return the samples that a mapper's searches needed to a cost."""
        return Reach(tuple(each.samples_to(cost) for each in self.searches[mapper]), self.samples)

    def samples_to_within(self, mapper: str, percent: float) -> Reach:
        """Return the samples that they needed to within some per cent of the optimum."""
        return self.samples_to(mapper, (1 + max(percent / 100, _ROUNDING)) * self.least)

    def windows(self, mapper: str) -> list[Windows]:
        """Return the windows of each search of a mapper; the paper's are all watched."""
        return [each.windows for each in self.searches[mapper] if each.windows is not None]

    def has(self, *mappers: str) -> bool:
        """Say whether each of these mappers finished a search here."""
        return all(map(self.searches.get, mappers))


ARENA_COLUMNS = ("model", "hardware", "layer", "objective")
_ROUNDING = 1e-9
"""A cost within this share of the optimum counts as the optimum."""


def make_arenas(finished: Mapping[Run, Finished], samples: int) -> list[Arena]:
    """Return the problems of finished runs, in the order these come.

    Searches with other budgets than ``samples`` are left out.
    """
    problems: dict[Run, dict[str, list[Finished]]] = {}
    for run, each in finished.items():
        problem = replace(run, mapper="", seed=0, samples=samples)
        searches = problems.setdefault(problem, {})
        if run.samples == samples:
            searches.setdefault(run.mapper, []).append(each)
    for searches in problems.values():
        charged = searches.get(_CHARGED, ())
        searches[WARMED] = [replace(each, at=each.at + each.warm_up) for each in charged]
    arenas = []
    for run, searches in problems.items():
        sought = goal(run)
        optimum = optimum_in_table(sought.problem, sought.objective)
        contest = (run.layer, run.objective, sought, searches, optimum)
        arenas.append(Arena(*contest, run.model, run.hardware, samples))
    return arenas
