"""The multi-agent environment keeps PettingZoo's contract and adds nothing to ``MaestroEnv``."""

from __future__ import annotations

import pickle
import sys
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maestro_env
from maestro_env.base.errors import (
    ArgumentTypeError,
    EnvError,
    MaestroEnvError,
    MapSpaceError,
    MissingExtraError,
    UnknownNameError,
)
from maestro_env.clustering.groups import AgentGroups
from maestro_env.environments.env import MaestroEnv
from maestro_env.workloads.layer import Layer

pettingzoo_test = pytest.importorskip("pettingzoo.test", reason="needs the extra agents")
MaestroParallelEnv = pytest.importorskip("maestro_env.environments.parallel").MaestroParallelEnv

LAYER = Layer("GEMM", {"M": 6, "N": 4, "K": 5})
NAMES = [parameter.name for parameter in MaestroEnv(LAYER).space.parameters]


def make(groups: object = None, layer: Layer = LAYER, **arguments: object) -> MaestroParallelEnv:
    return maestro_env.parallel_env(groups, layer=layer, **arguments)


@st.composite
def groupings(draw: st.DrawFn) -> list[list[str]]:
    """Every parameter in one of some groups, in any order."""
    names = draw(st.permutations(NAMES))
    cuts = draw(st.sets(st.integers(1, len(names) - 1)))
    bounds = [0, *sorted(cuts), len(names)]
    return [names[start:end] for start, end in pairwise(bounds)]


def three_groups() -> AgentGroups:
    return AgentGroups.of([NAMES[1::2], NAMES[:1], NAMES[2::2]])


def shared(by_agent: dict[str, object], agents: list[str]) -> object:
    """What all agents have alike."""
    assert list(by_agent) == agents
    first, *others = by_agent.values()
    for other in others:
        np.testing.assert_equal(other, first)
    return first


@pytest.mark.parametrize("groups", [None, three_groups(), [NAMES]])
@pytest.mark.parametrize("action", ["multidiscrete", "box"])
def test_pettingzoo_checker_is_content(groups: object, action: str) -> None:
    env = make(groups, action=action, observation="context", episode_length=20)
    pettingzoo_test.parallel_api_test(env, num_cycles=50)


@pytest.mark.parametrize("groups", [None, three_groups()])
def test_same_seed_same_steps(groups: object) -> None:
    pettingzoo_test.parallel_seed_test(lambda: make(groups), num_cycles=20)


def test_the_seed_draws_the_layer() -> None:
    names = ["resnet18_l2", "vgg16_l2"]
    env = maestro_env.parallel_env(layers=names, observation="context")
    single = MaestroEnv(layers=names, observation="context")
    drawn = set()
    for seed in range(8):
        observations, _ = env.reset(seed=seed)
        seen, _ = single.reset(seed=seed)
        np.testing.assert_array_equal(shared(observations, env.agents), seen)
        drawn.add(env.single.space.layer.name)
    assert len(drawn) == 2


def test_turns_are_taken_by_pettingzoos_conversion() -> None:
    conversions = pytest.importorskip("pettingzoo.utils.conversions")
    pettingzoo_test.api_test(conversions.parallel_to_aec(make()), num_cycles=50)


@given(
    groups=groupings(), action=st.sampled_from(["multidiscrete", "box"]), seed=st.integers(0, 99)
)
def test_every_step_is_that_of_the_single_environment(
    groups: list[list[str]], action: str, seed: int
) -> None:
    arguments = {"action": action, "episode_length": 4}
    env, single = make(groups, **arguments), MaestroEnv(LAYER, **arguments)
    agents = [f"agent_{index}" for index in range(len(groups))]
    assert env.agents == env.possible_agents == agents
    seen, info = single.reset(seed=seed)
    observations, infos = env.reset(seed=seed)
    np.testing.assert_array_equal(shared(observations, agents), seen)
    np.testing.assert_equal(shared(infos, agents), info)
    single.action_space.seed(seed)
    for _ in range(4):
        vector = single.action_space.sample()
        by_name = dict(zip(NAMES, vector, strict=True))
        actions = {}
        for agent, group in zip(agents, groups, strict=True):
            part = np.array([by_name[name] for name in group])
            alone = action == "multidiscrete" and len(group) == 1
            actions[agent] = part[0] if alone else part
            assert env.action_space(agent).contains(actions[agent])
        assert env.agents == agents
        expected = single.step(vector)
        for got, wanted in zip(env.step(actions), expected, strict=True):
            np.testing.assert_equal(shared(got, agents), wanted)
        np.testing.assert_array_equal(env.state(), expected[0])
        assert env.state_space.contains(env.state())
    assert env.agents == []
    assert env.single.best_mapping == single.best_mapping


