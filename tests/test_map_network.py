"""``map_network`` from Python: the same as the command, and modules of PyTorch."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from commands import map_network as command

from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.base.errors import MaestroEnvError, ModelError, NetworkError
from maestro_env.experiments.network.layer_search import SearchSettings
from maestro_env.experiments.network.networks import map_network
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.workloads.finding import find_network

QUICK = SearchSettings(samples=40, nodes=500, front=20)
HARDWARE = "num_pes=16,l1_bytes=256,l2_bytes=8192,noc_bw=8,offchip_bw=4"


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "net.csv"
    path.write_text("K,C,Y,X,R,S,T\n8,3,10,10,3,3,1\n16,8,8,8,1,1,1\n16,8,8,8,1,1,1\n")
    return str(path)


@pytest.mark.slow
def test_a_module_takes_three_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vl_convert")
    torch = pytest.importorskip("torch")
    nn = torch.nn
    monkeypatch.chdir(tmp_path)
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 10))
    result = map_network(module, torch.zeros(1, 3, 8, 8), hardware="edge", settings=QUICK)
    result.report("report.html")
    assert [layer.macs for layer in result.network.layers] == [4 * 3 * 9 * 36, 4 * 36 * 10]
    assert result.hardware.name == "edge"
    assert result.unmapped == []
    # Nothing is kept but the report.
    assert os.listdir(tmp_path) == ["report.html"]
    assert "Sequential on edge" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_it_finds_what_the_command_finds(network: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = ("--samples=40", "--nodes=500", "--front=20", f"--hardware={HARDWARE}")
    assert command([network, *flags, f"--out={out}"]) == 0
    told = json.loads((out / "network.json").read_text())["choices"]
    result = map_network(find_network(network), hardware=HARDWARE, settings=QUICK)
    assert [choice.edp for choice in result.choices()] == [each["edp"] for each in told]


@pytest.mark.slow
def test_it_maps_to_any_memories_as_the_command_does(network: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = ("--samples=20", "--front=5", "--hardware=gemmini", f"--out={out}")
    assert command([network, *flags]) == 0
    told = json.loads((out / "network.json").read_text())
    assert SearchSettings.of("hierarchy", samples=20).front == 2000
    quick = SearchSettings.of("hierarchy", samples=20, front=5)
    for hardware in ("gemmini", find_hierarchy("gemmini")):
        result = map_network(network, hardware=hardware, settings=quick)
        assert [each.edp for each in result.choices()] == [each["edp"] for each in told["choices"]]
        assert result.hardware.name == "gemmini with cmos40 energies"
        assert {each.found_by for each in result.layers} <= {"optimum", "search"}
    with pytest.raises(ModelError, match="allowed: a Hardware, or model hierarchy"):
        map_network(network, hardware=find_hierarchy("gemmini"), model="exact")


def test_a_directory_keeps_the_records(network: str, tmp_path: Path) -> None:
    out = tmp_path / "kept"
    first = map_network(network, hardware=HARDWARE, settings=QUICK, directory=out)
    records = {path: path.stat().st_mtime_ns for path in (out / "layers").glob("*.json")}
    assert len(records) == len(first.layers) == 2
    second = map_network(network, hardware=HARDWARE, settings=QUICK, directory=str(out))
    assert {path: path.stat().st_mtime_ns for path in records} == records
    assert second.best_of_network().edp == first.best_of_network().edp


def test_what_cannot_be_mapped_is_refused(network: str) -> None:
    with pytest.raises(UsageError, match="objective area: allowed for a network"):
        map_network(network, objective="area")
    with pytest.raises(NetworkError, match="unknown network 'resnet5'"):
        map_network("resnet5")


def test_a_failed_search_is_an_error(
    network: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> float:
        raise RuntimeError("broken")

    monkeypatch.setattr("maestro_env.experiments.network.layer_search.solving", fail)
    with pytest.raises(ValueError, match="the search of a layer failed; see stderr"):
        map_network(network, hardware=HARDWARE, settings=QUICK, directory=tmp_path / "out")


@pytest.mark.parametrize("wrong", [{"samples": 0}, {"nodes": -1}, {"front": 1.5}, {"seed": "1"}])
def test_settings_that_are_no_numbers_are_refused_at_once(wrong: dict[str, Any]) -> None:
    (name, value), *_ = wrong.items()
    with pytest.raises(MaestroEnvError, match=f"{name} is .*{value}.*; allowed: integers from"):
        SearchSettings(**wrong)


def test_no_jobs_are_refused_at_once() -> None:
    with pytest.raises(MaestroEnvError, match="jobs is 0; allowed: integers from 1"):
        map_network("alexnet", jobs=0)
