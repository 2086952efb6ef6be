"""What was found, in a few lines: what ``run``, ``map`` and ``optimum`` print first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap
from typing import Any

import numpy as np

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.objectives import Objective
from maestro_env.experiments.search.goals import Goal
from maestro_env.experiments.shown.tables import at_most, printable_name, significant
from maestro_env.models import room_of
from maestro_env.optimum.known import KnownOptimum

_WIDTH = 80
_LONGEST = 1e9


def found_line(objective: Objective, value: float, above: str) -> str:
    """Return the first line: a value, and how far it is above what no mapping can beat."""
    figure = f"{value:,.0f}" if value.is_integer() and value < _LONGEST else significant(value, 7)
    return f"{objective.label} {figure} {objective.unit}{above and ', '}{above}"


def above_optimum(value: float, optimum: KnownOptimum | None, bound: float | None) -> str:
    """Say how far a value is above what no mapping can beat; empty if nothing is known.

    Args:
        value: of an objective.
        optimum: what is known of the least one, if anything is.
        bound: that no value goes below, if there is one.
    """
    if optimum is None:
        return f"{significant(value / bound, 3)} x the lower bound" if bound else ""
    regret = float(optimum.regret(value))
    if optimum.proven and regret:
        return f"{regret:.2%} above the proven optimum"
    return within(regret)


def within(gap: float) -> str:
    """Say how far a value is above the optimum at most, if it is a share above a bound of all."""
    return f"at most {at_most(gap)} above the optimum" if gap else "the proven optimum"


def take(
    latency_cycles: float,
    energy_nj: float | None,
    utilization: float | None,
    accelerator: Accelerator,
    real: RealFigures,
) -> Iterator[str]:
    """Yield what a mapping or a network takes, and what computes it.

    Args:
        latency_cycles: of it.
        energy_nj: of it; None where it is not known.
        utilization: its MACs a cycle as a share of the peak; None where the model has none.
        accelerator: that computes it; with a clock, or all memories, there are real units too.
        real: the same in these.
    """
    energy = "energy unknown" if energy_nj is None else f"{energy_nj:,.0f} nJ"
    parts = [f"{latency_cycles:,.0f} cycles, {energy}"]
    if utilization is not None:
        parts.append(f"{utilization:.1%} of peak")
    yield "; ".join(parts)
    clock, room = accelerator.clock_mhz, room_of(accelerator.MODEL)
    if clock is not None or room.real_units:
        yield from _real_lines(real, clock)
    yield from room.summary(accelerator)


def _real_lines(real: RealFigures, clock_mhz: float | None) -> Iterator[str]:
    """Yield real units, and the bandwidths of the memories."""
    without = replace(real, memory_gb_per_s=None)
    yield f"{without}; {'clock unknown' if clock_mhz is None else f'at {clock_mhz:g} MHz'}"
    if rates := real.memory_gb_per_s:
        each = ", ".join(f"{name} {significant(rate, 3)}" for name, rate in rates.items())
        yield from wrap(f"GB/s on average: {each}", _WIDTH)


def taken_by(problem: AnyProblem, point: Sequence[int]) -> Iterator[str]:
    """Yield what the mapping of a valid vector takes, and its loop nest."""
    mapping = problem.space.decode(np.array(point, dtype=np.int32))
    yield from taken(problem, mapping)
    yield ""
    yield from problem.show(mapping).split("\n")


def taken(problem: AnyProblem, mapping: Any) -> Iterator[str]:
    """Yield what a mapping takes that has figures."""
    cost, _ = problem.evaluate_mapping(mapping)
    assert cost is not None
    yield from take(
        *(cost.latency_cycles, cost.energy_nj, cost.utilization, problem.hardware),
        problem.real(mapping),
    )


def place(layer: str, goal: Goal) -> str:
    """Return a layer, its accelerator, and which mappings are allowed if not all of a schema."""
    hardware, kept = goal.problem.hardware, goal.problem.schema.partition(":")[2]
    name = room_of(hardware.MODEL).label(hardware)
    return printable_name(f"{layer} on {name}{kept and ' with '}{kept}")
