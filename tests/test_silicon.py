"""Energies and area that a technology gives accelerators with any memories, counted one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.accelerators.elements import FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.finding import chips_with, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text, read_hierarchy
from maestro_env.accelerators.pricing import area_um2, with_energies
from maestro_env.accelerators.technologies import TECHNOLOGIES
from maestro_env.accelerators.technology import Technology
from maestro_env.base.errors import HardwareError
from maestro_env.explanation import explain_hierarchy
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.workloads.layer import Layer

CMOS = TECHNOLOGIES["cmos40"]
RATIOS = TECHNOLOGIES["eyeriss"]
memories = st.builds(
    lambda capacity: MemoryElement(name="", capacity_bits=capacity),
    st.integers(1, 2**20)
    | st.fixed_dictionaries(dict.fromkeys(("input", "filter", "output"), st.integers(1, 2**12))),
)
fanouts = st.builds(lambda size: FanoutElement(name="", size=size), st.integers(1, 6))


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Draw an accelerator with up to four memories and fan-outs below its first one."""
    elements = [MemoryElement(name="main"), *draw(st.lists(memories | fanouts, max_size=4))]
    named = [replace(each, name=f"e{place}") for place, each in enumerate(elements)]
    return Hierarchy(named, MacElement(simd=draw(st.integers(1, 4))))


def one_by_one(hierarchy: Hierarchy, place: int = 1) -> float:
    """Area below an element: of each instance by itself."""
    if place == len(hierarchy.elements):
        return sum(float(CMOS.mac_um2 or 0) for _ in range(hierarchy.mac.simd))
    element = hierarchy.elements[place]
    if isinstance(element, FanoutElement):
        return sum(one_by_one(hierarchy, place + 1) for _ in range(element.size or 0))
    given = element.capacity_bits
    bits = sum(given.values()) if isinstance(given, dict) else given
    of_bit = 5.98 if bits <= 64 else 507.369 / 512 if bits <= 512 else 0.242 / 0.72
    return bits * of_bit + one_by_one(hierarchy, place + 1)


@given(hierarchies())
def test_the_area_is_that_of_all_instances(hierarchy: Hierarchy) -> None:
    assert area_um2(hierarchy, CMOS) == pytest.approx(one_by_one(hierarchy))


@given(hierarchies())
def test_every_element_costs_energy_and_keeps_what_it_has(hierarchy: Hierarchy) -> None:
    made = with_energies(hierarchy, CMOS)
    assert with_energies(made, RATIOS) == made
    main, *others = made.elements
    assert main.read_pj_per_bit == main.write_pj_per_bit == pytest.approx(8)
    for each in others:
        energy = each.pj_per_bit if isinstance(each, FanoutElement) else each.read_pj_per_bit
        assert 0.008 < energy < 8
    assert made.mac.pj == pytest.approx(0.3)
    assert area_um2(made, CMOS) == area_um2(hierarchy, CMOS)


def test_ratios_hold_for_memories_that_are_shared_and_those_of_units() -> None:
    # Eyeriss (ISCA 2016): 200, 6, 2 and 1 times a MAC of 16 bits.
    made = with_energies(find_hierarchy("eyeriss"), RATIOS)
    word_pj = made.mac.pj / 16
    found = {
        each.name: each.pj_per_bit if isinstance(each, FanoutElement) else each.write_pj_per_bit
        for each in made.elements
    }
    expected = {"DRAM": 200, "glb": 6, "glb_filters": 6, "rows": 2, "columns": 2}
    expected |= dict.fromkeys(("input_spad", "filter_spad", "sum_spad"), 1)
    assert found == {name: pytest.approx(macs * word_pj) for name, macs in expected.items()}


def test_the_energy_of_a_mapping_is_that_of_its_words() -> None:
    # The worked example of docs/spec/hierarchy.md (H9), with a memory of 64 bits in each unit.
    hierarchy = Hierarchy(
        [
            MemoryElement(name="DRAM"),
            FanoutElement(name="units", size=2),
            MemoryElement(name="RF", capacity_bits=64),
        ]
    )
    layer = Layer("GEMM", {"M": 4, "N": 2, "K": 2})
    evaluator = HierarchyEvaluator(layer, with_energies(hierarchy, CMOS))
    cost, _ = evaluator.evaluate([[("K", 1)], [("P", 2)], []])
    assert cost is not None
    # 12 words from and 8 to DRAM; into the units 16 and out of them 8; all 16 MACs read two
    # operands and write a sum, half of them onto an older one.
    rf = 16 + 8 + 2 * 16 + 16 + 8
    expected = 16 * 0.3 + 8 * (20 * 8 + rf * 0.009 + 24 * 310 / 256 / 100)
    assert cost.energy_nj * 1000 == pytest.approx(expected)


def test_leakage_takes_energy_with_time() -> None:
    # 2 x 64 bits of 1,000 nW leak 0.128 mW: at 100 MHz 1.28 pJ a cycle.
    units, memory = FanoutElement(name="units", size=2), MemoryElement(name="RF", capacity_bits=64)
    idle = Hierarchy([MemoryElement(name="DRAM", bw=3), units, memory], clock_mhz=100)
    leaking = with_energies(idle, replace(CMOS, leak_nw=1000))
    assert read_hierarchy(hierarchy_text(leaking)) == leaking
    layer, mapping = Layer("GEMM", {"M": 4, "N": 2, "K": 2}), [[("K", 1)], [("P", 2)], []]
    without, told = (
        explain_hierarchy(HierarchyEvaluator(layer, each), mapping)
        for each in (with_energies(idle, CMOS), leaking)
    )
    assert told.cost.latency_cycles == without.cost.latency_cycles > 16
    for less, more in ((without.cost, told.cost), (without.bounds, told.bounds)):
        leaked = 1.28 * more.latency_cycles / 1000
        assert more.energy_nj - less.energy_nj == pytest.approx(leaked)
    assert told.energy.total == pytest.approx(told.cost.energy_nj)
    assert "leakage" in str(told)


@pytest.mark.parametrize("name", chips_with("memories"))
def test_chips_have_energies_and_an_area(name: str) -> None:
    hierarchy = find_hierarchy(name)
    technology = TECHNOLOGIES["cmos40" if hierarchy.word_bits == 8 else "cmos40-16bit"]
    assert 1e4 < area_um2(hierarchy, technology) < 1e9
    made = with_energies(hierarchy, technology)
    assert made.mac.pj > 0
    reads = [each.read_pj_per_bit for each in made.elements if isinstance(each, MemoryElement)]
    # 128 MB of the TPU v4i are more than a die of 40 nm has.
    assert max(reads[1:]) < (4 if name == "tpu_v4i" else 2.5) < reads[0] == pytest.approx(8)


@pytest.mark.parametrize(
    ("change", "technology", "message"),
    [
        ({}, Technology("mine"), "technology mine has no areas; allowed: one with mac_um2"),
        ({"word_bits": 4}, CMOS, "word_bits of the accelerator is 4, .* words of 1 B; allowed: 8"),
        ({"elements": [MemoryElement(name="a"), MemoryElement(name="b")]}, CMOS, "memory b has no"),
        ({"elements": [MemoryElement(name="a"), FanoutElement(name="x")]}, CMOS, "fan-out x has"),
    ],
)
def test_what_has_no_area_is_refused(
    change: dict[str, object], technology: Technology, message: str
) -> None:
    hierarchy = replace(Hierarchy([MemoryElement(name="main")]), **change)
    with pytest.raises(HardwareError, match=message) as caught:
        area_um2(hierarchy, technology)
    assert "\n" not in str(caught.value)
