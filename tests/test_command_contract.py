"""What every command promises: its flags, its directory, resuming it, and how Ctrl-C ends it."""

from __future__ import annotations

import json
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import MISSING, dataclass, fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from gate import few
from run_helpers import contents

from maestro_env.experiments.shell import cli, flags

GEMM = "gemm:M=8,N=8,K=8"
SETTINGS = ("--model=maestro", "--schema=paper10", "--tiles=divisors", "--hardware=cloud")
SETTINGS += ("--no-guard", "--seed=1")
RECORD_RUN = "maestro_env.experiments.store.records:Record.run"
FILES = {
    "net.csv": "K,C,Y,X,R,S,T\n8,3,10,10,3,3,1\n16,8,8,8,1,1,1\n",
    "sweep.yaml": f"layers: ['{GEMM}']\nhardware: [edge]\nmappers: [random, ga]\nsamples: 20\n",
    "other.yaml": f"layers: ['{GEMM}']\nhardware: [edge]\nmappers: [random, ga]\nsamples: 21\n",
}


@dataclass(frozen=True)
class Example:
    """A call that ends in a moment, in a directory with the files of ``FILES``.

    Args:
        call: the arguments, which give two results or more.
        change: a part of the call and another one, whose results the directory is not for; None
            if it takes all.
        values: what a refusal of them names.
        settings: flags that make other results too.
        step: what makes a result: where Ctrl-C comes, after the first one.
        needs: the module of an extra.
    """

    call: str
    change: tuple[str, str] | None = ("--samples=20", "--samples=21")
    values: tuple[str, ...] = ("20", "21")
    settings: tuple[str, ...] = SETTINGS
    step: str = RECORD_RUN
    needs: str = "numpy"


SIZE = "--samples=20 --seeds=2"
GRID = "--num-pes=2,4 --l1-bytes=256 --l2-bytes=16384 --area=10"
EXAMPLES = {
    "codesign": Example(f"net.csv {GRID} --technology=maestro --mapper=random --samples=20"),
    "compare": Example(f"--layers={GEMM} --objectives=latency --mappers=random {SIZE}"),
    "dataset": Example(
        f"--layers={GEMM},resnet18_l2 --samples=20",
        step="maestro_env.experiments.commands.dataset.writer:_evaluate",
        needs="pyarrow",
    ),
    "map": Example("net.csv --hardware=edge --nodes=0 --front=0 --mapper=random --samples=20"),
    "optima": Example(
        "--layers=mobilenetv2_l51,resnet18_l2 --hardware=edge --objectives=latency --nodes=100",
        change=None,
        settings=(),
    ),
    "optimum": Example(
        "--layer=resnet18_l2 --hardware=edge --objective=edp --start=20 --nodes=40000",
        change=("=edp", "=latency"),
        values=("edp", "latency"),
        settings=(),
        step="maestro_env.optimum.search:OptimumSearch.ask",
    ),
    "quantise": Example(
        "sweep --tasks=cartpole --learners=a2c --steps=9 --seeds=2 --bits=8",
        change=("--bits=8", "--bits=7"),
        values=("8", "7"),
        settings=("--steps=10", "--delay=0.1", "--form=paper"),
        needs="stable_baselines3",
    ),
    "replay": Example(
        "train --agents=2 --episodes=8 --batch=4 --seeds=2 --samplers=uniform",
        change=("--episodes=8", "--episodes=12"),
        values=("8", "12"),
        settings=("--batch=5", "--capacity=300", "--dtype=float16"),
        needs="torch",
    ),
    "run": Example(f"--layer={GEMM} --objective=latency --mapper=random {SIZE}"),
    "sparse": Example(
        "agents --tasks=mapping --arms=dense --learners=vdn --episodes=8 --width=8 --seeds=2",
        change=("--width=8", "--width=16"),
        values=("8", "16"),
        settings=("--density=0.1",),
        needs="torch",
    ),
    "sweep": Example("sweep.yaml", change=("sweep", "other"), settings=()),
}
UNTIMED = re.compile(r"seconds|digest|trace|curve")

every_command = pytest.mark.parametrize("name", cli.command_names())
every_resumable = pytest.mark.parametrize("name", EXAMPLES)
# Slow are papers of which test_what_is_finished_is_kept has an example, too.
most_resumable = pytest.mark.parametrize(
    "name", few(sorted(EXAMPLES, key=("quantise", "replay", "sparse").__contains__), 8)
)
# Of what all commands share.
some_resumable = pytest.mark.parametrize(
    "name", few(sorted(EXAMPLES, key=("run", "sweep").__contains__, reverse=True), 2)
)


