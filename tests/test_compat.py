"""The drop-in for the MAESTRO binary: mapping files measured with it, and rows of JSON."""

from __future__ import annotations

import gzip
import json
import lzma
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from maestro_env.compat.program import main

Case = dict[str, Any]

DATA = Path(__file__).parent / "data" / "compat"
WRITTEN: list[Case] = json.loads((DATA / "written.json").read_text(encoding="utf-8"))
GENERATED: list[Case] = [
    json.loads(line)
    for line in lzma.decompress((DATA / "generated.jsonl.xz").read_bytes()).splitlines()
]
CASES = [*WRITTEN, *GENERATED]
SIGNALS = {-6: 134, -8: 136, -11: 139}

ROW = {
    "type": "CONV",
    "stride": [1, 1],
    "dims": {"K": 4, "C": 4, "Y": 6, "X": 6, "R": 3, "S": 3},
    "dataflow": ["SpatialMap(1,1) K;", "TemporalMap(2,2) C;"],
    "hw": {"num_pes": 16, "noc_bw": 8, "hop_latency": 1, "offchip_bw": 8, "simd": 1},
}
COMMAND = [sys.executable, "-m", "maestro_env.compat.program"]


def written(start: str) -> Case:
    (case,) = [case for case in WRITTEN if case["what"].startswith(start)]
    return case


def lay_out(case: Case, folder: Path) -> None:
    for name in case["dirs"]:
        (folder / name).mkdir(parents=True)
    for name, lines in case["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes("\n".join(lines).encode())


def csv_files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_bytes().decode() for path in folder.rglob("*.csv")
    }


def measured_csv_files(case: Case) -> dict[str, str]:
    return {case["csv_name"]: "\n".join(case["csv"])} if case["csv_name"] else {}


