"""``MaestroImprove-v1``: its moves, masks, rewards, copies and agents."""

from __future__ import annotations

import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st
from two_levels import MODELS

import maestro_env
from maestro_env.base.errors import BudgetExceededError, EnvError, MaestroEnvError, MapSpaceError
from maestro_env.clustering.groups import AgentGroups
from maestro_env.environments.improving import MaestroImproveEnv, MaestroImproveVectorEnv
from maestro_env.environments.information import INFOS
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.mapspace.mapping import Mapping
from maestro_env.workloads.layer import Layer

ID = "MaestroImprove-v1"
SMALL = Layer("GEMM", {"M": 6, "N": 4, "K": 5})
TIGHT = "num_pes=4,l1_bytes=12,l2_bytes=64"
every_model = pytest.mark.parametrize("model", MODELS)
problems = st.fixed_dictionaries(
    {
        "layer": st.sampled_from(["resnet18_l2", "gpt2_l4", "mobilenetv2_l1", SMALL]),
        "hardware": st.sampled_from(["edge", "unlimited", TIGHT]),
        "tiles": st.sampled_from(["integers", "divisors"]),
        "schema": st.sampled_from(["legal13", "paper10"]),
    }
).filter(lambda each: each["hardware"] != TIGHT or each["layer"] == SMALL)


def make(seed: int = 0, **arguments: object) -> MaestroImproveEnv:
    env = gymnasium.make(ID, **arguments).unwrapped
    env.reset(seed=seed)
    env.action_space.seed(seed)
    return env


def make_copies(num_envs: int, **arguments: object) -> MaestroImproveVectorEnv:
    arguments = {"vectorization_mode": "vector_entry_point", **arguments}
    return gymnasium.make_vec(ID, num_envs, **arguments)


def value_of(env: MaestroImproveEnv) -> float:
    return env.objective.of(env.cost.figures())


# --- Contracts of Gymnasium -----------------------------------------------------------------------


@every_model
def test_checkers_are_content(model: str) -> None:
    arguments = {"layer": "alexnet_l7", "hardware": "edge", "model": model}
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    for info in INFOS:
        check_env(gymnasium.make(ID, info=info, **arguments).unwrapped)
        checker.check_env(gymnasium.make(ID, info=info, **arguments))


@every_model
@pytest.mark.parametrize("hardware", ["edge", "unlimited"])
def test_every_start_is_valid_and_told(model: str, hardware: str) -> None:
    env = make(layer="resnet18_l2", hardware=hardware, model=model)
    starts = set()
    for seed in (*range(10), None):
        _, info = env.reset(seed=seed)
        assert info == {"status": OK, "objective": value_of(env)}
        starts.add(tuple(env.vector))
        assert env.best_objective <= info["objective"]
    assert len(starts) == 11
    env.reset(seed=3)
    again = make(3, layer="resnet18_l2", hardware=hardware, model=model)
    assert env.mapping == again.mapping


def test_a_space_without_a_valid_mapping_is_refused() -> None:
    with pytest.raises(MapSpaceError, match=r"no mapping fits"):
        make(layer="resnet18_l2", hardware="num_pes=4,l1_bytes=2,l2_bytes=2")


def test_a_step_before_a_reset_is_refused() -> None:
    for env in (MaestroImproveEnv(), make_copies(2)):
        with pytest.raises(EnvError, match=r"call reset\(\) before the first step"):
            env.step(env.action_space.sample())


@pytest.mark.parametrize("action", [-1, 54, 0.5, [0], "swap"])
def test_bad_actions_are_refused(action: object) -> None:
    with pytest.raises(MapSpaceError, match="allowed: integers"):
        make(layer="resnet18_l2").step(action)


# --- Moves ----------------------------------------------------------------------------------------


