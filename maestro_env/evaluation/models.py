"""The cost models by name, and what each can do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import DEFAULT
from maestro_env.base.errors import ModelError
from maestro_env.base.registry import by_name, look_up


@dataclass(frozen=True)
class CostModel:
    """What users and tools need to know of a cost model.

    Args:
        name: as the C++ core knows it.
        cuts_windows: whether R and S may be tiled.
        miscounts_strides: whether most mappings of strided layers get wrong numbers.
        csv_energy: whether it fills ``csv_energy_nj``.
        exploitable: whether it credits some mappings with results no machine could achieve, so that
            searches need the guard.
        extended: whether it computes in the 80-bit ``long double`` of x86, which other processors
            lack.
        own_energies: whether it has energies of its own, whatever the hardware's technology, and
            words of one byte.
    """

    name: str
    cuts_windows: bool = False
    miscounts_strides: bool = False
    csv_energy: bool = False
    exploitable: bool = False
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
        return ", ".join(each.name for each in MODELS.values() if not each.own_energies)


MODELS: Mapping[str, CostModel] = by_name(
    CostModel("exact", cuts_windows=True),
    CostModel(
        "maestro",
        miscounts_strides=True,
        csv_energy=True,
        exploitable=True,
        extended=True,
        own_energies=True,
    ),
)
"""The cost models by name; docs/models.md compares them.

``exact`` has MAESTRO's conventions and counts every number exactly; ``maestro`` has the MAESTRO
binary's arithmetic, digit for digit.
"""

DEFAULT_MODEL = "exact"

FIGURES_VERSION = "1"
"""Version of what all cost models return: raised whenever a mapping gets another figure."""


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
