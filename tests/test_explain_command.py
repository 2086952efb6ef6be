"""The command ``explain``: a mapping of a file or of a run, explained and drawn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import evaluate, explain, optimum, run

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
