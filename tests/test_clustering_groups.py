from __future__ import annotations

import json
import pickle
from collections import Counter

import numpy as np
import pytest
from clustering_helpers import dependence_within, partition
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.clustering import AgentGroups, Dependence, GroupingError
from maestro_env.clustering.algorithm import random_groups, reversed_groups

NAMES = ("l2_order", "l2_parallel", "l2_tile_K", "l2_tile_C", "cluster_size")
GROUPS = AgentGroups.of(
    [("l2_order", "l2_tile_K"), ("l2_parallel", "cluster_size"), ("l2_tile_C",)]
)


def test_groups_are_a_mapping_in_order() -> None:
    assert list(GROUPS) == ["agent_0", "agent_1", "agent_2"]
    assert len(GROUPS) == 3
    assert GROUPS["agent_1"] == ("l2_parallel", "cluster_size")
    assert "agent_3" not in GROUPS
    with pytest.raises(KeyError):
        GROUPS["agent_3"]
    assert GROUPS.sizes == (2, 2, 1)
    assert sorted(GROUPS.names) == sorted(NAMES)
    assert GROUPS.indices(NAMES).tolist() == [0, 1, 0, 2, 1]
    assert pickle.loads(pickle.dumps(GROUPS)) == GROUPS
    assert hash(GROUPS) == hash(AgentGroups(GROUPS.pairs))


def test_the_two_ends() -> None:
    assert dict(AgentGroups.of([NAMES])) == {"agent_0": NAMES}
    alone = AgentGroups.of([name] for name in NAMES)
    assert list(alone.values()) == [(name,) for name in NAMES]


def test_groups_of_indices_are_numbered_by_their_first_parameters() -> None:
    groups = AgentGroups.from_indices(NAMES, [7, 3, 7, 0, 3])
    assert groups == GROUPS
    assert AgentGroups.from_indices(NAMES, GROUPS.indices(NAMES)) == GROUPS


@given(st.lists(st.integers(0, 5), min_size=1, max_size=13))
def test_json_round_trip(agents: list[int]) -> None:
    names = [f'p"{i}é' for i in range(len(agents))]
    groups = AgentGroups.from_indices(names, agents)
    assert AgentGroups.from_json(groups.to_json(), names) == groups


def test_json_keeps_the_names_of_agents() -> None:
    text = (
        '{"tiles": ["l2_tile_K", "l2_tile_C", "cluster_size"], "rest": ["l2_order", "l2_parallel"]}'
    )
    groups = AgentGroups.from_json(text, NAMES)
    assert list(groups) == ["tiles", "rest"]
    assert json.loads(groups.to_json()) == json.loads(text)


def written(*pairs: tuple[str, object]) -> str:
    return "{" + ", ".join(f'"{agent}": {json.dumps(group)}' for agent, group in pairs) + "}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "groups are not JSON .*; allowed: an object of agents"),
        ("{'a': []}", "groups are not JSON"),
        ("[" * 100_000, "groups are not JSON"),
        ("[1, 2]", r"groups are \[1, 2\]; allowed: an object of agents and their parameters"),
        ("NaN", "groups are nan; allowed"),
        ("{}", "groups have no agent: at least one is needed"),
        (written(("a", "l2_order")), "agent 'a' is not a list of names; allowed"),
        (written(("a", {"b": []})), "agent 'a' is not a list of names"),
        (written(("a", [1])), "agent 'a' is not a list of names"),
        (written(("a", NAMES), ("b", [])), "agent 'b' has no parameter: give it one, or leave it"),
        (written(("a", NAMES[:2]), ("a", NAMES[2:])), "agent a is given twice"),
        (
            written(("a", NAMES), ("b", ["l2_tile_K"])),
            "parameter l2_tile_K is given twice: each is allowed once",
        ),
        (
            written(("a", NAMES), ("b", ["l2_tile_X"])),
            "agent 'b': unknown parameter 'l2_tile_X': did you mean l2_tile_K or .*"
            "allowed: l2_order, .*, cluster_size; leave it out if there is none",
        ),
        (
            written(("a", NAMES[:2]), ("b", NAMES[3:])),
            "no agent has parameter l2_tile_K: give it to one of a, b",
        ),
    ],
)
def test_a_text_that_is_no_groups_of_these_parameters(text: str, message: str) -> None:
    with pytest.raises(GroupingError, match=message):
        AgentGroups.from_json(text, NAMES)