@pytest.fixture(scope="module", autouse=True)
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The working directory; policies play little, to save time."""
    path = tmp_path_factory.mktemp("contract")
    for name, text in FILES.items():
        (path / name).write_text(text)
    with pytest.MonkeyPatch.context() as patches:
        patches.chdir(path)
        for name in ("RESETS", "STATES"):
            patches.setattr(f"maestro_env.experiments.papers.quantise.tasks.{name}", 2)
        if find_spec("torch"):
            for name in ("RESETS", "_RESETS_OF_POINT"):
                patches.setattr(f"maestro_env.experiments.papers.sparse.agent_training.{name}", 8)
        yield path


@pytest.fixture(scope="module")
def finished(place: Path) -> Callable[[str], Path]:
    """What returns the directory in which a command's example has ended."""

    def make(name: str) -> Path:
        pytest.importorskip(EXAMPLES[name].needs)
        out = place / f"finished-{name}"
        if not out.exists():
            assert cli.main(name, line(name, out)) == 0
        return out

    return make


def line(name: str, out: Path, *more: str) -> list[str]:
    """Arguments of the example into a directory."""
    return [*EXAMPLES[name].call.split(), f"--out={out}", *more]


def refusal(capsys: pytest.CaptureFixture[str], name: str, *arguments: str) -> str:
    """Return the one line with which a call is refused."""
    capsys.readouterr()
    assert cli.main(name, arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert shown.err.startswith("error: ")
    assert len(shown.err) < 1000
    return shown.err


def records(out: Path) -> list[Path]:
    """Files with a digest, but for a table that is made anew from the others."""
    found = (path for path in out.rglob("*.json") if path.name != "codesign.json")
    return sorted(path for path in found if '"digest": ' in path.read_text())


def untimed(out: Path) -> dict[str, object]:
    """What files hold, but for the time that anything took."""
    return {
        name: _without_times(json.loads(data))
        if name.endswith(".json")
        else re.sub(rb"\S+ hours", b"", data)
        for name, data in contents(out).items()
        if name != "seconds.csv"
    }


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if not UNTIMED.search(key)}
    return [_without_times(each) for each in value] if isinstance(value, list) else value


# --- Flags --------------------------------------------------------------------------------------