def moved(env: MaestroImproveEnv, *moves: tuple[str, str]) -> Mapping:
    """The mapping that moves lead to, by the words of the documentation."""
    before = {
        each.name: each.values[choice]
        for each, choice in zip(env.space.parameters, env.vector.tolist(), strict=True)
    }
    after = {name: value_after(env, before, name, move) for name, move in moves}
    return env.space.decode(env.space.from_values(before | after))


def value_after(env: MaestroImproveEnv, values: dict[str, object], name: str, move: str) -> object:
    parameter, value = env.space.parameter(name), values[name]
    if parameter.kind == "parallel":
        return move
    if parameter.kind == "order":
        dims, place = order_of(env, name, values), int(move.split()[1])
        dims[place : place + 2] = reversed(dims[place : place + 2])
        return next(
            rank for rank in parameter.values if order_of(env, name, values | {name: rank}) == dims
        )
    sizes = list(parameter.values)
    index = sizes.index(value)
    return {
        "-1": sizes[max(index - 1, 0)],
        "+1": sizes[min(index + 1, len(sizes) - 1)],
        "half": max([size for size in sizes if 2 * size <= value], default=1),
        "double": max(size for size in sizes if size <= 2 * value),
    }[move]


def order_of(env: MaestroImproveEnv, name: str, values: dict[str, object]) -> list[str]:
    mapping = env.space.decode(env.space.from_values(values))
    return [loop.dim for loop in mapping.levels[0 if name.startswith("l2") else 1].loops]


@settings(max_examples=15)
@given(problems, st.integers(0, 2**31), st.data())
def test_moves_do_what_their_names_say(
    arguments: dict[str, object], seed: int, data: st.DataObject
) -> None:
    env = make(seed, **arguments)
    assert env.action_space.n == len(env.moves)
    for action in data.draw(st.lists(st.integers(0, len(env.moves) - 1), max_size=8)):
        before, expected = env.mapping, moved(env, env.moves[action])
        info = env.step(action)[-1]
        cost, status = env.problem.evaluate_mapping(expected)
        assert maestro_env.STATUSES[info["status"]] == status
        if status == "ok":
            assert info["objective"] == env.objective.of(cost.figures())
        assert env.mapping == (expected if status == "ok" else before)


@given(problems, st.integers(0, 2**31))
def test_masks_allow_the_moves_to_other_valid_mappings(
    arguments: dict[str, object], seed: int
) -> None:
    env = make(seed, **arguments)
    mask = env.action_masks()
    assert mask.any()
    for action, allowed in enumerate(mask.tolist()):
        expected = moved(env, env.moves[action])
        _, status = env.problem.evaluate_mapping(expected)
        assert allowed == (status == "ok" and expected != env.mapping)


def test_under_maestro_masks_forbid_no_valid_mapping() -> None:
    env = make(layer="resnet18_l2", hardware="edge", model="maestro")
    for _ in range(200):
        mask, before = env.action_masks(), env.mapping
        action = env.action_space.sample()
        env.step(action)
        assert mask[action] or env.mapping == before


# --- Rewards and states ---------------------------------------------------------------------------


@given(problems, st.integers(0, 2**31))
def test_the_return_is_the_logarithm_of_the_improvement(
    arguments: dict[str, object], seed: int
) -> None:
    env = make(seed, **arguments, episode_length=50)
    first, seen, total, ended = value_of(env), None, 0.0, False
    best = first
    while not ended:
        before = env.mapping
        observation, reward, terminated, ended, info = env.step(env.action_space.sample())
        assert not terminated
        assert env.observation_space.contains(observation)
        if info["status"] != OK:
            assert (reward, info["objective"], env.mapping) == (0.0, np.inf, before)
            assert seen is None or (observation == seen).all()
        seen, total, best = observation, total + reward, min(best, info["objective"])
    assert total == pytest.approx(np.log(first / value_of(env)), abs=1e-9)
    assert env.best_objective == best


