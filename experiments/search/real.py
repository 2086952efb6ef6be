"""What mappings take in real units."""

from __future__ import annotations

from typing import Any

from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.problem import AnyProblem


def real_figures(problem: AnyProblem, mapping: Any) -> RealFigures:
    """Return what one execution of a valid mapping takes, as far as clock and energies are known.

    Of accelerators with two buffers, main memory alone has a bandwidth.
    """
    cost, _ = problem.evaluate_mapping(mapping)
    assert cost is not None
    return RealFigures.of(
        *(cost.latency_cycles, cost.energy_nj, problem.layer.macs, problem.hardware.clock_mhz),
        problem.moved_bits(mapping),
    )
