"""Co-designs and sweeps over accelerators that are described with all their memories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import codesign as main
from commands import sweep
from hypothesis import given
from hypothesis import strategies as st
from run_helpers import contents, load
from sweep_helpers import rows as table
from test_codesign import brute_force, figures_of

from maestro_env.accelerators.elements import MemoryElement
from maestro_env.accelerators.finding import chips_with, find_hardware, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.pricing import with_energies
from maestro_env.accelerators.quantities import bits_text, sized_bits
from maestro_env.accelerators.technologies import find_technology
from maestro_env.experiments.commands.codesign.flags import Config
from maestro_env.experiments.commands.codesign.grid import Grid, make_grid
from maestro_env.experiments.commands.report import read_section
from maestro_env.experiments.pages.charts import charts_of
from maestro_env.experiments.search.goals import AnyProblemConfig, make_goal
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.study.sweep.fronts import UM2_A_MM2
from maestro_env.models import find_accelerator
from maestro_env.workloads.finding import find_network

CHIP = """
memories:
- {memory: DRAM, bw: 64, read_pj_per_bit: 3}
- {memory: glb, capacity_bits: 4KB, read_pj_per_bit: 7}
- {memory: sums, keeps: [output], capacity_bits: 512B, width_bits: {output: 32}}
- {memory: part, keeps: [filter], pool: glb}
- {fanout: units, size: 4}
- {memory: spad, capacity_bits: 24B}
"""
GLB, SUMS, SPAD, UNITS = (1024, 4096), (256, 512), (24, 128), (2, 4)
SIZES = "glb=1KB,4KB; sums=256B,4096 ;spad=24B,128B;units=2,4"
AREA = 0.013
NETWORK = "K,C,Y,X,R,S,T\n16,8,12,1,1,1,1\n"


def area(glb: int, sums: int, spad: int, units: int) -> float:
    """Area in um^2 by hand: cmos40's register files up to 64 B, its SRAM beyond, its MACs."""
    spad_bit = 507.369 / 512 if spad <= 64 else 0.242 / 0.72
    memories = 8 * (glb + sums) * 0.242 / 0.72 + units * 8 * spad * spad_bit
    return memories + units * (278 + 6350 / 16)


def run(out: Path, *flags: str) -> int:
    """Look at the accelerators of a small grid; the network and the chip lie beside ``out``."""
    (out.parent / "net.csv").write_text(NETWORK)
    (out.parent / "chip.yaml").write_text(CHIP)
    asked = [str(out.parent / "net.csv"), f"--hardware={out.parent / 'chip.yaml'}"]
    grid = [f"--sizes={SIZES}", f"--area={AREA}", "--mapper=random_log", "--samples=60"]
    return main([*asked, *grid, f"--out={out}", *flags])


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, rendering: Any) -> Path:
    """The directory of a co-design over a small grid, which no test changes."""
    out = tmp_path_factory.mktemp("memories") / "out"
    with rendering():
        assert run(out) == 0
    return out


def test_the_grid_within_the_area_is_looked_at(done: Path) -> None:
    names = ("glb_bits", "sums_bits", "spad_bits", "units_size")
    rows = {
        tuple(int(row[name]) for name in names): float(row["area_um2"])
        for row in table(done / "accelerators.csv")
    }
    areas = {
        (8 * glb, 8 * sums, 8 * spad, units): area(glb, sums, spad, units)
        for glb, sums, spad, units in product(GLB, SUMS, SPAD, UNITS)
    }
    expected = {sizes: each for sizes, each in areas.items() if each <= AREA * UM2_A_MM2}
    assert 4 < len(expected) < len(areas)
    assert rows == pytest.approx(expected)
    record = load(done / "codesign.json")
    assert record["grid"] == {
        "glb_bits": [8192, 32768],
        "sums_bits": [2048, 4096],
        "spad_bits": [192, 1024],
        "units_size": [2, 4],
    }
    assert record["over_budget"] == len(areas) - len(expected)


