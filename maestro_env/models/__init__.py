"""Cost models as rooms: each handles its accelerators and problems; the rest asks them.

A new model is a file here with its ``Room``, and a line of ``evaluation.models.MODELS``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.finding import is_hierarchy
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technology import Technology
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.models import DEFAULT_MODEL, MODELS, find_model
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import AUTO
from maestro_env.workloads.layer import Layer


class Room(ABC):
    """Accelerators and problems of a cost model; ``MODELS`` names the room of each.

    A model needs the abstract methods. The others are what it adds to tables, pages and
    explanations.
    """

    real_units = True
    """Whether figures in real units are shown without a clock, too."""

    def __init__(self, model: str) -> None:
        self.model = model

    @abstractmethod
    def find(self, text: Any) -> Accelerator:
        """Return the accelerator that a text names, or the accelerator itself.

        Raises:
            MaestroEnvError: no such accelerator, or one of another kind.
        """

    @abstractmethod
    def problems(
        self,
        layers: Sequence[Layer],
        accelerator: Any,
        schema: str = AUTO,
        tiles: str = "integers",
        guard: bool = True,
        constraints: str | None = None,
    ) -> list[AnyProblem]:
        """Return a problem for each of some layers, as ``make_problems`` does."""

    @abstractmethod
    def text(self, accelerator: Any) -> str:
        """Return the text of which ``find`` makes the accelerator again: a name if it has one."""

    def file_text(self, accelerator: Any) -> str:
        """Return an accelerator as a file that ``find`` reads."""
        return self.text(accelerator)

    def published(self, name: str) -> Accelerator | None:
        """Return the accelerator that has this name, with its energies; None for no such."""
        return None

    def all_fields(self, accelerator: Any) -> str:
        """Return an accelerator but for its name, in a line as ``--hardware`` takes it."""
        return self.text(accelerator)

    def record(self, accelerator: Any) -> dict[str, Any]:
        """Return an accelerator as JSON holds it, for ``recorded_accelerator``."""
        return {self.model: self.file_text(accelerator)}

    def recorded(self, text: str) -> Accelerator:
        """Make the accelerator of which ``record`` has the text."""
        return self.find(text)

    def label(self, accelerator: Accelerator) -> str:
        """Return what an accelerator is called beside a layer."""
        return accelerator.name or "hardware"

    def figures(self, accelerator: Any) -> dict[str, Any]:
        """Return what a page shows of an accelerator, by name."""
        return self.record(accelerator)

    def summary(self, accelerator: Any) -> Iterator[str]:
        """Yield an accelerator's units and memories in a few lines."""
        yield f"model {self.model}: {self.label(accelerator)}"

    def with_energies(self, accelerator: Any) -> Any:
        """Return an accelerator that has no energies with those that commands give it."""
        return accelerator

    def constrained(self, accelerator: Any, rules: str | None) -> Any:
        """Return an accelerator whose loops obey constraints, where they are a part of it.

        Where they are not, ``problems`` heeds them.
        """
        return accelerator

    def has_energies(self, accelerator: Any) -> bool:
        """Say whether an accelerator has energies of its own, apart from its technology's."""
        return False

    def area_um2(self, accelerator: Any, technology: Technology) -> float:
        """Return the area in um^2 of PEs and buffers in a technology; NaN where none is known."""
        return float("nan")

    def buffers(self, accelerator: Any, costs: Sequence[Cost]) -> tuple[float | None, ...]:
        """Return the bytes of L1 and L2 that mappings need, and the area with them in um^2."""
        return (None, None, None)

    def explain(self, problem: Any, mapping: Any, objective: Objective | str | None) -> Any:
        """Return why a mapping costs what it does; as text it is what people read.

        Raises:
            ModelError: the model cannot say it.
        """
        return problem.show(mapping)

    def bottleneck(self, problem: Any, mapping: Any) -> str:
        """Return the resource of which more would save most cycles; ``-`` where none is known."""
        return "-"

    def offchip_bw(self, accelerator: Any) -> float:
        """Return the words a cycle of main memory, reads and writes; infinite without a limit."""
        return math.inf

    def offchip_words(self, problem: Any, mapping: Any) -> float | None:
        """Return the words of main memory that a valid mapping moves; None where not known."""
        return None

    def places(self, accelerator: Any) -> tuple[str, ...]:
        """Return where energy may go, as ``energy`` names it, from the PEs outwards."""
        return ()

    def energy(self, problem: Any, mapping: Any) -> Mapping[tuple[str, str], float]:
        """Return parts of a valid mapping's energy in nJ, by place and tensor.

        They add up to all of it; empty where they are not known.
        """
        return {}


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
    constraints: str | None = None,
) -> list[AnyProblem]:
    """Return a problem for each of some layers, on one accelerator under any cost model.

    Args:
        layers: to be mapped.
        hardware: of the kind that the model knows, or text that names one.
        model: a name of ``MODELS``.
        schema: text for ``find_schema``; for mappings of two levels alone.
        tiles: a name of ``TILES``.
        guard: as in ``Problem``.
        constraints: of the loops of mappings of two levels, as ``constraints_text`` returns them;
            those of other accelerators are a part of them.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is allowed.
    """
    return room_of(model).problems(layers, hardware, schema, tiles, guard, constraints)


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
