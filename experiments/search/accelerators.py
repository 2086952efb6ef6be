"""Accelerators of commands: of two buffers, or of any memories under the model ``hierarchy``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from maestro_env.accelerators.finding import find_hardware, find_hierarchy, has_memories
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text, read_hierarchy
from maestro_env.accelerators.silicon import has_energies, priced
from maestro_env.accelerators.technologies import TECHNOLOGIES
from maestro_env.base.errors import HardwareError
from maestro_env.base.registry import look_up
from maestro_env.evaluation.hierarchy_problem import MODEL
from maestro_env.evaluation.models import DEFAULT_MODEL, MODELS

Accelerator = Hardware | Hierarchy

# By bits of a word: technologies with energies of network and main memory.
_TECHNOLOGIES = {8: "cmos40", 16: "cmos40-16bit"}
_KEY = "hierarchy"


def model_of(hardware: str | Accelerator) -> str:
    """Return the cost model that knows all that an accelerator, or a text of one, says."""
    named = isinstance(hardware, str) and has_memories(hardware)
    return MODEL if named or isinstance(hardware, Hierarchy) else DEFAULT_MODEL


def find_accelerator(hardware: str | Accelerator, model: str) -> Accelerator:
    """Return the accelerator that a flag names, or that is given, of the kind that a model knows.

    One with all its memories but without energies gets those of a technology, which its name then
    says, if one is of its words and knows its memories.

    Raises:
        MaestroEnvError: no such accelerator; the message says what is allowed.
    """
    if model != MODEL:
        look_up("model", model, {**MODELS, MODEL: None})
        # They refuse the other kind.
        return find_hardware(hardware)  # type: ignore[arg-type]
    found = find_hierarchy(hardware)  # type: ignore[arg-type]
    technology = TECHNOLOGIES.get(_TECHNOLOGIES.get(found.word_bits, ""))
    if has_energies(found) or technology is None:
        return found
    try:
        return priced(found, technology)
    except HardwareError:
        return found


def accelerator_record(accelerator: Accelerator) -> dict[str, Any]:
    """Return an accelerator as JSON holds it, for ``recorded_accelerator``."""
    if isinstance(accelerator, Hierarchy):
        return {_KEY: hierarchy_text(accelerator)}
    return accelerator.record()


def recorded_accelerator(record: Mapping[str, Any]) -> Accelerator:
    """Make the accelerator of a record.

    Raises:
        LookupError, TypeError, AttributeError, ValueError: something else.
    """
    if _KEY in record:
        return read_hierarchy(record[_KEY], "recorded accelerator")
    return Hardware(**record)
