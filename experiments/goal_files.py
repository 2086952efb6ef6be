"""What the cells of a directory are after, kept beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.files import distinct_name, ensure_directory, read_json, write_json
from experiments.goals import Goal
from experiments.readback import check_same

_GOAL = "goal.json"


def goal_directory(directory: Path, layer: str, objective: str) -> Path:
    """Return where a comparison's directory keeps the cells of a layer and an objective."""
    return directory / "cells" / distinct_name(layer) / objective


def check_goal(directory: Path, layer: str, objective: str, goal: Goal) -> None:
    """Check that the cells kept there, if any, are after this goal.

    Raises:
        RecordError: they are after another one.
    """
    path = goal_directory(directory, layer, objective) / _GOAL
    if path.exists():
        check_same(path, read_json(path), _facts(goal))


def write_goal(directory: Path, layer: str, objective: str, goal: Goal) -> None:
    """Write what the cells kept there will be after.

    Raises:
        RecordError: the file cannot be written.
    """
    path = goal_directory(directory, layer, objective)
    ensure_directory(path)
    write_json(path / _GOAL, _facts(goal))


def _facts(goal: Goal) -> dict[str, Any]:
    """Return what decides the value of a mapping, which the lower bound does not."""
    facts = goal.describe()
    del facts["objective"]["lower_bound"]
    return facts
