"""``maestro-env dataset``: what it writes, keeps, continues and refuses."""

from __future__ import annotations

import hashlib
import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import yaml
from commands import dataset as main
from run_helpers import contents, start

pytest.importorskip("pyarrow", reason="needs the extra data")

from maestro_env import METRICS, STATUSES, MapSpace, Problem, find_hardware, find_layer, mappers
from maestro_env.base.errors import UnknownNameError
from maestro_env.datasets.parquet import SPLITS, open_dataset
from maestro_env.evaluation.cost_and_status import unit_of
from maestro_env.evaluation.objectives import find_objective
from maestro_env.experiments.commands.dataset import writer
from maestro_env.experiments.search.searches import Recorder, run_search
from maestro_env.experiments.store.claims import Claim
from maestro_env.mappers.parts.arrays import log_uniform
from maestro_env.mappers.random import LogRandomMapper

ROOT = Path(__file__).parents[1]
GEMM = "gemm:M=6,N=5,K=4"
FLAGS = [f"--layers={GEMM},resnet18_l2", "--hardware=edge", "--samples=250"]


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a data set goes, whose files have 100 rows."""
    monkeypatch.setattr(writer, "ROWS_PER_FILE", 100)
    monkeypatch.setattr(writer, "_BATCH", 30)
    return tmp_path / "out"


def make(out: Path, *flags: str) -> int:
    return main([*FLAGS, f"--out={out}", *flags])


def problem(layer: str, hardware: str = "edge", model: str = "exact") -> Problem:
    return Problem(MapSpace(find_layer(layer), find_hardware(hardware)), model)


# --- What is written ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["exact", "maestro"])
def test_every_row_has_the_figures_of_its_mapping(out: Path, model: str) -> None:
    assert make(out, f"--model={model}") == 0
    dataset = open_dataset(out)
    assert list(dataset.problems) == [GEMM, "resnet18_l2"]
    for layer in dataset.problems:
        truth, files = problem(layer, model=model), list(dataset.rows(layer))
        assert dataset.problems[layer] == truth
        assert [len(points) for points, _ in files] == [100, 100, 25, 25]
        assert dataset.count(layer) == 250
        for points, rows in files:
            evaluated = truth.evaluate(points)
            assert rows.metrics.tobytes() == evaluated.metrics.tobytes()
            assert rows.status.tobytes() == evaluated.status.tobytes()
        status = np.concatenate([rows.status for _, rows in files])
        counts = {STATUSES[code]: int(np.sum(status == code)) for code in np.unique(status)}
        assert dataset.statuses(layer) == counts


def test_no_two_files_or_layers_have_the_same_rows(out: Path) -> None:
    flags = ["--layers=gemm:M=6,N=5,K=4,gemm:M=5,N=6,K=4", "--samples=300", f"--out={out}"]
    assert main([*flags, "--hardware=cloud"]) == 0
    dataset = open_dataset(out)
    clusters = [
        tuple(points[:, -1]) for layer in dataset.problems for points, _ in dataset.rows(layer)
    ]
    assert len(clusters) == len(set(clusters)) == 10


@pytest.mark.parametrize("flags", [["--threads=3"], ["--layers=resnet18_l2"]])
def test_files_depend_on_the_seed_alone(
    out: Path, flags: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert make(out) == 0
    monkeypatch.setattr(writer, "_BATCH", 77)
    other = out.with_name("other")
    assert make(other, *flags) == 0
    files = contents(out / "resnet18_l2")
    assert len(files) == 4
    assert contents(other / "resnet18_l2") == files
    again = out.with_name("again")
    assert make(again, "--seed=1") == 0
    assert not set(contents(again / "resnet18_l2").values()) & set(files.values())


def test_log_draws_small_sizes_more_often(out: Path) -> None:
    medians = {}
    for draw in ("uniform", "log"):
        assert make(out / draw, f"--draw={draw}", "--layers=resnet18_l2") == 0
        points = np.concatenate([each for each, _ in open_dataset(out / draw).rows("resnet18_l2")])
        assert (points < problem("resnet18_l2").space.sizes).all()
        medians[draw] = float(np.median(points[:, -1])) + 1
    drawn = log_uniform(problem("resnet18_l2").space, 10_000, np.random.default_rng(1))
    assert medians["uniform"] == pytest.approx(84, rel=0.2)
    assert medians["log"] == pytest.approx(np.median(drawn[:, -1]) + 1, rel=0.4)


def test_a_mapper_from_outside_draws(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mappers, "_registered", {})
    mappers.register_mapper("mine", LogRandomMapper)
    assert make(out, "--draw=mine", f"--layers={GEMM}") == 0
    assert open_dataset(out).count(GEMM) == 250


def test_the_rows_of_a_mapper_are_its_searches(out: Path) -> None:
    assert make(out, "--draw=ga:population=20", f"--layers={GEMM}", "--seed=3") == 0
    files = [points for points, _ in open_dataset(out).rows(GEMM)]
    for number, points in enumerate(files):
        recorder = Recorder(problem(GEMM), find_objective("edp"), len(points))
        run_search(recorder, "ga:population=20", (3 << 32) + number)
        assert np.array_equal(points, recorder.points)


def test_the_card_tells_tools_and_people_what_there_is(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(out) == 0
    shown, text = capsys.readouterr().out, (out / "README.md").read_text()
    _, front, body = text.split("---\n", 2)
    card = yaml.safe_load(front)
    assert (card["license"], card["size_categories"]) == ("mit", ["n<1K"])
    for entry in card["configs"]:
        assert [len(list(out.glob(each["path"]))) for each in entry["data_files"]] == [2, 1, 1]
    table = next(open_dataset(out).tables("resnet18_l2"))
    assert all(f"| `{name}` |" in body for name in table.column_names if name != "status")
    units = {field.name: field.metadata[b"unit"].decode() for field in table.schema}
    assert all(f"| `{name}` | {units[name]} |" in body for name in METRICS)
    (command,) = re.findall(r"maestro-env dataset (.*)", body)
    other = out.with_name("other")
    assert main([*command.split(), f"--out={other}"]) == 0
    assert contents(other) == contents(out)
    assert "resnet18_l2" in shown
    assert f"data set: {out}" in shown


def test_splits_are_told_to_loaders(out: Path) -> None:
    assert make(out) == 0
    dataset, card = open_dataset(out), json.loads((out / "croissant.json").read_text())
    assert [dataset.count("resnet18_l2", split) for split in SPLITS] == [200, 25, 25]
    files = {each["@id"]: each for each in card["distribution"]}
    assert set(files) == {str(path.relative_to(out)) for path in out.glob("*/*.parquet")}
    for name, told in files.items():
        assert told["sha256"] == hashlib.sha256((out / name).read_bytes()).hexdigest()
    splits, *records = card["recordSet"]
    assert [each["splits/name"] for each in splits["data"]] == [*SPLITS]
    assert [f"{each['@id']}.parquet" for each in records] == list(files)
    schema = next(dataset.tables("resnet18_l2")).schema
    assert [field["name"] for field in records[-1]["field"]] == schema.names
    with pytest.raises(UnknownNameError, match="unknown split 'dev'"):
        dataset.count("resnet18_l2", "dev")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_loader_reads_the_splits(out: Path) -> None:
    loader = pytest.importorskip("mlcroissant", reason="needs mlcroissant")
    assert make(out) == 0
    found = loader.Dataset(str(out / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    points = next(open_dataset(out).rows("resnet18_l2", "test"))[0]
    name = "resnet18_l2/test-00003"
    read = list(found.records(name))
    first = [parameter.name for parameter in problem("resnet18_l2").space.parameters]
    assert [[each[f"{name}/{key}"] for key in first] for each in read] == points.tolist()


def test_units_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    section = page.split("\n## Fields of Cost\n")[1].split("\n## ")[0]
    told = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE))
    assert {name: unit_of(name) for name in METRICS} == {name: told[name] for name in METRICS}


# --- What is kept and continued -------------------------------------------------------------------


def ending_after(files: int) -> Callable[..., object]:
    """What evaluates the rows of so many files and then interrupts."""
    evaluate, done = writer._evaluate, 0

    def interrupt(*arguments: object) -> object:
        nonlocal done
        done += 1
        if done > files:
            raise KeyboardInterrupt
        return evaluate(*arguments)  # type: ignore[arg-type]

    return interrupt


@pytest.mark.parametrize("files", [0, 1, 4])
def test_an_interrupted_data_set_is_continued(
    out: Path, files: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = out.with_name("whole")
    assert make(whole) == 0
    with monkeypatch.context() as patched:
        patched.setattr(writer, "_evaluate", ending_after(files))
        assert make(out) == 130
    told = capsys.readouterr().err
    assert "continue with: maestro-env dataset" in told
    assert len(list(out.glob("*/*.parquet"))) == files
    dataset = open_dataset(out)
    assert (
        sum(dataset.count(layer) for layer in dataset.problems)
        == [0, 100, 250][files // 2 + files % 2]
    )
    assert make(out, "--resume") == 0
    assert contents(out) == contents(whole)


def test_ctrl_c_leaves_whole_files(tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start("dataset", "--samples=10000000", "--threads=2", f"--out={out}")
    while not list(out.glob("*/*.parquet")):
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told.count("\n")) == (130, 1)
    dataset = open_dataset(out)
    files = dataset.files("resnet18_l2")
    assert dataset.count("resnet18_l2") == 100_000 * len(files)
    assert {path.name for path in (out / "resnet18_l2").iterdir()} == {path.name for path in files}


def test_memory_does_not_grow_with_the_rows(tmp_path: Path) -> None:
    """Twenty times the rows, whose figures take 200 MB, need no more of it."""
    script = """
