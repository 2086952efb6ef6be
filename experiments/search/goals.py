"""What is searched and what for: the flags of every command that searches, objects, files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.shell import cli
from experiments.shell.files import (
    check_same,
    distinct_name,
    ensure_directory,
    read_record,
    write_json,
    write_record,
    write_text,
)
from experiments.shell.flags import UsageError, option
from experiments.store.directory import ANEW
from maestro_env.accelerators.hardware import ALIASES, DESCRIPTIONS, PRESETS, Hardware
from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.models import DEFAULT_MODEL, MODELS, find_model
from maestro_env.evaluation.objectives import OBJECTIVE_HELP, Objective, find_objective
from maestro_env.evaluation.problem import AUTO, Problem, find_schema
from maestro_env.explanation.dataflows import parallel_loops
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.layer import Layer
from mappers import MAPPERS, PROVERS, make_mapper
from mappers.base import Mapper

GOAL = "goal.json"
LAYER_HELP = (
    "a name that the command layers prints, FILE.csv:ROW, or one such as gemm:M=8,N=8,K=8 or "
    "conv:K=8,C=8,H=14,W=14,R=3,S=3,padding=1"
)
HARDWARE_HELP = (
    f"accelerator: {'; '.join(f'{name} ({what})' for name, what in DESCRIPTIONS.items())}; "
    "FILE.yaml, FILE.m, or fields such as pe_array=16x16,l1_bytes=2KB,l2_bytes=1MB"
)
SCHEMA_HELP = (
    "what may be tiled: legal13 (all but R, S), full17 (all), paper10 (as the paper); auto: "
    "legal13, or full17 for a layer whose window L1 cannot hold"
)
FIRST_MAPPERS = ("random", "bo", "ga", "gamma", "ppo", "marl", "prior")
"""What ``run`` compares unless told."""

MAPPERS_HELP = (
    f"all (but {', '.join(PROVERS)}), or some of these, separated by commas, with settings after "
    f"a colon as in ga:population=50: {', '.join(MAPPERS)}; or one that an installed package adds"
)


@dataclass(frozen=True)
class ProblemConfig:
    """The flags that make a mapping problem of a layer."""

    hardware: str = option("unlimited", HARDWARE_HELP)
    model: str = option(DEFAULT_MODEL, f"cost model: {', '.join(MODELS)}")
    schema: str = option(AUTO, SCHEMA_HELP)
    tiles: str = option("integers", "tile sizes: integers (any), divisors (of the loop's extent)")
    keep: str | None = option(
        None,
        "search only mappings with these loops parallel over clusters and over the PEs of one: "
        "parallel=K,C, weight-stationary, output-stationary",
        value="loops",
    )
    guard: bool = option(True, "accept figures no machine could achieve (model maestro)")
    energy: str = option("total", "total: with all accesses; csv: as the MAESTRO binary prints it")

    def __post_init__(self) -> None:
        object.__setattr__(self, "hardware", ALIASES.get(self.hardware, self.hardware))


@dataclass(frozen=True)
class LayerConfig:
    """The flags that say what is searched."""

    layer: str = option("mobilenetv2_l2", LAYER_HELP)
    objective: str = option("edp", f"what to minimise: {OBJECTIVE_HELP}")


@dataclass(frozen=True)
class Goal:
    """What a search is after.

    Args:
        problem: what is searched.
        objective: what is minimised.
        lower_bound: of the objective; None where figures need not be physical.
    """

    problem: Problem
    objective: Objective
    lower_bound: float | None

    def describe(self) -> dict[str, Any]:
        """Return everything that decides a value, as JSON holds it."""
        layer, space = self.problem.layer, self.problem.space
        return {
            "layer": {
                "name": layer.name,
                "operator": layer.operator,
                "extents": dict(layer.extents),
                "stride": list(layer.stride),
                "dimensions": layer.dimensions,
                "count": layer.count,
                "macs": layer.macs,
            },
            "hardware": self.problem.hardware.record(),
            "map_space": {
                "size": space.size(),
                "parameters": {each.name: each.choices for each in space.parameters},
                # Older records, which lack it, are of this schema.
                **({} if space.schema == "legal13" else {"schema": space.schema}),
            },
            "objective": {
                "name": self.objective.name,
                "unit": self.objective.unit,
                "lower_bound": self.lower_bound,
            },
        }

    def check_best(self, point: Sequence[int] | None, best: float | None) -> None:
        """Check that a vector has a value, to the last bit; None stands for neither.

        Raises:
            ValueError: it has another one, as after a change of the cost model.
        """
        if point is None and best is None:
            return
        points = np.array([point], dtype=np.int32)
        (found,) = self.problem.score(points, self.objective)[0].tolist()
        if found != best:
            name = self.objective.name
            raise ValueError(f"best_point has {name} {found}, but the best is {best}")


def make_goal(config: ProblemConfig, layer: Layer, hardware: Hardware, objective: str) -> Goal:
    """Make the goal of a config whose layer and hardware are known."""
    schema = find_schema(config.schema, [layer], hardware, config.tiles, config.model)
    if config.keep is not None:
        schema = f"{schema}:{_kept(config.keep, layer)}"
    space = MapSpace(layer, hardware, schema, config.tiles)
    problem = Problem(space, config.model, config.guard)
    found = find_objective(objective, config.energy)
    model, csv_energy = find_model(config.model), config.energy == "csv"
    if csv_energy and not model.csv_energy:
        others = [f"--model {each.name}" for each in MODELS.values() if each.csv_energy]
        allowed = " or ".join(["--energy total", *others])
        raise UsageError(f"model {model.name} has no csv energy; allowed: {allowed}")
    physical = (config.guard or not model.exploitable) and not csv_energy
    bound = found.bound(layer, hardware) if physical and found.bound else None
    return Goal(problem, found, bound)


def _kept(keep: str, layer: Layer) -> str:
    """Return the parallel loops to keep, which may be those of a dataflow, as schemas have them."""
    if "," not in keep and "=" not in keep:
        outer, inner = parallel_loops(keep.replace("_", "-"), layer)
        return f"parallel={outer},{inner}".replace("'", "")
    dims = {dim.rstrip("'") for dim in MapSpace(layer, PRESETS["unlimited"]).parallel_dims}
    loops = keep.removeprefix("parallel=").split(",")
    if len(loops) != 2 or not dims.issuperset(loops):
        raise UsageError(
            f"--keep {keep}: {layer} has the loops {', '.join(sorted(dims))}; allowed: "
            "parallel=OUTER,INNER of these, or weight-stationary or output-stationary, which take "
            "the loops of each layer"
        )
    return f"parallel={','.join(loops)}"


def schema_note(config: ProblemConfig, goals: Sequence[Goal]) -> str:
    """Say for how many goals the schema ``auto`` is ``full17``; empty if for none."""
    cut = sum(goal.problem.space.schema.startswith("full17") for goal in goals)
    if config.schema != AUTO or not cut:
        return ""
    which = f" for {cut} of {len(goals)} layers" if len(goals) > 1 else ""
    return f"Schema full17{which}: the buffers hold no whole window."


def recorded_goal(config: dict[str, Any], facts: dict[str, Any]) -> Goal:
    """Make the goal of what ``describe`` returned, without the files it may have been read from.

    Args:
        config: a ``ProblemConfig`` and more, as JSON.
        facts: of the goal.

    Raises:
        LookupError, TypeError, AttributeError, ValueError: something else.
    """
    # Older records have nothing to keep.
    names = (each.name for each in fields(ProblemConfig) if each.name != "keep" or "keep" in config)
    problem = ProblemConfig(**{name: config[name] for name in names})
    return make_goal(
        problem,
        recorded_layer(facts),
        Hardware(**facts["hardware"]),
        facts["objective"]["name"],
    )


def recorded_layer(facts: dict[str, Any]) -> Layer:
    """Make the layer of what ``describe`` returned; errors are those of ``recorded_goal``."""
    layer = facts["layer"]
    named = {name: layer[name] for name in ("operator", "extents", "name", "count")}
    return Layer(**named, stride=tuple(layer["stride"]))


def goal_directory(directory: Path, layer: str, objective: str) -> Path:
    """Return where a directory keeps the searches of a layer and an objective."""
    return directory / "cells" / distinct_name(layer) / distinct_name(objective)


def write_goals(goals: Mapping[Path, Goal]) -> None:
    """Write the goal of the searches that each directory keeps, or none if one has another goal."""
    for directory, goal in goals.items():
        if (path := directory / GOAL).exists():
            check_same(path, read_record(path, ANEW), _facts(goal))
    for directory, goal in goals.items():
        ensure_directory(directory)
        write_record(directory / GOAL, _facts(goal))


def write_best(directory: Path, goal: Goal, point: Sequence[int], **found: Any) -> None:
    """Write a valid mapping, as JSON, MAESTRO file and loop nest, and its cost.

    ``found`` says by what it was found, beside the cost.
    """
    mapping = goal.problem.space.decode(np.array(point, dtype=np.int32))
    cost, _ = goal.problem.evaluate_mapping(mapping)
    assert cost is not None
    write_text(directory / "best_mapping.json", mapping.to_json())
    write_text(directory / "best_mapping.m", mapping.to_m(goal.problem.layer))
    write_text(directory / "best_mapping.txt", f"{mapping}\n")
    entry = {**found, "best_point": point, "cost": cost.as_dict()}
    write_json(directory / "best_cost.json", entry)


def _facts(goal: Goal) -> dict[str, Any]:
    """Return what decides the value of a mapping, which the lower bound does not."""
    facts = goal.describe()
    del facts["objective"]["lower_bound"]
    return facts


def find_mappers(flag: str, text: str | None) -> tuple[tuple[str, ...], str]:
    """Return the mappers a flag names, and a note on them.

    Args:
        flag: for errors.
        text: ``all``, or some with commas between; None for ``FIRST_MAPPERS``.
    """
    names, note = unique(text.split(",")) if text else FIRST_MAPPERS, ""
    if text is None:
        names, note = _available(names)
    elif names == ("all",):
        names, note = _available(name for name in MAPPERS if name not in PROVERS)
    elif "all" in names:
        raise UsageError(
            f"{flag} {text}: 'all' cannot be combined; "
            f"allowed: all, or some of {', '.join(MAPPERS)}"
        )
    made = [(name, _make(name)) for name in names]
    keys = ((name, (type(mapper), mapper.config)) for name, mapper in made)
    require_distinct(f"{flag} {text}", keys, "the same")
    return names, note


def _available(names: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Return the mappers that can be made, and a note on those left out for want of an extra."""
    found, extras = [], {}
    for name in names:
        try:
            _make(name)
            found.append(name)
        except MissingExtraError as error:
            extras[name] = error.extra
    needed, left_out = ",".join(sorted(set(extras.values()))), ", ".join(extras)
    note = f"skipped (not installed): {left_out}; to have them: pip install -e '.[{needed}]'"
    return tuple(found), note if extras else ""


