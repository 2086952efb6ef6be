"""Grids around an accelerator with any memories: capacities and sizes of its elements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import takewhile

from maestro_env.accelerators.hierarchy import Element, FanoutElement, Hierarchy, MemoryElement
from maestro_env.accelerators.pricing import with_energies
from maestro_env.accelerators.quantities import sized_bits
from maestro_env.accelerators.technology import Technology
from maestro_env.base.checks import MAX_INT, plain_integer
from maestro_env.base.errors import UnknownNameError, quoted
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.study.sweep.fronts import BITS, SIZE, axes_of

Values = tuple[int, ...]

# Of the capacity, in quarters.
_QUARTERS = (1, 2, 4, 8)
_MOST_BITS = 2**53


def given_axes(base: Hierarchy, text: str) -> dict[str, Values]:
    """Return the axes of a text such as ``scratchpad=64KB,128KB;rows=8,16``.

    Raises:
        MaestroEnvError: a name or a value that cannot be; the message says what is allowed.
    """
    sizable = {each.name: each for each in _sizable(base)}
    axes: dict[str, Values] = {}
    for part in text.split(";"):
        name, _, values = (each.strip() for each in part.partition("="))
        if not name:
            raise UsageError("--sizes has an empty part; allowed: such as rows=8,16;columns=16")
        if name not in sizable:
            raise UnknownNameError("element in --sizes", name, sizable)
        axis = _axis(sizable[name])
        if axis in axes:
            raise UsageError(f"--sizes: {quoted(name)} is given twice; give it once")
        axes[axis] = tuple(sorted({_value(sizable[name], each) for each in values.split(",")}))
    return axes


def standard_axes(base: Hierarchy) -> dict[str, Values]:
    """Return a quarter to twice the capacity of every on-chip memory above the first fan-out.

    Raises:
        UsageError: there is none.
    """
    axes = {
        _axis(each): tuple(sorted({max(each.capacity_bits * part // 4, 1) for part in _QUARTERS}))
        for each in takewhile(lambda each: isinstance(each, MemoryElement), base.elements[1:])
        if isinstance(each, MemoryElement) and isinstance(each.capacity_bits, int)
    }
    if not axes:
        names = ", ".join(each.name for each in _sizable(base))
        raise UsageError(
            f"{base.name} has no memory with a capacity above its array; give --sizes of {names}"
        )
    return axes


def sized(base: Hierarchy, technology: Technology, values: Mapping[str, int]) -> Hierarchy:
    """Return an accelerator of other sizes; its energies hold at all, a technology has the rest."""
    elements = [_sized(each, values.get(_axis(each))) for each in base.elements]
    axes = axes_of(values)
    name = "-".join(f"{each.label}_{each.short(values[each.name])}" for each in axes)
    return with_energies(replace(base, elements=elements, name=name), technology)


def _sized(element: Element, size: int | None) -> Element:
    if size is None:
        return element
    if isinstance(element, FanoutElement):
        return replace(element, size=size)
    return replace(element, capacity_bits=size)


def _sizable(base: Hierarchy) -> Iterator[Element]:
    """Yield fan-outs, and memories of their own but the first with one capacity."""
    for each in base.elements[1:]:
        if isinstance(each, FanoutElement) or (
            each.pool is None and not isinstance(each.capacity_bits, Mapping)
        ):
            yield each


def _axis(element: Element) -> str:
    return f"{element.name}{SIZE if isinstance(element, FanoutElement) else BITS}"


def _value(element: Element, text: str) -> int:
    if isinstance(element, FanoutElement):
        number, most, unit = plain_integer(text.strip()), MAX_INT, ""
    else:
        number, most, unit = sized_bits(text.strip()), _MOST_BITS, " bits, or with B, KB, MB or GB"
    if number is None or not 0 < number <= most:
        raise UsageError(
            f"--sizes: {element.name} is {quoted(text)}; allowed: integers from 1 to {most}{unit}"
        )
    return number