def test_the_front_is_that_of_all_pairs_and_its_files_cost_the_same(done: Path) -> None:
    rows = table(done / "accelerators.csv")
    front = [rows[index] for index in brute_force(figures_of(rows))]
    assert {row["hardware"] for row in table(done / "front.csv")} == {
        row["hardware"] for row in front
    }
    vectors = {row["hardware"]: row["vector"] for row in table(done / "sweeps/1/results.csv")}
    (layer,) = find_network(str(done.parent / "net.csv")).layers
    above = {
        each["hardware"]: each["above_bound"] for each in load(done / "codesign.json")["front"]
    }
    for row in front:
        path = str(done / "hardware" / f"{row['hardware']}.yaml")
        goal = make_goal(AnyProblemConfig(path), layer, find_accelerator(path, "hierarchy"), "edp")
        point = np.array(vectors[row["hardware"]].split(), dtype=np.int32)
        cost, status = goal.problem.evaluate_mapping(goal.problem.space.decode(point))
        assert status == "ok"
        assert cost is not None
        figures = (cost.latency_cycles, cost.energy_nj)
        assert figures == (float(row["latency_cycles"]), float(row["energy_nj"]))
        assert goal.lower_bound is not None
        assert above[row["hardware"]] == pytest.approx(float(row["edp"]) / goal.lower_bound - 1)


def test_a_bound_that_no_search_proved_is_no_error(done: Path) -> None:
    front = load(done / "codesign.json")["front"]
    assert {each["gap"] for each in front} == {None}
    told = (done / "front.md").read_text()
    assert "it does not tell how far the searches err" in told
    assert "is proven to be" not in told


def test_it_is_resumed_and_reported(done: Path, rendered: None) -> None:
    before = contents(done)
    (done / "codesign.json").unlink()
    next((done / "sweeps/1/chunks").rglob("*.json")).unlink()
    assert run(done, "--resume") == 0
    after = contents(done)
    assert after["front.png"]
    tables = [name for name in before if name.endswith((".csv", ".md", ".yaml", "codesign.json"))]
    assert {name: after[name] for name in tables} == {name: before[name] for name in tables}
    assert run(done, "--resume", "--area=0.014") == 2
    section = read_section(done)
    least = min(table(done / "front.csv"), key=lambda each: float(each["edp"]))
    assert isinstance(section.hardware, Hierarchy)
    assert section.hardware.name == least["hardware"]
    assert [str(each.best) for each in section.found] == [least["edp"]]
    chart = next(charts_of(section)).spec
    encoding = chart["encoding"]
    assert (encoding["size"]["title"], encoding["color"]["title"]) == ("units", "glb B")
    sizes = {(point["units"], point["capacity"]) for point in chart["data"]["values"]}
    rows = table(done / "accelerators.csv")
    assert sizes == {(int(row["units_size"]), int(row["glb_bits"]) / 8) for row in rows}


