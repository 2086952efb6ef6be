"""Directories that several processes work on at once, and that lose some of them."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from compare_helpers import LAYER, cell, cells, compare, tables
from run_helpers import ended, load, start, trace_rows, wait_for

from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.store.claims import Claim

MAPPERS = "random,logging"
MANY = ",".join([MAPPERS, *(f"ga:population={size}" for size in range(20, 28))])

# Every process that starts with its directory on the path has a mapper that notes its ends.
SITE = """
import os
from zlib import crc32
from maestro_env import mappers
from maestro_env.mappers.base import Mapper


class Logging(Mapper):
    def search(self, evaluator, budget, rng):
        points = evaluator.space.sample(budget, rng)
        evaluator.evaluate(points)
        with open(os.environ["LOG"], "a") as log:
            log.write(f"{crc32(points.tobytes())}\\n")


mappers.MAPPERS = {**mappers.MAPPERS, "logging": "sitecustomize:Logging"}
"""


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A line for every search of ``logging`` that has ended, in whichever process."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    monkeypatch.setenv("PYTHONPATH", f"{site}:{Path(__file__).parents[1]}")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    return tmp_path / "log"


def worker(
    command: str, out: Path, samples: int, seeds: int, mappers: str = MAPPERS
) -> subprocess.Popen[str]:
    plural = "s" if command == "compare" else ""
    flags = [f"--layer{plural}={LAYER}", f"--objective{plural}=latency"]
    flags += [f"--mapper{plural}={mappers}", f"--samples={samples}", f"--seeds={seeds}"]
    return start(command, f"--out={out}", "--resume", *flags)


@pytest.mark.slow
def test_run_and_compare_share_a_new_directory(tmp_path: Path, log: Path) -> None:
    out, alone = tmp_path / "out", tmp_path / "alone"
    out.mkdir()
    alone.mkdir()
    pair = [worker(command, out, 200, 20) for command in ("run", "compare")]
    for process in pair:
        ended(process)
    # 40 searches, each once: those of the mapper that notes it, and all by their number.
    assert len(cells(out)) == 40
    assert list(Counter(log.read_text().split()).values()) == [1] * 20
    ended(worker("compare", alone, 200, 20))
    assert tables(out) == tables(alone)
    assert len(load(out / "summary.json")["mappers"]["logging"]["seeds"]) == 20
    # The run keeps all samples of the searches it ran.
    traced = sum("trace" in load(path) for path in cells(out))
    assert len(trace_rows(out)) == 1 + 200 * traced
    assert not list(out.rglob("*.lock"))


@pytest.mark.slow
def test_30_kills_among_four_workers_lose_nothing_and_repeat_nothing(
    tmp_path: Path, log: Path
) -> None:
    out, alone, samples, seeds = tmp_path / "out", tmp_path / "alone", 2_000, 30
    out.mkdir()
    alone.mkdir()
    rng = random.Random(0)
    commands = ["run", "compare", "run", "compare"]
    workers = [worker(command, out, samples, seeds, MANY) for command in commands]
    kept: dict[Path, bytes] = {}
    for target in sorted(rng.sample(range(1, 9 * seeds), 30)):
        wait_for(lambda target=target: len(cells(out)) >= target)  # type: ignore[misc]
        time.sleep(0.05 * rng.random())
        number = rng.randrange(4)
        workers[number].kill()
        workers[number].communicate()
        now = {path: path.read_bytes() for path in cells(out)}
        assert {path: now.get(path) for path in kept} == kept
        kept = now
        workers[number] = worker(commands[number], out, samples, seeds, MANY)
    assert len(kept) < 10 * seeds
    for each in workers:
        ended(each)
    assert len(cells(out)) == 10 * seeds
    assert {path: path.read_bytes() for path in kept} == kept
    # A kill can repeat the search under way, nothing else.
    noted = Counter(log.read_text().split())
    assert len(noted) == seeds
    assert noted.total() - seeds <= 30
    ended(worker("compare", alone, samples, seeds, MANY))
    assert tables(out) == tables(alone)
    ended(worker("compare", out, samples, seeds, MANY))
    assert not list(out.rglob("*.lock"))
    assert not list(out.rglob(".*.tmp"))


def holder(path: Path, host: str | None = None) -> subprocess.Popen[str]:
    """A process that holds the claim of a file and does nothing else."""
    script = f"""
import socket, sys
from pathlib import Path
if {host!r}:
    socket.gethostname = lambda: {host!r}
from maestro_env.experiments.store.claims import Claim
claim = Claim(Path({str(path)!r}))
assert claim.take()
print("held", flush=True)
sys.stdin.read()
"""
    process = subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_claim_is_held_by_one_and_lapses_with_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "0.json"
    owner, claim = holder(path), Claim(path)
    assert not claim.take()
    assert not Claim(path).take()
    owner.kill()
    owner.communicate()
    assert claim.take()
    claim.give_back()
    assert list(tmp_path.iterdir()) == []


def test_a_claim_that_its_owner_did_not_live_to_sign_lapses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "0.lock").touch()
    claim = Claim(tmp_path / "0.json")
    assert not claim.take()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 2)
    assert not claim.take()
    monkeypatch.setattr(time, "monotonic", lambda: now + 4)
    assert not claim.take()
    assert claim.take()
    claim.give_back()


def test_the_claim_of_another_machine_lapses_once_it_is_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "0.json"
    owner, claim = holder(path, host="elsewhere"), Claim(path)
    owner.kill()
    owner.communicate()
    # Nobody here can tell whether it lives.
    assert not claim.take()
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 29)
    assert not claim.take()
    monkeypatch.setattr(time, "monotonic", lambda: now + 31)
    claim.take()
    assert claim.take()
    claim.give_back()


def test_a_cell_that_another_process_runs_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its owner dies meanwhile: the search is run here, and no other one again."""
    out = tmp_path / "out"
    monkeypatch.setattr("maestro_env.experiments.commands.compare.draw", lambda *_: [])
    assert compare(out, samples=20) == 0
    path = cell(out, "random", 1)
    before, kept = load(path), {each: each.read_bytes() for each in cells(out) if each != path}
    path.unlink()
    owner = holder(path)
    waits = []

    def wait(_: float) -> None:
        waits.append(path.exists())
        owner.kill()
        owner.communicate()

    monkeypatch.setattr("maestro_env.experiments.store.running.time.sleep", wait)
    assert compare(out, "--resume", samples=20) == 0
    assert waits == [False]
    assert load(path)["improvements"] == before["improvements"]
    assert {each: each.read_bytes() for each in kept} == kept


def test_a_claim_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="cannot make directory"):
        Claim(tmp_path / "file" / "0.json")
