"""The best mapping of a directory: JSON, MAESTRO file and loop nest."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from experiments.files import write_text
from experiments.goals import Goal
from maestro_env.mapping import Mapping


def write_mapping(directory: Path, goal: Goal, mapping: Mapping) -> dict[str, Any]:
    """Write a valid mapping and return its cost."""
    cost, _ = goal.problem.evaluate_mapping(mapping)
    assert cost is not None
    write_text(directory / "best_mapping.json", mapping.to_json())
    write_text(directory / "best_mapping.m", mapping.to_m(goal.problem.layer))
    write_text(directory / "best_mapping.txt", f"{mapping}\n")
    return cost.as_dict()
