"""Technologies: what they cost, how they are written, and that the default is what it was."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env._native import METRICS
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.accelerators.technologies import DEFAULT, SOURCES, TECHNOLOGIES, find_technology
from maestro_env.accelerators.technology import Energies, Technology
from maestro_env.base.errors import (
    ArgumentTypeError,
    HardwareError,
    MaestroEnvError,
    ModelError,
    UnknownNameError,
)
from maestro_env.environments.task import text_of
from maestro_env.evaluation.cost_and_status import OK, buffer_bytes
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.known import known_optimum
from maestro_env.workloads.finding import find_layer

EDGE = find_hardware("edge")
# The fields that Hardware had when records were first written.
FIRST = (
    *("num_pes", "l1_bytes", "l2_bytes", "noc_bw", "offchip_bw", "noc_hops", "noc_hop_latency"),
    *("simd_lanes", "name", "offchip_cost_macs"),
)
energies = st.floats(0, 1e9).filter(lambda each: each == 0 or each > 1e-90)
by_size = st.dictionaries(st.integers(1, 2**31 - 1), energies, min_size=2, max_size=4).map(
    lambda each: tuple(sorted(each.items()))
)
UM2 = {"mac_um2": 400.0, "register_um2": 6.5, "sram_um2": 0.3}
FILE = {"register_macs": 0.1, "file_macs": 0.2, "file_um2": 0.9}
BANKS = {"l1_macs": ((448, 1.0), (8192, 2.0)), "wire_macs": 3.0}
more = st.sampled_from([{}, UM2, UM2 | FILE, UM2 | BANKS])
technologies = st.builds(
    lambda *figures, more: replace(Technology(*figures), **more),
    st.sampled_from(["", "mine", "a-b_3"]),
    st.floats(1e-9, 1e9),
    energies | by_size,
    energies | by_size,
    energies,
    energies,
    st.none() | st.integers(1, 8),
    st.none() | energies,
    more=more,
)


def test_the_default_is_not_written() -> None:
    record = EDGE.record()
    assert tuple(record) == FIRST
    assert record == {name: getattr(EDGE, name) for name in FIRST}
    assert Hardware(**record) == EDGE
    # Random streams follow from it.
    assert repr(EDGE) == (
        "Hardware(num_pes=168, l1_bytes=512, l2_bytes=108000, noc_bw=64, offchip_bw=16, "
        "noc_hops=1, noc_hop_latency=1, simd_lanes=1, name='edge', offchip_cost_macs=0.0)"
    )
    other = replace(EDGE, technology=TECHNOLOGIES["eyeriss"])
    assert "technology=Technology(name='eyeriss'" in repr(other)
    assert "technology" not in text_of(replace(EDGE, name="mine"))


def test_the_default_has_the_energies_of_maestro() -> None:
    assert EDGE.energies == Energies(0.00023, 1.68, 18.61, 0, 0)
    assert replace(EDGE, offchip_cost_macs=200).energies.offchip_macs == 200


@given(technologies)
def test_records_and_texts_are_read_back(technology: Technology) -> None:
    assert find_technology(json.loads(json.dumps(asdict(technology)))) == technology
    try:
        machine = Hardware(4, 512, 2**16, name="m", technology=technology)
    except HardwareError:
        return  # A table that falls below zero there.
    assert Hardware(**json.loads(json.dumps(machine.record()))) == machine
    assert find_hardware(text_of(machine)) == machine
    for buffer, capacity in (("l1", 512), ("l2", 2**16)):
        assert technology.access_macs(buffer, capacity) >= 0


def test_a_technology_is_named_in_texts_and_files(tmp_path: Path) -> None:
    file = tmp_path / "chip.yaml"
    file.write_text("num_pes: 168\nnoc_hops: 2\ntechnology: eyeriss\n")
    hardware = find_hardware(str(file))
    assert hardware.energies == Energies(0.00023, 1, 6, 2 * 2, 200)
    assert find_hardware("num_pes=168,noc_hops=2,technology=eyeriss,name=chip") == hardware
    assert text_of(hardware) == "num_pes=168,noc_hops=2,technology=eyeriss,name=chip"


def test_energy_is_linear_in_the_width_of_a_memory() -> None:
    technology = Technology(l1_macs=((100, 2), (400, 4), (900, 8)))
    found = [technology.access_macs("l1", size) for size in (25, 100, 225, 400, 625, 900, 1600)]
    assert found == pytest.approx([1, 2, 3, 4, 6, 8, 12])


def test_presets_have_the_published_ratios() -> None:
    assert TECHNOLOGIES.keys() == SOURCES.keys()
    horowitz = Hardware(1, 8192, 2**20, technology=TECHNOLOGIES["horowitz45"]).energies
    assert horowitz.mac_nj == pytest.approx(0.00023)
    # 10 and 100 pJ for 8 bytes, 1.95 nJ for those of DRAM.
    assert horowitz.l1_macs * 0.23 * 8 == pytest.approx(10)
    assert horowitz.l2_macs * 0.23 * 8 == pytest.approx(100)
    assert horowitz.offchip_macs * 0.23 * 8 == pytest.approx(1950)
    accelergy = TECHNOLOGIES["accelergy65"]
    assert accelergy.l1_macs == pytest.approx((0.20 + 1.98 + 0.25 + 0.25) / 4 / 0.208)
    assert accelergy.l2_macs == pytest.approx((18.2 + 14.1) / 8 / 0.208)
    assert accelergy.offchip_macs == pytest.approx(128 / 0.208)


def test_cmos40_has_the_published_figures() -> None:
    for name, mac_pj, bits, dram_pj in (
        ("cmos40", 0.3, 8, 8),
        ("cmos40-16bit", 0.9, 16, 8),
        ("cmos40-gddr5", 0.3, 8, 14),
        ("cmos40-hbm2", 0.3, 8, 3.9),
    ):
        made = TECHNOLOGIES[name]
        word_bytes = bits // 8
        word_pj = mac_pj / bits
        assert (made.mac_nj * 1000, made.word_bytes) == (pytest.approx(mac_pj), word_bytes)
        assert made.offchip_macs * word_pj == pytest.approx(dram_pj)
        assert made.access_macs("l1", 8) * word_pj == pytest.approx(0.009)
        # CACTI's reads and writes of 16 bits of a register file, and of 64 bits.
        assert made.access_macs("l1", 9) * word_pj == pytest.approx(0.582732 / 2 / 16)
        assert made.access_macs("l2", 102_400) * word_pj == pytest.approx(54.1485 / 2 / 64)
        # Beyond, wires over its square less those over a bank's.
        wires = 1.5 * (0.242 / 0.72 * 8) ** 0.5 / 1000 * (5000 - 320) * 31 / 256
        assert made.access_macs("l2", 5000**2) * word_pj == pytest.approx(54.1485 / 2 / 64 + wires)
        # 256 bits, a tenth of 1 mm.
        assert made.noc_macs * word_pj * 256 == pytest.approx(31 / 10)
        assert made.mac_um2 == pytest.approx(278 + 6350 * bits**2 / 32**2)
        # A macro is larger than its cells, a register file larger, and flip-flops larger still.
        assert 0.242 < made.bit_um2(65) < made.bit_um2(64) == pytest.approx(507.369 / 512)
        assert made.bit_um2(64) < made.bit_um2(8) == 5.98


def test_main_memory_is_free_in_maestro_alone() -> None:
    assert [name for name, each in TECHNOLOGIES.items() if not each.offchip_macs] == ["maestro"]


@pytest.mark.parametrize("l1_bytes", [64, 2048])
def test_the_area_is_that_of_macs_and_buffers(l1_bytes: int) -> None:
    technology = Technology("mine", mac_um2=500.0, register_um2=7.0, sram_um2=0.5)
    hardware = Hardware(12, l1_bytes, 2**16, simd_lanes=2, technology=technology)
    l1_bit = 7.0 if l1_bytes == 64 else 0.5
    expected = 12 * (2 * 500 + 8 * 64 * l1_bit) + 8 * 3000 * 0.5
    assert hardware.area_um2(64, 3000) == pytest.approx(expected)
    problem = Problem(MapSpace(find_layer("resnet18_l2"), hardware))
    points = problem.space.sample(200, np.random.default_rng(0))
    rows = problem.evaluate(points)
    bound = find_objective("area").bound(problem.layer, hardware)
    found = [problem.evaluate_mapping(problem.space.decode(each))[0] for each in points[:20]]
    for cost, area in zip(found, rows.metrics[:20, METRICS.index("area_um2")], strict=True):
        l1, l2 = buffer_bytes(cost)
        needed = 12 * 8 * l1 * l1_bit + 8 * l2 * 0.5
        assert area == cost.area_um2 == pytest.approx(12 * 2 * 500 + needed)
        assert cost.area_um2 >= bound


def test_energy_is_that_of_the_counts() -> None:
    technology = Technology("mine", 0.5, 3.0, 7.0, 11.0, 13.0)
    hardware = replace(EDGE, noc_hops=2, technology=technology)
    problem = Problem(MapSpace(find_layer("resnet18_l2"), hardware))
    points = problem.space.sample(50, np.random.default_rng(0))
    for point in points:
        cost, _ = problem.evaluate_mapping(problem.space.decode(point))
        (cluster,) = cost.clusters
        transfers = cost.input_unit_writes + cost.filter_unit_writes + cost.output_leaving_words
        transfers += cost.input_l1_writes + cost.filter_l1_writes + cluster.output_writes
        energy = cost.macs + 3 * (cost.l1_accesses + cost.cluster_accesses) + 7 * cost.l2_accesses
        energy += 22 * transfers + 13 * (cost.offchip_read_words + cost.offchip_write_words)
        assert cost.energy_nj == pytest.approx(0.5 * energy, rel=1e-12)


@pytest.mark.parametrize("name", TECHNOLOGIES)
def test_no_mapping_costs_less_than_the_bound(name: str) -> None:
    technology = TECHNOLOGIES[name]
    word_bytes = technology.word_bytes or 1
    machine = Hardware(64, 1024, 2**17, technology=technology, word_bytes=word_bytes)
    problem = Problem(MapSpace(find_layer("mobilenetv2_l2"), machine))
    rows = problem.evaluate(problem.space.sample(3000, np.random.default_rng(0)))
    for each in ("energy", "edp"):
        objective = find_objective(each)
        values = objective.function(rows.metrics[rows.status == OK])
        assert values.min() >= objective.bound(problem.layer, machine)


def test_known_optima_are_those_of_the_default() -> None:
    assert known_optimum("resnet18_l2", "energy", EDGE) is not None
    other = replace(EDGE, technology=TECHNOLOGIES["eyeriss"])
    assert known_optimum("resnet18_l2", "energy", other) is None


def test_certificates_name_another_technology_alone(tmp_path: Path) -> None:
    written = {}
    for technology in (DEFAULT, TECHNOLOGIES["eyeriss"]):
        space = MapSpace(find_layer("gemm:M=2,N=2,K=2"), Hardware(2, technology=technology))
        path = tmp_path / "c.gz"
        certify(Problem(space), find_objective("energy"), None, None, math.inf, path)

        header = json.loads(gzip.decompress(path.read_bytes()).split(b"\n")[0])
        written[technology.name] = header["hardware"].get("technology")
    assert written == {"maestro": None, "eyeriss": asdict(TECHNOLOGIES["eyeriss"])}


def test_the_model_maestro_keeps_its_energies() -> None:
    space = MapSpace(find_layer("resnet18_l2"), replace(EDGE, technology=TECHNOLOGIES["eyeriss"]))
    with pytest.raises(ModelError, match=r"maestro has energies of its own.*eyeriss.*model exact"):
        Problem(space, "maestro")


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"mac_nj": 0}, HardwareError, "mac_nj is 0"),
        ({"mac_nj": -1}, HardwareError, "from 0 to 1e"),
        ({"noc_macs": math.nan}, HardwareError, "noc_macs is nan"),
        ({"noc_macs": "1"}, ArgumentTypeError, "noc_macs is '1'"),
        ({"l1_macs": "1"}, ArgumentTypeError, "l1_macs is '1'"),
        ({"l1_macs": ((8, 1),)}, ArgumentTypeError, "two or more pairs"),
        ({"l1_macs": ((8, 1), 3)}, ArgumentTypeError, "two or more pairs"),
        ({"l2_macs": ((8, 1), (8, 2))}, HardwareError, "ascending"),
        ({"l2_macs": ((8, 1), (9, -2))}, HardwareError, "l2_macs is -2"),
        ({"word_bytes": 0}, HardwareError, "word_bytes is 0"),
        ({"name": "a,b"}, HardwareError, "'a,b'"),
        ({"mac_um2": 0}, HardwareError, "mac_um2 is 0; allowed: numbers above 0"),
        ({"sram_um2": 1}, HardwareError, "mac_um2, register_um2 missing; allowed: all of"),
        ({"register_macs": -1}, HardwareError, "register_macs is -1"),
        ({"file_macs": 1}, HardwareError, "file_um2 missing; allowed: all of file_macs, file_um2"),
        (
            {"file_macs": 1, "file_um2": 1},
            HardwareError,
            "without register_macs or areas",
        ),
        ({"wire_macs": 1}, HardwareError, "wire_macs without energies by size or areas"),
        ({"pj": 3}, HardwareError, "pj"),
    ],
)
def test_impossible_energies_are_refused_in_one_line(
    fields: dict[str, object], error: type[MaestroEnvError], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        find_technology(fields)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("num_pes=4,technology=tsmc", "unknown technology 'tsmc'"),
        ("num_pes=4,technology=mac_nj=x", "mac_nj is 'x'"),
        ("num_pes=4,technology=l1_macs=8:1+9", r"BYTES:ENERGY\+"),
        ("num_pes=4,technology=mac_nj=1;mac_nj=2", "given twice"),
        ("num_pes=4,technology=volts=1", "unknown key 'volts'"),
        ("num_pes=4,technology=horowitz45", "l1_bytes is unlimited"),
        ("num_pes=4,technology=leak_nw=3", "leak_nw, which cost models of two buffers do not"),
        ("num_pes=4,technology=eyeriss,offchip_cost_macs=3", "which has its own"),
        ("num_pes=4,noc_hops=999999999,technology=eyeriss", "noc_hops x noc_macs"),
    ],
)
def test_what_a_text_cannot_have_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises((HardwareError, UnknownNameError), match=message) as caught:
        find_hardware(text)
    assert "\n" not in str(caught.value)


def test_a_table_that_does_not_reach_is_named() -> None:
    steep = Technology("steep", l2_macs=((10_000, 1), (20_000, 50)))
    with pytest.raises(HardwareError, match=r"l2 of 64 B costs -\d.* MACs"):
        Hardware(4, 64, 64, technology=steep)
    assert UNLIMITED > 20_000