# --- Mapping files ------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["what"])
def test_a_mapping_file_ends_as_measured(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    lay_out(case, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(case["argv"]) == SIGNALS.get(case["exit"], case["exit"])
    assert csv_files(tmp_path) == measured_csv_files(case)
    out, err = capfd.readouterr()
    assert out == ""
    if case["exit"] != 0:
        assert err.startswith("maestro-compat: ")
        assert err.count("\n") == 1 == len(err.splitlines())


def test_the_cases_hold_every_kind_of_end() -> None:
    assert {case["exit"] for case in CASES} == {0, 255, *SIGNALS}


def energies(case: Case) -> list[float]:
    return [float(line.split(",")[4]) for line in case["csv"][1:-1]]


def test_the_stale_energy_case_shows_what_it_is_for() -> None:
    first, second, _, fourth = energies(written("stale L1 energy"))
    assert len({first, second, fourth}) == 3


def test_the_installed_command_writes_the_csv(tmp_path: Path) -> None:
    case = written("all operators")
    lay_out(case, tmp_path)
    command = Path(sys.executable).with_name("maestro-compat")
    subprocess.run([command, *case["argv"]], cwd=tmp_path, check=True)
    assert csv_files(tmp_path) == measured_csv_files(case)


@pytest.mark.parametrize("arguments", [["--Mapping_file=in.m"], ["--jsonl=in.jsonl", "--out=out"]])
def test_the_drop_in_imports_neither_numpy_nor_gymnasium(
    arguments: list[str], tmp_path: Path
) -> None:
    lay_out(written("defaults"), tmp_path)
    (tmp_path / "in.jsonl").write_text(json.dumps(ROW) + "\n")
    script = (
        "import atexit, runpy, sys\n"
        "heavy = ('numpy', 'gymnasium', 'scipy', 'yaml', 'torch', 'matplotlib')\n"
        "atexit.register(lambda: print([name for name in heavy if name in sys.modules]))\n"
        "runpy.run_module('maestro_env.compat.program', run_name='__main__', alter_sys=True)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[]\n", "")


def small_file(name: str, size: str, extent: str = "4") -> str:
    return (
        f"Network n {{ Layer {name} {{ Type: CONV "
        f"Dimensions {{ K: {extent}, C: 4, Y: 5, X: 5, R: 3, S: 3 }} "
        f"Dataflow {{ SpatialMap({size},1) K; TemporalMap(3,3) R; TemporalMap(3,3) S; "
        "TemporalMap(3,1) Y; TemporalMap(3,1) X; TemporalMap(1,1) C; } } }"
    )


SMALL_ROW = ",16,324,9.72581,4,4.11277e+08,"


@pytest.mark.parametrize(
    ("content", "status", "start"),
    [
        (small_file("caf\xe9", "1").encode("latin-1"), 0, b"n,caf\xe9" + SMALL_ROW.encode()),
        (small_file("caf\xe9", "1").encode("utf-8"), 0, b"n,caf\xc3\xa9" + SMALL_ROW.encode()),
        (small_file("l", "\xa01").encode("utf-8"), 255, None),
        (small_file("l", "1", "0" * 5000 + "4").encode(), 0, b"n,l" + SMALL_ROW.encode()),
        (small_file("l", "1", "1" * 5000).encode(), 0, b"n,l,16,0,-0.130539,-nan,"),
    ],
)
def test_bytes_and_numbers_of_any_kind_end_as_measured(
    content: bytes,
    status: int,
    start: bytes | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.m").write_bytes(content)
    assert main(["--Mapping_file=q.m", "--num_pes=16"]) == status
    rows = Path("q.csv").read_bytes().splitlines()[1:] if Path("q.csv").exists() else []
    assert [row.startswith(start or b"") for row in rows] == ([] if start is None else [True])


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_alone_lists_the_options(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([flag]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("usage: maestro-compat --Mapping_file=F.m ")
    assert "\n  --num_pes=7\n" in shown.out
    assert "area_constraint" in shown.out
    assert max(map(len, shown.out.splitlines())) <= 100
    assert shown.err == ""


@pytest.mark.parametrize(
    ("option", "status"),
    [
        ("--num_pes=\u0663", 134),
        ("--num_pes=1_0", 134),
        ("--num_pes=", 134),
        ("--num_pes=+5", 0),
        ("-Xnum_pes=16", 134),
        ("--help=1", 134),
        ("--HW_file=", 134),
        ("--area_constraint=1e400", 134),
        ("--area_constraint=0x10", 134),
        ("--area_constraint=inf", 0),
        ("--area_constraint=nan(1)", 0),
        ("--", 0),
        ("-", 0),
        ("--=5", 0),
    ],
)
def test_odd_options_end_as_measured(
    option: str, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.m").write_text(small_file("l", "1"))
    assert main(["--Mapping_file=q.m", option]) == status


# --- Rows of JSON -------------------------------------------------------------------------------


def run_rows(
    text: str, folder: Path, capfd: pytest.CaptureFixture[str], target: str = "out.jsonl"
) -> tuple[int, str]:
    """Exit status and standard error of the rows ``text``; nothing may go to standard output."""
    source = folder / "in.jsonl"
    source.write_text(text)
    status = main([f"--jsonl={source}", f"--out={folder / target}"])
    out, err = capfd.readouterr()
    assert out == ""
    return status, err


def refused(status: int, err: str, folder: Path, *mentions: str) -> None:
    """Exit status 2, one line with the mentions, and nothing written."""
    assert status == 2
    assert len(err.splitlines()) == 1
    for mention in mentions:
        assert mention in err
    assert [path.name for path in folder.iterdir() if path.name != "in.jsonl"] == []


GOOD = json.dumps(ROW)


def without(key: str) -> str:
    return json.dumps({name: value for name, value in ROW.items() if name != key})


def with_hw(**values: object) -> str:
    return json.dumps({**ROW, "hw": {**ROW["hw"], **values}})


@pytest.mark.parametrize(
    ("bad", "mention"),
    [
        ("{", "JSON"),
        ('{"type": "CONV",}', "JSON"),
        ("[1, 2]", "object"),
        ("null", "object"),
        *[(without(key), key) for key in ROW],
        (json.dumps({**ROW, "hw": {"num_pes": 16}}), "noc_bw"),
        (json.dumps({**ROW, "hw": None}), ""),
        (json.dumps({**ROW, "dims": [4, 4]}), ""),
        (json.dumps({**ROW, "stride": [1]}), ""),
        (json.dumps({**ROW, "dataflow": [1]}), ""),
        (with_hw(num_pes="many"), ""),
        (with_hw(num_pes=2**31), ""),
        (with_hw(simd=1.5), ""),
    ],
)
def test_a_bad_row_is_named_and_nothing_written(
    bad: str, mention: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, err = run_rows(f"{GOOD}\n\n{bad}\n{GOOD}\n", tmp_path, capfd)
    refused(status, err, tmp_path, "in.jsonl", "line 3", mention)


def test_a_target_that_exists_survives_a_bad_row(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out.jsonl").write_text("precious\n")
    assert run_rows("{\n", tmp_path, capfd)[0] == 2
    assert (tmp_path / "out.jsonl").read_text() == "precious\n"


def test_a_missing_source_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    status = main([f"--jsonl={tmp_path}/none.jsonl", f"--out={tmp_path}/out.jsonl"])
    refused(status, capfd.readouterr().err, tmp_path, "none.jsonl")


@pytest.mark.parametrize("target", ["no_folder/out.jsonl", "."])
def test_an_unwritable_target_is_named(
    target: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    status, err = run_rows(f"{GOOD}\n", tmp_path, capfd, target)
    refused(status, err, tmp_path, f"cannot write {(tmp_path / target).resolve()}: ")


@pytest.mark.parametrize(
    "damage",
    [lambda packed: packed[: len(packed) // 2], lambda packed: b"plain text"],
    ids=["cut short", "not compressed"],
)
def test_a_damaged_archive_is_named(
    damage: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.jsonl"
    archive = source.with_suffix(".jsonl.gz")
    archive.write_bytes(damage(gzip.compress(f"{GOOD}\n".encode() * 200)))
    status = main([f"--jsonl={archive}", f"--out={tmp_path}/out.jsonl"])
    err = capfd.readouterr().err
    archive.rename(source)
    refused(status, err, tmp_path, "in.jsonl.gz")


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (["--jsonl=in.jsonl"], "--out"),
        (["--jsonl=", "--out=out.jsonl"], "--jsonl"),
        (["--jsonl=in.jsonl", "--out=out.jsonl", "--fast"], "--fast"),
        (["--jsonl=in.jsonl", "--out=out.jsonl", "--model=none"], "maestro"),
    ],
)
def test_bad_arguments_are_named(
    arguments: list[str],
    mention: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    refused(main(arguments), capfd.readouterr().err, tmp_path, mention)


def test_carriage_returns_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, named in (("Network n {\r\nOdd\r\n", True), ("Network n {\nOdd\n", False)):
        path = tmp_path / "mapping.m"
        path.write_bytes(text.encode())
        assert main([f"--Mapping_file={path}"]) == 255
        assert ("carriage returns" in capsys.readouterr().err) == named


def test_rows_keep_their_order_and_their_own_keys_compressed_or_not(tmp_path: Path) -> None:
    rows = [{**ROW, "note": index, "out": {"stale": "1"}} for index in range(3)]
    rows[1] = {**rows[1], "dataflow": ["TemporalMap(1,1) K;"]}
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "in.jsonl").write_text(text)
    (tmp_path / "in.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    results = []
    for source, target in (("in.jsonl", "out.jsonl.gz"), ("in.jsonl.gz", "out.jsonl")):
        assert main(["--jsonl", str(tmp_path / source), "--out", str(tmp_path / target)]) == 0
        data = (tmp_path / target).read_bytes()
        lines = (gzip.decompress(data) if target.endswith(".gz") else data).decode().splitlines()
        results.append([json.loads(line) for line in lines])
    assert results[0] == results[1]
    assert [row["note"] for row in results[0]] == [0, 1, 2]
    assert [("out" in row, "error" in row) for row in results[0]] == [
        (True, False),
        (False, True),
        (True, False),
    ]
    assert "stale" not in results[0][0]["out"]
