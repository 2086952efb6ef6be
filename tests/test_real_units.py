"""Real units: published chips by hand, and bits against energies of one unit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.accelerators.constraints import constrained
from maestro_env.accelerators.elements import MacElement, MemoryElement
from maestro_env.accelerators.finding import chips_with, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.real_units import RealFigures
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape


def test_eyeriss_on_alexnet_has_the_published_units() -> None:
    """Chen et al., JSSC 2017: 4 images, 2.663 GMACs, in 115.3 ms at 278 mW and 200 MHz."""
    taken = (115.3e-3 * 200e6, 278e-3 * 115.3e-3 * 1e9)
    found = RealFigures.of(*taken, 2.663e9, 200, {"DRAM": 8e9}, batch=4)
    assert found.latency_ms == pytest.approx(115.3)
    assert found.inferences_per_second == pytest.approx(34.7, rel=1e-3)
    assert found.energy_mj == pytest.approx(32.05, rel=1e-3)
    assert found.tops_per_watt == pytest.approx(0.166, rel=1e-2)
    assert found.memory_gb_per_s == pytest.approx({"DRAM": 1 / 0.1153})


def test_what_needs_an_unknown_clock_or_energy_is_none() -> None:
    assert RealFigures.of(100, 0.0, 50, None, {"A": 8}) == RealFigures(None, None, None, None, None)
    timeless = RealFigures.of(100, 1e6, 5e8, None, {"A": 8})
    assert timeless == RealFigures(None, None, 1.0, 1.0, None)
    free = RealFigures.of(1e6, None, 50, 1000, {"A": 8e6})
    assert free == RealFigures(1.0, 1000.0, None, None, {"A": 1.0})
    assert str(timeless) == "1 mJ, 1 TOPS/W"
    assert str(free) == "1 ms, 1,000 inferences/s, 1 GB/s at A"
    assert str(RealFigures(None, None, None, None, None)).startswith("neither")


@given(st.sampled_from([*chips_with("memories")]), st.data())
def test_bits_of_memories_are_the_energy_at_one_picojoule_a_bit(
    name: str, data: st.DataObject
) -> None:
    chip = constrained(find_hierarchy(name), "none")
    one = {"read_pj_per_bit": 1, "write_pj_per_bit": 1}
    elements = [
        replace(each, **one) if isinstance(each, MemoryElement) else each for each in chip.elements
    ]
    shape = Shape({"K": 6, "C": 5, "P": 4, "R": 3})
    mapping = [
        [(dim, data.draw(st.integers(1, 6))) for dim in data.draw(st.permutations("KCPR"))]
        if isinstance(each, MemoryElement)
        else []
        for each in elements
    ]
    evaluator = HierarchyEvaluator(
        shape, Hierarchy(elements, MacElement(), chip.word_bits, name, 8)
    )
    cost, _ = evaluator.evaluate(mapping)
    assert cost is not None
    real = evaluator.real(cost)
    assert real.memory_gb_per_s is not None
    bits = sum(real.memory_gb_per_s.values()) * 8e9 * cost.latency_cycles / 8e6
    assert bits == pytest.approx(cost.energy_nj * 1000)


def test_parts_of_a_memory_count_as_the_memory() -> None:
    def rates(*parts: MemoryElement) -> dict[str, float]:
        memories = [MemoryElement(name="DRAM"), MemoryElement(name="L2", keeps=()), *parts]
        evaluator = HierarchyEvaluator(Shape({"K": 4, "C": 2}), Hierarchy(memories, clock_mhz=1))
        cost, _ = evaluator.evaluate([[("K", 2)], *[[] for _ in memories[1:]]])
        assert cost is not None
        return dict(evaluator.real(cost).memory_gb_per_s or {})

    apart = rates(MemoryElement(name="A", keeps=("input",)), MemoryElement(name="B"))
    pooled = rates(
        MemoryElement(name="A", keeps=("input",), pool="L2"), MemoryElement(name="B", pool="L2")
    )
    assert pooled == pytest.approx({"DRAM": apart["DRAM"], "L2": apart["A"] + apart["B"]})
