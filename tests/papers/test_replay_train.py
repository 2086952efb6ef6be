"""``maestro-env replay train``: what it trains, keeps and refuses, and the statistics it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import replay as main
from scipy import stats

pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.experiments.papers.replay.sample import Worth, worth
from maestro_env.experiments.papers.replay.train import difference, standard_errors, tables
from maestro_env.experiments.papers.replay.training import Setup, Trained, Training
from maestro_env.mappers.papers.off_policy import OffPolicyLearner
from maestro_env.mappers.papers.replay.layouts import Batch, Fields, Replay, make_replay
from maestro_env.mappers.papers.replay.samplers import make_sampler
from maestro_env.mappers.papers.tasks import EPISODE

SMALL = ("train", "--agents=2", "--batch=8", "--episodes=16", "--seeds=2", "--capacity=300")
TINY = Setup("navigation", 2, "masac", "neighbour_literal", 8, 0, 24, 200, 300, "float32")


def trained(out: Path) -> dict[str, dict[str, Any]]:
    """What the records of a directory hold, but for the time, by their paths."""
    found = {}
    for path in sorted(out.glob("trainings/*/*/*.json")):
        entry = json.loads(path.read_text())["trained"]
        del entry["cpu_seconds"]
        found[str(path.relative_to(out))] = entry
    return found


@pytest.mark.slow
def test_a_table_of_records_that_seeds_decide(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [*SMALL, "--samplers=uniform,shared:4"]
    assert main([*flags, f"--out={tmp_path / 'one'}"]) == 0
    shown = capsys.readouterr().out
    found = trained(tmp_path / "one")
    names = [f"{sampler}/{seed}.json" for sampler in ("shared-4", "uniform-8") for seed in (0, 1)]
    assert list(found) == [f"trainings/predator-prey-2-maddpg/{name}" for name in names]
    assert len({each["weights"] for each in found.values()}) == 4
    rows = [line.split() for line in shown.splitlines() if line.startswith("2  ")][:2]
    assert [row[:3] for row in rows] == [["2", "uniform:8", "2"], ["2", "shared:4", "2"]]
    of_uniform = [found[name] for name in found if "uniform" in name]
    means = [np.mean([each[what] for each in of_uniform]) for what in ("random", "half", "last")]
    assert rows[0][3:6] == [f"{mean:.2f}" for mean in means]
    # Some trainings first, the rest later.
    two = tmp_path / "two"
    assert main([*SMALL, "--samplers=uniform", "--seeds=1", f"--out={two}"]) == 0
    assert main([*SMALL, "--samplers=shared:4,uniform", f"--out={two}", "--resume"]) == 0
    assert trained(two) == found


def test_agents_learn_after_every_100_steps_from_rows_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    update, add = OffPolicyLearner.update, Replay.add
    updates, added = list[list[Batch]](), list[Batch]()

    def learn(learner: OffPolicyLearner, batches: list[Batch]) -> None:
        updates.append(batches)
        update(learner, batches)

    def keep(replay: Replay, *rows: Any) -> None:
        added.append(Batch(*rows))
        add(replay, *rows)

    monkeypatch.setattr(OffPolicyLearner, "update", learn)
    monkeypatch.setattr(Replay, "add", keep)
    result = Training(setup=TINY, directory=tmp_path).compute(lambda *_: None)["trained"]
    # 200 rows are there after the second of six rounds.
    assert len(updates) == 5
    for batches in updates:
        assert len(batches) == 2
        sizes = [len(batch.rewards) for batch in batches]
        assert 8 <= sizes[0] == sizes[1] < 8 + 6
    *rounds, random = added
    assert [len(each.rewards) for each in added] == [100] * 6 + [1000 * EPISODE]
    for each in rounds:
        for seen, following in zip(each.observations, each.next_observations, strict=True):
            goes_on = np.arange(1, 100) % EPISODE > 0
            assert (seen[1:][goes_on] == following[:-1][goes_on]).all()
            assert (seen[1:] == following[:-1]).all(axis=1).sum() == goes_on.sum()
    returns = np.array([each.rewards.mean(axis=1).reshape(4, 25).sum(axis=1) for each in rounds])
    assert result["last"] == pytest.approx(returns.mean(), rel=1e-5)
    assert result["half"] == pytest.approx(returns[:3].mean(), rel=1e-5)
    assert result["random"] == pytest.approx(random.rewards.sum() / 2000, rel=1e-5)
    assert result["curve"] == pytest.approx([returns.mean()], rel=1e-5)


@pytest.mark.parametrize("run", [1, 6])
def test_what_batches_are_worth_of_rows_that_come_in_equal_runs(run: int) -> None:
    rng = np.random.default_rng(0)
    replay = make_replay("joint", Fields((3,), (1,)), 6000)
    values = np.repeat(rng.normal(size=(6000 // run, 4)), run, axis=0)
    zeros = np.zeros((6000, 1))
    replay.add([values[:, :3]], [zeros], values[:, 3:], [values[:, :3]], zeros)
    found = {
        name: worth(replay, make_sampler(name, replay, rng), 240)
        for name in ("uniform", "neighbour_literal")
    }
    # Of the six rows around one, k are of its own run and 6 - k of another: their mean varies by
    # (k^2 + (6 - k)^2) / 36, where k is as likely as each of the six places in a run.
    own = [min(3, place) + min(3, 5 - place) for place in range(6)]
    spread = [k**2 + (6 - k) ** 2 for k in own]
    effect = 1.0 if run == 1 else 6 * np.mean(spread) / 36
    for kind in ("observations", "rewards"):
        assert getattr(found["uniform"], kind) == pytest.approx(240, rel=0.15)
        assert getattr(found["neighbour_literal"], kind) == pytest.approx(240 / effect, rel=0.15)


def test_statistics_against_closed_forms() -> None:
    rng = np.random.default_rng(0)
    above = rng.normal(3, 1, size=7)
    random = rng.normal(size=7)
    wanted = stats.ttest_1samp(above, 0).statistic
    assert standard_errors(above + random, random) == pytest.approx(wanted)
    assert standard_errors(above[:1], random[:1]) is None
    # Each mean of two is either of them with a chance of 1/4: so are all ends of the interval.
    found = difference(np.array([10.0, 12.0]), np.array([9.0, 10.0]), np.array([1.0, 1.0]))
    assert found == pytest.approx((100 * -1.5 / 10, 100 * -3 / 11, 100 * 0 / 9))
    assert difference(above, above[:1], random) is None


def test_a_wide_interval_and_a_small_return_are_named() -> None:
    def of(*lasts: float) -> list[Trained]:
        return [Trained(last, last, 1.0, Worth(192, 536), [], "", 60.0) for last in lasts]

    found = {
        (3, "uniform", 1024): of(10, 12),
        (3, "neighbour_exact", 1024): of(1, 2),
        (3, "uniform", 192): of(9, 12),
    }
    returns, differences = (table.rows for table in tables("", found))
    assert returns[0][1:] == ("uniform:1024", 2, "1.00", "11.00", "11.00", "10.0")
    assert returns[1][-1] == "no, 1.0"
    assert differences[0][2:] == ("-", "192", "536", "1.00")
    assert [row[2] for row in differences[1:]] == ["-95.0 (-100 to -89)", "not decided (-27 to 22)"]


def test_nothing_is_decided_by_a_first_sampler_that_has_not_learnt() -> None:
    def of(*lasts: float) -> list[Trained]:
        return [Trained(last, last, 1.0, Worth(192, 536), [], "", 60.0) for last in lasts]

    found = {(3, "uniform", 32): of(1.9, 3.1), (3, "uniform", 8): of(1, 1)}
    returns, differences = (table.rows for table in tables("", found))
    assert returns[0][-1] == "no, 2.5"
    assert differences[1][2].startswith("not decided")


def test_networks_that_do_not_fit_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["train", "--agents=300", "--capacity=100", f"--out={tmp_path / 'out'}"]
    assert main(asked) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("error: --agents 300: networks take ")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--task=tag"], "unknown task 'tag': allowed: navigation, predator-prey"),
        (["--learner=maddgp"], "did you mean maddpg? allowed: maddpg, masac"),
        (["--samplers=prioritised"], "unknown sampler of train 'prioritised': "),
        (["--samplers=uniform:0"], "'uniform:0'; allowed after the colon: integers from 1 to"),
        (["--samplers=uniform:"], "'uniform:'; allowed after the colon"),
        (["--dtype=int8"], "allowed: float16, float32"),
        (["--agents=0"], "--agents: '0'; allowed: integers from 1 to 1000"),
        (["--episodes=18"], "--episodes 18; allowed: multiples of 4"),
        (["--episodes=8"], "--episodes 8; allowed with --batch 8: more than 8"),
        (["--capacity=99"], "--capacity 99; allowed: 100 or more"),
        (["--layouts=soa"], "--layouts: train takes only --agents, --capacity, --batch, "),
        (["--resume"], "--resume needs --out"),
    ],
)
def test_bad_flags_are_refused(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, [*SMALL, *flags], message)
    assert_refused(main, ["sample", "--seeds=2"], "--seeds: sample takes only")
