"""Commands on accelerators that are described with all their memories."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import compare, evaluate, explain, map_network, report
from commands import run as run_command
from hypothesis import given
from hypothesis import strategies as st
from run_helpers import contents, edit, load

from maestro_env.accelerators.finding import chips_with, find_hierarchy, known_hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.pricing import has_energies, with_energies
from maestro_env.accelerators.technologies import find_technology
from maestro_env.base.real_units import RealFigures
from maestro_env.evaluation.models import MODELS
from maestro_env.exchange import nest_from_accelforge, nest_from_timeloop
from maestro_env.experiments.commands.report import read_section
from maestro_env.experiments.commands.run import Config
from maestro_env.experiments.pages.writer import write_report
from maestro_env.experiments.search.goals import Goal, make_goal
from maestro_env.experiments.search.named_mappers import find_mappers
from maestro_env.experiments.search.printed_result import take
from maestro_env.experiments.shell.flags import to_flags
from maestro_env.experiments.shown.tables import significant
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.hierarchy.written import nest_json, read_nest
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.models import accelerator_record, find_accelerator, model_of, recorded_accelerator
from maestro_env.workloads.finding import find_layer

LAYER = "conv:K=8,C=8,Y=10,X=10,R=3,S=3"
GEMMINI = ("--hardware=gemmini", "--samples=60")
CHIPS = [*chips_with("memories")]
SMALL = """
clock_mhz: 100
memories:
- memory: DRAM
  bw: 64
- {fanout: units, size: 4}
- memory: spad
  capacity_bits: 512B
