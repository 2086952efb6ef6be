"""What was found, in a few lines: what ``run`` and ``map`` print first."""

from __future__ import annotations

from experiments.shown.tables import significant
from maestro_env.accelerators.hardware import Hardware
from maestro_env.optimum.known import KnownOptimum

_EQUAL = 1 + 1e-12


def above_optimum(value: float, optimum: KnownOptimum | None, bound: float | None) -> str:
    """Say how far a value is above what no mapping can beat; empty if nothing is known.

    Args:
        value: of an objective.
        optimum: what is known of the least one, if anything is.
        bound: that no value goes below, if there is one.
    """
    if optimum is not None and optimum.proven:
        if value <= optimum.value * _EQUAL:
            return "the proven optimum"
        return f"{_percent(value / optimum.value)} above the proven optimum"
    if optimum is not None:
        return f"at most {_percent(value / optimum.bound)} above the optimum"
    return f"{significant(value / bound, 3)} x the lower bound" if bound else ""


def _percent(ratio: float) -> str:
    return f"{(ratio - 1) * 100:.3g} %"


def take(
    latency_cycles: float, energy_nj: float, utilization: float | None, hardware: Hardware
) -> str:
    """Return a line: what a mapping or a network takes, in real units where the clock is known.

    Args:
        latency_cycles: of it.
        energy_nj: of it.
        utilization: its MACs a cycle as a share of the peak; None where the model has none.
        hardware: that computes it.
    """
    parts = [f"{latency_cycles:,.0f} cycles, {energy_nj:,.0f} nJ"]
    if utilization is not None:
        parts.append(f"{utilization:.1%} of peak")
    if hardware.clock_mhz is not None:
        ms, mj = latency_cycles / hardware.clock_mhz / 1e3, energy_nj / 1e6
        clock = f"{hardware.clock_mhz:g} MHz"
        parts.append(f"{significant(ms, 3)} ms and {significant(mj, 3)} mJ at {clock}")
    return "; ".join(parts)
