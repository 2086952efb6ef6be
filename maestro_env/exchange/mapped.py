"""What a file of another tool says."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.accelerators.hardware import Hardware
from maestro_env.mapspace.mapping import Mapping
from maestro_env.workloads.layer import Layer


@dataclass(frozen=True)
class MappedLayer:
    """A mapping, and what it maps to what.

    Args:
        mapping: in the file.
        layer: in the file; None if it names none.
        hardware: in the file; None if it names none.
    """

    mapping: Mapping
    layer: Layer | None = None
    hardware: Hardware | None = None
