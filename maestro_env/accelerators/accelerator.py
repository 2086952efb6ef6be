"""What is known of any accelerator, whatever cost model it is for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import ClassVar


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
