"""The command that maps a network: totals, choices, resuming, and what it refuses."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from commands import map_network as main
from gate import few
from prior_helpers import random_file
from run_helpers import contents

from maestro_env.accelerators.finding import find_hardware
from maestro_env.evaluation.observations_and_rewards import CONTEXT
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.library import add_to_library, find_library, read_library
from maestro_env.experiments.store import running
from maestro_env.explanation import RESOURCES
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.prior.proposals import Networks, Prior, load_prior
from maestro_env.workloads.layer import Layer

HARDWARE = "num_pes=16,l1_bytes=256,l2_bytes=8192,noc_bw=8,offchip_bw=4,name=small"
NETWORK = """K,C,Y,X,R,S,T
8,3,18,18,3,3,1
16,8,16,16,1,1,1
1,16,18,18,3,3,2
16,8,16,16,1,1,1
32,16,8,8,1,1,1
10,32,1,1,1,1,0
"""
QUICK = ("--samples=60", "--nodes=3000", "--front=40")


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "net.csv"
    path.write_text(NETWORK)
    return str(path)


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a library that a run has added to."""
    folder = tmp_path_factory.mktemp("added")
    (folder / "net.csv").write_text(NETWORK)
    path = folder / "library.json"
    assert run(str(folder / "net.csv"), folder / "out", f"--library={path}") == 0
    return path.read_text()


def run(network: str, out: Path, *flags: str) -> int:
    return main([network, f"--hardware={HARDWARE}", f"--out={out}", *QUICK, *flags])


def read(out: Path) -> dict:
    return json.loads((out / "network.json").read_text())


def csv_rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def problem(row: dict) -> Problem:
    layer = Layer(row["operator"], _extents(row["dimensions"]))
    return Problem(MapSpace(layer, find_hardware(HARDWARE)))


def _extents(text: str) -> dict[str, int]:
    return {word[0]: int(word[1:]) for word in text.split()}