import resource, sys
from maestro_env.experiments.commands.dataset import writer
from maestro_env.experiments.shell import cli
writer.ROWS_PER_FILE = 20_000
flags = ["--layers=gemm:M=8,N=8,K=8", f"--samples={sys.argv[1]}", f"--out={sys.argv[2]}"]
assert cli.main("dataset", flags) == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    peaks = []
    for samples in (20_000, 400_000):
        arguments = [str(samples), str(tmp_path / str(samples))]
        ended = subprocess.run(
            [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, check=True
        )
        peaks.append(int(ended.stdout.splitlines()[-1]))
    assert peaks[1] - peaks[0] < 60_000


# --- What is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--layers=nope"], "unknown layer 'nope'"),
        (["--draw=nope"], "unknown draw 'nope': allowed: bo, ga"),
        (["--draw=optimum"], "unknown draw 'optimum'"),
        (["--draw=log:step=1"], "unknown draw 'log:step=1': allowed: bo, ga"),
        (["--draw=ga:population=0"], "population"),
        (["--objective=nope"], "unknown objective 'nope'"),
        (["--objective=macs*nope"], "unknown metric 'nope': allowed: active_pes"),
        (["--energy=csv"], "model exact has no csv energy"),
        (["--model=maestro", "--schema=full17"], "tiles R or S"),
    ],
)
def test_bad_flags_are_refused_in_a_line(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, flags, message)


def test_two_processes_do_not_write_one_data_set(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make(out) == 0
    claim = Claim(out / "dataset.json")
    assert claim.take()
    try:
        assert make(out, "--resume") == 2
    finally:
        claim.give_back()
    assert "another process works on it" in capsys.readouterr().err


def test_a_file_of_other_rows_is_refused(out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert make(out) == 0
    first, *_, last = sorted(out.glob("*/*.parquet"), key=lambda path: path.stat().st_size)
    last.write_bytes(first.read_bytes())
    assert make(out, "--resume") == 2
    assert f"{last} has 25 rows, not 100; delete it" in capsys.readouterr().err


def test_without_pyarrow_the_extra_is_named_and_the_help_is_shown(tmp_path: Path) -> None:
    script = f"""
import sys
sys.modules["pyarrow"] = None
from maestro_env.experiments.shell import cli
print(cli.main("dataset", ["--out={tmp_path / "out"}"]))
cli.main("dataset", ["--help"])
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert ended.stdout.startswith("2\nusage: ")
    told = (
        "error: maestro_env.datasets.parquet needs pyarrow: pip install -e '.[data]' in a clone\n"
    )
    assert (ended.stderr, list(tmp_path.iterdir())) == (told, [])
