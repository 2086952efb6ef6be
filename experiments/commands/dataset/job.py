"""Makes a data set: the record of what is drawn, the files of rows, and the card."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from importlib.metadata import version
from typing import Any

from maestro_env.base.errors import UnknownNameError
from maestro_env.datasets.parquet import FORMAT, RECORD, Dataset, open_dataset
from maestro_env.experiments.commands.dataset.card import write_card, write_croissant
from maestro_env.experiments.commands.dataset.flags import Config
from maestro_env.experiments.commands.dataset.writer import (
    ROWS_PER_FILE,
    DataFile,
    plan,
    write_parts,
)
from maestro_env.experiments.search.goals import Goal, make_goal
from maestro_env.experiments.search.named_mappers import require_fit
from maestro_env.experiments.shell import files
from maestro_env.experiments.shell.flags import split_layers
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.shown.tables import Table
from maestro_env.experiments.store.claims import ANEW, only_process
from maestro_env.experiments.store.records import versions
from maestro_env.experiments.store.running import Running
from maestro_env.mappers import PROVERS, mapper_names
from maestro_env.mappers.parts.arrays import DRAWS
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer


def execute(config: Config) -> int:
    """Write the files that are missing, then the card; return the exit status."""
    hardware = config.accelerator()
    layers = {name: find_layer(name) for name in split_layers(config.layers)}
    goals = {
        name: make_goal(config, layer, hardware, config.objective) for name, layer in layers.items()
    }
    _require_draw(config.draw, goals.values())
    facts = _describe(config, goals)
    with (
        Running.of(config, "dataset", "dataset", "written") as running,
        only_process(running.directory / RECORD) as record,
    ):
        directory = running.directory
        if files.is_empty(directory):
            files.write_record(record, facts)
        else:
            files.check_same(record, files.read_record(record, ANEW), facts)
        parts = [
            part
            for name, goal in goals.items()
            for part in plan(directory / files.distinct_name(name), goal, config.samples)
        ]
        _write(parts, config)
        dataset = open_dataset(directory)
        statuses = {name: dataset.statuses(name) for name in goals}
        write_card(dataset, statuses, config)
        write_croissant(dataset)
        _table(dataset, statuses).print()
        print_lines(f"data set: {directory}")
    return running.status


def _write(parts: Sequence[DataFile], config: Config) -> None:
    """Write the files: an interrupt leaves those under way out."""
    made, done = write_parts(parts, config.draw, config.seed, config.threads), 0
    with closing(made), Bar("rows", sum(part.rows for part in parts)) as bar:
        for part in made:
            done += part.rows
            bar.show(done, "")


def _require_draw(draw: str, goals: Iterable[Goal]) -> None:
    """Refuse what is neither a distribution nor a mapper that spends its budget on every goal."""
    allowed = [*DRAWS, *(name for name in mapper_names() if name not in PROVERS)]
    name, *settings = draw.split(":")
    if name not in allowed or (name in DRAWS and settings):
        raise UnknownNameError("draw", draw, allowed)
    if draw not in DRAWS:
        require_fit([draw], goals)


def _describe(config: Config, goals: dict[str, Goal]) -> dict[str, Any]:
    """Return everything that decides the rows, as JSON."""
    goal = next(iter(goals.values()))
    problem, searched = goal.require("levels"), config.draw not in DRAWS
    return {
        "problem": {
            "hardware": problem.hardware.record(),
            "schema": problem.space.schema,
            "tiles": problem.space.tiles,
            "model": problem.model,
            "guard": problem.guard,
        },
        "draw": {
            "format": FORMAT,
            "draw": config.draw,
            "objective": [goal.objective.name, config.energy] if searched else None,
            "seed": config.seed,
            "samples": config.samples,
            "rows_per_file": ROWS_PER_FILE,
        },
        "layers": {
            name: {"folder": files.distinct_name(name), "layer": _fields(each.problem.layer)}
            for name, each in goals.items()
        },
        "versions": {**versions(), "pyarrow": version("pyarrow")},
    }


def _fields(layer: Layer) -> dict[str, Any]:
    """Return the arguments that make a layer, as JSON."""
    return {
        "operator": layer.operator,
        "extents": dict(layer.extents),
        "stride": list(layer.stride),
        "name": layer.name,
        "count": layer.count,
    }


def _table(dataset: Dataset, statuses: dict[str, dict[str, int]]) -> Table:
    problem = next(iter(dataset.problems.values()))
    rows = []
    for name, counts in statuses.items():
        count = sum(counts.values())
        size = sum(path.stat().st_size for path in dataset.files(name))
        valid = counts.get("ok", 0) / count
        rows.append((name, f"{count:,}", f"{valid:.2%}", f"{size / count:.0f}"))
    title = f"Mappings on {problem.hardware.name} under {problem.model}"
    return Table(title, ("layer",), ("rows", "valid", "bytes a row"), rows)
