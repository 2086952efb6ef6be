"""What was found, in a few lines: what ``run``, ``map`` and ``optimum`` print first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from experiments.shown.tables import shown, significant
from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.optimum.known import KnownOptimum

_LONG = 24
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
    if not optimum.proven:
        return f"at most {regret:.2%} above the optimum"
    return f"{regret:.2%} above the proven optimum" if regret else "the proven optimum"


def take(
    latency_cycles: float, energy_nj: float, utilization: float | None, hardware: Hardware
) -> Iterator[str]:
    """Yield what a mapping or a network takes, and what computes it.

    Args:
        latency_cycles: of it.
        energy_nj: of it.
        utilization: its MACs a cycle as a share of the peak; None where the model has none.
        hardware: that computes it; with a clock, there are real units too.
    """
    parts = [f"{latency_cycles:,.0f} cycles, {energy_nj:,.0f} nJ"]
    if utilization is not None:
        parts.append(f"{utilization:.1%} of peak")
    real = RealFigures.of(latency_cycles, energy_nj, None, hardware.clock_mhz, {})
    if real.latency_ms is not None:
        ms, mj = (significant(each, 3) for each in (real.latency_ms, real.energy_mj or 0.0))
        parts.append(f"{ms} ms and {mj} mJ at {hardware.clock_mhz:g} MHz")
    yield "; ".join(parts)

    yield _limits(hardware)
    free = {
        "main memory": hardware.technology.offchip_macs + hardware.offchip_cost_macs,
        "networks": hardware.technology.noc_macs,
    }
    if left_out := " and ".join(name for name, macs in free.items() if not macs):
        yield f"energy leaves out {left_out}: technology {hardware.technology.name}"


def _limits(hardware: Hardware) -> str:
    """Return the PEs, and what limits them."""
    figures = {
        "L1": (hardware.l1_bytes, " B"),
        "L2": (hardware.l2_bytes, " B"),
        "NoC": (hardware.noc_bw, ""),
        "off-chip": (hardware.offchip_bw, " words/cycle"),
    }
    known = [f"{name} {each:,}{unit}" for name, (each, unit) in figures.items() if each < UNLIMITED]
    free = [name for name, (each, _) in figures.items() if each >= UNLIMITED]
    without = f"no limit: {', '.join(free)}" if free else ""
    return "; ".join(filter(None, (f"{hardware.num_pes:,} PEs", ", ".join(known), without)))


def taken_by(problem: Problem, point: Sequence[int]) -> Iterator[str]:
    """Yield what the mapping of a valid vector takes, and its loop nest."""
    mapping = problem.space.decode(np.array(point, dtype=np.int32))
    cost, _ = problem.evaluate_mapping(mapping)
    assert cost is not None
    yield from take(cost.latency_cycles, cost.energy_nj, cost.utilization, problem.hardware)
    yield ""
    yield str(mapping)


def place(layer: str, problem: Problem) -> str:
    """Return a layer, its accelerator, and which mappings are allowed if not all of a schema."""
    hardware, kept = problem.hardware, problem.space.schema.partition(":")[2]
    # Without a name of its own, an accelerator has that of all its figures.
    name = hardware.name if 0 < len(hardware.name) <= _LONG else f"{hardware.num_pes:,} PEs"
    return shown(f"{layer} on {name}{kept and ' with '}{kept}")
