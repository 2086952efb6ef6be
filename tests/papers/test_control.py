"""Tasks of dm_control as actors play them, against the suite itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import quantise as main

pytest.importorskip("dm_control", reason="needs the extra control")
pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.experiments.papers.quantise import acting, tasks
from maestro_env.experiments.papers.quantise.tasks import ACTED
from maestro_env.mappers.papers.quantised.actorq import Spaces

NAMES = ("cartpole-balance", "cheetah-run")


@pytest.mark.parametrize("name", NAMES)
def test_a_task_is_that_of_the_suite(name: str) -> None:
    env, rng = ACTED[name].make(), np.random.default_rng(0)
    theirs = tasks._control_suite().load(*name.split("-"), task_kwargs={"random": 7})
    seen, _ = env.reset(seed=7)
    step = theirs.reset()
    for _ in range(1000):
        assert seen.dtype == np.float32
        wanted = np.concatenate([np.ravel(each) for each in step.observation.values()])
        np.testing.assert_array_equal(seen, wanted.astype(np.float32))
        action = rng.uniform(-1, 1, env.action_space.shape).astype(np.float32)
        seen, reward, terminated, truncated, _ = env.step(action)
        step = theirs.step(action)
        assert (reward, terminated, truncated) == (step.reward, False, step.last())
    assert truncated


def test_what_policies_of_the_tasks_take_and_give() -> None:
    found = [Spaces.of(ACTED[name].make()) for name in NAMES]
    assert found == [Spaces(5, 1, False), Spaces(17, 6, False)]


def test_ddpg_plays_a_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(acting, "EPISODES", 1)
    flags = ["actors", "--networks=2x64", "--spi=1", "--seconds=1", "--seeds=1", "--evaluations=1"]
    assert main([*flags, "--tasks=cartpole-balance", f"--out={tmp_path / 'out'}"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line[:4] == "2x64"]
    # An episode of 1,000 steps, of which none is worth more than 1, or less than 0.
    assert 0 < float(rows[0][3]) <= 1000
