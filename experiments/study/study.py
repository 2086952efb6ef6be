"""Studies: every mapper searches every problem from several seeds, in one directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from itertools import chain, product
from pathlib import Path
from typing import Any

from maestro_env.evaluation.problem import require
from maestro_env.experiments.proving.proof import find_optimum
from maestro_env.experiments.search.cells import Cell, Finished, SearchRecord
from maestro_env.experiments.search.goals import (
    GOAL,
    AnyProblemConfig,
    Goal,
    ProblemConfig,
    goal_directory,
    make_goal,
    recorded_goal,
    write_goals,
)
from maestro_env.experiments.search.library import Start, starts_from
from maestro_env.experiments.search.named_mappers import find_mappers, require_fit
from maestro_env.experiments.shell.files import RecordError, read_each, read_record
from maestro_env.experiments.shell.flags import (
    jobs_option,
    option,
    out_option,
    ray_option,
    require_distinct,
    resume_option,
    svg_option,
    threads_option,
    unique,
)
from maestro_env.experiments.shell.printing import print_errors
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.store.claims import ANEW, CONFIG, open_directory
from maestro_env.experiments.store.records import Versions
from maestro_env.experiments.store.running import Running
from maestro_env.experiments.study.standings import Contest
from maestro_env.mappers import make_mapper
from maestro_env.models import accelerator_record
from maestro_env.optimum.known import KnownOptimum
from maestro_env.workloads.finding import find_layer


@dataclass(frozen=True)
class _Budget:
    """The flags that say how much is spent on a problem."""

    samples: int = option(20_000, "evaluations of one search", least=1)
    seeds: int = option(
        10, "searches per layer, objective and mapper, one per seed", least=1, most=10_000
    )
    seed: int = option(0, "the first seed; the others count up from it")
    library: str | None = option(
        None,
        "library of mapped layers to start from, which map writes; cache: the user's own",
        value="file",
    )


# Fields of the last base come first, and so do their flags in the help.
@dataclass(frozen=True)
class StudyConfig(AnyProblemConfig, _Budget):
    """The flags of a study but for its layers, objectives and mappers."""

    threads: int = threads_option()
    jobs: int = jobs_option()
    ray: str | None = ray_option()
    out: str | None = out_option()
    resume: bool = resume_option(extended=True)
    svg: bool = svg_option()
    verbose: bool = option(False, "print the full tables, the ledger and the times too")


_OPTIMUM = "optimum.json"
_AGAIN = "--resume"
_OPTIMUM_AGAIN = f"delete it, and {_AGAIN} makes it again"

Read = Callable[[], object]
"""Reads a record."""

Optima = Mapping[tuple[str, str], KnownOptimum | None]
"""What is known of the optimum, by layer and objective."""


@dataclass(frozen=True)
class Study:
    """A config resolved.

    Args:
        config: what was asked for.
        goals: by layer, as it was called, and objective.
        mappers: names, in the order they run.
        single: whether it is of one problem: its directory may hold others, whose searches it lets
            be, and all samples are kept.
        note: on its mappers, told when it begins.
        library: digest of the file whose mappings the searches begin with; None for none.
        starts: vectors that the searches for a goal begin with, by layer and objective.
    """

    config: StudyConfig
    goals: Mapping[tuple[str, str], Goal]
    mappers: tuple[str, ...]
    single: bool = False
    note: str = ""
    library: str | None = None
    starts: Mapping[tuple[str, str], Start] = field(default_factory=dict)

    @property
    def seeds(self) -> range:
        return range(self.config.seed, self.config.seed + self.config.seeds)

    def works(self, directory: Path, versions: Versions) -> list[SearchRecord]:
        """Return all searches as a directory keeps them, and what would compute them.

        They go seed by seed, so that a part of them treats all alike.
        """
        return [
            SearchRecord(
                Cell(*place, mapper, seed),
                goal,
                self.config.samples,
                directory=directory,
                versions=versions,
                traced=self.single,
                threads=self.config.threads,
                start=self.starts.get(place, ()),
            )
            for seed, (place, goal), mapper in product(self.seeds, self.goals.items(), self.mappers)
        ]

    def settings(self) -> dict[str, Any]:
        """Return what decides the result of a cell, as JSON holds it."""
        given = asdict(self.config)
        names = ["samples", *(field.name for field in fields(ProblemConfig))]
        goal = next(iter(self.goals.values()))
        return {
            "config": {name: given[name] for name in names} | {"library": self.library},
            "hardware": accelerator_record(goal.problem.hardware),
        }

    def optima(self, directory: Path, versions: Versions, search: bool) -> Optima:
        """Return what is known of the optimum of every goal; with ``search`` find out."""
        with Bar("optima", len(self.goals)) as bar:
            return {
                place: find_optimum(
                    self.goals[place],
                    goal_directory(directory, *place) / _OPTIMUM,
                    versions,
                    _OPTIMUM_AGAIN,
                    search,
                )
                for place in bar.each(self.goals, " ".join)
            }

    def recorded_optima(self, directory: Path, versions: Versions) -> Iterator[Read]:
        """Yield what reads the records of the optima."""
        for place, goal in self.goals.items():
            path = goal_directory(directory, *place) / _OPTIMUM
            yield partial(find_optimum, goal, path, versions, _OPTIMUM_AGAIN, search=False)

    def contests(self, finished: Mapping[Cell, Finished], optima: Optima) -> list[Contest]:
        """Return what was found for every goal."""

        def searches(layer: str, objective: str, mapper: str) -> list[Finished]:
            cells = (Cell(layer, objective, mapper, seed) for seed in self.seeds)
            return [finished[cell] for cell in cells if cell in finished]

        return [
            Contest(
                *place,
                goal,
                {mapper: searches(*place, mapper) for mapper in self.mappers},
                optima[place],
            )
            for place, goal in self.goals.items()
        ]


def make_study(
    config: StudyConfig,
    layers: Sequence[str],
    objectives: Sequence[str],
    mappers: tuple[str, str | None],
    single: bool = False,
) -> Study:
    """Look up everything a config names, mappers by their flag and what it says."""
    accelerator = config.accelerator()
    found = {name: find_layer(name) for name in layers}
    keys = ((name, (each.operator, each.dimensions, each.stride)) for name, each in found.items())
    require_distinct("--layers", keys, "the same problem")
    places = product(found, unique(objectives))
    goals = {
        (name, objective): make_goal(config, found[name], accelerator, objective)
        for name, objective in places
    }
    flag, text = mappers
    named = None if text is None else unique(text.split(","))
    names, note = find_mappers(flag, named, goals.values())
    require_fit(names, goals.values())
    if config.library is None:
        return Study(config, goals, names, single, note)
    for goal in goals.values():
        require(goal.problem, "levels", "--library")
    return Study(config, goals, names, single, note, *starts_from(config.library, goals))


def read_all(directory: Path) -> list[tuple[Goal, list[Finished]]]:
    """Return every problem of a directory and the searches finished for it."""
    config = read_record(directory / CONFIG, ANEW).get("config", {})
    found = []
    for path in sorted(directory.glob(f"cells/*/*/{GOAL}")):
        try:
            goal = recorded_goal(config, read_record(path, ANEW))
            samples = config["samples"]
        except (LookupError, TypeError, AttributeError) as error:
            raise RecordError(f"cannot read {path}: {error!r}; {ANEW}") from None
        # Seed 10 after seed 9.
        records = sorted(
            path.parent.glob("*/*.json"), key=lambda each: (each.parent, len(each.name), each)
        )
        found.append((goal, [_read_one(directory, each, goal, samples) for each in records]))
    return found


def _read_one(directory: Path, path: Path, goal: Goal, samples: int) -> Finished:
    entry = read_record(path, f"delete it, and {_AGAIN} runs it again")
    told = entry.get("cell", {})
    layer, objective, mapper = (str(told.get(name)) for name in ("layer", "objective", "mapper"))
    cell = Cell(layer, objective, mapper, told.get("seed", -1))
    if cell.path(directory) != path:
        raise RecordError(f"{path} is the record of another search, {cell}: delete it")
    finished = SearchRecord(cell, goal, samples, directory=directory).read()
    assert finished is not None
    return finished


Report = Callable[[Study, Path, Sequence[Contest], bool], None]
"""Writes and shows what was found, to a directory, and whether the search was interrupted."""


def conduct(study: Study, name: str, stem: str, report: Report) -> int:
    """Run the searches that are not there yet, report them all, and return the exit status.

    The name is that of the command, the stem that of a new directory's name.
    """
    with Running.of(study.config, name, stem) as running:
        directory, here = running.directory, running.versions
        works = study.works(directory, here)
        _open(study, directory, works)
        finished = _read(works, study.recorded_optima(directory, here))
        _tell_versions(finished.values(), here)
        running.run(works)
        if finished := _read(works):
            optima = study.optima(directory, here, search=not running.interrupted)
            report(study, directory, study.contests(finished, optima), running.interrupted)
            _tell_notes(study)
    return running.status


def _tell_notes(study: Study) -> None:
    """Say what one has to know of the problems and mappers to judge the result."""
    if study.note:
        print_errors(f"note: {study.note}")
    goals = [(goal.problem, goal.objective) for goal in study.goals.values()]
    strides = (problem.stride_warning() for problem, _ in goals)
    of_mappers = (make_mapper(name).warning(goals) for name in study.mappers)
    print_errors(*(f"warning: {each}" for each in dict.fromkeys([*strides, *of_mappers]) if each))


def _open(study: Study, directory: Path, works: Sequence[SearchRecord]) -> None:
    """Write what a directory is for, or check that the one to resume is for the same."""
    open_directory(directory, "run or compare", study.settings())
    _check_none_is_lost(directory, {work.path for work in works}, study.single)
    write_goals({goal_directory(directory, *place): goal for place, goal in study.goals.items()})


def _check_none_is_lost(directory: Path, asked: Set[Path], single: bool) -> None:
    """Check that no finished search is left out: a study may grow, not shrink."""
    problems = {path.parents[1] for path in asked}
    lost = [
        path
        for path in directory.glob("cells/*/*/*/*.json")
        if path not in asked and (not single or path.parents[1] in problems)
    ]
    if lost:
        raise RecordError(
            f"{directory} has {len(lost)} searches that are not asked for, such as {min(lost)}: "
            f"name their layers, objectives, mappers and seeds too, or give another --out"
        )


def _read(works: Iterable[SearchRecord], others: Iterable[Read] = ()) -> dict[Cell, Finished]:
    """Return the finished ones; tell of damaged records, those that others read too."""
    reads: Iterator[Read] = (work.read for work in works)
    found = read_each(chain(reads, others), _AGAIN)
    return {each.cell: each for each in found if isinstance(each, Finished)}


def _tell_versions(finished: Iterable[Finished], here: Versions) -> None:
    """Say how many searches other versions made, as their results may differ."""
    now = {name: version for name, version in here.items() if name != "processor"}
    made = Counter(
        ", ".join(f"{name} {old}" for name in now if (old := each.versions.get(name)) != now[name])
        for each in finished
    )
    for other, count in made.items():
        if other:
            print_errors(f"note: {count} of the searches: {other}; now: commit {now['commit']}")