def test_every_agent_is_told_in_full() -> None:
    env, single = make(three_groups(), info="full"), MaestroEnv(LAYER, info="full")
    _, infos = env.reset(seed=0)
    np.testing.assert_equal(shared(infos, env.agents), single.reset()[1])
    zeros = {agent: 0 * env.action_space(agent).sample() for agent in env.agents}
    told = shared(env.step(zeros)[-1], env.agents)
    np.testing.assert_equal(told, single.step(np.zeros(len(NAMES), dtype=np.int64))[-1])


@given(groupings())
def test_masks_are_those_of_the_single_environment(groups: list[list[str]]) -> None:
    small = {"hardware": "num_pes=4,l1_bytes=12,l2_bytes=64"}
    single = MaestroEnv(LAYER, **small)
    sizes = single.space.sizes
    parts = np.split(single.action_masks(), np.cumsum(sizes)[:-1])
    assert not all(part.all() for part in parts)
    by_name = dict(zip(NAMES, parts, strict=True))
    masks = make(groups, **small).action_masks()
    for mask, group in zip(masks.values(), groups, strict=True):
        assert mask.tolist() == [bit for name in group for bit in by_name[name]]


def test_agents_have_the_names_and_order_of_the_groups() -> None:
    groups = {"tiles": NAMES[2:], "rest": NAMES[1::-1]}
    env = make(groups)
    assert env.possible_agents == ["tiles", "rest"]
    assert env.groups == {agent: tuple(group) for agent, group in groups.items()}
    sizes = dict(zip(NAMES, env.single.space.sizes, strict=True))
    for agent, group in groups.items():
        assert env.action_space(agent).nvec.tolist() == [sizes[name] for name in group]


def test_by_default_every_parameter_has_an_agent() -> None:
    env = make()
    assert list(env.groups.values()) == [(name,) for name in NAMES]
    choices = [env.action_space(agent).n for agent in env.possible_agents]
    assert choices == env.single.space.sizes.tolist()


def test_agents_do_not_share_memory() -> None:
    env = make()
    observations, infos = env.reset()
    before = env.state()
    observations["agent_0"][:] = 7
    infos["agent_0"]["mine"] = 7
    assert "mine" not in infos["agent_1"]
    np.testing.assert_array_equal(observations["agent_1"], before)
    np.testing.assert_array_equal(env.state(), before)


