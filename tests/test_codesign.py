"""Accelerators of a grid: totals, front, resuming, searching, auditing, and what is refused."""

from __future__ import annotations

import csv
import re
import shutil
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import audit
from commands import codesign as main
from hypothesis import given
from hypothesis import strategies as st
from run_helpers import contents, edit, load

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import find_technology
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.codesign.designs import Design, front_of
from maestro_env.experiments.commands.codesign.flags import Config
from maestro_env.experiments.commands.codesign.grid import Grid, make_grid
from maestro_env.experiments.shown.statistics import Floats
from maestro_env.experiments.study.sweep.fronts import AXES, RECORD, some_of
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.models import room_of
from maestro_env.workloads.finding import find_network

NETWORK = """K,C,Y,X,R,S,T
8,3,10,10,3,3,1
16,8,8,8,1,1,1
16,8,8,8,1,1,1
10,32,1,1,1,1,0
"""
OTHER = """K,C,Y,X,R,S,T
16,8,8,8,1,1,1
24,16,4,4,1,1,1
"""
BASE = "--hardware=num_pes=4,noc_hops=2,offchip_bw=4,name=small"
PES, L1, L2, NOC = (2, 3, 4, 16), (128, 256), (2048, 16384), (4, 64)
AREA = 0.2
FIGURES = ("latency_cycles", "energy_nj", "area_um2")


def axis(values: tuple[int, ...]) -> str:
    return ",".join(map(str, values))


def run(out: Path, *flags: str, networks: str = "net", mapper: str = "random_log") -> int:
    """Look at the accelerators of a small grid, with networks whose files lie beside ``out``."""
    for name, text in (("net", NETWORK), ("other", OTHER)):
        (out.parent / f"{name}.csv").write_text(text)
    asked = ",".join(str(out.parent / f"{name}.csv") for name in networks.split(","))
    grid = [f"--num-pes={axis(PES)}", f"--l1-bytes={axis(L1)}", f"--l2-bytes={axis(L2)}"]
    search = [f"--noc-bw={axis(NOC)}", f"--mapper={mapper}", "--samples=40"]
    old = ["--technology=maestro", f"--area={AREA}"]
    return main([asked, BASE, *grid, *search, *old, f"--out={out}", *flags])


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, rendering: Any) -> Path:
    """The directory of the small grid, which no test changes."""
    out = tmp_path_factory.mktemp("codesign") / "out"
    with rendering():
        assert run(out) == 0
    return out


@pytest.fixture
def copied(done: Path, tmp_path: Path) -> Path:
    """A copy of that directory."""
    return Path(shutil.copytree(done, tmp_path / "copied"))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def figures_of(rows: list[dict[str, str]]) -> Floats:
    return np.array([[float(row[name]) for name in FIGURES] for row in rows])


def brute_force(figures: Floats) -> list[int]:
    """Rows that no other one beats; of equal ones the first."""
    rows = range(len(figures))
    return [
        a
        for a in rows
        if not any(
            (figures[b] <= figures[a]).all() and ((figures[b] < figures[a]).any() or b < a)
            for b in rows
            if b != a
        )
    ]


def hypervolume(figures: Floats, corner: Floats) -> float:
    """Volume below the corner that some row beats, cell by cell between all coordinates."""
    edges = [
        np.unique(np.append(column, top)) for column, top in zip(figures.T, corner, strict=True)
    ]
    lows = np.stack(np.meshgrid(*(each[:-1] for each in edges), indexing="ij"), axis=-1)
    sizes = np.stack(np.meshgrid(*map(np.diff, edges), indexing="ij"), axis=-1).prod(axis=-1)
    beaten = np.zeros(sizes.shape, dtype=bool)
    for row in figures:
        beaten |= (row <= lows).all(axis=-1)
    return float(sizes[beaten].sum())


def test_the_grid_within_the_area_is_looked_at(done: Path) -> None:
    base = find_hardware(BASE.partition("=")[2])
    expected = []
    for pes, l1, l2, noc in product(PES, L1, L2, NOC):
        area = Hardware(pes).area_um2(l1, l2)
        if area <= AREA * 1e6:
            expected.append([*map(str, (pes, l1, l2, noc, base.offchip_bw)), str(area)])
    assert 1 < len(expected) < len(PES) * len(L1) * len(L2) * len(NOC)
    names = ("num_pes", "l1_bytes", "l2_bytes", "noc_bw", "offchip_bw", "area_um2")
    assert [[row[name] for name in names] for row in table(done / "accelerators.csv")] == expected
    record = load(done / "codesign.json")
    assert record["looked_at"] + record["over_budget"] == 32


