"""``maestro-env quantise actors``: what it runs, keeps and refuses, and its model of the rate."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from actorq_helpers import SLEPT, Sleeping, idle
from commands import quantise as main

pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.experiments.papers.quantise import acting
from maestro_env.experiments.papers.quantise.acting import Acted, Acting, Setup, _counts, row_times
from maestro_env.experiments.papers.quantise.actors import goals, rates
from maestro_env.experiments.shell.cli import FAILED, INTERRUPTED
from maestro_env.experiments.store import timing
from maestro_env.mappers.papers.quantised.actorq import ACTING, LEARNING, ActorError, ActorQ, Plan

SMALL = ("actors", "--networks=2x64", "--spi=1", "--seconds=0.2", "--seeds=1")
ALONE = {"infer": 1.0, "step": 3.0, "push": 0.5, "pull": 10.0}
ALONE |= {"sample": 8.0, "learn": 24.0, "publish": 60.0}
SETUP = Setup("cartpole", "2x64", 32, 32, 4.0, 2, 20, 60.0, 0, 0)


def acted(**given: Any) -> Acted:
    shares = dict.fromkeys(ACTING, 12.0), dict.fromkeys(LEARNING, 15.0)
    return replace(Acted(120, 60.0, 480, 2, 2.0, *shares, ALONE, 1.0, []), **given)


@pytest.fixture(autouse=True)
def briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acting, "_TIMINGS", 1)
    monkeypatch.setattr(acting, "EPISODES", 2)
    monkeypatch.setattr(timing, "_LEAST_SECONDS", 0.001)


def test_the_model_has_its_closed_form() -> None:
    plan = Plan(Sleeping, (4,), actors=2, spi=4.0, pull=20, batch=16)
    assert row_times(plan, ALONE, transfers=False) == (4 / 2, 24 * 4 / 16)
    assert row_times(plan, ALONE, transfers=True) == (5 / 2, 32 * 4 / 16 + 3)


@pytest.mark.slow
@pytest.mark.parametrize(("spi", "slower"), [(0.5, 0), (4.0, 1)])
def test_the_slower_side_decides_the_rate(spi: float, slower: int) -> None:
    plan = Plan(Sleeping, (4,), spi=spi, batch=4, least=4)
    learns = 4 * SLEPT
    pair = row_times(plan, {"infer": 0, "step": SLEPT, "learn": learns}, transfers=False)
    assert pair.index(max(pair)) == slower
    with idle(plan, learns) as system:
        system.run(0.3)
        before = _counts(system)
        elapsed = system.run(0.8)
        counts = _counts(system) - before
    assert counts[0] / elapsed * max(pair) < 1.1
    # A busy machine slows both, but only the faster side waits for the other.
    acting, learning = np.split(counts[4:], [len(ACTING)])
    waited = acting[ACTING.index("wait")], learning[LEARNING.index("wait")]
    assert waited[slower] < 0.3 * elapsed
    assert waited[slower] < waited[1 - slower]


@pytest.mark.slow
def test_runs_are_kept_resumed_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main([*SMALL, "--bits=32", f"--out={out}"]) == 0
    (path,) = out.glob("runs/*/*/*.json")
    first, told = path.read_bytes(), json.loads(path.read_text())["acted"]
    assert list(told["alone"]) == ["infer", "step", "push", "pull", "learn", "publish", "sample"]
    assert min(told["alone"].values()) > 0
    assert sum(told["acting"].values()) == pytest.approx(told["seconds"], rel=0.3)
    assert sum(told["learning"].values()) == pytest.approx(told["seconds"], rel=0.1)
    assert told["rows"] > 0
    assert told["curve"] == []
    assert main([*SMALL, "--bits=32,8:8", f"--out={out}", "--resume"]) == 0
    assert path.read_bytes() == first
    shown = capsys.readouterr().out
    lines = [line.split() for line in shown.splitlines() if line.startswith("2x64")]
    assert [line[2] for line in lines] == ["32:32"] * 2 + ["32:32", "8:8"] * 2
    assert lines[0][1:5] == ["1", "32:32", "1", f"{told['rows'] / told['seconds']:,.0f}"]
    assert all(len(line) <= 82 for line in shown.splitlines() if "records" not in line)
    assert main([*SMALL, f"--out={out}", "--resume", "--pull=7"]) == 2


@pytest.mark.slow
def test_policies_are_evaluated_while_actors_wait(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [*SMALL, "--bits=32,32:32", "--evaluations=2", f"--out={tmp_path / 'out'}"]
    assert main(flags) == 0
    (path,) = tmp_path.rglob("runs/*/*/*.json")
    (early, fewer, mean), (late, more, _) = json.loads(path.read_text())["acted"]["curve"]
    assert 0.1 <= early < late < 2
    assert fewer < more
    assert 1 <= mean <= 500
    shown = capsys.readouterr().out
    assert "time to 95 % of the greatest return of 32 bits" in shown
    # Both are one run.
    assert ", " not in next(line for line in shown.splitlines() if line.startswith("2x64"))


def test_runs_have_names_of_their_own(tmp_path: Path) -> None:
    near = [replace(SETUP, spi=spi) for spi in (16.0, 16.000001, 0.25, 0.1)]
    names = [Acting(each, directory=tmp_path).path.parent.name for each in near]
    assert [name.split("-")[3] for name in names] == ["16", "16.000001", "0.25", "0.1"]


def test_measured_rates_stand_next_to_those_of_the_model() -> None:
    # T is 4 / 2 seconds of the actors; with transfers it is 5 / 2, and of the learner
    # 32 * 4 / 256 + 60 / 64: an update takes 64 rows, and --pull is 20.
    (row,) = rates("cartpole", {("2x64", 4.0, (32, 32)): [(SETUP, acted())] * 3}).rows
    told = "2x64", "4", "32:32", 3, "2.00", "0.500", "4.00", "0.400", "5.00", "actors", "1.0"
    assert row == told


def test_the_goal_is_a_share_of_what_full_precision_returns() -> None:
    slow = acted(curve=[(10.0, 100, 50.0), (20.0, 200, 96.0), (30.0, 300, 100.0)])
    fast = acted(curve=[(5.0, 110, 94.0), (10.0, 220, 95.0)])
    none = acted(curve=[(5.0, 110, 94.0)])
    key = "2x64", 4.0
    found = {(*key, (32, 32)): [(SETUP, slow)], (*key, (8, 8)): [(SETUP, fast)]}
    rows = [row[3:] for row in goals("cartpole", found).rows]
    assert rows == [
        ("100.0", "95.0", "20", "200", "2.00", "1.00"),
        ("95.0", "95.0", "10", "220", "2.00", "2.00"),
    ]
    found[*key, (8, 8)].append((SETUP, none))
    assert [*goals("cartpole", found).rows][1][5:] == ("10, never", "-", "2.00", "-")


def test_a_dead_actor_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def dead(_: ActorQ) -> ActorQ:
        raise ActorError("actor 0 of 1 ended with exit status -9")

    monkeypatch.setattr(ActorQ, "__enter__", dead)
    assert main([*SMALL, "--bits=32", f"--out={tmp_path / 'out'}"]) == FAILED
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "actor 0 of 1 ended with exit status -9" in told


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_ends_all_actors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> float:
        raise KeyboardInterrupt

    monkeypatch.setattr(ActorQ, "run", interrupted)
    assert main([*SMALL, f"--out={tmp_path / 'out'}"]) == INTERRUPTED
    assert "interrupted: everything finished is in" in capsys.readouterr().err
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--bits=16"], "--bits: '16'; allowed for actors: 32 or 8, or 32, 16 or 8, a colon"),
        (["--bits=8:16"], "--bits: '8:16'; allowed for actors"),
        (["--bits=:8"], "--bits: ':8'; allowed for actors"),
        (["--bits=8", "--evaluations=3"], "--bits: add 32; what it returns is the goal"),
        (["--spi=0"], "--spi: '0'; allowed: numbers from 0.001 to 1000"),
        (["--networks=9x9"], "unknown network '9x9'"),
        (["--tasks=acrobot"], "unknown task of actors 'acrobot': "),
        (["--actors=0"], "'0'; allowed: integers from 1 to 64"),
        (["--learners=dqn"], "--learners: actors takes only --tasks"),
    ],
)
def test_bad_flags_are_refused(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, [*SMALL, *flags], message)
