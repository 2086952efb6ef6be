"""Sweeps: what their cells and totals are, and what they refuse."""

from __future__ import annotations

import json
import math
import pickle
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import compare
from gate import few
from hypothesis import given
from hypothesis import strategies as st
from run_helpers import edit
from sweep_helpers import CONFIG, chunks, main, rows, sweep
from sweep_scale import measured, search

from maestro_env.accelerators.finding import find_hardware
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.goals import ProblemConfig, make_goal
from maestro_env.experiments.study.sweep.axes import make_sweep
from maestro_env.experiments.study.sweep.chunks import Chunk
from maestro_env.workloads.finding import find_layer, find_network

HARDWARE = [f"num_pes={pes},l1_bytes=65536,l2_bytes=4194304" for pes in (32, 64)]
MAPPERS = ["random_log", "ga_log"]
OBJECTIVES = ["edp", "latency"]
SEEDS = [5, 6, 7]
GEMM = "gemm:M=64,N=64,K=64"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a whole sweep."""
    path = tmp_path_factory.mktemp("sweep") / "out"
    assert sweep(path) == 0
    return path


def test_every_cell_is_there_once_and_its_figures_are_those_of_its_vector(out: Path) -> None:
    network = find_network("alexnet")
    layers = {layer.name: layer for layer in (*network.layers, find_layer(GEMM))}
    found = rows(out / "results.csv")
    keys = [
        tuple(row[name] for name in ("mapper", "layer", "hardware", "objective", "seed"))
        for row in found
    ]
    axes = (MAPPERS, layers, HARDWARE, OBJECTIVES, map(str, SEEDS))
    assert keys == list(product(*axes))
    for row in found:
        hardware = find_hardware(row["hardware"])
        goal = make_goal(ProblemConfig(), layers[row["layer"]], hardware, row["objective"])
        point = np.array(row["vector"].split(), dtype=np.int32)
        cost, status = goal.problem.evaluate_mapping(goal.problem.space.decode(point))
        assert status == "ok"
        assert cost is not None
        assert float(row["latency_cycles"]) == cost.latency_cycles
        assert float(row["energy_nj"]) == cost.energy_nj
        assert float(row["area_um2"]) == cost.area_um2
        edp = cost.latency_cycles * cost.energy_nj
        assert float(row["value"]) == (edp if row["objective"] == "edp" else cost.latency_cycles)
        assert 1 <= int(row["found_at"]) <= int(row["evaluations"]) == 60
        assert 0 < int(row["valid"]) <= 60


def test_a_schema_is_found_once_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, find = [], Problem.needs_cut_windows.fget  # type: ignore[attr-defined]

    def counted(problem: Problem) -> bool:
        asked.append((problem.layer, problem.hardware))
        return bool(find(problem))

    monkeypatch.setattr(Problem, "needs_cut_windows", property(counted))
    text = CONFIG.replace("networks: [alexnet]\n", "").replace("65536", "65537")
    assert sweep(tmp_path / "out", text=text) == 0
    assert len(asked) == len(set(asked)) == len(HARDWARE)


def test_a_cell_is_the_same_search_as_by_compare(out: Path, tmp_path: Path) -> None:
    flags = ["--samples=60", "--seeds=3", "--seed=5", f"--out={tmp_path / 'compared'}"]
    flags += [f"--layers={GEMM}", f"--hardware={HARDWARE[1]}", "--objectives=edp,latency"]
    assert compare([*flags, "--mappers=random_log,ga_log"]) == 0
    found = {
        (row["mapper"], row["objective"], int(row["seed"])): row
        for row in rows(out / "results.csv")
        if (row["layer"], row["hardware"]) == (GEMM, HARDWARE[1])
    }
    records = list((tmp_path / "compared").glob("cells/*/*/*/*.json"))
    assert len(records) == len(found) == 12
    for record in map(json.loads, (path.read_text() for path in records)):
        cell = record["cell"]
        row = found[cell["mapper"], cell["objective"], cell["seed"]]
        assert [int(row["found_at"]), float(row["value"])] == record["improvements"][-1]
        assert list(map(int, row["vector"].split())) == record["best_point"]
        assert int(row["valid"]) == record["evaluations"] - record["invalid"]


def test_totals_are_those_of_the_cells(out: Path) -> None:
    counts = {layer.name: layer.count for layer in find_network("alexnet").layers}
    cells = rows(out / "results.csv")
    summary = rows(out / "summary.csv")
    assert len(summary) == 2 * len(HARDWARE) * len(OBJECTIVES) * len(MAPPERS)
    for row in summary:
        of_set = counts if row["set"] == "alexnet" else {GEMM: 1}
        names = ("hardware", "objective")
        problem = [each for each in cells if all(each[name] == row[name] for name in names)]
        totals = []
        for seed in SEEDS:
            own = {
                each["layer"]: each
                for each in problem
                if each["layer"] in of_set
                and (each["mapper"], each["seed"]) == (row["mapper"], str(seed))
            }
            sums = {
                name: sum(count * float(own[layer][name]) for layer, count in of_set.items())
                for name in ("latency_cycles", "energy_nj")
            }
            sums["edp"] = sums["latency_cycles"] * sums["energy_nj"]
            for name in ("l1_bytes", "l2_bytes"):
                sums[name] = max(float(each[name]) for each in own.values())
            hardware = find_hardware(row["hardware"])
            sums["area_um2"] = hardware.area_um2(sums["l1_bytes"], sums["l2_bytes"])
            best = {
                layer: min(float(each["value"]) for each in problem if each["layer"] == layer)
                for layer in of_set
            }
            logs = [math.log(float(own[layer]["value"]) / best[layer]) for layer in of_set]
            sums["ratio"] = math.exp(sum(logs) / len(logs))
            totals.append(sums)
        # Of three seeds the interquartile mean is the mean.
        for name in totals[0]:
            mean = sum(each[name] for each in totals) / len(SEEDS)
            assert float(row[name]) == pytest.approx(mean, rel=1e-12)
        assert int(row["cells"]) == int(row["mapped"]) == len(SEEDS) * len(of_set)
        own_cells = [
            each for each in problem if each["layer"] in of_set and each["mapper"] == row["mapper"]
        ]
        valid = sum(int(each["valid"]) for each in own_cells)
        assert float(row["valid"]) == pytest.approx(valid / (60 * len(own_cells)))


def test_layers_that_networks_share_are_searched_once(tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("K,C,Y,X,R,S,T\n" + "8,8,12,12,3,3,1\n16,8,12,12,3,3,1\n")
    (tmp_path / "once.csv").write_text("K,C,Y,X,R,S,T\n16,8,12,12,3,3,1\n")
    text = f"""
