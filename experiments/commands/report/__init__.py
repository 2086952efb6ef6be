"""``maestro-env report``: write HTML, Markdown and CSV of the results of other commands.

It reads what ``map``, ``run``, ``compare``, ``optimum``, ``sweep`` and ``codesign`` write.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from maestro_env.experiments.commands.report.sweeps import codesign_section, sweep_section
from maestro_env.experiments.network.layer_search import LayerRecord, SearchSettings
from maestro_env.experiments.network.mapped_network import MappedNetwork, section_of
from maestro_env.experiments.pages.sections import Curve, Found, Section, distinct, known_bound
from maestro_env.experiments.pages.writer import KINDS, write_report
from maestro_env.experiments.proving.proof import ProofRecord, bear_out
from maestro_env.experiments.search.cells import Finished
from maestro_env.experiments.search.goals import (
    AnyProblemConfig,
    Goal,
    ProblemConfig,
    make_goal,
    recorded_goal,
)
from maestro_env.experiments.shell.files import RecordError, read_json, read_record
from maestro_env.experiments.shell.flags import PROGRAM, option, out_option, to_flags, unique
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.store.claims import ANEW, CONFIG
from maestro_env.experiments.study.study import read_all
from maestro_env.experiments.study.sweep.fronts import SWEEPS
from maestro_env.mapspace.space import TILES
from maestro_env.models import ANY_MEMORIES, recorded_accelerator
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.network import LeftOut, Network

_NETWORK = "network.json"
_OPTIMUM = "optimum.json"


def read_section(directory: Path) -> Section:
    """Return what a directory of one of these commands tells.

    Raises:
        RecordError: it is none, nothing is finished in it, or a file of it was changed.
    """
    try:
        return _section(directory)
    except RecordError:
        raise
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(f"cannot read {directory}: {error!r}; {ANEW}") from None


def _section(directory: Path) -> Section:
    if (directory / SWEEPS).is_dir():
        return codesign_section(directory)
    if (directory / _OPTIMUM).exists():
        return _optimum(directory)
    path = directory / CONFIG
    if not path.exists():
        raise RecordError(
            f"{directory} has no {CONFIG}: give what map, run, compare, optimum, sweep or codesign "
            "has written"
        )
    entry = read_record(path, ANEW)
    if "sweep" in entry:
        return sweep_section(directory)
    return (_network if "network" in entry else _searches)(directory, entry)


def _network(directory: Path, entry: dict[str, Any]) -> Section:
    """Return the section of a mapped network."""
    config, hardware = entry["config"], recorded_accelerator(entry["hardware"])
    problem, settings = _part(ProblemConfig, config), _part(SearchSettings, config)
    layers = [
        Layer(operator, extents, name=name, stride=tuple(stride), count=count)
        for name, operator, extents, stride, count in entry["network"]["layers"]
    ]
    goals = [make_goal(problem, layer, hardware, config["objective"]) for layer in layers]
    works = [
        LayerRecord(layer.name, goal, settings, directory=directory)
        for layer, goal in zip(layers, goals, strict=True)
    ]
    found = [each for work in works if (each := work.read())]
    again = f"continue with {PROGRAM} map ... --resume --out {shlex.quote(str(directory))}"
    if len(found) < len(works):
        raise RecordError(f"{directory}: {len(found)} of {len(works)} layers are mapped; {again}")
    path = directory / _NETWORK
    told = read_json(path) if path.exists() else {}
    left_out = tuple(LeftOut(**each) for each in told.get("left_out", ()))
    notes = tuple(told.get("notes", ()))
    network = Network(
        entry["network"]["name"], tuple(layers), left_out, notes, told.get("batch", 1)
    )
    mapped = MappedNetwork(network, hardware, tuple(found), config)
    return section_of(mapped, command=told.get("command", ""))


def _optimum(directory: Path) -> Section:
    """Return the section of a search for the optimum."""
    path = directory / _OPTIMUM
    entry = read_record(path, ANEW)
    space = entry["map_space"]
    of_memories = ANY_MEMORIES in entry["hardware"]
    asked = asdict(ProblemConfig(model=ANY_MEMORIES))
    if not of_memories:
        asked = asdict(ProblemConfig(model="exact", schema=space.get("schema", "legal13")))
    goals = [recorded_goal({**asked, "tiles": tiles}, entry) for tiles in TILES]
    goal = next((each for each in goals if each.problem.space.size() == space["size"]), goals[0])
    record = ProofRecord(path, goal, entry["versions"])
    record.read()
    state, name = record.found, goal.problem.layer.name
    seconds, *lines = zip(*state.curve, strict=True)
    curves = tuple(
        Curve(line, [each for each in zip(seconds, values, strict=True) if each[1]], state.seconds)
        for line, values in zip(("best", "bound"), lines, strict=True)
    )
    found, notes = [], []
    if bear_out(goal, record) < state.solution.bound:
        notes.append("The bound is that of the record: to find it again takes long.")
    if state.best_point is None:
        notes.append(f"No valid mapping of {name} was found.")
    elif state.best is not None:
        bound = known_bound(goal, state.bound)
        best = (state.best_point, state.best, bound, "optimum", state.samples)
        found.append(Found(name, goal, *best, 1, curves, "seconds"))
    return Section(
        title=f"Optimum of {name} on {goal.problem.hardware.name or 'hardware'}",
        hardware=goal.problem.hardware,
        found=tuple(found),
        notes=tuple(notes),
        command=f"{PROGRAM} optimum ... --resume --out {shlex.quote(str(directory))}",
        settings={"layer": name, "schema": goal.problem.schema},
        versions=distinct([entry["versions"]]),
    )


def _part(kind: Any, config: dict[str, Any]) -> Any:
    """Return a dataclass of the settings of its names."""
    return kind(**{each.name: config[each.name] for each in fields(kind)})


def _searches(directory: Path, entry: dict[str, Any]) -> Section:
    """Return the section of a study's searches."""
    read = [(goal, done) for goal, done in read_all(directory) if done]
    if not read:
        raise RecordError(f"{directory}: no search has finished")
    found, notes = [], []
    for goal, done in read:
        if any(each.best_point for each in done):
            found.append(_found(goal, done))
        else:
            notes.append(f"No valid mapping of {done[0].cell.layer} was found.")
    searches = [each for _, done in read for each in done]
    hardware = read[0][0].problem.hardware
    return Section(
        title=f"Searches on {hardware.name or 'hardware'}",
        hardware=hardware,
        found=tuple(found),
        notes=tuple(notes),
        command=_command(entry["config"], searches),
        settings=entry["config"],
        versions=distinct([each.versions for each in searches]),
    )