def test_the_totals_are_those_of_the_mappings(
    network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(network, out) == 0
    found = read(out)
    rows = found["layers"]
    assert [row["count"] for row in rows] == [1, 2, 1, 1, 1]
    costs = []
    for row in rows:
        mapping = Mapping.from_json((out / "mappings" / f"{row['layer']}.json").read_text())
        cost, status = problem(row).evaluate_mapping(mapping)
        assert status == "ok"
        assert (cost.latency_cycles, cost.energy_nj) == (row["latency_cycles"], row["energy_nj"])
        assert cost.latency_cycles * cost.energy_nj == row["objective"] >= row["bound"] > 0
        costs.append((row["count"], cost))
    each, chosen = found["choices"]
    latency = sum(count * cost.latency_cycles for count, cost in costs)
    energy = sum(count * cost.energy_nj for count, cost in costs)
    assert (chosen["latency_cycles"], chosen["energy_nj"]) == (latency, pytest.approx(energy))
    assert chosen["edp"] == pytest.approx(latency * energy)
    assert found["bound"] <= chosen["edp"] <= each["edp"]
    assert math.sqrt(found["bound"]) == pytest.approx(
        sum(row["count"] * math.sqrt(row["bound"]) for row in rows)
    )
    assert sum(row["latency_share"] for row in rows) == pytest.approx(1)
    assert sum(row["energy_share"] for row in rows) == pytest.approx(1)
    shown = capsys.readouterr().out
    assert "\\n" not in shown
    assert "net on small: 6 executions of 5 layers" in shown
    table = csv_rows(out / "layers.csv")
    for choice in (each, chosen):
        own = [row for row in table if row["choice"] == choice["name"]]
        assert [row["layer"] for row in own] == [row["layer"] for row in rows]
        for row in own:
            value = float(row["latency_cycles"]) * float(row["energy_nj"])
            told = [float(row[name]) for name in ("objective", "gap")]
            assert told == [value, value / float(row["bound"]) - 1]
        sums = sum(int(row["count"]) * float(row["latency_cycles"]) for row in own)
        assert sums == choice["latency_cycles"]


@pytest.mark.parametrize("hardware", few([HARDWARE, "gemmini"]))
def test_the_front_of_a_network_adds_up_mappings_of_its_layers(
    network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], hardware: str
) -> None:
    out = tmp_path / "out"
    assert main([network, f"--hardware={hardware}", f"--out={out}", *QUICK[::2], "--nodes=0"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) <= 40
    assert max(map(len, shown[:-2])) <= 80
    counts = {row["layer"]: row["count"] for row in read(out)["layers"]}
    files = {name: (out / "layers" / f"{name}.json").read_text() for name in counts}
    fronts = {name: json.loads(text)["front"] for name, text in files.items()}
    table = csv_rows(out / "front.csv")
    for row in table:
        for place, name in enumerate(("latency_cycles", "energy_nj")):
            parts = (counts[each] * fronts[each][int(row[each])][place] for each in fronts)
            assert float(row[name]) == math.fsum(parts)
    assert [*map(table[-1].get, fronts)] == [str(len(each) - 1) for each in fronts.values()]
    assert min(float(row["edp"]) for row in table) == read(out)["choices"][-1]["edp"]


def test_inferences_count_the_batch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnx")
    from onnx_models import model, node, save, weights

    shapes = {"x": ["batch", 2, 6, 6]}
    path = save(tmp_path, model([node("Conv", "x w")], shapes, weights=[weights("w", 3, 2, 3, 3)]))
    flags = ("--dim=batch=4", "--hardware=num_pes=16,clock_mhz=200", "--samples=20", "--nodes=0")
    assert main([path, *flags, f"--out={tmp_path / 'out'}"]) == 0
    assert "1 executions of 1 layers, batch of 4" in capsys.readouterr().out
    chosen = read(tmp_path / "out")["choices"][-1]
    per_second = chosen["real"]["inferences_per_second"]
    assert per_second == pytest.approx(4 * 200e6 / chosen["latency_cycles"])


def test_one_accelerator_has_the_buffers_of_the_worst_layer(network: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(network, out, "--objective=latency") == 0
    found = read(out)
    (chosen,) = found["choices"]
    areas, l1, l2 = [], [], []
    for row in found["layers"]:
        cost, _ = problem(row).evaluate_mapping(problem(row).space.decode(row["vector"]))
        areas.append(cost.area_um2)
        l1.append(cost.l1_bytes)
        l2.append(cost.l2_used_bytes)
    assert (chosen["l1_bytes"], chosen["l2_bytes"]) == (max(l1), max(l2))
    assert chosen["area_um2"] >= max(areas)
    alone = [
        index for index, each in enumerate(zip(l1, l2, strict=True)) if each == (max(l1), max(l2))
    ]
    assert all(areas[index] == chosen["area_um2"] for index in alone)
    assert all(row["gap"] is None or row["gap"] >= 0 for row in found["layers"])


def test_the_choice_is_the_least_of_the_fronts(network: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(network, out, "--nodes=0") == 0
    found, fronts = read(out), []
    bests = {row["layer"]: float(row["objective"]) for row in csv_rows(out / "layers.csv")[:5]}
    for row in found["layers"]:
        front = json.loads((out / "layers" / f"{row['layer']}.json").read_text())["front"]
        vectors = np.array([vector for *_, vector in front], dtype=np.int32)
        figures = np.array([figures for *figures, _ in front])
        np.testing.assert_array_equal(problem(row).evaluate(vectors).metrics[:, :2], figures)
        assert figures.prod(axis=1).min() == bests[row["layer"]]
        # As few as can be tried all.
        fronts.append([(row["count"], *each) for each in figures.tolist()])
    if math.prod(map(len, fronts)) < 10**6:
        least = min(
            sum(count * latency for count, latency, _ in rows)
            * sum(count * energy for count, _, energy in rows)
            for rows in product(*fronts)
        )
        assert found["choices"][1]["edp"] == pytest.approx(least, rel=1e-12)


@pytest.mark.slow
def test_jobs_and_threads_change_no_byte(
    network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = tmp_path / "one"
    assert run(network, one) == 0
    monkeypatch.setattr(running, "_SECONDS_TO_JUDGE", 0.0)
    # Layers this small take less than processes do, unless these take nothing.
    for worth, is_begun in ((math.inf, False), (0.0, True)):
        monkeypatch.setattr(running, "_SECONDS_WORTH_PROCESSES", worth)
        with patch.object(running, "_run_in_processes", wraps=running._run_in_processes) as begun:
            assert run(network, tmp_path / f"{worth}", "--jobs=2", "--threads=2") == 0
        assert begun.called == is_begun
        assert contents(one) == contents(tmp_path / f"{worth}")


def test_a_library_is_added_to_and_started_from(network: str, tmp_path: Path) -> None:
    library, first, second = tmp_path / "library.json", tmp_path / "first", tmp_path / "second"
    assert run(network, first, f"--library={library}", "--mapper=ga_log") == 0
    entries = read_library(library)
    assert len(entries) == 5
    values = {str(each.mapped.problem.layer): each.value for each in entries}
    before = library.read_bytes()
    assert run(network, second, f"--library={library}", "--mapper=ga_log", "--seed=1") == 0
    for row in read(second)["layers"]:
        assert row["objective"] <= values[f"{row['operator']} {row['dimensions']}"]
    # What others add meanwhile changes nothing.
    assert (second / "library.json").read_bytes() == before
    assert (
        run(network, second, f"--library={library}", "--mapper=ga_log", "--seed=1", "--resume") == 0
    )


def test_the_library_of_the_user_is_in_the_cache(
    network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert run(network, tmp_path / "out", "--library=cache") == 0
    assert find_library("cache") == tmp_path / "cache" / "maestro-env" / "library.json"
    assert len(read_library(find_library("cache"))) == 5


def test_a_library_keeps_the_least_value_of_a_problem(network: str, tmp_path: Path) -> None:
    path = tmp_path / "library.json"
    assert run(network, tmp_path / "out", f"--library={path}") == 0
    entries = read_library(path)
    worse = [type(each)(each.mapped, each.objective, each.value * 2) for each in entries]
    before = path.read_bytes()
    add_to_library(path, worse)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"value": ', '"value": -'),
        lambda text: "{}",
        lambda text: "",
    ],
)
def test_a_damaged_library_is_refused_and_left_as_it_is(
    network: str,
    tmp_path: Path,
    damage: Callable[[str], str],
    added: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "library.json"
    path.write_text(damage(added))
    before = path.read_bytes()
    capsys.readouterr()
    assert run(network, tmp_path / "again", f"--library={path}") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert path.read_bytes() == before
    assert not (tmp_path / "again").exists()


def test_layers_without_a_valid_mapping_are_named_and_in_no_total(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "net.csv"
    # With its whole window in tiles, the first layer needs more L1 than there is.
    path.write_text("K,C,Y,X,R,S,T\n8,3,18,18,7,7,1\n16,8,16,16,1,1,1\n")
    out = tmp_path / "out"
    flags = [
        "--hardware=num_pes=4,l1_bytes=60,name=tight",
        "--schema=legal13",
        f"--out={out}",
        *QUICK,
    ]
    assert main([str(path), *flags]) == 1
    shown = capsys.readouterr()
    told = "failed: no valid mapping of net_l0 was found: no mapping fits: "
    assert told in shown.err
    assert "in no total, as no valid mapping was found: net_l0" in " ".join(shown.out.split())
    found = read(out)
    assert found["unmapped"] == ["net_l0"]
    (row,) = found["layers"]
    assert found["choices"][0]["latency_cycles"] == row["latency_cycles"] * row["count"] > 0


def test_a_network_without_any_mapping_has_no_totals(
    network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--hardware=num_pes=4,l1_bytes=1,name=tiny", f"--out={tmp_path / 'out'}", *QUICK]
    assert main([network, *flags]) == 1
    told = capsys.readouterr().err
    assert "net_l0" in told
    assert "net_l1" in told
    assert told.count("no mapping fits: L1 must hold ") >= 1
    assert not (tmp_path / "out" / "network.json").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["no_such_network"], "unknown network"),
        (["missing.csv"], "missing.csv"),
        (["resnet18", "--objective=area"], "allowed for a network: latency, energy, and products"),
        (["resnet18", "--objective=speed"], "unknown objective 'speed'"),
        (["resnet18", "--energy=csv", "--model=maestro"], "allowed for a network: total"),
        (["resnet18", "--mapper=all"], "allowed: one mapper"),
        (["resnet18", "--mapper=gaa"], "unknown mapper"),
        (["resnet18", "--hardware=nowhere"], "unknown hardware"),
        (["resnet18", "--dim=batch=1"], "no open dimensions"),
        (["resnet18", "--library=/dev/null/x.json"], "/dev/null"),
        (["resnet18", "--library=/dev/zero"], "--library /dev/zero: it is not a regular file"),
        (["resnet18", "--library=."], "--library .: it is not a regular file"),
        (["resnet18", "--samples=0"], "--samples"),
        ([], "NETWORK"),
    ],
)
def test_what_cannot_be_mapped_is_refused(
    assert_refused: Callable[..., None], flags: list[str], message: str
) -> None:
    assert_refused(main, [f"--hardware={HARDWARE}", *flags], message)


def test_more_of_the_bottleneck_is_faster(network: str, tmp_path: Path) -> None:
    assert run(network, tmp_path / "out") == 0
    for row in read(tmp_path / "out")["layers"]:
        mapping, given = problem(row).space.decode(row["vector"]), problem(row)
        resource = RESOURCES[row["bottleneck"]]
        hardware = replace(given.hardware, **{resource.field: resource.unlimited})
        cost, _ = Problem(MapSpace(given.layer, hardware)).evaluate_mapping(mapping)
        assert cost is not None
        assert cost.latency_cycles < row["latency_cycles"]


def test_a_run_without_a_library_does_not_go_on_with_one(
    network: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(network, out) == 0
    assert run(network, out, "--resume", f"--library={tmp_path / 'library.json'}") == 2
    assert "library" in capsys.readouterr().err


def test_a_run_names_the_prior_that_it_begins_with(network: str, tmp_path: Path) -> None:
    starts = {}
    for name, flags in {"prior": (), "another": ("--mapper=ga",)}.items():
        out = tmp_path / name
        assert run(network, out, *flags) == 0
        starts[name] = json.loads((out / "config.json").read_text())["config"]["prior"]
    assert starts == {"prior": load_prior().file.digest, "another": None}


def test_a_machine_unlike_those_of_training_is_told(
    network: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    narrow = random_file(ranges=dict.fromkeys(CONTEXT, (0.0, 0.01)))
    prior = Prior(narrow, Networks(narrow.arrays))
    monkeypatch.setattr("maestro_env.prior.proposals._shipped", lambda: prior)
    assert run(network, tmp_path / "out") == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: the prior was not trained for this: outside of its ranges are")
