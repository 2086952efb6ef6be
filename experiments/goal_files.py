"""The files of a goal: goal.json, what its searches minimise, and the best mapping of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.files import (
    check_same,
    distinct_name,
    ensure_directory,
    read_record,
    write_record,
    write_text,
)
from experiments.goals import Goal
from maestro_env.mapping import Mapping

GOAL = "goal.json"
ANEW = "give another --out to begin anew"


def goal_directory(directory: Path, layer: str, objective: str) -> Path:
    """Return where a directory keeps the searches of a layer and an objective."""
    return directory / "cells" / distinct_name(layer) / objective


def check_goal(directory: Path, layer: str, objective: str, goal: Goal) -> None:
    """Check that the searches kept there, if any, have this goal."""
    path = goal_directory(directory, layer, objective) / GOAL
    if path.exists():
        check_same(path, read_record(path, ANEW), _facts(goal))


def write_goal(directory: Path, layer: str, objective: str, goal: Goal) -> None:
    """Write the goal of the searches that will be kept there."""
    path = goal_directory(directory, layer, objective)
    ensure_directory(path)
    write_record(path / GOAL, _facts(goal))


def write_mapping(directory: Path, goal: Goal, mapping: Mapping) -> dict[str, Any]:
    """Write a valid mapping, as JSON, MAESTRO file and loop nest; return its cost."""
    cost, _ = goal.problem.evaluate_mapping(mapping)
    assert cost is not None
    write_text(directory / "best_mapping.json", mapping.to_json())
    write_text(directory / "best_mapping.m", mapping.to_m(goal.problem.layer))
    write_text(directory / "best_mapping.txt", f"{mapping}\n")
    return cost.as_dict()


def _facts(goal: Goal) -> dict[str, Any]:
    """Return what decides the value of a mapping, which the lower bound does not."""
    facts = goal.describe()
    del facts["objective"]["lower_bound"]
    return facts