def test_totals_are_those_of_the_mappings(done: Path) -> None:
    network = find_network(str(done.parent / "net.csv"))
    layers = {layer.name: layer for layer in network.layers}
    assert sum(layer.count for layer in layers.values()) == 4
    base = find_hardware(BASE.partition("=")[2])
    totals: dict[str, list[float]] = {}
    machines = {row["hardware"]: row for row in table(done / "accelerators.csv")}
    for cell in table(done / "sweeps/1/results.csv"):
        row = machines[cell["hardware"]]
        hardware = Hardware(
            *(int(row[name]) for name in ("num_pes", "l1_bytes", "l2_bytes", "noc_bw")),
            offchip_bw=base.offchip_bw,
            noc_hops=2,
        )
        layer = layers[cell["layer"]]
        space = MapSpace(layer, hardware)
        point = np.array(cell["vector"].split(), dtype=np.int32)
        cost, status = Problem(space, "exact").evaluate_mapping(space.decode(point))
        assert cost is not None
        assert status == "ok"
        sums = totals.setdefault(cell["hardware"], [0.0, 0.0])
        sums[0] += layer.count * cost.latency_cycles
        sums[1] += layer.count * cost.energy_nj
    assert totals.keys() == machines.keys()
    for name, (latency, energy) in totals.items():
        row = machines[name]
        found = [float(row[key]) for key in ("latency_cycles", "energy_nj", "edp")]
        assert found == pytest.approx([latency, energy, latency * energy])


def test_the_front_is_that_of_all_pairs(done: Path) -> None:
    rows = table(done / "accelerators.csv")
    expected = {rows[index]["hardware"] for index in brute_force(figures_of(rows))}
    front = table(done / "front.csv")
    assert {row["hardware"] for row in rows if row["front"] == "1"} == expected
    assert {row["hardware"] for row in front} == expected
    assert {each["hardware"] for each in load(done / "codesign.json")["front"]} == expected
    latencies = figures_of(front)[:, 0].tolist()
    assert latencies == sorted(latencies)
    assert all((done / f"front.{ending}").stat().st_size for ending in ("png", "md"))


@given(st.lists(st.tuples(*[st.integers(1, 5)] * 3), max_size=30))
def test_fronts_are_those_of_all_pairs(drawn: list[tuple[int, int, int]]) -> None:
    designs = []
    for latency, energy, area in drawn:
        designs.append(Design("net", Hardware(1), {}, float(area), float(latency), float(energy)))
    expected = [designs[index] for index in brute_force(np.array(drawn).reshape(-1, 3))]
    assert sorted(map(id, front_of(designs))) == sorted(map(id, expected))


@pytest.mark.parametrize(
    "technology", ["maestro", "eyeriss", "mac_nj=0.002;l1_macs=512:1.5+8192:6"]
)
def test_an_accelerator_is_written_as_it_is_read(technology: str, tmp_path: Path) -> None:
    base = Hardware(168, 512, 108_000, technology=find_technology(technology), clock_mhz=200)
    axes = dict(zip(AXES, ((42,), (128,), (27_000,), (64,), (16,)), strict=True))
    (hardware,) = Grid(base, base.technology, axes, 1e9).fitting.values()
    path = tmp_path / "any.yaml"
    path.write_text(room_of(hardware.MODEL).file_text(hardware))
    assert find_hardware(str(path)) == hardware


NEW = ("--technology=cmos40", "--area=0.02", "--num-pes=2,4", "--l1-bytes=64,128,256", "--noc-bw=4")
NEW = (*NEW, "--mapper=optimum:nodes=500:samples=10")


@pytest.fixture(scope="module")
def new(done: Path) -> Path:
    """The directory of a co-design in a technology with areas, whose searches are proven or not."""
    out = done.parent / "new"
    assert run(out, *NEW) == 0
    return out