networks: [{tmp_path / "twice.csv"}, {tmp_path / "once.csv"}]
hardware: [edge]
mappers: [random_log]
samples: 20
"""
    assert sweep(tmp_path / "out", text=text) == 0
    assert len(rows(tmp_path / "out" / "results.csv")) == 2
    first, second = rows(tmp_path / "out" / "summary.csv")
    assert (first["set"], first["cells"]) == ("twice", "2")
    assert (second["set"], second["cells"]) == ("once", "1")
    assert float(second["latency_cycles"]) < float(first["latency_cycles"])


def test_a_problem_without_a_valid_mapping_is_told(tmp_path: Path) -> None:
    text = (
        f"layers: ['{GEMM}']\nhardware: ['num_pes=4,l1_bytes=1']\nmappers: [random]\nsamples: 5\n"
    )
    assert sweep(tmp_path / "out", text=text) == 0
    (row,) = rows(tmp_path / "out" / "results.csv")
    assert (row["value"], row["vector"], row["valid"], row["evaluations"]) == ("", "", "0", "5")
    (row,) = rows(tmp_path / "out" / "summary.csv")
    assert (row["latency_cycles"], row["ratio"], row["mapped"], row["cells"]) == ("", "", "0", "1")


@pytest.mark.slow
def test_searches_of_other_accelerators_need_no_more_memory(tmp_path: Path) -> None:
    """Beside their records and names, which take about 1 kB each."""
    few, many = tmp_path / "few", tmp_path / "many"
    few.mkdir()
    many.mkdir()
    _, before = measured(search, 500, 0.02, few)
    _, after = measured(search, 2500, 0.02, many)
    assert after - before < 20


def test_a_pickled_chunk_has_what_its_cells_need_and_no_more(tmp_path: Path) -> None:
    layers = find_network("resnet50").layers[:3]
    hardware = [find_hardware(f"num_pes={pes}") for pes in (16, 32, 64, 128)]
    whole = make_sweep(
        ProblemConfig(), [], layers, hardware, ["edp", "latency"], ["random"], 20, seeds=2
    )
    for start, stop in combinations(range(whole.cells + 1), 2):
        sent = pickle.loads(pickle.dumps(Chunk(whole, 0, start, stop, directory=tmp_path)))
        problems = sorted({cell // whole.seeds for cell in range(start, stop)})
        axes = [whole.names(problem) for problem in problems]
        assert [sent.sweep.names(problem) for problem in problems] == axes
        assert sent.sweep.goal(problems[-1]) == whole.goal(problems[-1])
        assert sent.sweep.digest == whole.digest
        assert len(sent.sweep.layers) == len({layer for layer, _, _ in axes})
        assert len(sent.sweep.hardware) == len({name for _, name, _ in axes})


def test_a_dry_run_prints_the_cells_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep(tmp_path / "out", "--dry-run") == 0
    assert [path.name for path in tmp_path.iterdir()] == ["out.yaml"]
    text = " ".join(capsys.readouterr().out.split())
    layers = len(find_network("alexnet").layers) + 1
    cells = layers * 2 * 2 * 3
    assert f"{2 * cells} cells: {layers} layers x 2 accelerators x 2 objectives" in text
    for mapper in MAPPERS:
        assert f" {mapper} {cells} " in text
    assert "core-hours, from a few short searches on this machine" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("- a", "it has no keys; allowed: networks, layers, hardware"),
        ("network: [alexnet]", "unknown key 'network': did you mean networks?"),
        ("mappers: [ga]", "networks and layers are missing; give one of them"),
        ("networks: alexnet", "networks is 'alexnet'; allowed: a list, such as [a, b]"),
        ("networks: []", "networks is an empty list; give one or more"),
        ("networks: [alexnet, alexnet]", "networks: 'alexnet' is given 2 times; give it once"),
        ("networks: [[alexnet]]", "one of networks is ['alexnet']; allowed: a text"),
        ("networks: [alexnet]\nseeds: 1\nseeds: 2", "key 'seeds' is given twice"),
        ("networks: [alxnet]", "unknown network 'alxnet': did you mean alexnet?"),
        ("networks: [alexnet]\nsamples: 0", "samples is '0'; allowed: integers from 1 to"),
        ("networks: [alexnet]\nseeds: [1]", "seeds is ['1']; allowed: integers from 1 to 10,000"),
        ("networks: [alexnet]\nguard: maybe", "guard is 'maybe'; allowed: true, false"),
        ("networks: [alexnet]\nmodel: none", "unknown model 'none'"),
        ("networks: [alexnet]\nobjectives: [speed]", ".yaml: unknown objective 'speed'"),
        ("networks: [alexnet]\nmappers: [gaa]", "unknown mapper 'gaa': did you mean ga"),
        ("networks: [alexnet]\nhardware: {}", "hardware has no fields"),
        ("networks: [alexnet]\nhardware: {num_pes: 4}", "hardware's num_pes is '4'; allowed: a"),
        ("networks: [alexnet]\nhardware: {pes: [4]}", "pes"),
        ("networks: [alexnet]\nhardware: [edge, paper, unlimited]", "hardware: 2 of them are"),
        (
            "networks: [alexnet]\nhardware: ['num_pes=4', 'num_pes=4,name=a']",
            "hardware: num_pes=4 and a are the same accelerator: give one of them",
        ),
        (f"layers: ['{GEMM}', 'gemm:K=64,N=64,M=64']", "are the same: give one of them"),
        (
            f"networks: [alexnet]\nhardware: {{num_pes: {list(range(1, 1001))}, "
            f"l1_bytes: {list(range(1, 1001))}}}",
            "hardware has 1,000,000 combinations; allowed: 100,000",
        ),
        (
            f"networks: [alexnet]\nseeds: 10000\nhardware: {{num_pes: {list(range(1, 1001))}}}",
            "cells; allowed: 10,000,000; split it into several",
        ),
        ("networks: [alexnet]\nenergy: csv", "model exact has no csv energy"),
    ],
)
def test_what_a_file_may_not_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    assert sweep(tmp_path / "out", text=text) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    assert message in line
    assert not (tmp_path / "out").exists()


KEYS = ("networks", "layers", "hardware", "objectives", "mappers", "samples", "seeds", "guard")
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(
    entries=st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), JUNK, max_size=4)
    | st.text(max_size=30)
)
def test_random_junk_is_refused_in_one_line(
    entries: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("junk") / "out"
    error = StringIO()
    with redirect_stderr(error):
        status = sweep(path, text=entries if isinstance(entries, str) else json.dumps(entries))
    assert status == 2
    assert len(error.getvalue().splitlines()) == 1
    assert error.getvalue().startswith("error: ")
    assert not path.exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--shard=0/2"], "--shard '0/2'; allowed: 1/n to n/n"),
        (["--shard=3/2"], "--shard '3/2'; allowed: 1/n to n/n"),
        (["--shard=half"], "--shard 'half'; allowed: 1/n to n/n"),
        (["--shard=1/2", "--slurm=4"], "--slurm and --shard: give one of them"),
    ],
)
def test_what_flags_may_not_say(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], message: str
) -> None:
    assert sweep(tmp_path / "out", *flags) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_record_of_other_chunks_is_refused(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out"
    shutil.copytree(out, path)
    other = chunks(path)[0].with_name("0-77.json")
    other.write_bytes(chunks(path)[0].read_bytes())
    assert sweep(path, "--resume") == 2
    assert f"1 records that are no chunks of it, such as {other}" in capsys.readouterr().err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none.yaml")]) == 2
    assert "cannot be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    few(
        [
            lambda entry: entry["cells"].pop("energy_nj"),
            lambda entry: entry["cells"]["value"].append(1.0),
            lambda entry: entry["cells"]["valid"].__setitem__(0, 10**6),
            lambda entry: entry.pop("cells"),
            lambda entry: entry["cells"]["value"].__setitem__(0, "high"),
            lambda entry: entry["cells"].update(vector=None),
            lambda entry: entry["cells"]["found_at"].__setitem__(0, -3),
            lambda entry: entry["cells"]["evaluations"].__setitem__(0, True),
        ],
        3,
    ),
)
def test_a_sealed_record_of_something_else_is_refused(
    tmp_path: Path,
    out: Path,
    capsys: pytest.CaptureFixture[str],
    change: Callable[[dict[str, Any]], object],
) -> None:
    copy = tmp_path / "out"
    shutil.copytree(out, copy)
    path = chunks(copy)[0]
    edit(path, change, sealed=True)
    assert sweep(copy, "--resume") == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"error: {path} is not a result of ")
    assert line.endswith("delete it, and --resume runs it again")


@pytest.mark.parametrize("column", ["value", "l2_bytes", "vector"])
def test_figures_that_no_mapping_has_are_refused(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str], column: str
) -> None:
    copy = tmp_path / "out"
    shutil.copytree(out, copy)
    path = chunks(copy)[-1]

    def change(entry: dict[str, Any]) -> None:
        cells = entry["cells"][column]
        last = max(place for place, each in enumerate(cells) if each is not None)
        cells[last] = "9" + cells[last] if column == "vector" else cells[last] / 2

    edit(path, change, sealed=True)
    assert sweep(copy, "--resume") == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(f"error: {path}: the mapping of ")
    assert line.endswith(" has other figures; delete it, and --resume runs it again")


@pytest.mark.parametrize("sizes", [None, {}, {"random_log": 0, "ga_log": 1}, {"random_log": "1"}])
def test_a_config_without_numbers_of_cells_is_refused(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str], sizes: object
) -> None:
    copy = tmp_path / "out"
    shutil.copytree(out, copy)
    edit(copy / "config.json", lambda entry: entry.update(chunks=sizes), sealed=True)
    assert sweep(copy, "--resume") == 2
    assert "has no numbers of cells by mapper; give another --out" in capsys.readouterr().err
