"""The command ``explain``: a mapping of a file or of a run, explained and drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import evaluate, explain, optimum, report, run
from run_helpers import load

from maestro_env import (
    Mapping,
    MapSpace,
    Problem,
    find_hardware,
    find_layer,
    find_objective,
    known_optimum,
)
from maestro_env.explanation import explain_mapping
from maestro_env.models import find_accelerator, make_problems

PROBLEM = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("edge")))
FLAGS = ["--layer=resnet18_l2", "--hardware=edge"]


@pytest.fixture(scope="module")
def mapping() -> Mapping:
    known = known_optimum(PROBLEM, find_objective("edp"))
    assert known is not None
    return PROBLEM.space.decode(known.point)


def shown(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def test_files_of_both_kinds_are_explained(
    mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "best.json").write_text(mapping.to_json())
    (tmp_path / "best.m").write_text(mapping.to_m(PROBLEM.layer))
    expected = f"{explain_mapping(PROBLEM, mapping, 'energy')}\n"
    assert explain([str(tmp_path / "best.json"), *FLAGS, "--objective=energy"]) == 0
    assert shown(capsys) == expected
    assert explain([str(tmp_path / "best.m"), "--hardware=edge", "--objective=energy"]) == 0
    assert shown(capsys) == expected


@pytest.mark.parametrize("command", [run, optimum])
def test_a_run_names_its_layer_and_its_hardware(
    command: Callable[[list[str]], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = ["--mapper=ga_log", "--samples=300"] if command is run else ["--start=100", "--nodes=500"]
    out = tmp_path / "run"
    layer = "gemm:M=12,N=8,K=16"
    assert command([f"--layer={layer}", "--hardware=edge", f"--out={out}", *few]) == 0
    capsys.readouterr()
    assert explain([str(out)]) == 0
    text = shown(capsys)
    assert text.startswith(f"{layer} (GEMM M12 N8 K16) on edge, model exact\n")
    best = Mapping.from_json((out / "best_mapping.json").read_text())
    assert str(best) in text
    # What is given goes before what was recorded.
    assert explain([str(out), "--hardware=num_pes=64"]) == 0
    assert "(GEMM M12 N8 K16) on num_pes=64, model exact\n" in shown(capsys)
    # The same files are read for a score.
    assert evaluate([str(out), "--hardware=edge"]) == 0
    assert "exact: ok: the mapping is valid" in shown(capsys)


@pytest.mark.slow
def test_pictures_are_written(
    mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str], rendered: None
) -> None:
    path, out = tmp_path / "best.json", tmp_path / "pictures"
    path.write_text(mapping.to_json())
    assert explain([str(path), *FLAGS, f"--out={out}", "--svg"]) == 0
    assert shown(capsys).endswith(f"\n\npictures: {out}\n")
    names = ["pes.png", "time.png", "time.svg", "traffic.png", "traffic.svg"]
    assert sorted(each.name for each in out.iterdir()) == names
    first = {each.name: each.read_bytes() for each in out.iterdir()}
    assert explain([str(path), *FLAGS, f"--out={out}", "--svg"]) == 0
    assert {each.name: each.read_bytes() for each in out.iterdir()} == first


BAD = {
    "no mapping there": (["nothing.json", *FLAGS], "cannot read nothing.json: No such file"),
    "other suffix": (["m.txt", *FLAGS], "allowed: a file whose name ends in .json, .m"),
    "no run": ([".", *FLAGS], ". has no best_mapping.json; give a directory of run or optimum"),
    "no layer": (["best.json"], "best.json names no layer: give one with --layer"),
    "unknown objective": (["best.json", "--objective=epd"], "unknown objective 'epd'"),
    "another layer": (["best.json", "--layer=bert_base_l4"], "bad_tile: level 0, "),
    "no room": (
        ["best.json", FLAGS[0], "--hardware=num_pes=168,l1_bytes=500"],
        "l1_overflow: the tiles do not fit L1; make the L1 tiles smaller (needed 512 B per PE, "
        "there are 500 B)",
    ),
    "pictures in a file": (["best.json", *FLAGS, "--out=best.json"], "cannot make directory"),
}


@pytest.mark.parametrize(("flags", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line(
    flags: list[str],
    message: str,
    mapping: Mapping,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("best.json").write_text(mapping.to_json())
    assert explain(flags) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert message in captured.err
    assert [each.name for each in tmp_path.iterdir()] == ["best.json"]


def test_a_changed_record_is_refused(
    mapping: Mapping, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "best_mapping.json").write_text(mapping.to_json())
    (tmp_path / "optimum.json").write_text("{}")
    assert explain([str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err.count("\n")) == ("", 1)
    assert "optimum.json" in captured.err


def test_the_best_known_mapping_on_a_chip_is_said_to_be_as_close_as_the_table_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chip, goal = find_accelerator("gemmini", "hierarchy"), find_objective("edp")
    (task,) = make_problems([find_layer("mobilenetv2_l7")], chip, "hierarchy")
    known = known_optimum(task, goal)
    assert known is not None
    mapping = task.space.decode(known.point)
    cost, _ = task.evaluate_mapping(mapping)
    assert cost is not None
    assert cost.energy_nj is not None
    path = tmp_path / "best.json"
    path.write_text(task.space.json_of(mapping))
    flags = [str(path), "--layer=mobilenetv2_l7", "--hardware=gemmini"]
    assert explain(flags) == 0
    gap = cost.latency_cycles * cost.energy_nj / known.bound - 1
    first, second, third, *_ = shown(capsys).split("\n")
    assert first.startswith("EDP ")
    assert first.endswith(f" cycles x nJ, at most {gap:.2%} above the optimum")
    assert (second, third[:14]) == ("", "mobilenetv2_l7")
    # Nothing is known of other rules and of energy alone.
    for other in ("--constraints=none", "--objective=energy"):
        assert explain([*flags, other]) == 0
        assert shown(capsys).startswith("mobilenetv2_l7 ")


def test_a_run_of_optimum_on_any_memories_says_how_close_it_came(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, flags = tmp_path / "run", ["--layer=gemm:M=6,N=5,K=7", "--hardware=gemmini"]
    assert optimum([*flags, f"--out={out}", "--nodes=1"]) == 0
    above = shown(capsys).split("\n")[0]
    record = load(out / "optimum.json")
    found = record["found"]
    gap = found["best"] / found["bound"] - 1
    assert gap > 0
    assert above.endswith(f", at most {gap:.2%} above the optimum")
    assert explain([str(out)]) == 0
    assert shown(capsys).split("\n")[:2] == [f"{above}, as its record says", ""]
    # The record is of this objective alone.
    assert explain([str(out), "--objective=latency"]) == 0
    assert shown(capsys).startswith("gemm:M=6,N=5,K=7 ")
    assert report([str(out), f"--out={tmp_path / 'page'}"]) == 0
    page = (tmp_path / "page/report.md").read_text()
    gap = found["best"] / max(found["bound"], record["objective"]["lower_bound"]) - 1
    assert f" cycles x nJ, at most {gap:.2%} above the optimum\n" in page
