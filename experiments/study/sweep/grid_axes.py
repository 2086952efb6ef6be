"""What grids of accelerators change, as tables and pictures show it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from maestro_env.accelerators.entries import bits_text

BITS, SIZE = "_bits", "_size"
"""What names of axes end with that are the capacity of a memory, or the size of a fan-out."""


@dataclass(frozen=True)
class Axis:
    """What a grid changes, as tables and pictures show it.

    Args:
        name: a field of ``Hardware``, or the name of an element with ``BITS`` or ``SIZE``.
        label: what it is called.
        unit: of its values as tables have them.
        said: what a sentence says after a value; empty of what takes up no area.
    """

    name: str
    label: str
    unit: str = ""
    said: str = ""

    @property
    def header(self) -> str:
        """The head of a column."""
        return f"{self.label}\n{self.unit}" if self.unit else self.label

    def number(self, value: float) -> float:
        """Return a value in the unit."""
        return value / 8 if self.name.endswith(BITS) else value

    def text(self, value: float) -> str:
        """Return a value in the unit as tables have it."""
        return f"{self.number(value):,.10g}"

    def short(self, value: int) -> str:
        """Return a value with as few characters as a picture has room for."""
        if self.name.endswith(BITS):
            return bits_text(value)
        return f"{value / 1000:g} kB" if self.name == "l2_bytes" else str(value)


_FIELDS = (
    Axis("num_pes", "PEs", said="PEs"),
    Axis("l1_bytes", "L1", "B per PE", "B of L1 each"),
    Axis("l2_bytes", "L2", "B", "of L2"),
    Axis("noc_bw", "NoC", "words/cycle"),
    Axis("offchip_bw", "off-chip", "words/cycle"),
)
AXES = tuple(each.name for each in _FIELDS)
"""The fields of ``Hardware`` that a grid changes."""


def axes_of(names: Iterable[str]) -> list[Axis]:
    """Return the axes of a grid."""
    fields = {each.name: each for each in _FIELDS}
    return [fields[name] if name in fields else _of_element(name) for name in names]


def _of_element(name: str) -> Axis:
    if name.endswith(BITS):
        label = name.removesuffix(BITS)
        return Axis(name, label, "B", f"of {label}")
    label = name.removesuffix(SIZE)
    return Axis(name, label, said=label)


def pictured(axes: Sequence[Axis]) -> dict[str, Axis]:
    """Return the axes that size and darken the points of a picture, if there are such.

    They are the first number of ``units``, and the ``capacity`` of L2 or of the first memory.
    """
    kinds = (("units", ("num_pes", SIZE)), ("capacity", ("l2_bytes", BITS)))
    found = {kind: [each for each in axes if each.name.endswith(ends)] for kind, ends in kinds}
    return {kind: each[0] for kind, each in found.items() if each}
