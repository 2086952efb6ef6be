"""Checks of what was read back from files."""

from __future__ import annotations

import json
import reprlib
from pathlib import Path
from typing import Any

import numpy as np

from experiments.files import RecordError
from experiments.goals import Goal
from maestro_env.evaluator import Evaluator

BRIEF = reprlib.Repr()
"""Shows values of any length."""

BRIEF.maxstring = 80


def check_best(goal: Goal, point: list[int] | tuple[int, ...] | None, best: float | None) -> None:
    """Check that a vector has a value, to the last bit; None stands for neither.

    Raises:
        ValueError: it has another one, as after a change of the cost model.
    """
    if point is None and best is None:
        return
    evaluator = Evaluator(goal.problem, goal.objective)
    found = float(evaluator.evaluate(np.array([point], dtype=np.int32)).values[0])
    if found != best:
        raise ValueError(f"best_point has {goal.objective.name} {found}, but the best is {best}")


def check_same(path: Path, begun: dict[str, Any], asked: dict[str, Any]) -> None:
    """Check that a file has the settings asked for, and perhaps more: JSON objects by section.

    ``begun`` is what it holds.
    """
    for section, values in json.loads(json.dumps(asked)).items():
        recorded = begun.get(section)
        if not isinstance(recorded, dict):
            raise RecordError(f"{path}: {section!r} is not a JSON object")
        for name, new in values.items():
            old = recorded.get(name)
            if old != new:
                raise RecordError(
                    f"{path}: the run was begun with {section} {name} = {BRIEF.repr(old)}, "
                    f"asked for {BRIEF.repr(new)}; resume it as it was begun"
                )
