"""The flags of ``maestro-env hardware``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HardwareConfig:
    """List the accelerators that have a name, with their figures and sources."""
