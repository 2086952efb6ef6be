"""The accelerators that are looked at: a grid around one, as far as it fits an area.

Around one with any memories it has capacities and sizes of its elements.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product, takewhile
from typing import cast

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.accelerators.elements import Element, FanoutElement, MemoryElement
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.pricing import with_energies
from maestro_env.accelerators.quantities import sized_bits
from maestro_env.accelerators.technologies import DEFAULT, TECHNOLOGIES, find_technology
from maestro_env.accelerators.technology import Technology
from maestro_env.base.checks import MAX_INT, plain_integer
from maestro_env.base.errors import UnknownNameError, quoted
from maestro_env.experiments.commands.codesign.flags import WITH_AREAS, Config
from maestro_env.experiments.search.goals import say_form
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.study.sweep.fronts import AXES, BITS, SIZE, UM2_A_MM2, axes_of
from maestro_env.models import Room, has_levels, room_of

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
        axis = _axis_of(sizable[name])
        if axis in axes:
            raise UsageError(f"--sizes: {quoted(name)} is given twice; give it once")
        axes[axis] = tuple(sorted({_size(sizable[name], each) for each in values.split(",")}))
    return axes


def standard_axes(base: Hierarchy) -> dict[str, Values]:
    """Return a quarter to twice the capacity of every on-chip memory above the first fan-out.

    Raises:
        UsageError: there is none.
    """
    axes = {
        _axis_of(each): tuple(
            sorted({max(each.capacity_bits * part // 4, 1) for part in _QUARTERS})
        )
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
    elements = [_sized(each, values.get(_axis_of(each))) for each in base.elements]
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


def _axis_of(element: Element) -> str:
    return f"{element.name}{SIZE if isinstance(element, FanoutElement) else BITS}"


def _size(element: Element, text: str) -> int:
    if isinstance(element, FanoutElement):
        number, most, unit = plain_integer(text.strip()), MAX_INT, ""
    else:
        number, most, unit = sized_bits(text.strip()), _MOST_BITS, " bits, or with B, KB, MB or GB"
    if number is None or not 0 < number <= most:
        raise UsageError(
            f"--sizes: {element.name} is {quoted(text)}; allowed: integers from 1 to {most}{unit}"
        )
    return number


_MOST = 100_000


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of some axes.

    Args:
        base: has all else.
        technology: of all accelerators.
        axes: ascending values by name of the axis (``Axis``).
        budget_um2: most area of an accelerator.
    """

    base: Accelerator
    technology: Technology
    axes: Mapping[str, Values]
    budget_um2: float

    @property
    def size(self) -> int:
        """Number of combinations, in the budget or not."""
        return math.prod(map(len, self.axes.values()))

    @cached_property
    def fitting(self) -> dict[Values, Accelerator]:
        """The accelerators in the budget, by their values; those of the first axis change last."""
        made = {values: self._make(values) for values in product(*self.axes.values())}
        return {
            values: each for values, each in made.items() if self.area_um2(each) <= self.budget_um2
        }

    @cached_property
    def sizes(self) -> dict[str, dict[str, int]]:
        """The values by axis of the accelerators in the budget, by name."""
        return {
            each.name: dict(zip(self.axes, values, strict=True))
            for values, each in self.fitting.items()
        }

    @property
    def least_um2(self) -> float:
        """Area of the smallest accelerator."""
        return self.area_um2(self._make(tuple(map(min, self.axes.values()))))

    @property
    def room(self) -> Room:
        """What the cost model does with the accelerators."""
        return room_of(self.base.MODEL)

    def area_um2(self, accelerator: Accelerator) -> float:
        """Return the area of PEs and buffers of one of the accelerators."""
        return self.room.area_um2(accelerator, self.technology)

    def _make(self, values: Values) -> Accelerator:
        if not has_levels(self.base):
            named = dict(zip(self.axes, values, strict=True))
            return sized(cast(Hierarchy, self.base), self.technology, named)
        pes, l1, l2, noc, offchip = values
        return replace(
            cast(Hardware, self.base),
            technology=self.technology,
            num_pes=pes,
            l1_bytes=l1,
            l2_bytes=l2,
            noc_bw=noc,
            offchip_bw=offchip,
            name=f"pe{pes}-l1_{l1}-l2_{l2}-noc{noc}-off{offchip}",
        )


