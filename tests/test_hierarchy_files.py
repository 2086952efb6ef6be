"""Accelerators with any number of memories as files."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.accelerators.elements import (
    TENSORS,
    Cache,
    FanoutElement,
    MacElement,
    MemoryElement,
)
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text, read_hierarchy
from maestro_env.base.errors import HardwareError

# ---- Written and read ---------------------------------------------------------------------------

NAMES = st.text(min_size=1, max_size=9)
SOME = st.lists(st.sampled_from(TENSORS), unique=True).map(
    lambda each: tuple(sorted(each, key=TENSORS.index))
)
ENERGIES = st.just(0.0) | st.floats(1e-90, 1e9)
CYCLES = st.just(0.0) | st.floats(1e-90, 2**30)
RATES = st.none() | st.integers(1, 2**53) | st.floats(1e-90, 2**53)


def sizes(most: int) -> st.SearchStrategy[Any]:
    numbers = st.integers(1, most)
    return st.none() | numbers | st.dictionaries(st.sampled_from(TENSORS), numbers)


HELD = {
    "name": NAMES,
    "keeps": SOME,
    "forgets": SOME,
    "width_bits": sizes(2**20),
    "buffers": st.integers(1, 1024),
    "launch_cycles": CYCLES,
    "step_cycles": st.integers(0, 2**30),
    "load_cycles": st.integers(0, 2**30),
}
FINISHED = {"name": NAMES, "finish_cycles": CYCLES}
LIMITS = {
    "capacity_bits": sizes(2**53),
    "read_pj_per_bit": ENERGIES,
    "write_pj_per_bit": ENERGIES,
    "beat_bits": st.integers(0, 2**53),
    "gaps": st.booleans(),
    "cache": st.none()
    | st.builds(
        Cache, bits=st.integers(1, 2**53), line_bits=st.integers(1, 2**53), miss_cycles=CYCLES
    ),
}
PARTS = st.builds(MemoryElement, pool=st.just("DRAM"), **HELD)
OTHERS = (
    st.builds(MemoryElement, read_bw=RATES, write_bw=RATES, **HELD, **LIMITS)
    | st.builds(MemoryElement, bw=RATES, **HELD, **LIMITS)
    | st.builds(
        FanoutElement,
        name=NAMES,
        size=st.none() | st.integers(1, 2**31 - 1),
        axis=st.sampled_from("XY"),
        apart=SOME,
        pj_per_bit=ENERGIES,
        bw=RATES,
    )
    | st.builds(MemoryElement, **FINISHED)
)
FIRST = st.builds(MemoryElement, name=st.just("DRAM"), refill=st.floats(1e-90, 1) | st.just(0.0))
ELEMENTS = (
    st.tuples(FIRST, st.lists(PARTS, max_size=2), st.lists(OTHERS, max_size=4))
    .map(lambda each: [each[0], *each[1], *each[2]])
    .filter(lambda each: len({"mac", *(element.name for element in each)}) == len(each) + 1)
)
HIERARCHIES = st.builds(
    Hierarchy,
    ELEMENTS,
    st.builds(MacElement, simd=st.integers(1, 99), latches=SOME, pj=ENERGIES),
    word_bits=st.integers(1, 2**20),
    name=st.text(max_size=9),
    clock_mhz=st.none() | st.floats(1e-90, 2**31 - 1),
)


@given(HIERARCHIES)
def test_what_is_written_is_read_back(hierarchy: Hierarchy) -> None:
    try:
        text = hierarchy_text(hierarchy)
    except HardwareError:
        # No text of a name with a template's brackets is read.
        assert any(mark in str(hierarchy) for mark in ("{{", "{%"))
        return
    assert read_hierarchy(text) == hierarchy


def test_numbers_of_numpy_and_sets_are_written_too() -> None:
    memory = MemoryElement(name="L1", keeps={"output", "input"}, buffers=np.int64(2), bw=np.pi)
    found = read_hierarchy(hierarchy_text(Hierarchy([MemoryElement(name="DRAM"), memory])))
    expected = MemoryElement(name="L1", keeps=("input", "output"), buffers=2, bw=math.pi)
    assert found.elements[1] == expected


@pytest.mark.parametrize(
    "memory",
    [MemoryElement(name="{{A}}"), MemoryElement(name="A", bw=1e-200)],
    ids=["template", "tiny"],
)
def test_what_no_text_can_say_is_refused(memory: MemoryElement) -> None:
    with pytest.raises(HardwareError, match="an accelerator that cannot be written"):
        hierarchy_text(Hierarchy([memory]))


def test_units_are_read() -> None:
    found = read_hierarchy(
        "clock_mhz: 500\n"
        "memories:\n"
        "- {memory: DRAM, bw: 16GB/s}\n"
        "- {memory: L2, capacity_bits: {input: 1.5KB, output: 12}, read_bw: 1e2}\n"
    )
    dram, l2 = found.elements
    assert dram == MemoryElement(name="DRAM", bw=256)
    capacity = {"input": 12_288, "output": 12}
    assert l2 == MemoryElement(name="L2", capacity_bits=capacity, read_bw=100)


# ---- Refusals -----------------------------------------------------------------------------------

DRAM = "memories:\n- {memory: DRAM}\n"
FILES = [
    ("memories", "accelerator: expected 'name: value' lines, found 'memories'"),
    ("name: a", "memories is missing; it is the list of memories and fan-outs"),
    ("memories: 5", "line 1, memories: expected a list, found '5'"),
    ("memories: []", "the first element is None; allowed: a memory that keeps"),
    ("memories: [{nmae: A}]", "memories 1: begins with neither memory: NAME nor fanout: NAME"),
    ("memries: []", "'memries' is not supported here; did you mean memories?"),
    (DRAM + "clock_mhz: 0", "clock_mhz: is '0'; allowed: numbers above 0, in MHz"),
    (DRAM + "clock_mhz: 1GHz", "clock_mhz: is '1GHz'; allowed: numbers above 0, in MHz"),
    (DRAM + "clock_mhz: 1e99", "clock_mhz is 1e+99; allowed: numbers above 0 up to"),
    (DRAM + "mac: {simd: 0}", "mac, simd: is '0'; allowed: integers from 1"),
    (f"{DRAM}name: {'a' * 201}", "an accelerator's name is 'aaaa"),
]
ELEMENT = [
    ("memory: A, keep: [input]", "'keep' is not supported here; did you mean keeps"),
    ("memory: A, keeps: input", "line 3, memories 2, keeps: expected a list, found 'input'"),
    ("memory: A, keeps: [weight]", "have 'weight'; allowed: input, filter, output"),
    ("memory: A, capacity_bits: 2KX", "is '2KX'; allowed: a number of bits, or of B, KB"),
    ("memory: A, capacity_bits: 0", "memory A: capacity_bits is 0; allowed: integers"),
    ("memory: A, width_bits: {sum: 8}", "'sum' is not supported here; allowed: input"),
    ("memory: A, buffers: two", "buffers: is 'two'; allowed: integers from 1"),
    ("memory: A, bw: fast", "bw: is 'fast'; allowed: bits a cycle, or such as 12.8GB/s"),
    ("memory: A, bw: 2GB/s", "bw: is '2GB/s', which needs clock_mhz: add it, or"),
    ("memory: A, bw: 0", "memory A: bw is 0.0; allowed: numbers above 0"),
    ("memory: A, read_pj_per_bit: -1", "is '-1'; allowed: numbers from 0, in pJ"),
    ("memory: A, leak_mw: -1", "is '-1'; allowed: numbers from 0, in mW"),
    ("memory: A, beat_bits: wide", "beat_bits: is 'wide'; allowed: a number of bits, or of B"),
    ("memory: A, gaps: yes", "gaps: is 'yes'; allowed: true, false"),
    ("memory: A, launch_cycles: -1", "is '-1'; allowed: numbers from 0, in cycles"),
    ("memory: A, refill: half", "refill: is 'half'; allowed: numbers from 0, in shares of"),
    ("memory: A, step_cycles: 1.5", "step_cycles: is '1.5'; allowed: integers from 1"),
    ("memory: A, cache: {bits: 1MB}", "cache: has no line_bits and no miss_cycles; a cache has"),
    ("memory: A, cache: {size: 1}", "'size' is not supported here; allowed: bits, line_bits"),
    ("memory: A, pool: B", "memory A is a part of 'B'; allowed: an earlier memory"),
    ("fanout: A, bw: 0", "fan-out A: bw is 0.0; allowed: numbers above 0"),
    ("fanout: A, axis: Z", "fan-out A: axis is 'Z'; allowed: X, Y"),
]


@pytest.mark.parametrize(
    ("text", "told"), [*FILES, *((f"{DRAM}- {{{each}}}", told) for each, told in ELEMENT)]
)
def test_a_file_is_refused_with_one_clear_line(text: str, told: str) -> None:
    with pytest.raises(HardwareError) as refused:
        read_hierarchy(text)
    message = str(refused.value)
    assert message.startswith("accelerator")
    assert told in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ("keeps: [output], capacity_bits: 1B, width_bits: {output: 32}", "has 8 bits, .* 32 of"),
        ("keeps: [filter, input], capacity_bits: 3B, buffers: 2", "24 bits, .* 16 of input, 16 of"),
        ("capacity_bits: {filter: 4}", "has 4 bits, but a word in each buffer takes 8 of filter;"),
        ("capacity_bits: 31}\n- {memory: B, pool: A, keeps: [output]", "8 of filter, 16 of output"),
    ],
)
def test_a_memory_without_room_for_single_words_is_refused(fields: str, told: str) -> None:
    text = f"{DRAM}- {{memory: A, {fields}}}\n"
    with pytest.raises(HardwareError, match=f"memory A of the accelerator .*{told}.* or more$"):
        find_hierarchy(text)
    # What is computed with other sizes comes back from its record.
    assert hierarchy_text(read_hierarchy(text))


def test_a_file_of_too_many_elements_is_refused_at_once() -> None:
    with pytest.raises(HardwareError, match="5001 elements, 0 of them fan-outs; allowed: at most"):
        read_hierarchy(DRAM + "".join(f"- {{memory: M{index}}}\n" for index in range(5_000)))


KEYS = ["memories", "mac", "memory", "fanout", "keeps", "capacity_bits", "bw", "size", "clock_mhz"]
WORDS = st.sampled_from([*KEYS, "input", "0", "8", "1e99", "-1", "1KB", "2GB/s", "DRAM", "null"])
JUNK = st.recursive(
    WORDS | st.text(max_size=5),
    lambda parts: st.lists(parts, max_size=3) | st.dictionaries(WORDS, parts, max_size=3),
    max_leaves=9,
)


@given(st.text(max_size=40) | JUNK.map(yaml.safe_dump), JUNK, st.randoms())
def test_junk_gives_the_declared_error_alone(text: str, value: object, rng: Any) -> None:
    # Junk alone, and in place of a value.
    elements: list[dict[str, object]] = [{"memory": "DRAM"}, {"memory": "L1"}, {"fanout": "X"}]
    rng.choice(elements)[rng.choice(KEYS)] = value
    for each in (text, yaml.safe_dump({"memories": elements})):
        with contextlib.suppress(HardwareError):
            read_hierarchy(each)


# ---- Technologies -------------------------------------------------------------------------------

SMALL = """
memories:
- memory: DRAM
- {memory: buffer, capacity_bits: 64KB, read_pj_per_bit: 3}
- {memory: registers, capacity_bits: 8B}
"""


def test_a_technology_gives_what_the_file_has_no_energies_of() -> None:
    found = read_hierarchy(f"technology: cmos40-hbm2{SMALL}", name="mine")
    assert found.name == "mine with cmos40-hbm2 energies where it has none"
    main, buffer, registers = found.elements
    assert isinstance(main, MemoryElement)
    assert main.read_pj_per_bit == main.write_pj_per_bit == pytest.approx(3.9)
    assert isinstance(buffer, MemoryElement)
    assert (buffer.read_pj_per_bit, buffer.write_pj_per_bit) == (3, 0)
    assert isinstance(registers, MemoryElement)
    assert registers.read_pj_per_bit == pytest.approx(0.009)
    assert read_hierarchy(hierarchy_text(found)) == found


@pytest.mark.parametrize(
    ("technology", "said"),
    [("cmos4", "line 1, technology: unknown"), ("cmos40-16bit", "allowed: 16")],
)
def test_technologies_that_do_not_fit(technology: str, said: str) -> None:
    with pytest.raises(HardwareError, match=said):
        read_hierarchy(f"technology: {technology}{SMALL}")


def test_the_order_of_tensors_does_not_count() -> None:
    texts = ("input, filter, output", "output, input, filter", "filter, output, input")
    read = [
        read_hierarchy(f"memories: [memory: M, {{memory: L, keeps: [{text}]}}]", "x.yaml")
        for text in texts
    ]
    assert read[0] == read[1] == read[2]
    assert read_hierarchy(hierarchy_text(read[1]), read[1].name) == read[1]