def test_buffers_are_paid_for_in_area_and_energy(new: Path) -> None:
    rows = table(new / "accelerators.csv")
    assert {int(row["l1_bytes"]) for row in rows} == {64, 128, 256}
    for row in rows:
        pes, l1, l2 = (int(row[name]) for name in ("num_pes", "l1_bytes", "l2_bytes"))
        l1_bit = 507.369 / 512 if l1 == 64 else 0.242 / 0.72
        expected = pes * (278 + 6350 / 16 + 8 * l1 * l1_bit) + 8 * l2 * 0.242 / 0.72
        assert float(row["area_um2"]) == pytest.approx(expected)
        assert expected <= 0.02e6
        file = (
            find_hardware(str(new / "hardware" / f"{row['hardware']}.yaml"))
            if (row["front"] == "1")
            else None
        )
        assert file is None or file.technology == find_technology("cmos40")
    record = load(new / "codesign.json")
    assert record["technology"] == "cmos40"
    title = (new / "front.md").read_text().splitlines()[0]
    assert title.endswith("within 0.02 mm^2, technology cmos40")


def test_gaps_are_those_of_the_sums_over_layers(new: Path) -> None:
    layers = {each.name: each.count for each in find_network(str(new.parent / "net.csv")).layers}
    columns = [load(path)["cells"] for path in new.glob("sweeps/1/chunks/*/*.json")]
    cells = table(new / "sweeps/1/results.csv")
    bounds = {
        (value, vector): bound
        for each in columns
        for value, vector, bound in zip(each["value"], each["vector"], each["bound"], strict=True)
    }
    bounds.pop((None, None), None)
    assert all(bound <= value for (value, _), bound in bounds.items())
    assert any(bound < value for (value, _), bound in bounds.items())
    for row in load(new / "codesign.json")["front"]:
        own = [each for each in cells if each["hardware"] == row["hardware"]]
        found = sum(layers[each["layer"]] * float(each["value"]) for each in own)
        least = sum(
            layers[each["layer"]] * bounds[float(each["value"]), each["vector"]] for each in own
        )
        assert row["gap"] == pytest.approx(found / least - 1)


def test_without_proofs_no_gap_is_told(done: Path) -> None:
    assert {each["gap"] for each in load(done / "codesign.json")["front"]} == {None}


fronts = st.lists(
    st.fixed_dictionaries(
        {"gap": st.none() | st.floats(0, 0.5), **dict.fromkeys((*FIGURES, "edp"), st.floats(1, 9))}
    ),
    max_size=40,
)


@given(fronts)
def test_a_dozen_stands_for_a_front(front: list[dict[str, float]]) -> None:
    told, distance = some_of(front)
    assert len(told) <= 12
    assert [id(each) for each in front if any(each is one for one in told)] == [*map(id, told)]

    def nearness(other: dict[str, float], one: dict[str, float]) -> float:
        return max(one[name] / other[name] for name in FIGURES) - 1

    near = [min(nearness(each, one) for one in told) for each in front]
    assert distance == pytest.approx(max(near, default=0), abs=1e-9)
    if told:
        assert min(each["edp"] for each in told) == min(each["edp"] for each in front)
    error = max((each["gap"] or 0 for each in front), default=0)
    if None in [each["gap"] for each in front]:
        error = 0
    # Fewer than a dozen are shown only if no other one is farther than a search may err.
    assert len(told) in (12, len(front)) or distance <= error + 1e-9
    for place, each in enumerate(told):
        others = told[:place] + told[place + 1 :]
        ways = [max(nearness(each, one), nearness(one, each)) for one in others]
        assert all(way > error - 1e-9 for way in ways)


def test_a_technology_follows_from_the_hardware() -> None:
    wide = BASE.replace("name=small", "word_bytes=2,name=wide")
    hbm = BASE.replace("name=small", "l1_bytes=64,l2_bytes=999,technology=cmos40-hbm2")
    for text, expected in ((BASE, "cmos40"), (wide, "cmos40-16bit"), (hbm, "cmos40-hbm2")):
        config = Config("alexnet", hardware=text.partition("=")[2], area=1.0)
        assert make_grid(config).technology.name == expected


def test_the_files_of_the_front_make_its_accelerators(done: Path) -> None:
    base = find_hardware(BASE.partition("=")[2])
    front = table(done / "front.csv")
    assert {path.stem for path in (done / "hardware").iterdir()} == {
        row["hardware"] for row in front
    }
    for row in front:
        hardware = find_hardware(str(done / "hardware" / f"{row['hardware']}.yaml"))
        assert (hardware.name, hardware.num_pes) == (row["hardware"], int(row["num_pes"]))
        assert hardware.noc_hops == base.noc_hops
        assert float(row["area_um2"]) == hardware.area_um2(hardware.l1_bytes, hardware.l2_bytes)


