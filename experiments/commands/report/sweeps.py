"""The section of a sweep, and that of a co-design."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.experiments.pages.sections import (
    FRONT,
    LEAST,
    OTHER,
    Found,
    Section,
    distinct,
    known_bound,
)
from maestro_env.experiments.shell.files import RecordError, read_csv
from maestro_env.experiments.shell.flags import PROGRAM
from maestro_env.experiments.study.sweep.axes import Sweep
from maestro_env.experiments.study.sweep.chunks import (
    CellBest,
    Chunk,
    best_mappings,
    checked_goal,
    recorded_chunks,
    versions_of,
)
from maestro_env.experiments.study.sweep.fronts import (
    ACCELERATORS,
    RECORD,
    TOTALS,
    Axis,
    axes_of,
    front_table,
    least_edp,
    pictured,
    read_front,
    rounds_of,
)
from maestro_env.experiments.study.sweep.results import TABLE, collect, summarize, summary_table

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
        found=tuple(_found(chunks, range(_MOST_FOUND))),
        notes=tuple(notes),
        command=again,
        settings=_settings(sweep),
        versions=distinct(versions_of(chunks)),
        tables=(summary_table(results, list(summarize(results))),),
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
    hardware, found, designs = None, tuple[Found, ...](), tuple[dict[str, Any], ...]()
    rounds = [recorded_chunks(path) for path in rounds_of(directory)]
    sizes = pictured(axes_of(entry["grid"]))
    if least is not None:
        hardware, found = _mapped(rounds, least["hardware"])
        designs = tuple(_designs(directory, least, sizes))
        note = f"Mappings are to the accelerator with the lowest EDP, {hardware.name}."
    names = (
        *("technology", "objective", "mapper", "samples", "seed", "search", "budget_um2"),
        "looked_at",
    )
    axes = {name: ", ".join(map(str, values)) for name, values in entry["grid"].items()}
    networks = " + ".join(entry["networks"])
    return Section(
        title=f"Co-design for {networks}",
        hardware=hardware,
        found=found,
        notes=(note,),
        command=again,
        settings={
            **rounds[0][0].sweep.describe()["problem"],
            "networks": networks,
            **{name: entry[name] for name in names},
            **axes,
        },
        versions=distinct([each for chunks in rounds for each in versions_of(chunks)]),
        tables=(front_table(entry),),
        designs=designs,
        design_sizes={name: axis.header.replace("\n", " ") for name, axis in sizes.items()},
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


def _mapped(rounds: Iterable[list[Chunk]], name: str) -> tuple[Accelerator, tuple[Found, ...]]:
    """Return the accelerator of a name, and the mappings to it."""
    chunks = next(
        each for each in rounds if any(name == some.name for some in each[0].sweep.hardware)
    )
    sweep = chunks[0].sweep
    wanted = [each for each in range(sweep.problems) if sweep.names(each)[1] == name]
    return sweep.goal(wanted[0]).problem.hardware, tuple(_found(chunks, wanted))


def _found(chunks: Sequence[Chunk], wanted: Container[int]) -> Iterator[Found]:
    """Yield the best mappings of the problems that are wanted; all networks are executed once."""
    sweep = chunks[0].sweep
    cells: dict[int, list[CellBest]] = {}
    for each in best_mappings(chunks):
        if each.problem in wanted:
            cells.setdefault(each.problem, []).append(each)
    counts = Counter[int]()
    for part in sweep.sets:
        for layer, count in zip(part.layers, part.counts, strict=True):
            counts[layer] += count
    for problem, searches in sorted(cells.items()):
        best = min(searches, key=lambda each: math.inf if each.value is None else each.value)
        if best.vector is None or best.value is None:
            continue
        goal = checked_goal(chunks[0].directory, sweep, best)
        yield Found(
            sweep.names(problem)[0],
            goal,
            best.vector,
            best.value,
            known_bound(goal, best.bound),
            best.mapper,
            sum(each.samples for each in searches),
            counts[problem * len(sweep.layers) // sweep.problems],
            (),
        )


def _designs(
    directory: Path, least: Mapping[str, Any], sizes: Mapping[str, Axis]
) -> Iterator[dict[str, Any]]:
    """Yield the accelerators of a workload to draw: not too many others, then the front."""
    rows: dict[str, list[dict[str, Any]]] = {OTHER: [], FRONT: [], LEAST: []}
    for row in read_csv(directory / ACCELERATORS):
        if row["workload"] == least["workload"] and not row["unmapped"]:
            best = row["hardware"] == least["hardware"]
            kind = LEAST if best else FRONT if row["front"] == "1" else OTHER
            figures = {name: float(row[name]) for name in TOTALS}
            has = {name: axis.number(float(row[axis.name])) for name, axis in sizes.items()}
            rows[kind].append({"hardware": row["hardware"], **has, **figures, "kind": kind})
    others = rows[OTHER]
    yield from others[:: math.ceil(len(others) / _MOST_OTHERS) or 1]
    yield from (*rows[FRONT], *rows[LEAST])
