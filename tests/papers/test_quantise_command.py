"""``maestro-env quantise sweep``: what it trains, evaluates and refuses, and what it prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import quantise as main

pytest.importorskip("stable_baselines3", reason="needs the extra rl")

from maestro_env import MaestroEnvError, known_optimum
from maestro_env.environments.improving import MaestroImproveEnv
from maestro_env.experiments.papers.quantise import tasks
from maestro_env.experiments.papers.quantise.sweep import Trained, judged, losses, print_losses
from maestro_env.experiments.papers.quantise.tasks import TASKS, Task, calibrate, evaluate

SMALL = ("sweep", "--tasks=cartpole", "--learners=a2c", "--steps=99", "--seeds=1", "--bits=8")


@pytest.mark.slow
def test_a_sweep_keeps_returns_by_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main([*SMALL, "--qat-bits=8", f"--out={out}"]) == 0
    shown = capsys.readouterr().out
    folder = out / "trainings" / "cartpole-a2c"
    paths = folder / "float" / "0.json", folder / "8-bits" / "0.json"
    plain, aware = (json.loads(path.read_text())["trained"] for path in paths)
    assert list(plain["returns"]) == ["32", "8"]
    assert list(aware["returns"]) == ["8"]
    assert plain["states"] >= 10_000
    assert plain["random"] == aware["random"]
    means = [f"{each:.2f}" for each in (plain["random"], *plain["returns"].values())]
    lines = [line.split() for line in shown.splitlines() if line.startswith("cartpole")]
    after, learnt = lines[0], lines[-1]
    assert after[:6] == ["cartpole", "a2c", "1", *means]
    assert learnt[:8] == ["cartpole", "a2c", "8", "1", *means, f"{aware['returns']['8']:.2f}"]
    assert "quantisation-aware training" in shown


class Recorded:
    """Observations that a policy was shown."""

    def __init__(self) -> None:
        self.seen: set[tuple[float, ...]] = set()
        self.steps = 0

    def act(self, observations: Any) -> Any:
        self.seen |= {tuple(each) for each in observations.tolist()}
        self.steps += len(observations)
        return (observations[:, 2] > 0).astype(int)


@pytest.mark.slow
def test_ranges_come_from_other_states_than_the_evaluations() -> None:
    calibration, evaluation = Recorded(), Recorded()
    states = calibrate(TASKS["cartpole"], calibration.act)
    assert states == calibration.steps >= tasks.STATES
    first = evaluate(TASKS["cartpole"], evaluation.act)
    assert not calibration.seen & evaluation.seen
    # The same resets each time.
    again = Recorded()
    assert evaluate(TASKS["cartpole"], again.act) == first
    assert again.seen == evaluation.seen


def test_a_return_of_a_mapping_is_its_distance_from_the_optimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tasks, "RESETS", 3)
    task = TASKS["mapping-gemm"]
    rng = np.random.default_rng(0)
    moves = rng.integers(38, size=(20, 3))
    steps = iter(moves)
    found = evaluate(task, lambda _: next(steps))
    known = known_optimum("bert_base_l4", "edp", "edge")
    assert known is not None
    wanted = []
    for copy in range(3):
        env = MaestroImproveEnv("bert_base_l4", hardware="edge", episode_length=20)
        env.reset(seed=tasks.EVALUATION + copy)
        for move in moves[:, copy]:
            env.step(int(move))
        assert env.cost is not None
        wanted.append(np.log(known.value / (env.cost.latency_cycles * env.cost.energy_nj)))
    assert found == pytest.approx(np.mean(wanted))
    assert found < 0


def test_losses_against_closed_forms() -> None:
    # By seed: random, 32 bits, two numbers of bits.
    returns = np.array([[0.0, 10, 9, 10], [2, 12, 14, 12]])
    assert losses(returns).tolist() == [15, 0]
    drawn = returns[:, None].repeat(3, axis=1)
    assert losses(drawn).tolist() == [[15, 0]] * 3


@pytest.mark.parametrize(
    ("returns", "why"),
    [
        ([[20, 500, 500], [22, 500, 500]], "saturated"),
        ([[20, 500, 500], [22, 500, 499]], ""),
        ([[20, 15, 9], [22, 30, 9]], "not learnt"),
        ([[20, 40, 9]], ""),
    ],
)
def test_tasks_that_show_nothing_are_named(returns: list[list[float]], why: str) -> None:
    assert judged("cartpole", np.array(returns, dtype=float)) == why
    assert judged("acrobot", np.array([[-500.0, -80, -80], [-500, -80, -80]])) == ""


def test_a_saturated_task_counts_in_no_mean(capsys: pytest.CaptureFixture[str]) -> None:
    def of(full: float, many: float, few: float) -> dict[int, Trained]:
        return {0: Trained({32: full, 8: many, 2: few}, 0.0, 10_000, 1.0)}

    found = {("cartpole", "a2c", 0): of(500, 500, 9), ("cartpole", "dqn", 0): of(100, 98, 10)}
    print_losses(found, (2, 8))
    first, second, lost, *means = capsys.readouterr().out.split("cartpole")[1:]
    assert first.split()[-2:] == ["500.00", "saturated"]
    assert "saturated" not in second.splitlines()[0]
    assert lost.splitlines()[0].split() == ["dqn", "90.0", "2.0"]
    # What stands before the name of the worst task.
    assert [mean.splitlines()[-1].split() for mean in (lost, means[0])] == [
        ["2", "90.0", "90.0"],
        ["8", "2.0", "2.0"],
    ]


def test_a_task_without_its_optimum_is_an_error() -> None:
    task = Task("MaestroImprove-v1", layer="nothing")
    with pytest.raises(MaestroEnvError, match="nothing"):
        task.begun({})


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--tasks=breakout"], "unknown task 'breakout': allowed: acrobot, cartpole"),
        (["--learners=sac"], "unknown learner 'sac': "),
        (["--learners=ddpg"], "no task by its learner; allowed: cartpole by a2c, cartpole by dqn"),
        (["--bits=8,32"], "--bits: '32'; allowed: integers from 2 to 16"),
        (["--qat-bits=one"], "--qat-bits: 'one'; allowed: integers"),
        (["--qat-bits=4"], "--qat-bits: 4 is not among --bits 8; add it"),
        (["--form=int"], "unknown form 'int'"),
        (["--delay=1"], "'1'; allowed: numbers from 0 to 0.99"),
        (["--resume"], "--resume needs --out"),
    ],
)
def test_bad_flags_are_refused(
    flags: list[str], message: str, assert_refused: Callable[..., None]
) -> None:
    assert_refused(main, [*SMALL, *flags], message)
