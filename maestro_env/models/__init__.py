"""Cost models as rooms: each handles its accelerators and problems; the rest asks them.

A new model is a file here with its ``Room``, and a line of ``evaluation.models.MODELS``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.finding import is_hierarchy
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.models import DEFAULT_MODEL, MODELS, find_model
from maestro_env.evaluation.problem import AUTO
from maestro_env.models.room import Room
from maestro_env.workloads.layer import Layer

ANY_MEMORIES = "hierarchy"
"""The model of accelerators with any number of memories."""


@cache
def room_of(model: str) -> Room:
    """Return the room of a cost model.

    Raises:
        UnknownNameError: no such model.
        ModelError: one that this build cannot compute.
    """
    module, _, name = find_model(model).room.partition(":")
    found: Room = getattr(import_module(module), name)(model)
    return found


def model_of(hardware: str | Accelerator) -> str:
    """Return the cost model that knows all that an accelerator, or a text of one, says."""
    if isinstance(hardware, str):
        return ANY_MEMORIES if is_hierarchy(hardware) else DEFAULT_MODEL
    return hardware.MODEL


def has_levels(accelerator: Accelerator) -> bool:
    """Say whether mappings on an accelerator are of two levels."""
    return "levels" in MODELS[accelerator.MODEL].abilities


def two_buffer_form(hardware: str | Accelerator, found: Accelerator) -> str:
    """Say that a text describes more memories than what was found of it has; empty if not so."""
    leaves_out = has_levels(found) and model_of(hardware) == ANY_MEMORIES
    return f"two-buffer form of {found.name}" if leaves_out else ""


def make_problems(
    layers: Sequence[Layer],
    hardware: str | Accelerator,
    model: str = DEFAULT_MODEL,
    schema: str = AUTO,
    tiles: str = "integers",
    guard: bool = True,
) -> list[AnyProblem]:
    """Return a problem for each of some layers, on one accelerator under any cost model.

    Args:
        layers: to be mapped.
        hardware: of the kind that the model knows, or text that names one.
        model: a name of ``MODELS``.
        schema: text for ``find_schema``; for mappings of two levels alone.
        tiles: a name of ``TILES``.
        guard: as in ``Problem``.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is allowed.
    """
    return room_of(model).problems(layers, hardware, schema, tiles, guard)


def find_accelerator(hardware: str | Accelerator, model: str) -> Accelerator:
    """Return the accelerator that a flag names, or that is given, of the kind that a model knows.

    One without energies gets those of a technology, where its model knows one that fits.

    Raises:
        MaestroEnvError: no such accelerator; the message says what is allowed.
    """
    room = room_of(model)
    found: Accelerator = room.with_energies(room.find(hardware))
    return found


def accelerator_record(accelerator: Accelerator) -> dict[str, Any]:
    """Return an accelerator as JSON holds it, for ``recorded_accelerator``."""
    return room_of(accelerator.MODEL).record(accelerator)


def recorded_accelerator(record: Mapping[str, Any]) -> Accelerator:
    """Make the accelerator of a record.

    Raises:
        LookupError, TypeError, AttributeError, ValueError: something else.
    """
    (key, *others) = record
    return Hardware(**record) if others or key not in MODELS else room_of(key).recorded(record[key])
