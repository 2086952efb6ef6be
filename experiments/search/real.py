"""What mappings take in real units."""

from __future__ import annotations

from typing import Any

from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.problem import AnyProblem, Problem

_MAIN_MEMORY = "main memory"
_BYTE = 8


def real_figures(problem: AnyProblem, mapping: Any) -> RealFigures:
    """Return what one execution of a valid mapping takes, as far as clock and energies are known.

    Of accelerators with two buffers, main memory alone has a bandwidth.
    """
    cost, _ = problem.evaluate_mapping(mapping)
    assert cost is not None
    return RealFigures.of(
        *(cost.latency_cycles, cost.energy_nj, problem.layer.macs, problem.hardware.clock_mhz),
        moved_bits(problem, mapping),
    )


def moved_bits(problem: AnyProblem, mapping: Any) -> dict[str, float]:
    """Return the bits that each memory sends and takes for a valid mapping, by name.

    Of accelerators with two buffers it is main memory alone; nothing under a model without it.
    """
    if isinstance(problem, HierarchyProblem):
        found, _ = problem.space.evaluator.evaluate(mapping)
        return {} if found is None else problem.space.evaluator.moved_bits(found)
    cost, _ = problem.evaluate_mapping(mapping)
    if cost is None or cost.offchip_read_words is None or cost.offchip_write_words is None:
        return {}
    assert isinstance(problem, Problem)
    words = cost.offchip_read_words + cost.offchip_write_words
    return {_MAIN_MEMORY: words * problem.hardware.word_bytes * _BYTE}