@given(st.integers(0, 2**31), st.permutations(range(4)))
def test_the_way_to_a_mapping_does_not_matter(seed: int, order: list[int]) -> None:
    one, other = (make(seed, layer=SMALL) for _ in range(2))
    moves = [("l2_order", "swap 0"), ("l1_order", "swap 1"), ("l1_parallel", "M")]
    actions = [one.moves.index(move) for move in [*moves, ("cluster_size", "half")]]
    for index in order:
        one.step(actions[index])
    for action in actions:
        other.step(action)
    assert one.mapping == other.mapping
    action = int(one.action_space.sample())
    for got, expected in zip(one.step(action), other.step(action), strict=True):
        np.testing.assert_equal(got, expected)


def test_states_tell_mappings_apart() -> None:
    env = make(layer=SMALL)
    seen = {}
    for _ in range(500):
        observation = env.step(env.action_space.sample())[0]
        assert seen.setdefault(observation.tobytes(), env.mapping) == env.mapping
    assert len(set(map(str, seen.values()))) == len(seen) > 100


def test_a_reset_draws_the_layer_and_keeps_its_best() -> None:
    env = make(layers=["resnet18_l2", "vgg16_l2"], hardware="edge")
    bests: dict[str, float] = {}
    for seed in range(8):
        _, info = env.reset(seed=seed)
        name = env.space.layer.name
        bests[name] = min(bests.get(name, np.inf), info["objective"])
        assert env.best_objective == bests[name]
        for _ in range(20):
            info = env.step(env.action_space.sample())[-1]
            bests[name] = min(bests[name], info["objective"])
    assert len(bests) == 2


def test_the_present_mapping_is_rendered_and_copied() -> None:
    env = make(layer=SMALL, render_mode="ansi", info="full")
    twin = pickle.loads(pickle.dumps(env))
    assert str(env.mapping).splitlines()[0] in env.render()
    for _ in range(20):
        action = env.action_space.sample()
        np.testing.assert_equal(env.step(action), twin.step(action))


# --- Copies ---------------------------------------------------------------------------------------


@settings(max_examples=10)
@given(
    problems,
    st.sampled_from(sorted(MODELS)),
    st.integers(1, 4),
    st.sampled_from([AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP]),
    st.integers(0, 2**31),
)
def test_copies_have_the_same_results_as_single_environments(
    arguments: dict[str, object], model: str, length: int, mode: AutoresetMode, seed: int
) -> None:
    arguments = {**arguments, "model": model, "schema": "legal13", "episode_length": length}
    env = make_copies(3, autoreset_mode=mode, **arguments)
    truth = make_copies(
        3, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **arguments
    )
    assert env.single_action_space == truth.single_action_space
    assert env.single_observation_space == truth.single_observation_space
    np.testing.assert_equal(env.reset(seed=seed), truth.reset(seed=seed))
    env.action_space.seed(seed)
    for _ in range(10):
        actions = env.action_space.sample()
        *got, info = env.step(actions)
        *expected, true_info = truth.step(actions)
        np.testing.assert_equal(got, expected)
        true_info = true_info.get("final_info", true_info)
        for name in ("status", "objective"):
            np.testing.assert_array_equal(info[name], true_info[name])
        masks = np.array([each.unwrapped.action_masks() for each in truth.envs])
        np.testing.assert_array_equal(env.action_masks(), masks)


def test_starts_are_samples_of_the_budget() -> None:
    env = MaestroImproveEnv("resnet18_l2", hardware="edge")
    evaluator = Evaluator(env.problem, env.objective, budget=40)
    copies = MaestroImproveVectorEnv(evaluator, 4, episode_length=3)
    copies.reset(seed=0)
    asked = []
    for _ in range(7):
        asked.append(evaluator.used)
        copies.step(copies.action_space.sample())
    # A start, three steps and the next start; a last step.
    assert asked == [4, 8, 12, 20, 24, 28, 36]
    assert evaluator.used == 40
    assert copies.best_objective == evaluator.trace[0].min()
    with pytest.raises(BudgetExceededError):
        copies.step(copies.action_space.sample())


