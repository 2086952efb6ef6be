"""The accelerators that are looked at: a grid around one, as far as it fits an area."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

from experiments.commands.codesign.flags import WITH_AREAS, Config
from experiments.shell.flags import UsageError
from experiments.study.sweep.fronts import AXES, UM2_A_MM2
from maestro_env.accelerators.finding import find_hardware, written_entries
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import DEFAULT, TECHNOLOGIES, find_technology
from maestro_env.accelerators.technology import Technology
from maestro_env.base.checks import MAX_INT, plain_integer
from maestro_env.base.errors import quoted
from maestro_env.environments.texts import text_of

_MOST = 100_000

Values = tuple[int, ...]
"""One for every axis."""


@dataclass(frozen=True)
class Grid:
    """All combinations of the values of ``AXES``.

    Args:
        base: has all other fields.
        technology: of all accelerators.
        axes: ascending values of every axis.
        budget_um2: most area of an accelerator.
    """

    base: Hardware
    technology: Technology
    axes: tuple[Values, ...]
    budget_um2: float

    @property
    def size(self) -> int:
        """Number of combinations, in the budget or not."""
        return math.prod(map(len, self.axes))

    @cached_property
    def fitting(self) -> dict[Values, Hardware]:
        """The accelerators in the budget, by their values; those of the first axis change last."""
        made = {values: self._make(values) for values in product(*self.axes)}
        return {values: each for values, each in made.items() if area_of(each) <= self.budget_um2}

    @property
    def least_um2(self) -> float:
        """Area of the smallest accelerator."""
        return area_of(self._make(tuple(map(min, self.axes))))

    def _make(self, values: Values) -> Hardware:
        pes, l1, l2, noc, offchip = values
        return replace(
            self.base,
            technology=self.technology,
            num_pes=pes,
            l1_bytes=l1,
            l2_bytes=l2,
            noc_bw=noc,
            offchip_bw=offchip,
            name=f"pe{pes}-l1_{l1}-l2_{l2}-noc{noc}-off{offchip}",
        )


def area_of(hardware: Hardware) -> float:
    """Return the area in um^2 of the PEs and buffers that an accelerator has."""
    return hardware.area_um2(hardware.l1_bytes, hardware.l2_bytes)


def hardware_yaml(hardware: Hardware) -> str:
    """Return an accelerator as a file that ``--hardware`` takes."""
    entries = written_entries(text_of(hardware))
    return "".join(f"{key}: {value}\n" for _, key, value in entries)


def make_grid(config: Config) -> Grid:
    """Make the grid that flags describe.

    Raises:
        MaestroEnvError: values that cannot be, too many, or none within the area.
    """
    base = find_hardware(config.hardware)
    technology = _technology(config, base)
    axes = tuple(_axis(config, name, base) for name in AXES)
    if config.area is None:
        budget = area_of(replace(base, technology=technology))
    else:
        budget = config.area * UM2_A_MM2
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


def _technology(config: Config, base: Hardware) -> Technology:
    """Return the technology that flags ask for; else that of the base, or the first for its words.

    It has areas, or is the default.
    """
    if (given := config.technology) is None:
        fitting = (base.technology, *(TECHNOLOGIES[name] for name in WITH_AREAS))
        for technology in fitting:
            if technology.has_areas and technology.word_bytes in (None, base.word_bytes):
                return technology
        raise UsageError(
            f"--hardware {config.hardware} has words of {base.word_bytes} B, for which no "
            "technology with areas is known; give --technology"
        )
    technology = find_technology(given)
    if not technology.has_areas and technology != DEFAULT:
        raise UsageError(
            f"--technology {given} has no areas; allowed: {', '.join((*WITH_AREAS, DEFAULT.name))}"
            ", or fields with mac_um2, register_um2 and sram_um2"
        )
    return technology


def _axis(config: Config, name: str, base: Hardware) -> Values:
    text = getattr(config, name)
    if text is None:
        return (getattr(base, name),)
    flag = f"--{name.replace('_', '-')}"
    values = [_value(flag, each.strip()) for each in text.split(",")]
    return tuple(sorted(set(values)))


def _value(flag: str, text: str) -> int:
    number = plain_integer(text)
    if number is None or not 0 < number <= MAX_INT:
        raise UsageError(f"{flag}: {quoted(text)}; allowed: integers from 1 to {MAX_INT}")
    return number
