"""``maestro-env replay profile``: phases, equal weights, and what networks one by one learn."""

from __future__ import annotations

import csv
import gc
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra rl")

from commands import replay as main  # noqa: E402

from maestro_env.experiments.papers.replay import profile  # noqa: E402
from maestro_env.experiments.papers.replay.one_by_one import OneByOne  # noqa: E402
from maestro_env.experiments.papers.replay.profile import PHASES  # noqa: E402
from maestro_env.experiments.store.timing import Clock  # noqa: E402
from maestro_env.mappers.papers import stacked_networks  # noqa: E402
from maestro_env.mappers.papers.maddpg import Maddpg  # noqa: E402
from maestro_env.mappers.papers.off_policy import OffPolicyLearner  # noqa: E402
from maestro_env.mappers.papers.replay.layouts import Batch, Joint2Replay  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

SMALL = ("profile", "--capacity=400", "--batch=16", "--rounds=2")


def read(path: Path) -> dict[tuple[str, str], dict[str, dict[str, str]]]:
    """Rows of a file by agents and variant, then by phase."""
    found: dict[tuple[str, str], dict[str, dict[str, str]]] = {}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault((row["agents"], row["variant"]), {})[row["phase"]] = row
    return found


def test_phases_are_the_whole_and_layouts_make_no_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "new" / "phases.csv"
    layouts = ("list", "soa", "joint", "joint2")
    flags = ("--learner=masac", f"--layouts={','.join(layouts)}", "--samplers=neighbour_exact")
    assert main([*SMALL, "--agents=2", *flags, f"--csv={path}"]) == 0
    shown = capsys.readouterr()
    found = read(path)
    assert list(found) == [("2", layout) for layout in layouts]
    for rows in found.values():
        assert list(rows) == [*PHASES, "whole"]
        for kind, least in (("cpu_ms", 0.97), ("wall_ms", 0.5)):
            whole = float(rows["whole"][kind])
            assert least < sum(float(rows[phase][kind]) for phase in PHASES) / whole < 1.0001
            assert all(float(rows[phase][kind]) > 0 for phase in PHASES)
    assert len({row["weights"] for rows in found.values() for row in rows.values()}) == 1
    assert "\n2 agents: equal weights after 2 rounds: list, soa, joint, joint2\n" in shown.out
    assert re.search(r"\nphases sum to .* % of the CPU time: within 3 %\n", shown.out)
    assert shown.err == ""