def test_groups_on_another_layer() -> None:
    assert GROUPS.for_names(reversed(NAMES)) == GROUPS
    with pytest.raises(GroupingError, match="no agent has parameter l2_tile_N: give it to one of"):
        GROUPS.for_names((*NAMES, "l2_tile_N"))
    fewer = NAMES[:3]
    with pytest.raises(GroupingError, match="'agent_1': unknown parameter 'cluster_size'"):
        GROUPS.for_names(fewer)


def test_indices_need_the_same_parameters() -> None:
    with pytest.raises(GroupingError, match="no agent has parameter x"):
        GROUPS.indices((*NAMES, "x"))


@given(st.integers(1, 13), st.data())
def test_random_groups_are_even_partitions(d: int, data: st.DataObject) -> None:
    names = [f"p{i}" for i in range(d)]
    agents = data.draw(st.integers(1, d))
    groups = random_groups(names, agents, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert sorted(groups.names) == sorted(names)
    assert len(groups) == agents
    assert max(groups.sizes) - min(groups.sizes) <= 1


def test_every_random_grouping_is_as_likely() -> None:
    rng = np.random.default_rng(0)
    drawn = Counter(frozenset(partition(random_groups(NAMES[:4], 2, rng))) for _ in range(300))
    # 4! / (2! 2!) / 2 partitions into pairs.
    assert len(drawn) == 3
    assert max(drawn.values()) < 130


def test_the_number_of_random_groups_may_be_numpys() -> None:
    drawn = [random_groups(NAMES, n, np.random.default_rng(7)) for n in (2, np.int64(2))]
    assert drawn[0] == drawn[1]


@pytest.mark.parametrize("agents", [0, -1, 6, True])
def test_impossible_numbers_of_random_groups(agents: int) -> None:
    told = f"{agents} agents for 5 parameters; allowed: integers from 1 to 5"
    with pytest.raises(GroupingError, match=told):
        random_groups(NAMES, agents, np.random.default_rng(0))


def random_dependence(d: int, seed: int) -> Dependence:
    half = np.triu(np.random.default_rng(seed).uniform(-1, 1, (d, d)), 1)
    names = tuple(f"p{i}" for i in range(d))
    return Dependence(names, half + half.T + np.eye(d), np.ones(d, dtype=bool), "pearson")


@given(st.lists(st.integers(0, 4), min_size=1, max_size=10), st.integers(0, 99))
def test_reversed_groups_have_the_sizes_and_no_better_exchange(
    agents: list[int], seed: int
) -> None:
    dependence = random_dependence(len(agents), seed)
    groups = AgentGroups.from_indices(dependence.names, agents)
    turned = reversed_groups(groups, dependence)
    assert sorted(turned.sizes) == sorted(groups.sizes)
    assert sorted(turned.names) == sorted(groups.names)
    indices = turned.indices(dependence.names)
    least = dependence_within(turned, dependence)
    for i in range(len(agents)):
        for j in range(i):
            exchanged = indices.copy()
            exchanged[[i, j]] = exchanged[[j, i]]
            other = AgentGroups.from_indices(dependence.names, exchanged)
            assert dependence_within(other, dependence) >= least - 1e-9


def test_reversed_groups_tear_planted_ones_apart() -> None:
    blocks = np.kron(np.eye(3), np.full((3, 3), 0.8))
    np.fill_diagonal(blocks, 1)
    names = tuple("abcdefghi")
    dependence = Dependence(names, blocks, np.ones(9, dtype=bool), "pearson")
    planted = AgentGroups.of(["abc", "def", "ghi"])
    turned = reversed_groups(planted, dependence)
    assert dependence_within(planted, dependence) == pytest.approx(9 * 0.8)
    assert dependence_within(turned, dependence) == 0
    for group in turned.values():
        assert len({"abcdefghi".index(name) // 3 for name in group}) == 3


def test_reversed_ends_stay_what_they_are() -> None:
    dependence = random_dependence(5, 0)
    for groups in (
        AgentGroups.of([dependence.names]),
        AgentGroups.of([name] for name in dependence.names),
    ):
        assert reversed_groups(groups, dependence) == groups
