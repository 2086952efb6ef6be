"""Chips with all their memories: their figures, their page, and that they can be mapped to."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from maestro_env.accelerators.elements import FanoutElement, MemoryElement
from maestro_env.accelerators.finding import chips_with, find_hardware, find_hierarchy
from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import read_hierarchy
from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.base.errors import ArgumentTypeError, HardwareError, UnknownNameError
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape
from maestro_env.models import model_of

CHIPS = chips_with("memories")
PAGE = (Path(__file__).parents[1] / "docs" / "hierarchy.md").read_text(encoding="utf-8")

# Units along each fan-out.
UNITS = {
    "eyeriss": [12, 14],
    "gemmini": [16, 16],
    "gemmini_os": [16, 16],
    "nvdla": [32, 64],
    "simba": [16, 8, 8],
    "tpu_v1": [256, 256],
    "tpu_v4i": [4, 128, 128],
    "vta": [16, 16],
    "vta_4x8": [4, 8, 8],
}
TOPS = {"eyeriss": 0.0672, "nvdla": 4.096, "tpu_v1": 91.75, "tpu_v4i": 137.6}
TOPS |= dict.fromkeys(("vta", "vta_4x8"), 0.0512)


def test_chips_have_the_published_arrays_and_peaks() -> None:
    chips = {name: find_hierarchy(name) for name in UNITS}
    assert {name: units_of(chip) for name, chip in chips.items()} == UNITS
    peaks = {
        name: 2e-6 * math.prod(UNITS[name]) * chip.clock_mhz
        for name, chip in chips.items()
        if chip.clock_mhz
    }
    assert peaks == pytest.approx(TOPS, rel=1e-3)


def units_of(chip: Hierarchy) -> list[int]:
    """Units along each fan-out."""
    return [each.size or 1 for each in chip.elements if isinstance(each, FanoutElement)]


@pytest.mark.parametrize(
    ("name", "buffers", "size"),
    [
        ("eyeriss", ("glb", "glb_filters"), 108 * 2**10),
        ("eyeriss", ("input_spad", "filter_spad", "sum_spad"), 2 * (12 + 224 + 24)),
        ("tpu_v1", ("unified_buffer", "accumulators"), 28 * 2**20),
        ("tpu_v1", ("weight_fifo",), 4 * 256**2),
        ("nvdla", ("cbuf",), 16 * 32 * 2**10),
        ("nvdla", ("accumulator",), 128 * 136),
    ],
)
def test_buffers_have_the_published_sizes(name: str, buffers: tuple[str, ...], size: int) -> None:
    chip = find_hierarchy(name)
    bits = [each.capacity_bits for each in chip.elements if each.name in buffers]  # type: ignore[union-attr]
    assert sum(bits) == 8 * size  # type: ignore[arg-type]


def test_the_table_of_chips_is_that_of_their_files() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \|.*\| ([\d,]+|unknown) \|", PAGE, re.MULTILINE)
    clocks = {name: find_hierarchy(name).clock_mhz for name in UNITS}
    assert [(name, macs, clock) for name, macs, clock in rows] == [
        (name, f"{math.prod(UNITS[name]):,}", f"{clocks[name]:,.0f}" if clocks[name] else "unknown")
        for name in (
            *(
                "gemmini",
                "gemmini_os",
                "eyeriss",
                "simba",
                "tpu_v1",
                "nvdla",
                "tpu_v4i",
                "vta",
                "vta_4x8",
            ),
        )
    ]


def test_the_example_of_the_page_is_the_file() -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert read_hierarchy(example, name="gemmini") == find_hierarchy("gemmini")


@pytest.mark.parametrize("name", CHIPS)
def test_all_units_of_a_chip_can_work(name: str) -> None:
    plain = {"step_cycles": 0, "load_cycles": 0, "finish_cycles": 0.0}
    chip = find_hierarchy(name)
    elements = [
        replace(each, **plain) if isinstance(each, MemoryElement) else each
        for each in chip.elements
    ]
    chip = replace(chip, elements=elements)
    # Along each fan-out the first dimension that its loops may have, every tile of one word; four
    # steps along another.
    ruled = [each for each in chip.elements if isinstance(each, FanoutElement) and each.rules.dims]
    steps = next(dim for dim in DIMS if dim not in [each.rules.dims[0] for each in ruled])
    loops, extents = [], Counter({steps: 4})
    for each in reversed(chip.elements):
        if isinstance(each, FanoutElement) and each.rules.dims:
            dim, *_ = each.rules.dims
            extents[dim] = max(extents[dim], 1)
            loops.append([(dim, extents[dim])])
            extents[dim] *= each.size or 1
        else:
            loops.append([])
    shape, mapping = Shape(dict(extents)), [[(steps, 1)], *loops[-2::-1]]
    cost, status = HierarchyEvaluator(shape, chip).evaluate(mapping)
    assert status == "ok"
    assert cost is not None
    assert cost.compute_cycles == 4


def test_both_forms_of_gemmini_have_the_same_memories_above_the_array() -> None:
    weights, outputs = (find_hierarchy(name) for name in ("gemmini", "gemmini_os"))
    assert weights.elements[:3] == outputs.elements[:3]


def test_a_chip_is_found_by_name_and_a_file_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("memories: [{memory: DRAM}]")
    assert find_hierarchy(str(path)) == Hierarchy([MemoryElement(name="DRAM")], name="mine")
    assert find_hierarchy(find_hierarchy("eyeriss")) == find_hierarchy("eyeriss")
    with pytest.raises(UnknownNameError, match=r"did you mean eyeriss\? allowed: FILE\.yaml"):
        find_hierarchy("eyeris")
    with pytest.raises(ArgumentTypeError, match="accelerator is 5; allowed: a str, one of eyeriss"):
        find_hierarchy(5)  # type: ignore[arg-type]
    with pytest.raises(HardwareError, match=r"none.yaml cannot be read: No such file"):
        find_hierarchy(str(tmp_path / "none.yaml"))


# ---- The same chips with two buffers ------------------------------------------------------------

# Where the two forms differ; the notes in the files say why.
REGISTERS = {"l1_bytes"}
DIFFERENT = {
    "eyeriss": set(),
    "gemmini": {*REGISTERS, "l2_bytes", "noc_bw"},
    "nvdla": {*REGISTERS, "l2_bytes", "noc_bw", "clock_mhz"},
    "simba": set(),
    "tpu_v1": {*REGISTERS, "l2_bytes", "offchip_bw"},
}
TWO_BUFFERS = {name: "nvdla_large" if name == "nvdla" else name for name in DIFFERENT}


def words(memory: MemoryElement, chip: Hierarchy) -> int:
    """Words that a memory of one tensor, or of equal words, holds."""
    widths = memory.width_bits or {}
    assert isinstance(widths, dict)
    assert isinstance(memory.capacity_bits, int)
    return memory.capacity_bits // max(widths.values(), default=chip.word_bits)


def two_buffers(chip: Hierarchy, pes: int) -> dict[str, float | None]:
    """Figures of the two-buffer form: L2 is all above the array, L1 all in a PE."""
    main, *elements = chip.elements
    assert isinstance(main, MemoryElement)
    shared, inside, units = [], [], 1
    for each in elements:
        if isinstance(each, FanoutElement):
            units *= each.size or 1
        elif units in (1, pes):
            (shared if units == 1 else inside).append(each)
    ports = [port for each in shared for port in (each.read_bw or each.bw,) if port]
    word = chip.word_bits
    return {
        "macs": units,
        "word_bytes": word // 8,
        "clock_mhz": chip.clock_mhz,
        "l1_bytes": sum(each.capacity_bits // 8 for each in inside),  # type: ignore[operator]
        "l2_bytes": sum(words(each, chip) for each in shared) * word // 8,
        "noc_bw": sum(ports) / word if ports else UNLIMITED,
        # A bus's width, where the bits that it moves a cycle are measured.
        "offchip_bw": (main.beat_bits or main.bw) / word if main.bw else UNLIMITED,
    }


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_form_with_two_buffers_says_the_same_but_for_its_note(name: str) -> None:
    hardware = find_hardware(TWO_BUFFERS[name])
    built = two_buffers(find_hierarchy(name), hardware.num_pes)
    macs = {"macs": hardware.num_pes * hardware.simd_lanes}
    ours = {key: macs[key] if key in macs else getattr(hardware, key) for key in built}
    assert {key for key in built if built[key] != ours[key]} == DIFFERENT[name]


def test_what_differs_differs_by_what_the_notes_say() -> None:
    nvdla, tpu, gemmini = (find_hierarchy(name) for name in ("nvdla", "tpu_v1", "gemmini"))
    assert nvdla.clock_mhz == 1000
    size = {each.name: words(each, chip) for chip in (nvdla, tpu) for each in buffers_of(chip)}
    assert size["cbuf"] == find_hardware("nvdla_large").l2_bytes
    assert size["unified_buffer"] + size["accumulators"] == find_hardware("tpu_v1").l2_bytes
    (fifo,) = (each for each in buffers_of(tpu) if each.name == "weight_fifo")
    assert math.ceil((fifo.write_bw or 0) / 8) == find_hardware("tpu_v1").offchip_bw
    # 128 KB each in the one version, 256 KB and 64 KB in the other.
    assert find_hardware("gemmini").l2_bytes == 128 * 2**10 + 128 * 2**10 // 4
    sizes = [words(each, gemmini) for each in buffers_of(gemmini)[:2]]
    assert sizes == [256 * 2**10, 64 * 2**10 // 4]


def buffers_of(chip: Hierarchy) -> list[MemoryElement]:
    """Memories below the first."""
    return [each for each in chip.elements[1:] if isinstance(each, MemoryElement)]


def test_a_file_of_ones_own_may_have_both_forms(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "two_buffers: {note: small, num_pes: 8, l1_bytes: 1KB}\nmemories: [{memory: M}]"
    )
    assert find_hardware(str(path)) == Hardware(8, l1_bytes=1024, name="mine")
    assert find_hierarchy(str(path)) == Hierarchy([MemoryElement(name="M")], name="mine")
    assert model_of(str(path)) == "hierarchy"
    for other in ("num_pes: 64", "memoriez: 3", "l1_bytes: 9\nmemories: [{memory: M}]"):
        path.write_text(f"two_buffers: {{num_pes: 8}}\n{other}")
        with pytest.raises(HardwareError, match="is not supported here"):
            find_hardware(str(path))
    path.write_text("memories: [{memory: M}]")
    with pytest.raises(HardwareError, match="a block two_buffers beside the memories"):
        find_hardware(str(path))
    for fields, told in (
        ("num_pes: x", "num_pes: num_pes is 'x'; allowed: integers"),
        ("l1_byte: 4", "l1_byte: unknown key 'l1_byte'; did you mean l1"),
        ("technology: zz", "technology: unknown technology 'zz': allowed: "),
    ):
        path.write_text(f"memories:\n- memory: M\ntwo_buffers:\n  {fields}\n")
        for find in (find_hardware, find_hierarchy):
            with pytest.raises(HardwareError, match=f"mine.yaml, line 4, two_buffers, {told}"):
                find(str(path))
