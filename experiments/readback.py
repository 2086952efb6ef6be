"""Figures read back from JSON files, which may be damaged or edited."""

from __future__ import annotations

import json
import math
import reprlib
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from experiments.files import RecordError
from experiments.goals import Goal
from maestro_env.checks import MAX_INT
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import ALIASES

Number = TypeVar("Number", int, float)

BRIEF = reprlib.Repr()
"""Shows values of which nobody knows how long they are."""

BRIEF.maxstring = 80

# Where settings name hardware: older files may hold a preset's older name.
_HARDWARE = {("config", "hardware"), ("hardware", "name")}


def number(entry: dict[str, Any], name: str, kind: type[Number]) -> Number:
    """Return a figure, which must be finite and not negative.

    Raises:
        LookupError, ValueError: it is not there, or not that.
    """
    figure = entry[name]
    kinds = (int, float) if kind is float else (int,)
    if type(figure) not in kinds or not 0 <= figure < math.inf:
        raise ValueError(f"{name}{_of_seed(entry)}: {BRIEF.repr(figure)}")
    return kind(figure)


def vector(entry: dict[str, Any], name: str) -> tuple[int, ...] | None:
    """Return the vector of a search, or None if it has none.

    Raises:
        LookupError, ValueError: it is not there, or no vector.
    """
    point = entry[name]
    if point is None:
        return None
    if not isinstance(point, list) or not all(
        type(each) is int and 0 <= each <= MAX_INT for each in point
    ):
        raise ValueError(f"{name}{_of_seed(entry)}: {BRIEF.repr(point)}")
    return tuple(point)


def value(goal: Goal, point: tuple[int, ...]) -> float:
    """Return the objective of a vector; infinite if it is invalid.

    Raises:
        MapSpaceError: it is not of the goal's space.
    """
    evaluator = Evaluator(goal.problem, goal.objective)
    return float(evaluator.evaluate(np.array([point], dtype=np.int32)).values[0])


def check_same(path: Path, begun: dict[str, Any], asked: dict[str, Any]) -> None:
    """Check that a file holds the settings asked for.

    Args:
        path: of the file.
        begun: what it holds: JSON objects by section.
        asked: what it should hold, as JSON would hold it; the file may hold more.

    Raises:
        RecordError: it holds something else.
    """
    for section, values in json.loads(json.dumps(asked)).items():
        recorded = begun.get(section)
        if not isinstance(recorded, dict):
            raise RecordError(f"{path}: {section!r} is not a JSON object")
        for name, new in values.items():
            old = recorded.get(name)
            if (section, name) in _HARDWARE and isinstance(old, str):
                old = ALIASES.get(old, old)
            if old != new:
                raise RecordError(
                    f"{path}: the run was begun with {section} {name} = {BRIEF.repr(old)}, "
                    f"asked for {BRIEF.repr(new)}; resume it as it was begun"
                )


def _of_seed(entry: dict[str, Any]) -> str:
    return f" of seed {BRIEF.repr(entry['seed'])}" if "seed" in entry else ""
