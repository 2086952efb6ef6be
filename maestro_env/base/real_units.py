"""Real units of what cost models count: cycles, nanojoules, MACs, and bits of memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

OPERATIONS_PER_MAC = 2
"""A multiplication and an addition."""


@dataclass(frozen=True)
class RealFigures:
    """What one layer or network takes; None where it needs a clock or an energy that is not known.

    Args:
        latency_ms: in ms.
        inferences_per_second: inputs of executions one after another.
        energy_mj: in mJ.
        tops_per_watt: 10^12 operations per J, two a MAC.
        memory_gb_per_s: 10^9 bytes per second that each memory sends and takes on average, all of
            its instances together, by name.
    """

    latency_ms: float | None
    inferences_per_second: float | None
    energy_mj: float | None
    tops_per_watt: float | None
    memory_gb_per_s: Mapping[str, float] | None

    @classmethod
    def of(
        cls,
        latency_cycles: float,
        energy_nj: float | None,
        macs: int | float | None,
        clock_mhz: float | None,
        moved_bits: Mapping[str, float],
        batch: int = 1,
    ) -> RealFigures:
        """Convert figures; an energy of 0 is one that is not known.

        Args:
            latency_cycles: above 0.
            energy_nj: in nJ.
            macs: MACs.
            clock_mhz: in MHz.
            moved_bits: bits that each memory sends and takes, by name.
            batch: inputs that an execution takes.
        """
        seconds = None if clock_mhz is None else latency_cycles / clock_mhz / 1e6
        operations = None if macs is None else OPERATIONS_PER_MAC * macs
        return cls(
            latency_ms=None if seconds is None else seconds * 1e3,
            inferences_per_second=None if seconds is None else batch / seconds,
            energy_mj=energy_nj / 1e6 if energy_nj else None,
            tops_per_watt=operations / energy_nj / 1e3 if energy_nj and operations else None,
            memory_gb_per_s=None
            if seconds is None
            else {name: bits / 8e9 / seconds for name, bits in moved_bits.items()},
        )

    def __str__(self) -> str:
        figures = {
            "ms": self.latency_ms,
            "inferences/s": self.inferences_per_second,
            "mJ": self.energy_mj,
            "TOPS/W": self.tops_per_watt,
            **{f"GB/s at {name}": rate for name, rate in (self.memory_gb_per_s or {}).items()},
        }
        known = [f"{figure:,.4g} {unit}" for unit, figure in figures.items() if figure is not None]
        return ", ".join(known) or "neither clock nor energies are known"
