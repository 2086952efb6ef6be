"""The section of a sweep, and that of a co-design."""

from __future__ import annotations

import math
import shlex
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from experiments.pages.found import Found, bound_and_gap
from experiments.pages.sections import Section, distinct
from experiments.shell.files import RecordError, read_csv
from experiments.shell.flags import PROGRAM
from experiments.study.sweep.axes import Sweep
from experiments.study.sweep.chunks import Chunk
from experiments.study.sweep.fronts import (
    ACCELERATORS,
    RECORD,
    front_sheet,
    least_edp,
    read_front,
    rounds_of,
)
from experiments.study.sweep.records import (
    CellBest,
    best_mappings,
    checked_goal,
    recorded_chunks,
    versions_of,
)
from experiments.study.sweep.results import TABLE, collect, summarize, summary_sheet

_MOST_FOUND = 40
_MOST_OTHERS = 2000


def sweep_section(directory: Path) -> Section:
    """Return the section of a sweep, finished or not.

    Raises:
        RecordError: nothing is finished in it, or a file of it was changed.
    """
    chunks = recorded_chunks(directory)
    results = collect(chunks)
    sweep, again = results.sweep, _again("sweep", directory)
    if not results.searched:
        raise RecordError(f"{directory}: no search has finished; continue with {again}")
    notes = []
    if sweep.problems > _MOST_FOUND:
        notes.append(
            f"The best mappings are those of the first {_MOST_FOUND} of {sweep.problems:,} "
            f"problems; {TABLE} has all."
        )
    return Section(
        title=f"Sweep of {', '.join(each.name for each in sweep.sets)}",
        hardware=sweep.hardware[0] if len(sweep.hardware) == 1 else None,
        objective=None,
        found=tuple(_found(directory, chunks, range(_MOST_FOUND))),
        choices=(),
        bound=None,
        macs=None,
        notes=tuple(notes),
        command=again,
        settings=_settings(sweep),
        versions=distinct(versions_of(chunks)),
        tables=(summary_sheet(results, list(summarize(results))),),
    )


def codesign_section(directory: Path) -> Section:
    """Return the section of a co-design: its front, and the mappings to the least-EDP accelerator.

    Raises:
        RecordError: it has no front yet, or a file of it was changed.
    """
    again = _again("codesign", directory)
    if not (directory / RECORD).exists():
        raise RecordError(f"{directory} has no front yet; continue with {again}")
    entry = read_front(directory)
    least, note = least_edp(entry), "No accelerator has a valid mapping of every layer."
    hardware, found = None, tuple[Found, ...]()
    rounds = [recorded_chunks(path) for path in rounds_of(directory)]
    for path, chunks in zip(rounds_of(directory), rounds, strict=True):
        sweep = chunks[0].sweep
        by_name = {each.name: each for each in sweep.hardware}
        if least is not None and least["hardware"] in by_name:
            hardware = by_name[least["hardware"]]
            note = f"The mappings are those to the accelerator of the least EDP, {hardware.name}."
            places = range(sweep.problems)
            wanted = {each for each in places if sweep.names(each)[1] == hardware.name}
            found = tuple(_found(path, chunks, wanted, executed=True))
    names = ("objective", "mapper", "samples", "seed", "search", "budget_um2", "looked_at")
    axes = {name: ", ".join(map(str, values)) for name, values in entry["grid"].items()}
    networks = " + ".join(entry["networks"])
    return Section(
        title=f"Co-design for {networks}",
        hardware=hardware,
        objective=None,
        found=found,
        choices=(),
        bound=None,
        macs=None,
        notes=(note,),
        command=again,
        settings={"networks": networks, **{name: entry[name] for name in names}, **axes},
        versions=distinct([each for chunks in rounds for each in versions_of(chunks)]),
        tables=(front_sheet(entry),),
        designs=tuple(_designs(directory, least["workload"])) if least is not None else (),
    )


def _again(command: str, directory: Path) -> str:
    return f"{PROGRAM} {command} ... --resume --out {shlex.quote(str(directory))}"


def _settings(sweep: Sweep) -> dict[str, Any]:
    return {
        **sweep.describe()["problem"],
        "layers": len(sweep.layers),
        "hardware": ", ".join(each.name for each in sweep.hardware),
        **{name: ", ".join(getattr(sweep, name)) for name in ("objectives", "mappers")},
        **{name: getattr(sweep, name) for name in ("samples", "seeds", "seed")},
    }


def _found(
    directory: Path, chunks: Sequence[Chunk], wanted: Container[int], executed: bool = False
) -> Iterator[Found]:
    """Yield the best mappings of the problems that are wanted.

    ``executed`` counts the executions of their layers in all networks, else it is one each.
    """
    sweep = chunks[0].sweep
    cells: dict[int, list[CellBest]] = {}
    for each in best_mappings(chunk for chunk in chunks if _has(chunk, wanted)):
        if each.problem in wanted:
            cells.setdefault(each.problem, []).append(each)
    counts = [0] * len(sweep.layers)
    for part in sweep.sets:
        for layer, count in zip(part.layers, part.counts, strict=True):
            counts[layer] += count
    for problem, searches in sorted(cells.items()):
        best = min(searches, key=lambda each: math.inf if each.value is None else each.value)
        if best.vector is None or best.value is None:
            continue
        goal = checked_goal(directory, sweep, best)
        layer = problem * len(sweep.layers) // sweep.problems
        yield Found(
            sweep.names(problem)[0],
            goal,
            best.vector,
            best.value,
            *bound_and_gap(goal, best.value),
            best.mapper,
            sum(each.samples for each in searches),
            counts[layer] if executed else 1,
            (),
        )


def _has(chunk: Chunk, wanted: Container[int]) -> bool:
    """Say whether some of the cells are of a problem that is wanted."""
    first, last = (cell // chunk.sweep.seeds for cell in (chunk.start, chunk.stop - 1))
    return any(problem in wanted for problem in range(first, last + 1))


def _designs(directory: Path, workload: str) -> Iterator[dict[str, Any]]:
    """Yield the accelerators of a workload to draw: the front, and not too many of the others."""
    rows = [
        each
        for each in read_csv(directory / ACCELERATORS)
        if each["workload"] == workload and not each["unmapped"]
    ]
    others = [each for each in rows if each["front"] == "0"]
    step = math.ceil(len(others) / _MOST_OTHERS) or 1
    for each in (*others[::step], *(each for each in rows if each["front"] == "1")):
        figures = ("area_um2", "latency_cycles", "energy_nj", "edp")
        yield {
            "hardware": each["hardware"],
            **{name: float(each[name]) for name in figures},
            "front": int(each["front"]),
        }
