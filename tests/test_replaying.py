"""The mappers that learn from replay: what they draw, keep and learn."""

from __future__ import annotations

import numpy as np
import pytest
from mapper_helpers import Recorder, problem

pytest.importorskip("torch", reason="needs the extra rl")

from mappers import make_mapper
from mappers.agents.heads import Heads
from mappers.agents.replaying import ReplayConfig, _Replay, _Team
from mappers.learners.off_policy.learner import Settings
from mappers.learners.off_policy.maddpg import Maddpg

SPACE = problem().space
HEADS = Heads(SPACE)
# Three agents whose parameters are not neighbours.
AGENTS = np.arange(len(SPACE.columns)) % 3


def team() -> _Team:
    settings = Settings(rate=0.01, discount=0.0)
    return _Team(HEADS, AGENTS, Maddpg, settings, np.random.default_rng(0))


def test_teams_begin_with_the_initial_distribution() -> None:
    points = team().draw(1000)
    for column, parameter in enumerate(SPACE.parameters):
        start = HEADS.starts[column]
        chances = np.exp(HEADS.bias[start : start + HEADS.counts[column]])
        shares = np.bincount(points[:, column], minlength=parameter.choices) / len(points)
        np.testing.assert_allclose(shares, chances / chances.sum(), atol=0.06)


def test_choices_of_points_are_ordered_by_agent() -> None:
    points = SPACE.sample(50, np.random.default_rng(0))
    order = np.concatenate([np.flatnonzero(agent == AGENTS) for agent in range(3)])
    np.testing.assert_array_equal(team().actions(points), HEADS.actions(points)[:, order])


@pytest.mark.slow
def test_a_team_learns_which_choice_is_paid() -> None:
    made = team()
    column = next(i for i, each in enumerate(SPACE.parameters) if each.choices == 4)
    for _ in range(60):
        points = made.draw(64)
        made.update(made.actions(points), (points[:, column] == 2).astype(float))
    assert (made.draw(200)[:, column] == 2).mean() > 0.9


def test_replay_holds_the_last_samples() -> None:
    replay = _Replay(ReplayConfig(rows=500), 5, 2)
    for first in (0, 3, 6):
        numbers = np.arange(first, first + 3)
        replay.add(np.stack([numbers, numbers], axis=1), np.full(3, 2.0))
    choices, rewards = replay.draw(np.random.default_rng(0))
    assert set(choices[:, 0]) == {4, 5, 6, 7, 8}
    # All cost what the median of the first ones does.
    np.testing.assert_allclose(rewards, np.log(2))


def test_updates_are_counted_by_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    monkeypatch.setattr(_Team, "update", lambda _, choices, __: rows.append(len(choices)))
    recorder = Recorder(problem(), "latency", 50)
    make_mapper("maddpg:samples=10:updates=0.25:rows=7").search(
        recorder, 50, np.random.default_rng(0)
    )
    # Those after the last samples would be of no use.
    assert rows == [7] * 10
    assert recorder.used == 50