def test_a_search_for_all_finds_the_front(done: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    assert run(tmp_path / "out", "--search=100") == 0
    assert table(tmp_path / "out" / "front.csv") == table(done / "front.csv")


def test_energies_of_the_file_stay_and_others_follow_the_sizes(done: Path) -> None:
    chip, cmos = find_hierarchy(str(done.parent / "chip.yaml")), find_technology("cmos40")
    axes = {"glb_bits": (2**13, 2**15), "sums_bits": (2**12, 2**16), "units_size": (2,)}
    grid = Grid(chip, cmos, axes, 1e9).fitting
    priced, energies = with_energies(chip, cmos), {}
    for (glb, sums, _), found in grid.items():
        assert isinstance(found, Hierarchy)
        assert found.elements[0] == priced.elements[0]
        assert found.elements[1] == replace(chip.elements[1], capacity_bits=glb)  # type: ignore
        energies[sums] = found.elements[2].read_pj_per_bit  # type: ignore[union-attr]
    assert priced.elements[2].read_pj_per_bit == energies[2**12] < energies[2**16]  # type: ignore
    assert "Energies that the file has hold at every size" in (done / "front.md").read_text()


@pytest.mark.parametrize("own", ["eyeriss", "maestro"])
def test_two_buffers_keep_the_energies_of_their_file(own: str) -> None:
    text = f"num_pes=8,l1_bytes=512,l2_bytes=4096,technology={own}"
    grid = make_grid(Config("alexnet", hardware=text, num_pes="8", l1_bytes="512", area=9.0))
    base, cmos = find_hardware(text), find_technology("cmos40")
    for made in grid.fitting.values():
        sized = replace(made, technology=cmos)
        assert made.areas == sized.areas
        assert made.energies == (sized if own == "maestro" else base).energies


@pytest.mark.parametrize("name", chips_with("memories"))
def test_without_sizes_the_memories_above_the_array_change(name: str) -> None:
    grid = make_grid(Config("alexnet", hardware=name, area=1e3))
    chip = find_hierarchy(name)
    first = next(index for index, each in enumerate(chip.names) if each not in _memories(chip))
    assert grid.axes == {
        f"{each.name}_bits": tuple(int(each.capacity_bits * share) for share in (0.25, 0.5, 1, 2))
        for each in chip.elements[1:first]
        if isinstance(each, MemoryElement) and isinstance(each.capacity_bits, int)
    }
    assert grid.technology.name == ("cmos40" if chip.word_bits == 8 else "cmos40-16bit")
    given = Config("alexnet", hardware=name)
    assert (given.mapper, given.samples) == ("optimum:samples=0:nodes=100", 20_000)


def test_without_a_memory_above_the_array_sizes_are_needed(tmp_path: Path) -> None:
    path = tmp_path / "flat.yaml"
    path.write_text("memories: [memory: DRAM, {fanout: units, size: 4}, {memory: spad}]")
    with pytest.raises(UsageError, match="above its array; give --sizes of units, spad"):
        make_grid(Config("alexnet", hardware=str(path)))


def _memories(chip: Hierarchy) -> list[str]:
    return [each.name for each in chip.elements if isinstance(each, MemoryElement)]


@given(st.integers(1, 2**53) | st.integers(1, 2**40).map(lambda each: 8192 * each))
def test_bits_are_read_as_they_are_written(bits: int) -> None:
    assert sized_bits(bits_text(bits)) == bits


BAD = {
    "name": (["--sizes=glob=4KB"], "unknown element in --sizes 'glob': did you mean glb?"),
    "first": (["--sizes=DRAM=4KB"], "'DRAM': allowed: glb, spad, sums, units"),
    "part": (["--sizes=part=4KB"], "allowed: glb, spad, sums, units"),
    "no unit": (["--sizes=glb=4TB"], "--sizes: glb is '4TB'; allowed: integers from 1 to"),
    "no value": (["--sizes=glb"], "--sizes: glb is ''; allowed"),
    "fan-out": (["--sizes=units=1KB"], "--sizes: units is '1KB'; allowed: integers"),
    "twice": (["--sizes=glb=4KB;glb=8KB"], "'glb' is given twice"),
    "fields": (
        ["--l2-bytes=4096"],
        "--l2-bytes: {chip} is described with all its memories; allowed: --si",
    ),
    "two buffers": (["--hardware=edge"], "--sizes: edge has two buffers; allowed: --num-pes, "),
    "no areas": (["--technology=maestro"], "maestro has no areas; allowed: cmos40, "),
    "nothing fits": (["--area=0.001"], "no accelerator of the grid fits --area 0.001 mm^2"),
    "two levels": (["--mapper=ga:start=prior"], "needs mappings of two levels"),
}


@pytest.mark.parametrize(("flags", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_is_refused(
    done: Path, assert_refused: Callable[..., None], flags: list[str], message: str
) -> None:
    chip = str(done.parent / "chip.yaml")
    asked = ["alexnet", f"--hardware={chip}", f"--sizes={SIZES}", *flags]
    assert_refused(main, asked, message.replace("{chip}", chip))


@pytest.mark.parametrize("model", ["hierarchy", "auto"])
def test_a_sweep_takes_chips_with_all_memories(tmp_path: Path, model: str) -> None:
    text = "layers: ['gemm:M=8,N=8,K=8', resnet18_l2]\nhardware: [gemmini, eyeriss]\n"
    path = tmp_path / "sweep.yaml"
    path.write_text(f"{text}mappers: [random_log]\nsamples: 20\nmodel: {model}\n")
    assert sweep([str(path), f"--out={tmp_path / 'out'}"]) == 0
    rows = table(tmp_path / "out" / "results.csv")
    names = {"gemmini with cmos40 energies", "eyeriss with cmos40-16bit energies"}
    assert {row["hardware"] for row in rows} == names
    assert {row["l2_bytes"] for row in rows} == {""}
    assert {row["area_um2"] for row in table(tmp_path / "out" / "summary.csv")} == {""}


def test_a_sweep_of_both_kinds_takes_two_buffers(tmp_path: Path) -> None:
    path = tmp_path / "sweep.yaml"
    path.write_text("layers: [resnet18_l2]\nhardware: [gemmini, edge]\nmappers: [random_log]\n")
    assert sweep([str(path), f"--out={tmp_path / 'out'}", "--dry-run"]) == 0
    with path.open("a") as file:
        file.write("model: auto\n")
    assert sweep([str(path), f"--out={tmp_path / 'out'}", "--dry-run"]) == 0