@every_command
def test_help_names_every_flag_once_and_fits_a_terminal(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as ended:
        cli.main(name, ["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"usage: maestro-env {name} [options]")
    named = re.findall(r"^  (--[a-z0-9-]+)", shown, re.MULTILINE)
    config = cli.load(name).Config
    assert named == [flags._flag(field) for field in fields(config) if not flags._bare(field)]
    # A flag too long for its column would stand on a line of its own.
    assert re.findall(r"^  --\S+( \S+)?$", shown, re.MULTILINE) == []
    assert max(map(len, shown.splitlines())) <= 80
    # A limit that is none is not shown as a number.
    assert re.search(r"default: [0-9]{9}", " ".join(shown.split())) is None


@every_command
def test_numbers_are_plain_and_in_their_range(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for field in fields(cli.load(name).Config):
        kind, least, most = (field.metadata[each] for each in ("kind", "least", "most"))
        if kind not in (int, float):
            continue
        wrong = ["", "many", "1_0", "+5", "٣", "nan", str(least - 1), str(most * 10 + 1)]
        for text in wrong + ["1.5"] * (kind is int):
            told = refusal(capsys, name, f"{flags._flag(field)}={text}")
            assert all(part in told for part in (flags._flag(field), repr(text), str(least)))


@every_command
def test_unknown_flags_and_blank_values_are_refused(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = cli.load(name).Config
    needed = ["x" for field in fields(config) if field.default is MISSING]
    assert "--sampel" in refusal(capsys, name, *needed, "--sampel=1")
    if needed:
        assert "required" in refusal(capsys, name)
    for field in fields(config):
        if field.metadata["kind"] is str and not flags._bare(field):
            for blank in ("", " "):
                told = refusal(capsys, name, *needed, f"{flags._flag(field)}={blank}")
                assert flags._flag(field) in told


# --- Directories --------------------------------------------------------------------------------


def test_every_command_that_resumes_has_an_example() -> None:
    configs = {name: cli.load(name).Config for name in cli.command_names()}
    assert {name for name, each in configs.items() if hasattr(each, "resume")} == set(EXAMPLES)


@every_resumable
def test_a_directory_of_something_else_is_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(EXAMPLES[name].needs)
    (tmp_path / "notes.txt").write_text("mine")
    for more in ([], ["--resume"]):
        assert str(tmp_path) in refusal(capsys, name, *line(name, tmp_path, *more))
    assert contents(tmp_path) == {"notes.txt": b"mine"}


@every_resumable
def test_resuming_needs_something_to_resume(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip(EXAMPLES[name].needs)
    none = tmp_path / "none"
    assert str(none) in refusal(capsys, name, *line(name, none, "--resume"))
    assert not none.exists()
    assert "--out" in refusal(capsys, name, *EXAMPLES[name].call.split(), "--resume")


@every_resumable
def test_what_is_finished_is_kept(
    name: str, finished: Callable[[str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    out, example = finished(name), EXAMPLES[name]
    before = contents(out)
    told = refusal(capsys, name, *line(name, out))
    assert str(out) in told
    assert "--resume" in told
    if example.change is not None:
        changed = example.call.replace(*example.change).split()
        told = refusal(capsys, name, *changed, f"--out={out}", "--resume")
        assert all(value in told for value in example.values)
    for setting in example.settings:
        assert str(out) in refusal(capsys, name, *line(name, out, "--resume", setting))
    assert cli.main(name, line(name, out, "--resume")) == 0
    assert contents(out) == before


@some_resumable
def test_the_directory_of_another_command_is_refused(
    name: str,
    tmp_path: Path,
    finished: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip(EXAMPLES[name].needs)
    for other, example in EXAMPLES.items():
        # These two share their searches.
        shared = {name, other} <= {"run", "compare"}
        if other == name or shared or find_spec(example.needs) is None:
            continue
        out = Path(shutil.copytree(finished(other), tmp_path / other))
        assert str(out) in refusal(capsys, name, *line(name, out, "--resume"))
        assert contents(out) == contents(finished(other))


def damaged(text: str) -> list[str]:
    """The text of a record emptied, truncated, changed, and in place of it other JSON or none."""
    changed = text.replace("{", '{"more": {}, ', 1)
    deep = "[" * 100_000 + "]" * 100_000
    return ["", text[: len(text) // 2], changed, "{}", "[]", "null", deep, "9" * 5000, "\udcff"]


@some_resumable
def test_a_damaged_record_is_refused_with_the_way_out(
    name: str,
    finished: Callable[[str], Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    out = Path(shutil.copytree(finished(name), tmp_path / "out"))
    for path in {re.sub(r"\d", "", path.name): path for path in records(out)}.values():
        text = path.read_text()
        for other in damaged(text):
            path.write_text(other, errors="surrogateescape")
            before = contents(out)
            told = refusal(capsys, name, *line(name, out, "--resume"))
            assert str(path) in told
            assert re.search("delete it|another --out", told)
            assert contents(out) == before
        path.write_text(text)


# --- Ctrl-C -------------------------------------------------------------------------------------


@most_resumable
def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(
    name: str,
    tmp_path: Path,
    finished: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole, out = finished(name), tmp_path / "out"
    step, done = pkgutil.resolve_name(EXAMPLES[name].step), list[object]()

    def interrupted(*arguments: Any) -> Any:
        if done:
            raise KeyboardInterrupt
        result = step(*arguments)
        done.append(result)
        return result

    with monkeypatch.context() as patches:
        patches.setattr(EXAMPLES[name].step.replace(":", "."), interrupted)
        assert cli.main(name, line(name, out)) == 130
    told = capsys.readouterr().err.splitlines()[-1]
    assert str(out) in told
    kept = {path: path.read_bytes() for path in records(out)}
    assert kept
    command = shlex.split(told.partition(f"maestro-env {name} ")[2])
    assert cli.main(name, command) == 0
    if name == "optimum":
        # Its one record goes on.
        assert set(contents(out)) == set(contents(whole))
    else:
        assert {path: path.read_bytes() for path in kept} == kept
        assert untimed(out) == untimed(whole)


# --- Output that nobody takes, which all commands answer alike ----------------------------------


@pytest.mark.parametrize(
    ("target", "reason"),
    [("> /dev/full", "No space left on device"), (">&-", "it is closed")],
    ids=["full", "closed"],
)
def test_an_output_that_takes_nothing_is_one_line(target: str, reason: str) -> None:
    command = f"{sys.executable} -m maestro_env.experiments.run --list-layers {target}"
    ended = subprocess.run(["sh", "-c", command], stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 74
    assert ended.stderr == f"error: cannot write to stdout: {reason}\n"


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [
        sys.executable,
        "-m",
        "maestro_env.experiments",
        "run",
        *EXAMPLES["run"].call.split(),
    ]
    with subprocess.Popen(
        [*command, f"--out={out}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        # All results are written before the first line is printed; pictures come last.
        process.stdout.close()
        complaints = process.stderr.read()
    assert process.returncode == 141
    assert "Error" not in complaints
    assert (out / "summary.json").exists()
