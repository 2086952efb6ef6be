"""What is known of any accelerator, whatever cost model it is for; and the held-out one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import ClassVar

HELD = "held"
"""Name of the accelerator that policies are tested on, and never trained on."""

HELD_HARDWARE = "num_pes=512,l1_bytes=1024,l2_bytes=262144,noc_bw=128,offchip_bw=32"
"""Its fields, as ``find_hardware`` takes them."""


class Accelerator(ABC):
    """An accelerator that a layer is mapped to."""

    MODEL: ClassVar[str]
    """Name of the cost model that knows all that it says."""

    name: str
    """In tables and files."""

    clock_mhz: float | None
    """For reports; None where it is unknown."""

    @property
    @abstractmethod
    def peak_macs_per_cycle(self) -> float:
        """MACs a cycle of all units together; infinite without a limit."""

    @property
    def deciding(self) -> Hashable:
        """All that decides what mappings cost; names do not."""
        return self
