"""How full a mapping makes the buffers."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.cost import Cost
from maestro_env.explanation.traffic import TENSORS


@dataclass(frozen=True)
class Buffer:
    """One kind of buffer; L1 is that of one PE.

    Args:
        name: ``L1`` or ``L2``.
        needed_bytes: without which the mapping does not run.
        used_bytes: with what is kept in L2 because it fits.
        capacity_bytes: there are.
    """

    name: str
    needed_bytes: float
    used_bytes: float
    capacity_bytes: int

    @property
    def filled(self) -> float:
        """Share of the capacity that is used."""
        return self.used_bytes / self.capacity_bytes


@dataclass(frozen=True)
class Buffers:
    """The buffers under a mapping.

    Args:
        l1: of one PE.
        l2: of all.
        cluster_bytes: what the cluster buffers take of the L1 of a PE.
        resident: tensors that L2 keeps whole, and so reads from main memory once.
        hold_bytes: least L2 with which every word passes main memory once.
    """

    l1: Buffer
    l2: Buffer
    cluster_bytes: float
    resident: tuple[str, ...]
    hold_bytes: float


def fill_buffers(cost: Cost, hardware: Hardware) -> Buffers:
    """Return how full the buffers are, from a cost of the model ``exact`` on an accelerator."""
    figures = cost.figures()
    l1, l2, kept = figures["l1_bytes"], figures["l2_bytes"], int(figures["l2_resident_tensors"])
    return Buffers(
        Buffer("L1", l1, l1, hardware.l1_bytes),
        Buffer("L2", l2, figures["l2_used_bytes"], hardware.l2_bytes),
        figures["cluster_l1_bytes"],
        tuple(tensor for bit, tensor in enumerate(TENSORS) if kept >> bit & 1),
        figures["l2_hold_bytes"],
    )