def _make(name: str) -> Mapper[Any]:
    """Make a mapper, which may import its packages."""
    with cli.importing():
        return make_mapper(name)


def split_layers(text: str) -> tuple[str, ...]:
    """Return the layers of a list with commas between, some of which may belong to a layer.

    In ``resnet18_l2,gemm:M=8,N=8,K=8`` a part such as ``N=8`` continues the layer before it.
    """
    names: list[str] = []
    for part in text.split(","):
        if names and "=" in part and ":" not in part:
            names[-1] += f",{part}"
        else:
            names.append(part)
    return unique(names)


def require_distinct(flag: str, keys: Iterable[tuple[str, object]], what: str) -> None:
    """Refuse names whose keys are equal: what is called twice would count twice."""
    called: dict[object, str] = {}
    for name, key in keys:
        other = called.setdefault(key, name)
        if other != name:
            raise UsageError(f"{flag}: {other} and {name} are {what}: give one of them")


def require_fit(mappers: Iterable[str], goals: Iterable[Goal]) -> None:
    """Refuse mappers that cannot search for one of the goals."""
    for name, goal in product(mappers, goals):
        _make(name).require_fit(goal.problem, goal.objective)


def unique(names: Iterable[str]) -> tuple[str, ...]:
    """Return names without the blanks around them, each once and where it came first."""
    return tuple(dict.fromkeys(name.strip() for name in names))