@pytest.mark.slow
def test_variants_differ_in_one_thing_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "phases.csv"
    variants = f"--variants={','.join(profile.VARIANTS)}"
    assert main([*SMALL, "--agents=3", variants, f"--csv={path}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40
    assert "3 agents: equal weights after 2 rounds: base, replay" in lines
    weights = [rows["whole"]["weights"] for rows in read(path).values()]
    assert weights[0] == weights[1]
    assert len(set(weights)) == 4
    base = read(path)["3", "base"]
    whole = next(line.split() for line in lines if line.startswith("whole"))
    assert float(whole[1]) == pytest.approx(float(base["whole"]["cpu_ms"]), rel=0.01)
    update = [
        float(base[phase]["cpu_ms"]) for phase in ("sampling", "target Q", "Q loss", "P loss")
    ]
    shares = [line.split()[-5] for line in lines if re.search(r"\(\d+\)", line)]
    assert [int(share) for share in shares] == [round(100 * each / sum(update)) for each in update]


def test_a_round_is_a_hundred_steps_of_the_task() -> None:
    for each in profile.VARIANTS.values():
        assert profile.STEPS % each.copies == 0
    made = profile.Profiling((2,), ("list",), 400, 16, "float32", "maddpg", {}, 2)
    training = profile._Training(made, profile.VARIANTS["task"], 2)
    before = training.replay.added
    training.rounds(3, Clock())
    assert training.replay.added == before + 300


def test_weights_that_depend_on_the_layout_are_an_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    right = Joint2Replay._read

    def wrong(replay: Joint2Replay, rows: Any) -> Batch:
        return right(replay, (rows + 1) % len(replay))

    monkeypatch.setattr(Joint2Replay, "_read", wrong)
    assert main([*SMALL, "--agents=2", "--layouts=joint,joint2"]) == 1
    assert "2 agents: DIFFERENT weights after 2 rounds" in capsys.readouterr().out


def test_work_within_work_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([(0, 0), (1, 1), (3, 2), (10, 4), (11, 5), (12, 7)])
    monkeypatch.setattr("maestro_env.experiments.store.timing.now", lambda: next(times))
    clock = Clock()
    inner = clock.timed("inner", lambda: "done")
    outer = clock.timed("outer", lambda: (inner(), inner()))
    # From 0 to 12 it takes 12; within, 1 to 3 and 10 to 11 are of the inner one.
    assert outer() == ("done", "done")
    assert (clock.wall, clock.cpu) == ({"inner": 3, "outer": 9}, {"inner": 2, "outer": 5})


def test_networks_one_by_one_learn_what_stacked_ones_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to rounding, if neither draws noise: they draw it in another order."""
    monkeypatch.setattr(stacked_networks, "DTYPE", torch.float64)
    monkeypatch.setattr(OffPolicyLearner, "_noisy", lambda _, logits: logits)
    agents, size, rng = 3, 16, np.random.default_rng(0)

    def draw(width: int) -> Any:
        return rng.normal(size=(size, width)).astype(np.float32)

    def batch() -> Batch:
        hot = [np.eye(5, dtype=np.float32)[rng.integers(5, size=size)] for _ in range(agents)]
        seen, following = ([draw(16) for _ in range(agents)] for _ in range(2))
        return Batch(
            seen, hot, draw(agents), following, (rng.random((size, 3)) < 0.2).astype(np.float32)
        )

    both = [
        each((16,) * agents, ((5,),) * agents, np.random.default_rng(1))
        for each in (Maddpg, OneByOne)
    ]
    for _ in range(3):
        batches = [batch() for _ in range(agents)]
        for learner in both:
            learner.update(batches)
    sets = [[each.actors, *each.critics, each.target_actors, *each.target_critics] for each in both]
    for stacked, apart in zip(*sets, strict=True):
        for one, other in zip(stacked.parameters, apart.parameters, strict=True):
            np.testing.assert_allclose(one.detach(), other.detach(), atol=1e-9)
    seen = [draw(16) for _ in range(agents)]
    for greedy in (True, False):
        assert (both[0].act(seen, greedy) == both[1].act(seen, greedy)).all()


def test_a_replay_is_freed_before_the_next_is_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    filled, made = profile.Profiling.filled, list[weakref.ref[Any]]()

    def watched(*arguments: Any) -> Any:
        assert all(each() is None for each in made)
        replay = filled(*arguments)
        made.append(weakref.ref(replay))
        return replay

    monkeypatch.setattr(profile.Profiling, "filled", watched)
    gc.disable()
    try:
        assert main([*SMALL, "--agents=2", "--variants=base,networks"]) == 0
    finally:
        gc.enable()
    assert len(made) == 4


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--variants=bse"], "unknown variant of a replay 'bse': did you mean base? allowed: "),
        (["--samplers=prioritised"], "allowed: neighbour_exact, shared, uniform"),
        (["--samplers=neighbour_literal"], "allowed: neighbour_exact, shared, uniform"),
        (["--learner=qmix"], "unknown learner 'qmix': allowed: maddpg, masac"),
        (["--learner=masac", "--variants=networks,task"], "leave out the variants base, replay"),
        (["--variants=base", "--layouts=joint"], "--variants: each has a layout and a sampler"),
        (["--rounds=1"], "--rounds"),
        (["--agents=2,9", "--capacity=1000000", "--memory-gib=1"], "list with 9 agents takes "),
    ],
)
def test_bad_flags_are_refused(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, ["profile", *flags], message)


def test_ctrl_c_keeps_finished_trainings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rounds, path = profile._Training.rounds, tmp_path / "phases.csv"

    def interrupted(training: Any, *arguments: Any) -> None:
        if training.variant.layout == "joint":
            raise KeyboardInterrupt
        rounds(training, *arguments)

    monkeypatch.setattr(profile._Training, "rounds", interrupted)
    assert main([*SMALL, "--agents=2", f"--csv={path}"]) == 130
    assert list(read(path)) == [("2", "list")]
    shown = capsys.readouterr()
    assert shown.err == "interrupted: 9 rows were measured\n"
    assert "times faster" in shown.out
