"""``experiments.exhaustive``: what it finds, keeps and refuses."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import exhaustive as main
from exhaustive_helpers import Case
from run_helpers import contents, edit, load

from experiments import flags
from experiments.exhaustive import job
from experiments.exhaustive.config import ExhaustiveConfig, Task, resolve
from experiments.exhaustive.restriction import restrict
from experiments.flags import UsageError
from maestro_env.hardware import find_hardware
from maestro_env.map_space import MapSpace, lehmer_rank
from maestro_env.mapping import Mapping
from maestro_env.problem import Problem
from maestro_env.workloads import find_layer

LAYER = "gemm:M=4,N=3,K=4"
FIXED = "l2_order=MNK,NMK,l1_order=KNM,l1_parallel=M,N,l2_tile_K=2,4"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def machine(tmp_path: Path) -> str:
    path = tmp_path / "small.yaml"
    path.write_text("num_pes: 6\nnoc_bw: 2\noffchip_bw: 3\nl1_bytes: 60\nl2_bytes: 80\n")
    return str(path)


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.exhaustive.enumeration._BATCH", 64)


def enumerate_(out: Path, machine: str, *flags: str) -> int:
    return main([f"--layer={LAYER}", f"--hardware={machine}", f"--out={out}", *flags])


def results(out: Path) -> Any:
    """What an enumeration leaves, without what differs from time to time."""
    report = load(out / "optimum.json")
    for name in ("command", "versions"):
        del report[name]
    del report["found"]["seconds"], report["digest"]
    return report, {name: text for name, text in contents(out).items() if "mapping" in name}


def space_of(machine: str, tiles: str = "divisors") -> MapSpace:
    return MapSpace(find_layer(LAYER), find_hardware(machine), tiles=tiles)


@pytest.mark.parametrize(
    ("model", "objective", "prune"),
    [("exact", "edp", ()), ("exact", "latency", ("--prune",)), ("maestro", "edp", ("--prune",))],
)
def test_it_finds_the_optimum(
    model: str,
    objective: str,
    prune: tuple[str, ...],
    machine: str,
    out: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    flags = (f"--model={model}", f"--objective={objective}", f"--fix={FIXED}", *prune)
    assert enumerate_(out, machine, *flags) == 0
    space = space_of(machine)
    problem = Problem(space, model)
    truth = Case(problem, restrict(space, FIXED)).truth(objective)
    report = load(out / "optimum.json")
    found = report["found"]
    assert report["finished"] is True
    assert found["best"] == truth.best
    assert found["optimal"] == len(truth.optimal)
    assert found["mappings"] + found["ruled_out"] == truth.mappings
    assert report["enumeration"]["mappings"] == truth.mappings
    if not prune:
        assert (found["valid"], found["ruled_out"]) == (truth.valid, 0)
        assert 0 < truth.valid < truth.mappings
    best = Mapping.from_json((out / "best_mapping.json").read_text())
    assert best in truth.optimal
    assert Mapping.from_directives(map(tuple, report["best"]["directives"])) == best
    cost, status = problem.evaluate_mapping(best)
    assert status == "ok"
    assert cost is not None
    assert json.loads(json.dumps(cost.as_dict())) == report["best"]["cost"]
    shown = capsys.readouterr().out
    assert f"{truth.mappings:,} different mappings" in shown
    row = next(line.split() for line in shown.splitlines() if line.startswith(f"  {model}"))
    assert (row[1], row[3]) == (f"{truth.best:.6g}", f"{len(truth.optimal):,}")
    assert main(shlex.split(report["command"])[3:]) == 2
    assert f"{out} exists" in capsys.readouterr().err


@pytest.mark.usefixtures("small_units")
def test_threads_change_nothing(machine: str, out: Path) -> None:
    others = [out.with_name(f"threads{n}") for n in (2, 5)]
    assert enumerate_(out, machine, f"--fix={FIXED}") == 0
    for directory, threads in zip(others, (2, 5), strict=True):
        assert enumerate_(directory, machine, f"--fix={FIXED}", f"--threads={threads}") == 0
        assert results(directory) == results(out)


def test_a_space_without_a_valid_mapping(
    tmp_path: Path, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    impossible = tmp_path / "impossible.yaml"
    impossible.write_text("num_pes: 2\nl1_bytes: 1\nl2_bytes: 1\n")
    assert enumerate_(out, str(impossible), f"--fix={FIXED}") == 0
    assert "no valid mapping" in capsys.readouterr().out
    report = load(out / "optimum.json")
    assert (report["found"]["best"], report["best"], report["found"]["valid"]) == (None, None, 0)
    assert enumerate_(out, str(impossible), f"--fix={FIXED}", "--resume") == 0


# --- Interruptions ------------------------------------------------------------------------------


def scanning_until(ended: int, error: type[BaseException]) -> Callable[..., Any]:
    """Scan as ever, but for an error in the middle."""
    scans = 0
    scan = job.scan

    def scan_or_raise(*arguments: Any) -> Any:
        nonlocal scans
        scans += 1
        if scans == ended:
            raise error
        return scan(*arguments)

    return scan_or_raise


@pytest.mark.usefixtures("small_units")
@pytest.mark.parametrize("prune", [(), ("--prune",)])
def test_interrupted_and_resumed_is_as_if_uninterrupted(
    prune: tuple[str, ...],
    machine: str,
    out: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = out.with_name("whole")
    assert enumerate_(whole, machine, *prune) == 0
    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setattr(job, "scan", scanning_until(18 + len(prune), KeyboardInterrupt))
        assert enumerate_(out, machine, *prune) == 130
    report = load(out / "optimum.json")
    assert report["finished"] is False
    assert report["found"]["units"] == 17
    message = capsys.readouterr().err.splitlines()[-1]
    assert message.startswith(f"interrupted: what is found so far is in {out}; continue with: ")
    again = shlex.split(message.partition("python -m experiments.exhaustive ")[2])
    assert main([*again, "--threads=2"]) == 0
    assert results(out) == results(whole)
    # What is finished is not done again: one scan makes the first limit.
    monkeypatch.setattr(job, "scan", scanning_until(1 + len(prune), AssertionError))
    assert main(again) == 0
    assert results(out) == results(whole)


@pytest.mark.usefixtures("small_units")
def test_killed_it_loses_what_it_did_since_it_last_wrote(
    machine: str, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = out.with_name("whole")
    assert enumerate_(whole, machine) == 0
    with monkeypatch.context() as patched:
        patched.setattr(job, "_SECONDS_BETWEEN_WRITES", 0)
        patched.setattr(job, "scan", scanning_until(7, RuntimeError))
        with pytest.raises(RuntimeError):
            enumerate_(out, machine)
    assert load(out / "optimum.json")["found"]["units"] == 6
    assert enumerate_(out, machine, "--resume") == 0
    assert results(out) == results(whole)


def test_ctrl_c_keeps_what_it_has(out: Path) -> None:
    command = [sys.executable, "-m", "experiments.exhaustive", "--objective=energy"]
    with subprocess.Popen(
        [*command, f"--out={out}"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # A job in the background ignores Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stdout is not None
        assert "different mappings" in process.stdout.readline()
        while not (out / "optimum.json").exists():
            pass
        process.send_signal(signal.SIGINT)
        _, complaints = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in complaints
    assert complaints.splitlines()[-1].startswith("interrupted: ")
    assert load(out / "optimum.json")["finished"] is False


DAMAGE: dict[str, tuple[dict[str, Any], bool, str]] = {
    "edited": ({"units": 0}, False, "does not fit its digest: it was changed"),
    "best": ({"best": 1.0}, True, "but the best is 1.0"),
    "no best": ({"best": None}, True, "is no enumeration"),
    "point": ({"best_point": [0]}, True, "of shape [N, 11]"),
}


@pytest.mark.parametrize(("change", "sealed", "message"), DAMAGE.values(), ids=DAMAGE)
def test_damaged_files_are_refused(
    change: dict[str, Any],
    sealed: bool,
    message: str,
    machine: str,
    out: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert enumerate_(out, machine, f"--fix={FIXED}") == 0
    edit(out / "optimum.json", lambda report: report["found"].update(change), sealed)
    before = contents(out)
    capsys.readouterr()
    assert enumerate_(out, machine, f"--fix={FIXED}", "--resume") == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
    assert "give another --out" in line
    assert contents(out) == before


def test_it_is_resumed_as_it_was_begun(
    machine: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert enumerate_(out, machine, f"--fix={FIXED}") == 0
    capsys.readouterr()
    assert enumerate_(out, machine, f"--fix={FIXED}", "--objective=area", "--resume") == 2
    assert "objective = 'edp', asked for 'area'" in capsys.readouterr().err
    assert main([f"--layer={LAYER}", f"--fix={FIXED}", f"--out={out}", "--resume"]) == 2


# --- Restrictions -------------------------------------------------------------------------------


def test_what_is_fixed_is_left(machine: str) -> None:
    space = space_of(machine)
    left = dict(zip([p.name for p in space.parameters], restrict(space, FIXED), strict=True))
    names = list(space.extents)
    orders = {text: lehmer_rank([names.index(dim) for dim in text]) for text in ("MNK", "NMK")}
    assert left["l2_order"] == sorted(orders.values())
    assert [space.parameter("l1_parallel").values[i] for i in left["l1_parallel"]] == ["M", "N"]
    assert left["l2_tile_K"] == [1, 2]
    assert left["cluster_size"] == range(4)


def test_orders_are_written_as_mappings_nest_them() -> None:
    space = MapSpace(find_layer("resnet18_l2"), find_hardware("paper"))
    (rank,) = restrict(space, "l2_order=SRYCXK,l2_parallel=X")[0]
    point = np.zeros(len(space.parameters), dtype=np.int32)
    point[0], point[1] = rank, restrict(space, "l2_parallel=X'")[1][0]
    loops = space.decode(point).levels[0].loops
    assert [loop.dim for loop in loops] == ["S", "R", "Y'", "C", "X'", "K"]
    assert [loop.dim for loop in loops if loop.spatial] == ["X'"]


BAD = {
    "parameter": ("l3_order=MNK", "unknown parameter 'l3_order': did you mean l2_order"),
    "order": ("l2_order=MNN", "--fix l2_order=MNN: allowed: every loop once, outermost first"),
    "order lacks": ("l2_order=MN", "--fix l2_order=MN: allowed: "),
    "parallel": ("l2_parallel=R", "--fix l2_parallel=R: allowed: "),
    "tile": ("l2_tile_K=3", "--fix l2_tile_K=3: allowed: 1, 2, 4"),
    "second tile": ("l2_tile_K=2,3", "--fix l2_tile_K=3: allowed: 1, 2, 4"),
    "cluster": ("cluster_size=0", "--fix cluster_size=0: allowed: 1, 2, 3, 6"),
    "digits": ("cluster_size=+1", "--fix cluster_size=+1: allowed: 1, 2, 3, 6"),
    "empty": ("cluster_size=", "--fix cluster_size=: allowed: 1, 2, 3, 6"),
    "trailing": ("cluster_size=1,", "--fix cluster_size=: allowed: 1, 2, 3, 6"),
    "nameless": ("1,2", "--fix '1' names no parameter; give such as cluster_size=1,16"),
    "no name": ("=1", "unknown parameter ''"),
    "twice": ("cluster_size=1,l2_tile_K=1,cluster_size=2", "--fix cluster_size is given twice"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_bad_restrictions_are_one_line_and_nothing_is_written(
    text: str, message: str, machine: str, out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert enumerate_(out, machine, f"--fix={text}") == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err
    assert not out.exists()


BAD_FLAGS = {
    "blank": (["--fix= "], "' ' is empty; give a choices name"),
    "most": (["--most=2000"], "--most allows 2,000: --fix more parameters or raise it"),
    "most frames": (["--most=10"], " or more are to be looked at; --most allows 10"),
    "pruned": (["--most=10", "--prune"], "--most allows 10"),
    "none": (["--most=0"], "'0'; allowed: integers from 1"),
    "objective": (["--objective=epd"], "allowed: area, edp, energy, latency"),
    "bound": (["--objective=energy", "--prune"], "energy rules nothing out; allowed: latency, edp"),
    "guard": (["--model=maestro", "--no-guard", "--prune"], "leave out --no-guard and --energy"),
    "large": (
        ["--layer=gemm:M=2000000000,N=1,K=1", "--tiles=integers"],
        "l2_tile_M: 2,000,000,000 choices; allowed: 4,194,304: --fix some, or take --tiles",
    ),
    "pairs": (
        ["--layer=gemm:M=4000,N=1,K=1", "--tiles=integers"],
        "l2_tile_M with l1_tile_M: 8,002,000 choices; allowed: 4,194,304",
    ),
    "huge": (["--layer=vgg16_l2", "--tiles=integers"], " mappings, of which "),
    "resume": (["--resume", "--out=nothing"], "there is no directory nothing"),
    "resume nowhere": (["--resume"], "--out DIR"),
}


@pytest.mark.parametrize(("flags", "message"), BAD_FLAGS.values(), ids=BAD_FLAGS)
def test_bad_flags_are_one_line_and_nothing_is_written(
    flags: list[str],
    message: str,
    tmp_path: Path,
    machine: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main([f"--layer={LAYER}", f"--hardware={machine}", *flags]) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert message in shown.err
    assert list((tmp_path / "here").iterdir()) == []


def test_a_restriction_needs_no_machine_to_be_refused() -> None:
    with pytest.raises(UsageError, match="allowed: integers from 1 to 1024"):
        restrict(MapSpace(find_layer(LAYER), find_hardware("paper")), "cluster_size=1025")


DOCS = (Path(__file__).parents[1] / "docs" / "exhaustive.md").read_text(encoding="utf-8")
JOINED = DOCS.replace("\\\n", "")
COMMANDS = re.findall(r"^python -m experiments.exhaustive(.*)$", JOINED, re.MULTILINE)
COMMANDS += re.findall(r"`(--fix [^`]*=[^`]*)`", DOCS)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_of_the_document_are_taken(command: str) -> None:
    resolved: list[Task] = []

    def note(config: ExhaustiveConfig) -> int:
        resolved.append(resolve(config))
        return 0

    assert flags.run(ExhaustiveConfig, note, "experiments.exhaustive", shlex.split(command)) == 0
    assert resolved[0].size > 0


def test_the_document_has_commands() -> None:
    assert len(COMMANDS) == 4