def _found(goal: Goal, searches: Sequence[Finished]) -> Found:
    """Return the best of some searches."""
    valid = [each for each in searches if each.best is not None]
    best = min(valid, key=lambda each: each.values[-1])
    curves = tuple(
        Curve(
            each.cell.mapper,
            list(zip(each.at.tolist(), each.values.tolist(), strict=True)),
            each.evaluations,
        )
        for each in searches
    )
    assert best.best is not None
    assert best.best_point is not None
    return Found(
        best.cell.layer,
        goal,
        best.best_point,
        best.best,
        known_bound(goal),
        best.cell.mapper,
        sum(each.evaluations for each in searches),
        1,
        curves,
    )


def _command(config: dict[str, Any], searches: Sequence[Finished]) -> str:
    """Return the command that does these searches again."""
    cells = [each.cell for each in searches]
    seeds = [cell.seed for cell in cells]
    several = {
        "layers": ",".join(unique(cell.layer for cell in cells)),
        "objectives": ",".join(unique(cell.objective for cell in cells)),
        "mappers": ",".join(unique(cell.mapper for cell in cells)),
        "samples": config["samples"],
        "seed": min(seeds),
        "seeds": max(seeds) - min(seeds) + 1,
    }
    flags = [f"--{name}={value}" for name, value in several.items()]
    flags += to_flags(_part(AnyProblemConfig, config))
    if config.get("library") is not None:
        flags.append("--library=FILE")
    return shlex.join([PROGRAM, "compare", *flags])


@dataclass(frozen=True)
class Config:
    """Write report.html (one self-contained page), report.md and report.csv."""

    directories: tuple[str, ...] = option(
        MISSING,
        "directory of map, run, compare, optimum, sweep or codesign",
        value="directory",
        several=True,
    )
    out: str | None = out_option("the first directory")


def execute(config: Config) -> int:
    """Read, write, say where, and return the exit status."""
    directories = list(dict.fromkeys(Path(each) for each in config.directories))
    sections = _named([read_section(each) for each in directories], directories)
    out = Path(config.out) if config.out is not None else directories[0]
    paths = [out / f"report{ending}" for ending in KINDS]
    for path in paths:
        write_report(sections, path)
    print_lines(*(f"report: {path}" for path in paths))
    return 0


def _named(sections: list[Section], directories: list[Path]) -> list[Section]:
    """Tell sections of one title apart by their directories."""
    times = Counter(each.title for each in sections)
    return [
        replace(each, title=f"{each.title} ({place})") if times[each.title] > 1 else each
        for each, place in zip(sections, directories, strict=True)
    ]
