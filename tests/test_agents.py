"""Which agent a search gives which parameters."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import numpy as np
import pytest
from clustering_helpers import dependence_within, partition
from hypothesis import given
from hypothesis import strategies as st
from planted import GROUPS, LATENCY, PARTITION, planted

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.clustering import AgentGroups, SamplesError, cluster
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers.agents.grouping import (
    AgentsError,
    group_parameters,
    read_groups,
    samples_of,
)
from maestro_env.mappers.agents.team import MarlConfig
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

WARM_UP = 6000
SPACE = planted().space
NAMES = tuple(each.name for each in SPACE.parameters)


def agents_of(
    evaluator: Evaluator,
    agents: int = len(GROUPS),
    grouping: str = "clustered",
    warm_up: int = WARM_UP,
    seed: int = 0,
) -> AgentGroups:
    config = MarlConfig(agents=agents, grouping=grouping, warm_up=warm_up)
    return group_parameters(config, evaluator, np.random.default_rng(seed))


@pytest.fixture
def evaluator() -> Evaluator:
    return Evaluator(planted(), LATENCY, budget=10)


def layer_evaluator(layer: str, hardware: Hardware | None = None) -> Evaluator:
    space = MapSpace(find_layer(layer), hardware or find_hardware("paper"))
    return Evaluator(Problem(space), find_objective("edp"), budget=10)


# Learnt from a warm-up


@pytest.mark.parametrize("seed", range(3))
def test_planted_groups_are_found_and_paid_for(evaluator: Evaluator, seed: int) -> None:
    assert partition(agents_of(evaluator, seed=seed)) == PARTITION
    assert (evaluator.warmed_up, evaluator.used, evaluator.best) == (WARM_UP, 0, None)


def test_reversed_groups_are_as_large_and_keep_planted_ones_apart(evaluator: Evaluator) -> None:
    found = agents_of(evaluator, grouping="reversed")
    assert sorted(found.sizes) == sorted(map(len, GROUPS))
    assert evaluator.warmed_up == WARM_UP
    points = SPACE.sample(WARM_UP, np.random.default_rng(1))
    samples = samples_of(SPACE, points, planted().evaluate(points).metrics[:, 0])
    dependence = cluster(samples, len(GROUPS)).dependence
    right = dependence_within(AgentGroups.of(GROUPS), dependence)
    assert dependence_within(found, dependence) < 0.2 * right


def test_the_seed_decides(evaluator: Evaluator) -> None:
    first, again, other = (agents_of(evaluator, 4, "random", seed=seed) for seed in (0, 0, 1))
    assert first == again != other


# Known without samples


@pytest.mark.parametrize(
    ("agents", "grouping", "sizes"),
    [
        (0, "clustered", [1] * 13),
        (13, "reversed", [1] * 13),
        (1, "clustered", [13]),
        (5, "random", [3, 3, 3, 2, 2]),
    ],
)
def test_known_groups_spend_nothing(
    evaluator: Evaluator, agents: int, grouping: str, sizes: list[int]
) -> None:
    found = agents_of(evaluator, agents, grouping)
    assert sorted(found.sizes, reverse=True) == sizes
    assert set(found.names) == set(NAMES)
    assert evaluator.warmed_up == 0


# Read from a file


def test_groups_learnt_on_one_convolution_serve_another(tmp_path: Path) -> None:
    learnt = agents_of(layer_evaluator("resnet18_l2"), 4, warm_up=1000)
    path = tmp_path / "groups.json"
    path.write_text(learnt.to_json())
    assert read_groups(str(path), layer_evaluator("alexnet_l2").space) == learnt


@given(st.randoms(use_true_random=False))
def test_the_order_in_a_file_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, random: Random
) -> None:
    groups = [list(group) for group in GROUPS]
    for group in groups:
        random.shuffle(group)
    random.shuffle(groups)
    path = tmp_path_factory.getbasetemp() / "shuffled.json"
    path.write_text(json.dumps({f"any {i}": group for i, group in enumerate(groups)}))
    ordered = sorted(GROUPS, key=lambda group: min(map(NAMES.index, group)))
    expected = AgentGroups.of(sorted(group, key=NAMES.index) for group in ordered)
    assert read_groups(str(path), SPACE) == expected


def test_the_refusal_of_bad_groups_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text('{"a": ["l3_order"]}')
    told = f"groups {path}, layer resnet18_l2: agent 'a': unknown parameter 'l3_order'"
    with pytest.raises(AgentsError, match=re.escape(told)):
        read_groups(str(path), SPACE)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe")
    for path, reason in (
        (tmp_path / "none.json", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (binary, "can't decode byte"),
    ):
        with pytest.raises(AgentsError, match=f"cannot read groups {path}: .*{reason}"):
            read_groups(str(path), SPACE)


@pytest.mark.parametrize("agents", [0, 3, 13])
def test_files_of_another_number_of_groups_are_refused(tmp_path: Path, agents: int) -> None:
    path = tmp_path / "groups.json"
    path.write_text(AgentGroups.of(GROUPS).to_json())
    assert partition(read_groups(str(path), SPACE, len(GROUPS))) == PARTITION
    told = f"agents is {agents}, but groups {path} has {len(GROUPS)}: leave agents out"
    with pytest.raises(AgentsError, match=re.escape(told)):
        read_groups(str(path), SPACE, agents)


def test_groups_of_one_parameter_each_fit_no_number_of_agents(tmp_path: Path) -> None:
    path = tmp_path / "groups.json"
    path.write_text(AgentGroups.of([name] for name in NAMES).to_json())
    assert read_groups(str(path), SPACE, 0) == read_groups(str(path), SPACE, 13)


# Refused


@pytest.mark.parametrize("agents", [-1, 14])
def test_impossible_numbers_of_agents_are_refused(evaluator: Evaluator, agents: int) -> None:
    expected = (
        f"agents is {agents}; allowed: 0 (one per parameter) to 13, as layer resnet18_l2 has 13 "
        f"parameters: {', '.join(NAMES)}"
    )
    with pytest.raises(AgentsError) as refused:
        agents_of(evaluator, agents)
    assert str(refused.value) == expected
    assert evaluator.warmed_up == 0


def test_a_warm_up_without_valid_samples_leaves_random_groups() -> None:
    evaluator = layer_evaluator("resnet18_l2", Hardware(16, l1_bytes=1, l2_bytes=1))
    groups = agents_of(evaluator, 4, warm_up=500)
    assert evaluator.warmed_up == 500
    assert sorted(groups.sizes) == [3, 3, 3, 4]


# Samples


@given(
    st.lists(st.floats(min_value=0, exclude_min=True, allow_infinity=True), min_size=1, max_size=20)
)
def test_rewards_rank_values_and_stay_finite(values: list[float]) -> None:
    array = np.array(values)
    points = SPACE.sample(len(values), np.random.default_rng(0))
    samples = samples_of(SPACE, points, array)
    valid = np.isfinite(array)
    np.testing.assert_array_equal(samples.rewards > 0, valid)
    if valid.any():
        assert samples.rewards.max() == 1
        ordered = samples.rewards[valid][np.argsort(array[valid])]
        assert (np.diff(ordered) <= 0).all()
    assert samples.names == NAMES
    np.testing.assert_array_equal(samples.points, points)


def test_rewards_are_inverse_values() -> None:
    points = SPACE.sample(4, np.random.default_rng(0))
    rewards = samples_of(SPACE, points, np.array([8.0, np.inf, 2.0, 4.0])).rewards
    assert rewards.tolist() == [0.25, 0.0, 1.0, 0.5]


@pytest.mark.parametrize("value", [np.nan, 0.0, -1.0])
def test_values_that_are_no_costs_are_refused(value: float) -> None:
    points = SPACE.sample(3, np.random.default_rng(0))
    with pytest.raises(SamplesError, match="reward of sample 1 is "):
        samples_of(SPACE, points, np.array([1.0, value, 2.0]))
