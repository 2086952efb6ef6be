"""What is searched and what for: the flags of every command that searches, objects, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.constraints import CONSTRAINTS_HELP, constraints_text
from maestro_env.accelerators.finding import chips_with
from maestro_env.accelerators.hardware import ALIASES, DESCRIPTIONS
from maestro_env.base.errors import quoted
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.models import DEFAULT_MODEL, MODELS, models_with
from maestro_env.evaluation.objectives import OBJECTIVE_HELP, Objective, find_objective
from maestro_env.evaluation.problem import AUTO, Problem, require
from maestro_env.experiments.shell.files import (
    check_same,
    distinct_name,
    ensure_directory,
    read_record,
    write_json,
    write_record,
    write_text,
)
from maestro_env.experiments.shell.flags import UsageError, option
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.store.claims import ANEW
from maestro_env.models import (
    ANY_MEMORIES,
    accelerator_record,
    find_accelerator,
    make_problems,
    model_of,
    recorded_accelerator,
    room_of,
    two_buffer_form,
)
from maestro_env.workloads.layer import Layer

GOAL = "goal.json"
LAYER_HELP = (
    "a name that the command layers prints, FILE.csv:ROW, or one such as gemm:M=8,N=8,K=8 or "
    "conv:K=8,C=8,H=14,W=14,R=3,S=3,padding=1"
)
HARDWARE_HELP = (
    f"accelerator: {'; '.join(f'{name} ({what})' for name, what in DESCRIPTIONS.items())}; "
    "FILE.yaml, FILE.m, or fields such as pe_array=16x16,l1_bytes=2KB,l2_bytes=1MB"
)
ANY_HARDWARE_HELP = f"{HARDWARE_HELP}; with all memories: {', '.join(chips_with('memories'))}"
SCHEMA_HELP = (
    "what may be tiled: legal13 (all but R, S), full17 (all), paper10 (as the paper); auto: "
    "legal13, or full17 for a layer whose window L1 cannot hold"
)


@dataclass(frozen=True)
class ProblemConfig:
    """The flags that make a mapping problem of a layer."""

    hardware: str = option("unlimited", HARDWARE_HELP)
    model: str = option(DEFAULT_MODEL, f"cost model: {', '.join(models_with('levels'))}")
    schema: str = option(AUTO, SCHEMA_HELP)
    tiles: str = option("integers", "tile sizes: integers (any), divisors (of the loop's extent)")
    constraints: str | None = option(None, CONSTRAINTS_HELP, value="rules")
    keep: str | None = option(None, "another name of --constraints", value="rules")
    guard: bool = option(True, "accept figures no machine could achieve (model maestro)")
    energy: str = option("total", "total: with all accesses; csv: as the MAESTRO binary prints it")

    def __post_init__(self) -> None:
        object.__setattr__(self, "hardware", ALIASES.get(self.hardware, self.hardware))
        if self.constraints and self.keep and self.constraints != self.keep:
            raise UsageError("--keep and --constraints: give one of them")
        if given := self.constraints or self.keep:
            object.__setattr__(self, "constraints", constraints_text(given))
            object.__setattr__(self, "keep", None)

    def accelerator(self) -> Accelerator:
        """Return the accelerator of the flags, after a line if that is a form of it."""
        found = find_accelerator(self.hardware, self.model)
        say_form(self.hardware, found)
        constrained: Accelerator = room_of(self.model).constrained(found, self.constraints)
        return constrained


@dataclass(frozen=True)
class AnyProblemConfig(ProblemConfig):
    """The same flags where accelerators with any memories are allowed too."""

    hardware: str = option("unlimited", ANY_HARDWARE_HELP)
    model: str = option(
        AUTO,
        f"cost model: {', '.join(MODELS)}; auto: {ANY_MEMORIES} for an accelerator that is "
        f"described with all its memories, else {DEFAULT_MODEL}",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.model == AUTO and self.hardware:
            object.__setattr__(self, "model", model_of(self.hardware))


def say_form(hardware: str, found: Accelerator) -> None:
    """Say in a line if what was found of a text is its two-buffer form."""
    if form := two_buffer_form(hardware, found):
        print_lines(f"{form}; for all its memories: run, compare, map, codesign, optimum")


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

    problem: AnyProblem
    objective: Objective
    lower_bound: float | None

    def require(self, ability: str) -> Problem:
        """Return the problem, whose model must have an ability.

        Raises:
            ModelError: it lacks it.
        """
        return require(self.problem, ability, "this command")

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
            "hardware": accelerator_record(self.problem.hardware),
            "map_space": {
                "size": space.size(),
                "parameters": {each.name: each.choices for each in space.parameters},
                # Older records, which lack it, are of this schema.
                **(
                    {}
                    if self.problem.schema in ("legal13", "")
                    else {"schema": self.problem.schema}
                ),
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
        points = np.array([integers(point)], dtype=np.int32)
        (found,) = self.problem.score(points, self.objective)[0].tolist()
        if found != best:
            name = self.objective.name
            raise ValueError(f"best_point has {name} {found}, but the best is {best}")


def integers(vector: Any) -> Sequence[int]:
    """Return a vector of a record; refuse what NumPy would make integers of."""
    if not isinstance(vector, list | tuple) or any(type(each) is not int for each in vector):
        raise ValueError(f"the vector is {quoted(vector)}; allowed: integers")
    return vector


def make_goal(
    config: ProblemConfig, layer: Layer, accelerator: Accelerator, objective: str
) -> Goal:
    """Make the goal of a config whose layer and accelerator are known."""
    minimised = find_objective(objective, config.energy)
    space = (config.schema, config.tiles, config.guard, config.constraints)
    (problem,) = make_problems([layer], accelerator, config.model, *space)
    if config.energy != "csv":
        return Goal(problem, minimised, problem.bound(minimised))
    if "csv_energy" not in problem.abilities:
        raise _no_csv_energy(problem.model)
    # What the CSV says need not be physical.
    return Goal(problem, minimised, None)


def _no_csv_energy(model: str) -> UsageError:
    others = [f"--model {name}" for name in models_with("csv_energy")]
    allowed = " or ".join(["--energy total", *others])
    return UsageError(f"model {model} has no csv energy; allowed: {allowed}")


def schema_note(config: ProblemConfig, goals: Sequence[Goal]) -> str:
    """Say for how many goals the schema ``auto`` is ``full17``; empty if for none."""
    cut = sum(goal.problem.schema.startswith("full17") for goal in goals)
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
    # Older records lack both.
    rules = ("keep", "constraints")
    names = (
        each.name for each in fields(ProblemConfig) if each.name not in rules or each.name in config
    )
    problem = ProblemConfig(**{name: config[name] for name in names})
    return make_goal(
        problem,
        recorded_layer(facts),
        recorded_accelerator(facts["hardware"]),
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
    every = {directory / GOAL: _facts(goal) for directory, goal in goals.items()}
    for path, facts in every.items():
        if path.exists():
            check_same(path, read_record(path, ANEW), facts)
    for path, facts in every.items():
        ensure_directory(path.parent)
        write_record(path, facts)


def write_best(directory: Path, goal: Goal, point: Sequence[int], **found: Any) -> None:
    """Write a valid mapping, as JSON, MAESTRO file and loop nest, its cost and its real units.

    ``found`` says by what it was found, beside the cost.
    """
    mapping = goal.problem.space.decode(np.array(point, dtype=np.int32))
    cost, _ = goal.problem.evaluate_mapping(mapping)
    assert cost is not None
    write_mapping(directory / "best_mapping", goal, mapping)
    write_text(directory / "best_mapping.txt", f"{goal.problem.show(mapping)}\n")
    real = asdict(goal.problem.real(mapping))
    entry = {**found, "best_point": point, "cost": cost.as_dict(), "real": real}
    write_json(directory / "best_cost.json", entry)


def write_mapping(path: Path, goal: Goal, mapping: Any) -> None:
    """Write a mapping in the files that its model has; a path has no ending."""
    for ending, text in goal.problem.files(mapping).items():
        write_text(path.with_name(f"{path.name}{ending}"), text)


def _facts(goal: Goal) -> dict[str, Any]:
    """Return what decides the value of a mapping, which the lower bound does not."""
    facts = goal.describe()
    del facts["objective"]["lower_bound"]
    return facts