def make_grid(config: Config) -> Grid:
    """Make the grid that flags describe.

    Raises:
        MaestroEnvError: values that cannot be, too many, or none within the area.
    """
    base = room_of(config.model).find(config.hardware)
    say_form(config.hardware, base)
    technology = _technology(config, base)
    axes = _axes(config, base)
    room = room_of(base.MODEL)
    budget = room.area_um2(base, technology) if config.area is None else config.area * UM2_A_MM2
    grid = Grid(base, technology, axes, budget)
    if grid.size > _MOST:
        raise UsageError(
            f"the grid has {grid.size:,} accelerators; allowed: {_MOST:,}; give fewer values"
        )
    if not grid.fitting:
        raise UsageError(
            f"no accelerator of the grid fits --area {budget / UM2_A_MM2:.4g} mm^2: "
            f"the smallest has {grid.least_um2 / UM2_A_MM2:.4g}; give more area or smaller values"
        )
    return grid


def _technology(config: Config, base: Accelerator) -> Technology:
    """Return the technology that flags ask for; else that of the base, or the first for its words.

    It has areas, those of the first if the base has energies alone, or is the default of two
    buffers.
    """
    two_buffers = has_levels(base)
    if (given := config.technology) is None:
        fitting = [TECHNOLOGIES[name] for name in WITH_AREAS]
        if two_buffers:
            fitting.insert(0, cast(Hardware, base).technology)
            words: float = cast(Hardware, base).word_bytes
        else:
            words = cast(Hierarchy, base).word_bits / 8
        for technology in fitting:
            if technology.has_areas and technology.word_bytes in (None, words):
                own = cast(Hardware, base).technology if two_buffers else DEFAULT
                return technology if own in (DEFAULT, technology) else _on(technology, own)
        raise UsageError(
            f"--hardware {config.hardware} has words of {words:g} B, for which no "
            "technology with areas is known; give --technology"
        )
    technology = find_technology(given)
    if not technology.has_areas and not (two_buffers and technology == DEFAULT):
        allowed = (*WITH_AREAS, DEFAULT.name) if two_buffers else WITH_AREAS
        raise UsageError(
            f"--technology {given} has no areas; allowed: {', '.join(allowed)}"
            ", or fields with mac_um2, register_um2 and sram_um2"
        )
    return technology


def _on(areas: Technology, own: Technology) -> Technology:
    """Return the areas of one technology with the energies of another one."""
    silicon = {name: getattr(areas, name) for name in ("mac_um2", "register_um2", "sram_um2")}
    return replace(own, name=f"{own.name or 'given'}-on-{areas.name}", **silicon)


def _axes(config: Config, base: Accelerator) -> dict[str, Values]:
    """Return the axes that flags ask for; refuse flags of the other kind of accelerator."""
    if has_levels(base):
        if config.sizes is not None:
            fields = ", ".join(map(_flag, AXES))
            raise UsageError(
                f"--sizes: {config.hardware} has two buffers; allowed: {fields}, or --hardware "
                "that is described with all its memories"
            )
        return {name: _axis(config, name, cast(Hardware, base)) for name in AXES}
    if changed := [name for name in AXES if getattr(config, name) != getattr(Config, name)]:
        raise UsageError(
            f"{_flag(changed[0])}: {config.hardware} is described with all its memories; allowed: "
            "--sizes, or --model exact where it has a two-buffer form"
        )
    elements = cast(Hierarchy, base)
    return standard_axes(elements) if config.sizes is None else given_axes(elements, config.sizes)


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _axis(config: Config, name: str, base: Hardware) -> Values:
    text = getattr(config, name)
    if text is None:
        return (getattr(base, name),)
    values = [_value(_flag(name), each.strip()) for each in text.split(",")]
    return tuple(sorted(set(values)))


def _value(flag: str, text: str) -> int:
    number = plain_integer(text)
    if number is None or not 0 < number <= MAX_INT:
        raise UsageError(f"{flag}: {quoted(text)}; allowed: integers from 1 to {MAX_INT}")
    return number