# --- Agents ---------------------------------------------------------------------------------------


def make_agents(groups: object = None, **arguments: object) -> object:
    pytest.importorskip("pettingzoo", reason="needs the extra agents")
    return maestro_env.parallel_improve_env(groups, layer=SMALL, **arguments)


def three_groups() -> AgentGroups:
    names = [parameter.name for parameter in MaestroImproveEnv(SMALL).space.parameters]
    return AgentGroups.of([names[1::2], names[:1], names[2::2]])


@pytest.mark.parametrize("groups", [None, three_groups()])
def test_pettingzoo_checker_is_content(groups: object) -> None:
    env = make_agents(groups, hardware=TIGHT, episode_length=20)
    testing = pytest.importorskip("pettingzoo.test")
    testing.parallel_api_test(env, num_cycles=50)
    testing.parallel_seed_test(lambda: make_agents(groups), num_cycles=20)


def test_agents_make_their_moves_together() -> None:
    env = make_agents(three_groups())
    env.reset(seed=0)
    own = {
        agent: [move for move in env.single.moves if move[0] in group]
        for agent, group in env.groups.items()
    }
    assert {agent: env.action_space(agent).n for agent in env.agents} == {
        agent: 1 + len(moves) for agent, moves in own.items()
    }
    rng = np.random.default_rng(0)
    for _ in range(50):
        actions = {agent: int(rng.integers(env.action_space(agent).n)) for agent in env.agents}
        moves = [own[agent][action - 1] for agent, action in actions.items() if action]
        before, expected = value_of(env.single), moved(env.single, *moves)
        rewards = env.step(actions)[1]
        assert env.single.mapping == expected
        improvement = np.log(before / value_of(env.single))
        assert list(rewards.values()) == pytest.approx([improvement] * 3)


def test_agents_that_stay_change_nothing() -> None:
    env = make_agents()
    env.reset(seed=0)
    before = env.single.mapping
    rewards = env.step(dict.fromkeys(env.agents, 0))[1]
    assert set(rewards.values()) == {0.0}
    assert env.single.mapping == before


def test_masks_of_agents_are_those_of_their_moves() -> None:
    env = make_agents(three_groups(), hardware=TIGHT)
    env.reset(seed=0)
    mask = dict(zip(env.single.moves, env.single.action_masks().tolist(), strict=True))
    assert not all(mask.values())
    for agent, own in env.action_masks().items():
        moves = [mask[move] for move in env.single.moves if move[0] in env.groups[agent]]
        assert own.tolist() == [True, *moves]


def test_agents_have_a_move_each() -> None:
    env = make_agents()
    env.reset(seed=0)
    with pytest.raises(MapSpaceError, match="allowed: integers from 0 to"):
        env.step(dict.fromkeys(env.agents, 99))
    with pytest.raises(EnvError, match="lack agent"):
        env.step({})


def test_copies_spend_a_budget_exactly() -> None:
    env = MaestroImproveEnv("gemm:M=8,N=8,K=8")
    evaluator = Evaluator(env.problem, env.objective, budget=99)
    copies = MaestroImproveVectorEnv(evaluator, num_envs=16, episode_length=2)
    copies.reset(seed=0)
    copies.action_space.seed(0)
    while not copies.exhausted:
        copies.step(copies.action_space.sample())
    assert evaluator.used == 99


def test_moves_together_are_of_different_parameters() -> None:
    env = MaestroImproveEnv("gemm:M=8,N=8,K=8")
    with pytest.raises(EnvError, match="call reset"):
        env.action_masks()
    env.reset(seed=0)
    for moves in ([-1], [10**6], [1.7], [0, 1]):
        with pytest.raises(MaestroEnvError):
            env.take(moves)