"""


def run(*flags: str) -> int:
    return run_command([f"--layer={LAYER}", "--mapper=random,ga", *flags])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("hierarchy") / "out"
    assert run(*GEMMINI, f"--out={out}") == 0
    return out


def test_a_plain_name_means_all_memories(finished: Path) -> None:
    config = load(finished / "config.json")
    assert config["config"]["model"] == "hierarchy"
    assert model_of("unlimited") == model_of("num_pes=16") == model_of("nvdla_large") == "exact"
    assert {model_of(chip) for chip in CHIPS} == {"hierarchy"}
    assert not (finished / "best_mapping.m").exists()


@pytest.mark.parametrize("chip", CHIPS)
def test_chips_get_energies_and_are_read_back(chip: str) -> None:
    found = find_accelerator(chip, "hierarchy")
    assert isinstance(found, Hierarchy)
    named = find_hierarchy(chip)
    technology = find_technology("cmos40" if named.word_bits == 8 else "cmos40-16bit")
    priced = with_energies(named, technology)
    assert (found.elements, found.mac) == (priced.elements, priced.mac)
    assert found.name == f"{chip} with {technology.name} energies"
    record = json.loads(json.dumps(accelerator_record(found)))
    assert recorded_accelerator(record) == found
    real = RealFigures.of(1e9, 1e9, 10**9, found.clock_mhz, dict.fromkeys(found.names, 1e9))
    assert all(len(line) <= 80 for line in take(1e9, 1e9, 0.99, found, real))


def test_energies_of_a_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(f"{SMALL}mac: {{pj: 2}}\n")
    assert find_accelerator(str(path), "hierarchy") == find_hierarchy(str(path))
    path.write_text(SMALL)
    assert not has_energies(find_hierarchy(str(path)))
    assert has_energies(find_accelerator(str(path), "hierarchy"))  # type: ignore[arg-type]
    # No technology is of words of 4 bits.
    path.write_text(f"word_bits: 4\n{SMALL}")
    assert find_accelerator(str(path), "hierarchy") == find_hierarchy(str(path))


def test_the_best_mapping_has_the_value_that_was_found(finished: Path) -> None:
    hierarchy = recorded_accelerator(load(finished / "config.json")["hardware"])
    assert isinstance(hierarchy, Hierarchy)
    nest = read_nest((finished / "best_mapping.json").read_text(), hierarchy)
    cost, status = HierarchyEvaluator(find_layer(LAYER), hierarchy).evaluate(nest)
    assert status == "ok"
    assert cost is not None
    found = load(finished / "best_cost.json")
    assert cost.latency_cycles * cost.energy_nj == pytest.approx(found["objective"], rel=1e-12)
    # The clock of Gemmini is not known.
    watts = 2 * cost.macs / cost.energy_nj / 1000
    assert found["real"] == {
        **dict.fromkeys(("latency_ms", "inferences_per_second", "memory_gb_per_s")),
        "energy_mj": pytest.approx(cost.energy_nj / 1e6),
        "tops_per_watt": pytest.approx(watts),
    }
    summary = load(finished / "summary.json")
    bound = lower_bound(find_layer(LAYER), hierarchy).edp_cycles_nj
    assert summary["lower_bound"] == pytest.approx(bound)
    assert bound <= found["objective"]
    assert summary["optimum"] is None


def test_a_run_is_resumed_and_shared(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    before, more = contents(out / "cells"), "--mapper=random,ga,pbil"
    assert run(*GEMMINI, f"--out={out}", "--resume", more) == 0
    told = capsys.readouterr().out
    assert "on gemmini with cmos40 energies, found by" in told
    assert "model hierarchy: 256 MACs a cycle, DRAM, scratchpad 262,144 B" in told
    assert "x the lower bound" in told
    after = contents(out / "cells")
    assert before.items() <= after.items()
    fresh = tmp_path / "fresh"
    assert run(*GEMMINI, f"--out={fresh}", "--mapper=pbil") == 0

    def point(directory: Path) -> Any:
        return load(directory / "summary.json")["mappers"]["pbil"]["seeds"][0]["best_point"]

    assert point(out) == point(fresh)
    # The other description of the same name is another accelerator.
    assert run(*GEMMINI, f"--out={out}", "--resume", more, "--model=exact") == 2


def test_changed_records_are_refused(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(finished, out)
    goal = next(out.glob("cells/*/*/goal.json"))
    text = load(goal)["hardware"]["hierarchy"].replace("bw: 80.5", "bw: 8050")
    edit(goal, lambda entry: entry["hardware"].update(hierarchy=text), sealed=True)
    assert run(*GEMMINI, f"--out={out}", "--resume") == 2
    assert "goal.json" in capsys.readouterr().err
    edit(goal, lambda entry: entry["hardware"].update(hierarchy="memories: 1"), sealed=True)
    assert report([str(out)]) == 2
    assert "recorded accelerator" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (["--hardware=nochip", "--model=hierarchy"], "'nochip': allowed: FILE.yaml, eyeriss, gemm"),
        (["--hardware=edge", "--model=hierarchy"], "edge is described with two buffers alone"),
        (["--hardware=gemmini", "--mapper=gamma"], "needs mappings of two levels"),
        (["--hardware=gemmini", "--mapper=ga:start=prior"], "needs mappings of two levels"),
        (["--hardware=gemmini", "--objective=area"], "needs area_um2"),
        (
            ["--hardware=gemmini", "--keep=parallel=K,C"],
            "parallel=K,C is of two buffers",
        ),
        (["--hardware=gemmini", "--energy=csv"], "allowed: --energy total or --model maestro"),
        (["--hardware=gemmini", "--schema=full17"], "allowed under hierarchy: auto"),
        (["--hardware={file}", "--model=exact"], "line 3, memories: not read here"),
        (["--hardware=gemmini", "--model=hierarch"], f"allowed: {', '.join(sorted(MODELS))}"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(
    flags: list[str], told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(SMALL)
    given = [each.replace("{file}", str(path)) for each in flags]
    assert run(*given, f"--out={tmp_path / 'out'}") == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_names_with_two_forms_keep_the_other() -> None:
    config = Config(hardware="gemmini", model="exact")
    assert config.accelerator() == known_hardware()["gemmini"]
    # A flag is said again where the default would be another model.
    assert "--model=exact" in to_flags(config)
    assert "--model=hierarchy" not in to_flags(Config(hardware="gemmini"))
    assert to_flags(Config(hardware="edge", model="exact")) == ["--hardware=edge"]


@given(chip=st.sampled_from(CHIPS), seed=st.integers(0, 2**32 - 1))
def test_every_nest_is_read_back(chip: str, seed: int) -> None:
    hierarchy = find_hierarchy(chip)
    space = HierarchySpace(find_layer(LAYER), hierarchy)
    (point,) = space.sample(1, np.random.default_rng(seed))
    mapping = space.decode(point)
    read = read_nest(nest_json(hierarchy, mapping), hierarchy)
    assert space.evaluator.loops(read) == space.evaluator.loops(mapping)


def test_evaluate_prices_a_mapping_again(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert evaluate([str(finished)]) == 0
    told = capsys.readouterr().out
    found = load(finished / "best_cost.json")["cost"]
    assert f"{found['latency_cycles']:,.0f} cycles, {found['energy_nj']:,.0f} nJ" in told
    mapping = str(finished / "best_mapping.json")
    assert evaluate([mapping, f"--layer={LAYER}", "--hardware=gemmini"]) == 0
    assert capsys.readouterr().out == told.replace(LAYER, str(find_layer(LAYER)))
    assert evaluate([mapping, f"--layer={LAYER}", "--hardware=nvdla"]) == 2
    assert "loops of 'scratchpad'; allowed: of DRAM, cbuf" in capsys.readouterr().err
    assert evaluate([mapping, f"--layer={LAYER}"]) == 2
    assert "give --hardware" in capsys.readouterr().err
    assert explain([str(finished)]) == 0
    assert f"{found['latency_cycles']:,.0f} cycles, " in capsys.readouterr().out
    assert explain([str(finished), "--objective=energy"]) == 0
    assert "Changes of one parameter that lower energy" in capsys.readouterr().out
    assert explain([str(finished), "--objective=area"]) == 2
    assert "objective area needs area_um2" in capsys.readouterr().err
    whole = tmp_path / "whole.json"
    nest = load(finished / "best_mapping.json")
    nest["loops"] = {name: [] for name in nest["loops"]} | {"rows": [["C", 1]]}
    whole.write_text(json.dumps(nest))
    assert evaluate([str(whole), "--layer=vgg16_l2", "--hardware=gemmini"]) == 1
    told = capsys.readouterr().out
    assert "fanout_exceeded: loops of rows take 64 instances, of 16" in told
    assert " cycles, " not in told
    damaged = tmp_path / "damaged.json"
    damaged.write_text((finished / "best_mapping.json").read_text().replace("[", "{"))
    assert evaluate([str(damaged), f"--layer={LAYER}", "--hardware=gemmini"]) == 2
    assert "no mapping as JSON" in capsys.readouterr().err


def test_a_mapping_is_written_and_drawn(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again, pictures = tmp_path / "again.json", tmp_path / "pictures"
    assert evaluate([str(finished), f"--write={again}"]) == 0
    assert capsys.readouterr().out.endswith(f"\nwrote {again}\n")
    assert again.read_bytes() == (finished / "best_mapping.json").read_bytes()
    assert evaluate([str(finished), f"--write={tmp_path / 'again.m'}"]) == 2
    assert "allowed: json, timeloop, accelforge" in capsys.readouterr().err
    assert explain([str(finished), f"--out={pictures}"]) == 0
    names = ["time.png", "traffic.png"]
    assert sorted(each.name for each in pictures.iterdir()) == names


def test_other_tools_read_what_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chip, mapping = tmp_path / "own.yaml", tmp_path / "mapping.json"
    chip.write_text(SMALL.replace("size: 4", "size: 4, units: {P: 4}"))
    nest = [[("K", 8), ("N", 8)], [("M", 4)], []]
    mapping.write_text(nest_json(find_hierarchy(str(chip)), nest))
    flags = ["--layer=gemm:M=16,N=16,K=16", f"--hardware={chip}"]
    readers = {"timeloop": nest_from_timeloop, "accelforge": nest_from_accelforge}
    for name, read in readers.items():
        path = tmp_path / f"{name}.yaml"
        assert evaluate([str(mapping), *flags, f"--write={path}", f"--format={name}"]) == 0
        layer, accelerator = find_layer("gemm:M=16,N=16,K=16"), find_hierarchy(str(chip))
        found = read(path.read_text(), layer, accelerator)
        evaluator = HierarchyEvaluator(layer, accelerator)
        assert evaluator.evaluate(found.mapping) == evaluator.evaluate(nest)
        told = capsys.readouterr()
        note = f"note: {path} leaves out rules of loops: units (units)\n"
        assert told.err == note
        first = told.out.partition("\n\n")[2]
        assert evaluate([str(path), *flags]) == explain([str(path), *flags]) == 0
        assert first.startswith(capsys.readouterr().out.partition("\n\n")[2].partition("\n\n")[0])
        # Layer and accelerator are in the file.
        assert evaluate([str(path)]) == 0
        _, figures, *_ = first.splitlines()
        assert "cycles, " in figures
        assert figures in capsys.readouterr().out.splitlines()
        text = path.read_text()
        path.write_text(text[text.index("mapping:") :])
        assert evaluate([str(path), flags[1]]) == 2
        assert capsys.readouterr().err.endswith("does not say all: give --layer\n")
        assert evaluate([str(path), flags[0]]) == 2
        assert capsys.readouterr().err.endswith("does not say all: give --hardware\n")


def test_compare_leaves_out_what_needs_two_levels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = tmp_path / "own.yaml", tmp_path / "out"
    path.write_text(SMALL)
    # Others take long to import.
    few = ["random", "ga", "gamma", "library", "marl", "optimum", "prior"]
    monkeypatch.setattr("maestro_env.experiments.search.named_mappers.own_mappers", lambda: few)
    names, note = find_mappers("--mappers", ["all"], [_goal(path)])
    assert names == ("random", "ga", "marl")
    assert note.endswith("need mappings of two levels: gamma, library, prior")
    flags = ["--mappers=random,ga", "--samples=40", "--seeds=1", "--objectives=latency"]
    layers = f"--layers={LAYER},gemm:M=8,N=8,K=8"
    assert compare([layers, f"--hardware={path}", *flags, f"--out={out}"]) == 0
    assert "Model hierarchy, hardware" in (out / "table.md").read_text()
    assert "on own with cmos40 energies\nmodel hierarchy: 4 MACs" in capsys.readouterr().out
    text = reported(out)
    assert "--model" not in text
    assert "own with cmos40 energies" in text
    assert "in tiles of" in text


def reported(out: Path) -> str:
    """The report of a directory, without the page, which takes long."""
    path = out / "report.md"
    write_report([read_section(out)], path)
    return path.read_text()


def _goal(path: Path) -> Goal:
    config = Config(hardware=str(path))
    return make_goal(config, find_layer(LAYER), config.accelerator(), "latency")


def test_what_needs_energies_that_are_not_known_is_left_out_or_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # No technology is of words of 4 bits.
    chip, out = tmp_path / "own.yaml", tmp_path / "out"
    chip.write_text(f"word_bits: 4\n{SMALL}")
    flags = [f"--hardware={chip}", "--objective=latency", "--samples=40"]
    assert run(*flags, f"--out={out}") == 0
    assert load(out / "best_cost.json")["real"]["energy_mj"] is None
    text = reported(out)
    assert "| DRAM GB/s | spad GB/s |" in text
    assert "energy mJ" not in text
    capsys.readouterr()
    assert map_network(["alexnet", *flags, f"--out={tmp_path / 'net'}"]) == 2
    assert "model hierarchy knows no energies of own" in capsys.readouterr().err


def test_map_adds_up_its_layers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, chip, out = tmp_path / "net.csv", tmp_path / "own.yaml", tmp_path / "out"
    table.write_text("M,N,K,0,0,0,T\n8,8,8,1,1,1,3\n8,16,4,1,1,1,3\n")
    chip.write_text(SMALL)
    flags = [str(table), f"--hardware={chip}", "--samples=40", "--front=20", f"--out={out}"]
    assert map_network(flags) == 0
    told = capsys.readouterr().out
    entry = load(out / "network.json")
    choice, layers = entry["choices"][-1], entry["layers"]
    for each in layers:
        assert each["found_by"] == ("optimum" if each["gap"] == 0 else "search")
    for figure in ("latency_cycles", "energy_nj"):
        assert choice[figure] == pytest.approx(sum(each[figure] for each in layers))
    assert choice["area_um2"] is None
    assert entry["bound"] <= choice["edp"]
    # 100 MHz.
    milliseconds = choice["latency_cycles"] / 1e5
    assert choice["real"]["latency_ms"] == pytest.approx(milliseconds)
    assert f"{milliseconds:,.4g} ms" in told
    for memory, rate in choice["real"]["memory_gb_per_s"].items():
        each = [layer["real"] for layer in layers]
        moved = sum(real["memory_gb_per_s"][memory] * real["latency_ms"] for real in each)
        assert rate == pytest.approx(moved / milliseconds)
    assert map_network([*flags, "--resume"]) == 0
    assert capsys.readouterr().out == told
    assert map_network([*flags, "--resume", "--library=cache"]) == 2
    assert "--library needs mappings of two levels" in capsys.readouterr().err
    text = reported(out)
    assert "own with cmos40 energies" in text
    assert f"| best of the network | the network | {significant(milliseconds, 5)} |" in text
    # Directories of before have none in their network.json.
    edit(out / "network.json", lambda entry: entry["choices"].clear(), False)
    assert reported(out) == text
