"""Reads the directory of a sweep whose description is not at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from maestro_env.experiments.search.goals import Goal, ProblemConfig
from maestro_env.experiments.shell.files import RecordError, read_json, read_record
from maestro_env.experiments.store.claims import ANEW, CONFIG
from maestro_env.experiments.store.records import Versions
from maestro_env.experiments.study.sweep.axes import LayerSet, Sweep
from maestro_env.experiments.study.sweep.chunks import VECTOR, Chunk, make_chunks
from maestro_env.models import recorded_accelerator
from maestro_env.workloads.layer import Layer


class CellBest(NamedTuple):
    """The best mapping of a cell.

    Args:
        problem: its index in the sweep.
        mapper: name of what found it.
        seed: of the search.
        vector: the mapping; None if none was valid.
        value: of the objective; None if none was valid.
        samples: evaluations of the search.
        bound: no mapping has a lower value; None of a mapper that proves nothing.
    """

    problem: int
    mapper: str
    seed: int
    vector: tuple[int, ...] | None
    value: float | None
    samples: int
    bound: float | None


def recorded_chunks(directory: Path) -> list[Chunk]:
    """Return the chunks of a sweep's directory, searched or not.

    Raises:
        RecordError: no sweep's directory, or one that cannot be read.
    """
    path = directory / CONFIG
    entry = read_record(path, ANEW)
    try:
        return make_chunks(_sweep(entry["sweep"]), entry["chunks"], directory, {})
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(f"cannot read {path}: {error!r}; {ANEW}") from None


def best_mappings(chunks: Iterable[Chunk]) -> Iterator[CellBest]:
    """Yield what the searched cells found, chunk by chunk.

    Raises:
        RecordError: a record that was changed or holds something else.
    """
    for chunk in chunks:
        if (found := chunk.read()) is None:
            continue
        columns, _ = found
        try:
            points = [_point(text) for text in columns[VECTOR]]
        except (AttributeError, ValueError) as error:
            raise RecordError(f"{chunk.path} has no vectors: {error}") from None
        sweep = chunk.sweep
        names = ("value", "evaluations", "bound")
        figures = zip(points, *(columns[name] for name in names), strict=True)
        for cell, each in enumerate(figures, chunk.start):
            problem, seed = divmod(cell, sweep.seeds)
            yield CellBest(problem, sweep.mappers[chunk.mapper], sweep.seed + seed, *each)


def checked_goal(directory: Path, sweep: Sweep, best: CellBest) -> Goal:
    """Return the goal of a cell, whose mapping has the value that its record tells.

    Raises:
        RecordError: it has another one, as after a change of the cost model.
    """
    goal = sweep.goal(best.problem)
    try:
        goal.check_best(best.vector, best.value)
    except ValueError as error:
        called = ", ".join(sweep.names(best.problem))
        raise RecordError(f"{directory}: {called}, {best.mapper}: {error}; {ANEW}") from None
    return goal


def versions_of(chunks: Iterable[Chunk]) -> list[Versions]:
    """Return the versions that computed each of the searched chunks."""
    return [read_json(each.path).get("versions", {}) for each in chunks if each.path.exists()]


def _point(text: str | None) -> tuple[int, ...] | None:
    return None if text is None else tuple(map(int, text.split()))


def _sweep(described: dict[str, Any]) -> Sweep:
    """Make the sweep of what ``Sweep.describe`` returned."""
    layers = [each | {"stride": tuple(each["stride"])} for each in described["layers"]]
    return Sweep(
        ProblemConfig(**described["problem"]),
        tuple(Layer(**each) for each in layers),
        tuple(LayerSet(name, tuple(a), tuple(b)) for name, a, b in described["sets"]),
        tuple(map(recorded_accelerator, described["hardware"])),
        tuple(described["objectives"]),
        tuple(described["mappers"]),
        described["samples"],
        described["seeds"],
        described["seed"],
    )