def test_copies_go_on_alike() -> None:
    env = make(three_groups())
    env.reset(seed=0)
    copy = pickle.loads(pickle.dumps(env))
    actions = {agent: env.action_space(agent).sample() for agent in env.agents}
    np.testing.assert_equal(copy.step(actions), env.step(actions))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([NAMES, ["l2_oder"]], r"unknown parameter of agent_1 'l2_oder': did you mean l2_order"),
        ([NAMES[1:]], rf"groups lack {NAMES[0]}; give each to an agent"),
        ([NAMES[3:]], ", ".join(NAMES[:3])),
        ([NAMES, NAMES[:2]], rf"groups repeat {NAMES[0]}, {NAMES[1]}; allowed: each"),
        ([[*NAMES, NAMES[0]]], rf"groups repeat {NAMES[0]}; allowed: each parameter once"),
        ([NAMES, []], "agent_1 has no parameter; give it one"),
        ([], r"groups are \[\]; allowed: lists of names"),
        ({}, r"groups are \{\}; allowed: lists of names"),
        (NAMES, r"groups are \['l2_order', .*; allowed: lists of names"),
        ("l2_order", "groups are 'l2_order'; allowed: lists of names"),
        (3, "groups are 3; allowed: lists of names"),
        ({3: NAMES}, r"groups are \{3: .*; allowed: lists of names"),
        ([[*NAMES, ["l2_order"]]], "unknown parameter of agent_0"),
    ],
)
def test_bad_groups_are_refused_in_one_line(groups: object, message: str) -> None:
    with pytest.raises((EnvError, UnknownNameError), match=message) as refused:
        make(groups)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"agent_99": 0}, "have an unknown agent 'agent_99'; allowed: one action for each of"),
        ({"agent_1": None}, r"lack agent 'agent_1'"),
        ({"agent_1": [0]}, r"action of agent_1 has shape \(1,\); allowed: \(\)"),
        ({"agent_0": 0}, r"action of agent_0 has shape \(\); allowed: \(2,\)"),
        ({"agent_0": [[1], [1, 2]]}, "actions are no array"),
        ({"agent_1": 720}, f"{NAMES[2]} = 720 is not in"),
        ({"agent_1": -1}, f"{NAMES[2]} = -1 is not in"),
        ({"agent_1": 0.5}, "integers, got float64"),
    ],
)
def test_bad_actions_are_refused(change: dict[str, object], message: str) -> None:
    env = make([NAMES[:2], *([name] for name in NAMES[2:])])
    env.reset()
    actions = {agent: env.action_space(agent).sample() * 0 for agent in env.agents} | change
    actions = {agent: action for agent, action in actions.items() if action is not None}
    with pytest.raises((EnvError, MapSpaceError), match=message):
        env.step(actions)
    with pytest.raises(ArgumentTypeError, match=r"actions is \[\]; allowed: a Mapping"):
        env.step([])


def test_an_ended_episode_is_not_continued() -> None:
    env = make(episode_length=1)
    actions = dict.fromkeys(env.agents, 0)
    _, _, terminated, truncated, _ = env.step(actions)
    assert shared(terminated, env.possible_agents)
    assert not shared(truncated, env.possible_agents)
    with pytest.raises(EnvError, match="has ended; call reset"):
        env.step(actions)
    env.reset()
    assert env.agents == env.possible_agents


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "discrete_steps"}, "allowed: 'multidiscrete' or 'box'"),
        ({"layer": "resnet18_l99"}, "resnet18_l99"),
        ({"render_mode": "human"}, "render_mode"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(MaestroEnvError, match=message):
        maestro_env.parallel_env(**arguments)


@pytest.mark.parametrize("groups", [None, three_groups()])
@pytest.mark.parametrize("named", ["parallel_env", "parallel_improve_env"])
def test_masks_are_in_infos_on_request(groups: object, named: str) -> None:
    factory = getattr(maestro_env, named)
    arguments = {"groups": groups, "layer": LAYER, "hardware": "edge", "episode_length": 3}
    env = factory(masks=True, **arguments)
    pettingzoo_test.parallel_api_test(env, num_cycles=20)
    _, infos = env.reset(seed=0)
    for _ in range(3):
        for agent, mask in env.action_masks().items():
            given_mask = infos[agent]["action_mask"]
            assert given_mask.dtype == np.int8
            np.testing.assert_array_equal(given_mask, mask)
        actions = {agent: env.action_space(agent).sample() for agent in env.possible_agents}
        infos = env.step(actions)[4]
    assert "action_mask" not in factory(**arguments).reset(seed=0)[1][env.possible_agents[0]]


def test_boxes_have_no_masks() -> None:
    with pytest.raises(EnvError, match="a Box has no masks"):
        make(action="box", masks=True).reset(seed=0)
    with pytest.raises(EnvError, match="a Box has no masks"):
        make(action="box").action_masks()


def test_without_pettingzoo_it_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "maestro_env.environments.parallel")
    with pytest.raises(MissingExtraError, match=r"pip install -e '.\[agents\]' in a clone"):
        maestro_env.parallel_env()
