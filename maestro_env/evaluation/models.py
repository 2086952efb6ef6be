"""The cost models by name, and what each can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import DEFAULT
from maestro_env.base.checks import by_name, look_up
from maestro_env.base.errors import ModelError

ABILITIES: Mapping[str, str] = {
    "levels": "mappings of two levels",
    "proof": "proven optima",
    "known": "optima or bounds in the table",
    "explanation": "figures that add up to its totals",
    "windows": "tiles of windows",
    "relaxed": "bounds on any memories",
    "masks": "masks that allow valid mappings only",
    "guard": "a guard",
    "csv_energy": "the energy of MAESTRO's CSV",
}
"""What some models can do, and what that is called where another one lacks it."""


@dataclass(frozen=True)
class CostModel:
    """What users and tools need to know of a cost model.

    Args:
        name: in flags, tables and records.
        room: ``module:class`` of the ``Room`` that handles its accelerators and problems.
        abilities: names of ``ABILITIES``. Problems of models with ``levels`` are ``Problem``. One
            with ``guard`` credits some mappings with results no machine could achieve, so that
            searches need the guard.
        miscounts_strides: whether most mappings of strided layers get wrong numbers.
        extended: whether it computes in the 80-bit ``long double`` of x86, which other processors
            lack.
        own_energies: whether it has energies of its own, whatever the hardware's technology, and
            words of one byte.
    """

    name: str
    room: str
    abilities: frozenset[str] = frozenset()
    miscounts_strides: bool = False
    extended: bool = False
    own_energies: bool = False

    def require_hardware(self, hardware: Hardware) -> None:
        """Raise a ``ModelError`` if the model would ignore what the hardware is made of."""
        if not self.own_energies:
            return
        if hardware.word_bytes != 1:
            raise ModelError(
                f"model {self.name} has words of one byte, but those of "
                f"{hardware.name or 'the hardware'} have {hardware.word_bytes}; allowed: "
                f"word_bytes 1, or model {self._others()}"
            )
        if hardware.technology != DEFAULT:
            raise ModelError(
                f"model {self.name} has energies of its own, but {hardware.name or 'the hardware'} "
                f"is of technology {hardware.technology.name or 'given'}; allowed: technology "
                f"{DEFAULT.name}, or model {self._others()}"
            )

    def _others(self) -> str:
        others = (each for each in MODELS.values() if "levels" in each.abilities)
        return ", ".join(each.name for each in others if not each.own_energies)


_TWO_LEVELS = "maestro_env.models.two_levels:TwoLevels"

MODELS: Mapping[str, CostModel] = by_name(
    CostModel(
        "exact",
        _TWO_LEVELS,
        frozenset({"levels", "proof", "known", "explanation", "windows", "masks"}),
    ),
    CostModel(
        "maestro",
        _TWO_LEVELS,
        frozenset({"levels", "guard", "csv_energy"}),
        miscounts_strides=True,
        extended=True,
        own_energies=True,
    ),
    CostModel(
        "hierarchy",
        "maestro_env.models.hierarchy:AnyMemories",
        frozenset({"known", "explanation", "relaxed"}),
    ),
)
"""The cost models by name; docs/models.md compares them.

``exact`` has MAESTRO's conventions and counts every number exactly; ``maestro`` has the MAESTRO
binary's arithmetic, digit for digit; ``hierarchy`` has any number of memories.
"""

DEFAULT_MODEL = "exact"

FIGURES_VERSION = "1"
"""Version of what all cost models return: raised whenever a mapping gets another figure."""


def models_with(ability: str) -> list[str]:
    """Return the names of the models that have an ability, a name of ``ABILITIES``."""
    return [model.name for model in MODELS.values() if ability in model.abilities]


def find_model(name: str) -> CostModel:
    """Return the cost model called ``name``.

    Raises:
        UnknownNameError: no such model.
        ModelError: one that this build cannot compute.
    """
    model = look_up("model", name, MODELS)
    if model.extended and not _native.HAS_EXTENDED_PRECISION:
        from platform import machine

        others = (each.name for each in MODELS.values() if not each.extended)
        raise ModelError(
            f"model {name} computes in the 80-bit long double of x86, which this build for "
            f"{machine()} lacks; allowed: {', '.join(others)}"
        )
    return model
