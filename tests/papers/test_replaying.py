"""The mappers that learn from replay: what they draw, pay for and learn."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from mapper_helpers import Recorder, problem

pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.environments.moves import moves_of
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mappers.agents.archive import Archive
from maestro_env.mappers.agents.team import Heads
from maestro_env.mappers.papers.maddpg import Maddpg
from maestro_env.mappers.papers.off_policy import Settings
from maestro_env.mappers.papers.replaying import Choosing, Episodes, Improving, ReplayConfig, _Team
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

SPACE = problem().space
HEADS = Heads(SPACE)
# Three agents whose parameters are not neighbours.
AGENTS = np.arange(len(SPACE.columns)) % 3
EDGE = Problem(MapSpace(find_layer("mobilenetv2_l2"), PRESETS["edge"]))


def archive_of(budget: int, made: Problem = EDGE) -> Archive:
    return Archive(Recorder(made, "latency", budget), 4, np.random.default_rng(0))


def team(episodes: Episodes, **settings: Any) -> _Team:
    config = ReplayConfig(**settings)
    maddpg = partial(Maddpg, settings=Settings(rate=0.01, discount=0.0))
    return _Team(config, maddpg, episodes, AGENTS, np.random.default_rng(0), 5000)


@pytest.mark.parametrize("exploration", [0.0, 1.0])
def test_teams_begin_with_the_initial_distribution(exploration: float) -> None:
    made = Choosing(SPACE, (10, 40), 3, "log", 1.0)
    actions = team(made, exploration=exploration).draw()[1]
    points = made.points(actions)
    for column, parameter in enumerate(SPACE.parameters):
        start = HEADS.starts[column]
        chances = np.exp(HEADS.bias[start : start + HEADS.counts[column]])
        shares = np.bincount(points[:, column], minlength=parameter.choices) / len(points)
        np.testing.assert_allclose(shares, chances / chances.sum(), atol=0.08)


@pytest.mark.slow
def test_a_team_learns_which_choice_is_paid() -> None:
    made = Choosing(SPACE, (64, 1), 3, "log", 1.0)
    learner = team(made, samples=64, candidates=1)
    column = next(i for i, each in enumerate(SPACE.parameters) if each.choices == 4)
    for _ in range(100):
        seen, actions = learner.draw()
        learner.keep(seen, actions, (actions[:, column] == 2).astype(float))
        learner.update()
    assert (learner.draw()[1][:, column] == 2).mean() > 0.8


def improving(episodes: int = 4, each: int = 3, length: int = 2) -> tuple[Improving, Archive]:
    made, archive = (
        Improving(EDGE.space, (episodes, each), AGENTS, length, 1.0, 8),
        archive_of(1000),
    )
    archive.evaluate(archive.draw(8, "log"))
    assert made.begin(archive)
    return made, archive


def test_steps_are_moves_of_the_environment() -> None:
    made, archive = improving()
    rng = np.random.default_rng(1)
    actions = np.stack([rng.integers(len(each), size=12) for each in made.logits], axis=1)
    moves = moves_of(EDGE.space)
    names = [name for name, _ in moves.names]
    for point, action, present in zip(
        made.points(actions), actions, made._moves.present, strict=True
    ):
        asked = [
            names.index(parameter.name) + choice - 1
            for parameter, choice in zip(EDGE.space.parameters, action, strict=True)
            if choice
        ]
        every = np.ones((1, len(asked)), dtype=np.bool_)
        after = moves.native.after(present[np.newaxis], np.array([asked]), every)
        np.testing.assert_array_equal(EDGE.space.clipped(after)[0], point)
    still = made.points(np.zeros_like(actions))
    np.testing.assert_array_equal(still, made._moves.present)
    assert set(map(tuple, still)) <= set(
        map(tuple, EDGE.space.clipped(archive.best.actions.astype(np.int32)))
    )


def test_rewards_are_logarithms_of_gains_and_add_up() -> None:
    made, _ = improving(length=2)
    latency = find_objective("latency")
    start = EDGE.score(made._moves.present[[0, 3, 6, 9]], latency)[0]
    gained = np.zeros(4)
    for _ in range(2):
        points = made.points(
            np.where(np.arange(len(made.logits)) == 5, 1, 0) * np.ones((12, 1), int)
        )
        values = EDGE.score(points[[0, 3, 6, 9]], latency)[0]
        gained += made.reward(points[[0, 3, 6, 9]], values)
    end = EDGE.score(made._moves.present[[0, 3, 6, 9]], latency)[0]
    np.testing.assert_allclose(gained, np.log(start / end), rtol=1e-9)
    # Invalid mappings are paid nothing, and change nothing.
    before = made._moves.present
    assert not made.reward(points[[0, 3, 6, 9]], np.full(4, np.inf)).any()
    np.testing.assert_array_equal(made._moves.present, before)


def test_agents_see_their_own_parameters_and_all_of_them_are_seen() -> None:
    made, _ = improving()
    widths = [each.shape[1] for each in made.seen()]
    assert sum(widths) == made._moves.seen().shape[1] + 3
    own = np.flatnonzero(AGENTS[made._moves.shown] == 1)
    np.testing.assert_array_equal(made.seen()[1][:, :-1], made._moves.seen()[:, own])


def test_candidates_are_new_and_allowed_where_some_are_and_then_the_most_valuable() -> None:
    archive = archive_of(100)
    known, first, second = EDGE.space.clipped(archive.draw(3, "log"))
    archive.evaluate(known[np.newaxis])
    invalid = EDGE.space.sizes.astype(np.int32) - 1
    points = np.stack([known, first, second, first, known, invalid, known, known, known])
    values = np.array([[9.0, 1, 2], [8, 9, 7], [1, 2, 3]])
    # Episodes do not take the same mapping; the last has no new one.
    np.testing.assert_array_equal(archive.choose(points, values), [2, 3, 8])


def test_draws_are_valid_and_counted() -> None:
    archive = archive_of(200)
    assert np.isfinite(archive.evaluate(archive.draw(150, "log"))).all()
    assert archive.count == 150
    nothing = archive_of(10, problem(l1_bytes=1))
    assert np.isinf(nothing.evaluate(nothing.draw(10, "uniform"))).all()


@pytest.mark.parametrize("episode", ["choose", "improve"])
def test_updates_are_counted_by_samples(monkeypatch: pytest.MonkeyPatch, episode: str) -> None:
    updates: list[int] = []
    monkeypatch.setattr(
        Maddpg, "update", lambda _, batches: updates.append(len(batches[0].rewards))
    )
    recorder = Recorder(problem(), "latency", 55)
    settings = f"episode={episode}:samples=10:updates=0.25:rows=7:first=10:candidates=2"
    make_mapper(f"maddpg:{settings}").search(recorder, 55, np.random.default_rng(0))
    # The last samples are too few for a step of all episodes; first ones are no steps.
    assert updates == [7] * (12 if episode == "choose" else 10)
    assert recorder.used == 55
