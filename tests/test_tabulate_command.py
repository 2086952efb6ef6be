"""``maestro-env tabulate``: what it writes, keeps, continues and refuses."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from commands import tabulate
from run_helpers import contents, edit, load, start

from maestro_env.datasets.tabulated import TABULATED, TabulatedSpace, open_table
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.status import OK
from maestro_env.experiments.commands.tabulate import writer
from maestro_env.experiments.store.claims import Claim

BLOCK = 5000


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture(autouse=True)
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TabulatedSpace:
    """A space that is tabulated in a moment, called tiny."""
    machine = tmp_path / "machine.yaml"
    machine.write_text("num_pes: 4\nl1_bytes: 9\nl2_bytes: 40\n", encoding="utf-8")
    tiny = TabulatedSpace("tiny", "gemm:M=4,N=3,K=1", str(machine), "legal13", "")
    monkeypatch.setitem(TABULATED, "tiny", tiny)  # type: ignore[arg-type]
    monkeypatch.setattr(writer, "_BLOCK", BLOCK)
    return tiny


def table_of(out: Path) -> bytes:
    return (out / "tiny.npy").read_bytes()


def ending_after(blocks: int, error: type[BaseException]) -> Callable[..., bytes]:
    """What evaluates so many blocks of a table and then raises an error."""
    block, done = writer._block, 0

    def evaluate(*arguments: object) -> bytes:
        nonlocal done
        done += 1
        if done > blocks:
            raise error
        return block(*arguments)  # type: ignore[arg-type]

    return evaluate


def test_the_record_and_the_sheet_tell_what_brute_force_tells(
    out: Path, space: TabulatedSpace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tabulate(["tiny", f"--out={out}"]) == 0
    assert {path.name for path in out.iterdir()} == {"tiny.npy", "tiny.json"}
    model, record, shown = space.problem(), load(out / "tiny.json"), capsys.readouterr().out
    points = np.array(list(product(*map(range, model.space.sizes))), dtype=np.int32)
    for name, objective in OBJECTIVES.items():
        values, status = model.score(points, objective)
        optimum = {"optimum": values.min(), "vectors": np.count_nonzero(values == values.min())}
        assert record["objectives"][name] == optimum
        assert f" ({optimum['vectors']:,}) " in shown
    assert record["vectors"] == len(points) > 4 * BLOCK
    assert record["valid"] == np.count_nonzero(status == OK) < len(points)
    assert f"{len(points):,}" in shown


def test_the_table_does_not_depend_on_threads_or_blocks(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tabulate(["tiny", f"--out={out}"]) == 0
    monkeypatch.setattr(writer, "_BLOCK", 7919)
    assert tabulate(["tiny", f"--out={out}-2", "--threads=3"]) == 0
    assert table_of(out) == table_of(Path(f"{out}-2"))


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("torn", [0, 13])
def test_an_interrupted_table_is_continued(
    out: Path,
    error: type[BaseException],
    torn: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = Path(f"{out}-whole")
    assert tabulate(["tiny", f"--out={whole}"]) == 0
    capsys.readouterr()
    with monkeypatch.context() as patched:
        patched.setattr(writer, "_block", ending_after(3, error))
        if error is KeyboardInterrupt:
            assert tabulate(["tiny", f"--out={out}"]) == 130
            assert "repeat the command" in capsys.readouterr().err
        else:
            with pytest.raises(error):
                tabulate(["tiny", f"--out={out}"])
    assert {path.name for path in out.iterdir()} == {"tiny.part", "tiny.json"}
    with pytest.raises(ValueError, match="there is no table"):
        open_table("tiny", out)
    with (out / "tiny.part").open("ab") as file:
        file.write(b"x" * torn)
    # Four blocks are left, and those done are checked first.
    monkeypatch.setattr(writer, "_block", ending_after(5, RuntimeError))
    assert tabulate(["tiny", f"--out={out}"]) == 0
    assert table_of(out) == table_of(whole)


def test_ctrl_c_and_a_kill_lose_no_more_than_a_block(out: Path) -> None:
    sizes = [0]
    for sent, status in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
        with start("tabulate", "classifier", f"--out={out}") as process:
            part = out / "classifier.part"
            while not part.exists() or part.stat().st_size <= sizes[-1]:
                assert process.poll() is None
            sizes.append(part.stat().st_size)
            process.send_signal(sent)
            _, complaint = process.communicate()
        assert process.returncode == status
        assert complaint.count("\n") == (status == 130)
        assert part.stat().st_size >= sizes[-1]
    assert not (out / "classifier.npy").exists()


def test_a_table_that_another_process_makes_is_waited_for(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    claim = Claim(out / "tiny.npy")
    assert claim.take()
    looks: list[float] = []
    monkeypatch.setattr("time.sleep", lambda seconds: (looks.append(seconds), leave()))

    def leave() -> None:
        assert {path.name for path in out.iterdir()} == {"tiny.lock"}
        claim.give_back()

    assert tabulate(["tiny", f"--out={out}"]) == 0
    assert len(looks) == 1
    assert capsys.readouterr().out.count("waiting for the process that makes tiny\n") == 1
    assert {path.name for path in out.iterdir()} == {"tiny.npy", "tiny.json"}


def test_what_is_finished_is_kept_and_checked(
    out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tabulate(["tiny", f"--out={out}"]) == 0
    before = contents(out)
    assert tabulate(["tiny", f"--out={out}"]) == 0
    assert contents(out) == before
    first, second = capsys.readouterr().out.split("tables: ")[:2]
    assert "0.00 GB to write" in second
    assert first.splitlines()[1:] == second.splitlines()[2:]
    changed = bytearray(before["tiny.npy"])
    changed[-1] ^= 1
    for name, content, message in (
        ("tiny.npy", bytes(changed), "does not fit its digest: it was changed; delete"),
        ("tiny.npy", before["tiny.npy"][:-5], "cannot read"),
    ):
        (out / name).write_bytes(content)
        assert tabulate(["tiny", f"--out={out}"]) == 2
        assert message in capsys.readouterr().err
    (out / "tiny.npy").write_bytes(before["tiny.npy"])
    edit(out / "tiny.json", lambda record: record.update(valid=1), sealed=False)
    assert tabulate(["tiny", f"--out={out}"]) == 2
    assert "it was changed; delete" in capsys.readouterr().err


def test_a_part_with_other_values_is_refused(
    out: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(writer, "_block", ending_after(2, KeyboardInterrupt))
        assert tabulate(["tiny", f"--out={out}"]) == 130
    part = out / "tiny.part"
    content = part.read_bytes()
    part.write_bytes(content[:-1000] + bytes(1000))
    capsys.readouterr()
    assert tabulate(["tiny", f"--out={out}"]) == 2
    assert "begun by another version of the model: delete it" in capsys.readouterr().err
    # A part without a whole header has nothing to keep.
    part.write_bytes(content[:50])
    assert tabulate(["tiny", f"--out={out}"]) == 0


def test_too_full_a_disk_and_unknown_names_are_refused(
    assert_refused: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "machine.yaml").unlink()
    assert_refused(tabulate, ["tidy"], "unknown tabulated space 'tidy': did you mean tiny")
    assert_refused(tabulate, ["all,bert_qkv"], "unknown tabulated space 'all'")
    full = shutil.disk_usage(tmp_path)._replace(free=80_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    message = "0.08 GB to write in runs/tables, 0.08 GB free: name fewer spaces, or give another"
    assert_refused(tabulate, ["bert_qkv"], message)
    assert_refused(tabulate, [], "required: SPACES")