def test_several_networks_share_layers_and_have_totals_together(tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(out, networks="net,other") == 0
    rows = table(out / "accelerators.csv")
    by_name = {(row["workload"], row["hardware"]): row for row in rows}
    machines = {row["hardware"] for row in rows}
    assert len(rows) == 3 * len(machines)
    for name, column in product(machines, ("latency_cycles", "energy_nj")):
        net, other, both = (
            float(by_name[workload, name][column]) for workload in ("net", "other", "all")
        )
        assert both == pytest.approx(net + other)
    # Three distinct layers of the first, one more of the other.
    assert len(table(out / "sweeps/1/results.csv")) == 4 * len(machines)
    assert {row["workload"] for row in table(out / "front.csv")} == {"all"}
    for workload in ("net", "other", "all"):
        own = [row for row in rows if row["workload"] == workload]
        expected = [own[index]["hardware"] for index in brute_force(figures_of(own))]
        assert [row["hardware"] for row in own if row["front"] == "1"] == expected


def test_what_is_left_is_done_when_resumed(
    done: Path, copied: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in sorted(copied.glob("sweeps/1/chunks/*/*.json"))[::2]:
        path.unlink()
    (copied / "codesign.json").unlink()
    kept = {path: path.stat().st_mtime_ns for path in copied.glob("sweeps/*/chunks/*/*.json")}
    assert run(copied, "--resume", "--jobs=2") == 0
    assert re.search(r"time: .* s; searches: .* hours in all", capsys.readouterr().out)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    one, two = contents(done), contents(copied)
    written = [name for name in one if "chunks" not in name and not name.startswith("front.")]
    written.append("front.csv")
    assert {name: one[name] for name in written} == {name: two[name] for name in written}
    # Another grid is another co-design.
    assert run(copied, "--resume", "--area=0.05") == 2


def test_accelerators_that_cannot_map_a_layer_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, none = tmp_path / "out", tmp_path / "none"
    assert run(out, "--l1-bytes=8,256") == 0
    told = capsys.readouterr().err.splitlines()
    rows = table(out / "accelerators.csv")
    lost: dict[str, set[str]] = {}
    for cell in table(out / "sweeps" / "1" / "results.csv"):
        if not cell["vector"]:
            lost.setdefault(cell["hardware"], set()).add(cell["layer"])
    small = {row["hardware"] for row in rows if row["l1_bytes"] == "8"}
    assert small <= lost.keys()
    for row in rows:
        missing = lost.get(row["hardware"], set())
        assert set(filter(None, row["unmapped"].split(";"))) == missing
        assert (row["latency_cycles"] == "") == bool(missing)
    counts = [int(re.findall(r"was found on (\d+) of", line)[0]) for line in told]
    assert sum(counts) == len(lost)
    assert lost.keys().isdisjoint(row["hardware"] for row in table(out / "front.csv"))
    assert run(none, "--l1-bytes=8") == 0
    assert table(none / "front.csv") == []
    assert not (none / "front.png").exists()


BAD: dict[str, tuple[list[str], str]] = {
    "nothing fits": (["--area=0.001"], "no accelerator of the grid fits --area 0.001 mm^2"),
    "no number": (["--num-pes=4,x"], "--num-pes: 'x'; allowed: integers"),
    "zero": (["--l1-bytes=0"], "--l1-bytes: '0'"),
    "too many": ([f"--l2-bytes={axis(tuple(range(1, 60_000)))}"], "allowed: 100,000"),
    "no network": (["--objective=edp", "--mapper=gaa"], "unknown mapper"),
    "two mappers": (["--mapper=ga,random"], "--mapper ga,random: allowed: one mapper"),
    "objective": (["--objective=speed"], "unknown objective"),
    "hardware": (["--hardware=nowhere"], "unknown hardware"),
    "technology": (["--technology=tsmc"], "unknown technology 'tsmc'"),
    "no areas": (["--technology=eyeriss"], "eyeriss has no areas; allowed: cmos40, "),
    "no limits": (["--hardware=unlimited"], "l1_bytes is unlimited, but technology cmos40"),
    "words": (["--hardware=num_pes=4,word_bytes=3"], "words of 3 B, for which no technology"),
    "two energies": (["--hardware=num_pes=4,offchip_cost_macs=9", "--area=1"], "which has its own"),
    "another model": (["--model=maestro"], "model maestro has energies of its own"),
}


@pytest.mark.parametrize(("flags", "message"), BAD.values(), ids=BAD)
def test_what_cannot_be_is_refused(
    assert_refused: Callable[..., None], flags: list[str], message: str
) -> None:
    assert_refused(main, ["alexnet", *flags], message)


def test_an_unknown_network_is_refused(assert_refused: Callable[..., None]) -> None:
    assert_refused(main, ["nowhere"], "unknown network 'nowhere'")


def test_a_search_needs_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.delitem(
        sys.modules, "maestro_env.experiments.commands.codesign.nsga2", raising=False
    )
    assert run(out, "--search=4") == 2
    assert "pip install -e '.[optuna]' in a clone" in capsys.readouterr().err
    assert not out.exists()


WIDE = ("--num-pes=2,4,8,16", "--l1-bytes=256,512,1024", "--l2-bytes=1024,4096,16384,65536")
WIDE = (*WIDE, "--noc-bw=1,2,4,16", "--area=10")


@pytest.mark.slow
def test_a_search_of_a_quarter_comes_near_the_front(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    assert run(tmp_path / "grid", *WIDE) == 0
    assert run(tmp_path / "part", *WIDE, "--search=48") == 0
    everything, part = (table(tmp_path / out / "accelerators.csv") for out in ("grid", "part"))
    assert (len(everything), len(part)) == (192, 48)
    # An accelerator has the same figures whoever looks at it.
    known = {row["hardware"]: row for row in everything}
    assert all(row[name] == known[row["hardware"]][name] for row in part for name in FIGURES)
    assert len({row["hardware"] for row in part}) == 48
    figures = figures_of(everything)
    corner = figures.max(axis=0) * 1.01
    full = hypervolume(figures, corner)
    assert hypervolume(figures[brute_force(figures)], corner) == pytest.approx(full)
    assert hypervolume(figures_of(part), corner) > 0.8 * full


@pytest.mark.slow
def test_a_search_for_all_finds_the_front_and_resumes(done: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    out = tmp_path / "all"
    assert run(out, "--search=1000") == 0
    assert (out / "front.csv").read_bytes() == (done / "front.csv").read_bytes()
    before = contents(out)
    shutil.rmtree(out / "sweeps" / "2")
    assert run(out, "--search=1000", "--resume") == 0
    after = contents(out)
    tables = [name for name in before if name.endswith((".csv", RECORD, ".yaml"))]
    assert {name: after[name] for name in tables} == {name: before[name] for name in tables}


def test_the_audit_scores_a_front_of_another_technology(new: Path) -> None:
    assert audit([str(new)]) == 0


def test_the_audit_scores_the_front_again(done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit([str(done)]) == 0
    shown = capsys.readouterr().out
    front = {row["hardware"]: row for row in table(done / "front.csv")}
    titles = re.findall(r"^(\S+), searched for edp", shown, re.MULTILINE)
    assert sorted(titles) == sorted(front)
    totals = [re.split(r" {2,}", line.strip()) for line in shown.splitlines() if "all of" in line]
    for name, cells in zip(titles, totals, strict=True):
        assert cells[:3] == ["all of net", "random_log", "0"]
        assert cells[3].endswith(" of 3")
        assert cells[8] == f"{float(front[name]['latency_cycles']):,.0f}"


def test_the_audit_of_a_sweep_scores_every_cell(
    done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit([str(done / "sweeps" / "1")]) == 0
    shown = capsys.readouterr().out
    assert shown.count(" random_log ") == len(table(done / "accelerators.csv")) * (3 + 1)


DAMAGES: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "front": ("codesign.json", lambda entry: entry.update(seed=7)),
    "sweep": ("sweeps/1/config.json", lambda entry: entry["sweep"].pop("layers")),
    "value": ("sweeps/1/chunks/random_log/*.json", lambda entry: entry["cells"]["value"].reverse()),
}


@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize(("pattern", "change"), DAMAGES.values(), ids=DAMAGES)
def test_the_audit_refuses_changed_records(
    pattern: str,
    change: Callable[[dict[str, Any]], object],
    sealed: bool,
    copied: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for path in copied.glob(pattern):
        edit(path, change, sealed)
    harmless = sealed and pattern == "codesign.json"
    assert audit([str(copied)]) == (0 if harmless else 2)
    assert capsys.readouterr().err.count("\n") == (0 if harmless else 1)
