"""``maestro-env hardware``: list the named accelerators."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.accelerators.finding import chip_notes, chips_with, known_hardware
from maestro_env.accelerators.hardware import DESCRIPTIONS, UNLIMITED, Hardware
from maestro_env.accelerators.technologies import SOURCES, TECHNOLOGIES
from maestro_env.evaluation.problem import AUTO, find_schema
from maestro_env.experiments.shell.printing import print_lines
from maestro_env.experiments.shown.tables import Table
from maestro_env.models import ANY_MEMORIES
from maestro_env.workloads.layer import Layer


@dataclass(frozen=True)
class Config:
    """List the named accelerators, with their figures and sources."""


_FIGURES = (
    *("PEs", "lanes", "L1 B", "L2 B", "NoC w/c", "off-chip w/c", "word B", "MHz"),
    "3x3 schema",
)
_WINDOW = Layer("CONV", {"K": 1, "C": 1, "Y": 3, "X": 3, "R": 3, "S": 3})
_NOTE = "3x3 schema: what --schema auto takes for a convolution with a window of 3x3."


def execute(config: Config) -> int:
    """Print, and return the exit status."""
    rows = [
        (each.name, each.technology.name, *_figures(each)) for each in known_hardware().values()
    ]
    Table("Accelerators with two buffers", ("name", "technology"), _FIGURES, rows, _NOTE).print()
    print_lines(*(f"{name}: {text}" for name, text in {**DESCRIPTIONS, **chip_notes()}.items()))
    chips = ", ".join(chips_with("memories"))
    print_lines(f"with all their memories, in model {ANY_MEMORIES} (docs/hierarchy.md): {chips}")
    print_lines("What the table has of these are their two-buffer forms.")
    print_lines("", "Technologies", *(f"{name}: {SOURCES[name]}" for name in TECHNOLOGIES))
    return 0


def _figures(hardware: Hardware) -> tuple[str, ...]:
    limited = (hardware.l1_bytes, hardware.l2_bytes, hardware.noc_bw, hardware.offchip_bw)
    clock = "-" if hardware.clock_mhz is None else f"{hardware.clock_mhz:g}"
    return (
        *(f"{each:,}" for each in (hardware.num_pes, hardware.simd_lanes)),
        *("no limit" if each >= UNLIMITED else f"{each:,}" for each in limited),
        *(str(hardware.word_bytes), clock, find_schema(AUTO, [_WINDOW], hardware)),
    )
