"""The MARL mapper: it finds, starts anew, and spends what it says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mapper_helpers import Recorder
from planted import Planted, planted
from run_helpers import load, run

from maestro_env._native import METRICS
from maestro_env.clustering import AgentGroups
from maestro_env.evaluation.cost_and_status import STATUSES, Rows
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mappers.agents.stateless import StatelessAgents
from maestro_env.mappers.agents.team import Heads
from maestro_env.mappers.parts.arrays import Floats, Integers
from maestro_env.mapspace.space import Points

# The search


class Flat(Planted):
    """Whatever the mapping, it costs the same."""

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        return Rows(np.ones((len(points), len(METRICS))), np.zeros(len(points), np.uint8))


class Separable(Planted):
    """Costs grow with how far each parameter is from the middle of its choices."""

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        far = abs(points - self.space.sizes // 2) / self.space.sizes
        metrics = np.repeat(1 + far.sum(axis=1, keepdims=True), len(METRICS), axis=1)
        return Rows(metrics, np.zeros(len(points), np.uint8))


class Narrow(Separable):
    """Of which only mappings with small clusters fit."""

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        rows = super().evaluate(points)
        fits = points[:, -1] < 0.03 * self.space.sizes[-1]
        metrics = np.where(fits[:, np.newaxis], rows.metrics, np.nan)
        return Rows(metrics, np.where(fits, rows.status, STATUSES.index("l1_overflow")))


def searched(text: str, problem: Problem, budget: int, seed: int = 0) -> Recorder:
    recorder = Recorder(problem, "latency", budget)
    make_mapper(text).search(recorder, budget, np.random.default_rng(seed))
    assert recorder.used == budget
    return recorder


@pytest.mark.parametrize("text", ["marl", "marl:agents=4:grouping=random", "marl:agents=1"])
def test_a_search_finds_what_random_search_does_not(text: str) -> None:
    problem = Separable(planted().space)
    found = searched(f"{text}:draw=uniform:patience=0", problem, 2500)
    # The least cost is 1.
    assert found.best.value - 1 < 0.2 * (searched("random", problem, 2500).best.value - 1)
    values = found.trace[0]
    assert np.median(values[-300:]) < np.median(values[:300])


def test_a_search_learns_once_a_mapping_fits() -> None:
    found = searched("marl:draw=uniform:patience=0:batch=16", Narrow(planted().space), 1500)
    fits = np.isfinite(found.trace[0])
    assert not fits[:16].any()
    # By chance, 3 of 100 do.
    assert fits[-300:].mean() > 0.5


@pytest.mark.parametrize("agents", [0, 1, 5, 13])
def test_any_number_of_agents_spends_the_budget(agents: int) -> None:
    found = searched(f"marl:agents={agents}:grouping=random:batch=16", Flat(planted().space), 50)
    assert [len(points) for points in found.points] == [16, 16, 16, 2]
    assert found.warmed_up == 0


# Teams


@pytest.fixture
def teams(monkeypatch: pytest.MonkeyPatch) -> list[StatelessAgents]:
    """Every team there was, in order."""
    made = []

    class Watched(StatelessAgents):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr("maestro_env.mappers.marl.StatelessAgents", Watched)
    return made


def test_without_patience_there_is_one_team(teams: list[StatelessAgents]) -> None:
    found = searched("marl:patience=0:batch=10", Flat(planted().space), 2000)
    assert len(teams) == 1
    assert {len(points) for points in found.points} == {10}


def test_a_team_that_has_settled_gives_way_to_another(teams: list[StatelessAgents]) -> None:
    found = searched("marl:patience=100:batch=10", Flat(planted().space), 1000)
    # A team's first batch is a gain. So 10 samples and 100 in vain each, and what is left.
    assert [len(points) for points in found.points] == [10] * 100
    assert len(teams) == 10


@pytest.mark.parametrize("keep", [0, 1])
def test_agents_of_a_new_team_begin_with_the_best_or_from_nothing(
    teams: list[StatelessAgents], keep: int
) -> None:
    space = planted().space
    found = searched(f"marl:patience=60:batch=10:keep={keep}", Flat(space), 200)
    heads = Heads(space)
    if keep:
        # Of equals, the first is the best.
        actions = heads.starts + found.points[0][0]
        sums = np.logaddexp.reduceat(teams[1]._bias, heads.starts)
        assert (np.exp(teams[1]._bias[actions] - sums) > 0.69).all()
    else:
        np.testing.assert_array_equal(teams[1]._bias, heads.bias)


def test_a_team_that_still_gains_goes_on(teams: list[StatelessAgents]) -> None:
    class Falling(Flat):
        """Every batch is better than the one before it."""

        def evaluate(self, points: Points, threads: int = 1) -> Rows:
            rows = super().evaluate(points)
            return Rows(rows.metrics * 0.9 ** len(recorder.points), rows.status)

    recorder = Recorder(Falling(planted().space), "latency", 600)
    mapper = make_mapper("marl:patience=50:batch=10")
    mapper.search(recorder, 600, np.random.default_rng(0))
    assert len(teams) == 1


def test_a_new_team_knows_nothing_of_earlier_samples(
    monkeypatch: pytest.MonkeyPatch, teams: list[StatelessAgents]
) -> None:
    lessons: dict[int, list[tuple[Integers, Integers]]] = {}
    learn = StatelessAgents.learn

    def watched(team: StatelessAgents, actions: Integers, rewards: Floats, best: Integers) -> None:
        lessons.setdefault(teams.index(team), []).append((actions, best))
        learn(team, actions, rewards, best)

    monkeypatch.setattr(StatelessAgents, "learn", watched)
    searched("marl:patience=30:batch=10:refinement=0:keep=0", Separable(planted().space), 1000)
    assert len(lessons) > 2
    for of_team in lessons.values():
        known: set[tuple[int, ...]] = set()
        for actions, best in of_team:
            known |= set(map(tuple, actions.tolist()))
            assert set(map(tuple, best.tolist())) <= known


# Commands


def test_the_ledger_tells_of_the_warm_up(tmp_path: Path) -> None:
    assert run(tmp_path / "out", "--layer=alexnet_l2", "--mapper=marl_clustered", samples=40) == 0
    figures = load(tmp_path / "out" / "summary.json")["mappers"]["marl_clustered"]
    assert (figures["warm_up"], figures["evaluations"]) == (20_000, 40)


def test_groups_of_a_file_need_no_warm_up(tmp_path: Path) -> None:
    names = [each.name for each in planted().space.parameters]
    path = tmp_path / "groups.json"
    path.write_text(AgentGroups.of([names[:3], names[3:]]).to_json())
    text = f"marl_clustered:groups={path}"
    assert run(tmp_path / "out", "--layer=alexnet_l2", f"--mapper={text}", samples=40) == 0
    figures = load(tmp_path / "out" / "summary.json")["mappers"][text]
    assert (figures["warm_up"], figures["evaluations"]) == (0, 40)


REFUSALS = {
    "agents=-1": "agents is '-1'; allowed: integers from 0 to 1000",
    "agents=1001": "agents is 1001; allowed: integers from 0 to 1000",
    "grouping=randon": "unknown grouping 'randon': did you mean random",
    "policy=net": "unknown policy 'net': allowed: mlp, stateless",
}


@pytest.mark.parametrize(("change", "reason"), REFUSALS.items())
def test_settings_no_layer_allows_are_refused_before_a_run(
    change: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path / "out", f"--mapper=marl:{change}", samples=40) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {reason}")
    assert not (tmp_path / "out").exists()
