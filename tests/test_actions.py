"""Kinds of actions: what they mean, by arithmetic of their own."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.base.errors import EnvError, MapSpaceError
from maestro_env.environments.actions import ACTIONS, binned
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.information import NOT_EVALUATED
from maestro_env.environments.making import make_vector_env
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.problem import Problem

SMALL = "gemm:M=3,N=4,K=5"
TWO = ["gemm:M=3,N=40,K=5", "gemm:M=30,N=4,K=5"]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("observation", ["cost", "context"])
@pytest.mark.parametrize("layers", [[SMALL], TWO])
def test_checkers_are_content(action: str, observation: str, layers: list[str]) -> None:
    env = MaestroEnv(layers=layers, action=action, observation=observation)
    check_env(env, skip_render_check=True)
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(env)


@given(st.floats(-1.5, 1.5, width=32), st.integers(1, 2**20))
def test_parts_of_sizes_have_equal_ratios(action: float, sizes: int) -> None:
    choice = int(binned(np.array([action]), np.array([sizes]), np.array([True]))[0])
    share = (float(max(-1.0, min(1.0, action))) + 1) / 2
    # The sizes from c + 1 on are those whose logarithm is at least this share of all.
    assert 0 <= choice < sizes
    whole = math.log(sizes + 1)
    assert math.log(choice + 1) <= share * whole + 1e-9
    assert share * whole <= math.log(choice + 2) + 1e-9


def test_a_box_draws_small_sizes_as_often_as_large_ones() -> None:
    env = MaestroEnv("gemm:M=255,N=255,K=255", action="box")
    env.action_space.seed(0)
    drawn = []
    for _ in range(2000):
        env.step(env.action_space.sample())
        drawn.append(env.vector)
    for values, parameter in zip(np.array(drawn).T, env.space.parameters, strict=True):
        middle = np.median(values)
        if parameter.kind == "tile":
            assert 12 < middle < 20
        elif parameter.kind != "cluster":
            assert (np.bincount(values) > 200).all()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (np.zeros(3), r"actions are float64 of shape \(3,\); allowed: numbers, shape \(11,\)"),
        (np.full(11, np.nan), "an action is not a number; allowed: numbers from -1 to 1"),
        (None, "actions are None; allowed: numbers"),
    ],
)
def test_what_is_no_box_action_is_refused(action: object, message: str) -> None:
    with pytest.raises(MapSpaceError, match=message):
        MaestroEnv(SMALL, action="box").step(action)


@given(st.data())
def test_steps_make_the_mapping_of_their_choices(data: st.DataObject) -> None:
    whole, env = MaestroEnv(SMALL), MaestroEnv(SMALL, action="discrete_steps", episode_length=2)
    sizes = env.space.sizes.tolist()
    assert env.action_space == gymnasium.spaces.Discrete(max(sizes))
    env.reset()
    for last in (False, True):
        actions = [data.draw(st.integers(0, max(sizes) - 1)) for _ in sizes]
        vector = [action % size for action, size in zip(actions, sizes, strict=True)]
        for place, action in enumerate(actions[:-1], 1):
            seen, reward, *ends, info = env.step(action)
            assert (reward, ends) == (0, [False, False])
            assert (info["status"], env.vector, env.cost) == (NOT_EVALUATED, None, None)
            shares, following = np.split(seen[4:], 2)
            made = [Fraction(c + 1, n) for c, n in zip(vector, sizes, strict=True)][:place]
            expected = [*map(float, made), *[0] * (len(sizes) - place)]
            assert shares.tolist() == pytest.approx(expected)
            assert following.tolist() == np.eye(len(sizes))[place].tolist()
        seen, reward, terminated, truncated, info = env.step(actions[-1])
        truth = whole.step(vector)
        assert seen[:4].tolist() == truth[0].tolist()
        assert seen[4:].tolist() == [*[0] * len(sizes), 1, *[0] * (len(sizes) - 1)]
        assert (reward, terminated, truncated) == (truth[1], False, last)
        assert (info["status"], info["objective"]) == (truth[4]["status"], truth[4]["objective"])
        assert env.vector.tolist() == vector


def test_steps_make_one_mapping_an_episode_unless_told() -> None:
    env = MaestroEnv(SMALL, action="discrete_steps")
    for _ in range(2):
        env.reset()
        ends = [env.step(0)[2:4] for _ in env.space.sizes]
        assert ends == [*[(False, False)] * (len(ends) - 1), (True, False)]


def test_a_reset_forgets_the_choices() -> None:
    env = MaestroEnv(SMALL, action="discrete_steps")
    first = env.reset()[0]
    env.step(1)
    assert env.reset()[0].tolist() == first.tolist()


@pytest.mark.parametrize("action", [-1, 2000, 2**70, 0.5, None, [0], "no"])
@pytest.mark.parametrize("copies", [False, True])
def test_what_is_no_step_is_refused(action: object, copies: bool) -> None:
    env = MaestroEnv(SMALL, action="discrete_steps")
    actions = action
    if copies:
        env, actions = make_vector_env(2, layer=SMALL, action="discrete_steps"), [0, action]
    with pytest.raises(MapSpaceError, match=r"allowed: integers|actions are no array"):
        env.step(actions)


def test_no_action_is_refused() -> None:
    with pytest.raises(MapSpaceError, match="actions are None; allowed: integers"):
        MaestroEnv(SMALL).step(None)
    with pytest.raises(MapSpaceError, match="actions are None; allowed: integers"):
        make_vector_env(2, layer=SMALL).step(None)


def test_choices_beyond_a_layers_wrap_around() -> None:
    env = MaestroEnv(layers=TWO)
    sizes = {str(task.problem.layer): task.space.sizes for task in env.tasks}
    assert env.action_space.nvec.tolist() == np.max(list(sizes.values()), axis=0).tolist()
    env.action_space.seed(0)
    met = set()
    for seed in range(20):
        env.reset(seed=seed)
        layer = str(env.problem.layer)
        met.add(layer)
        action = env.action_space.sample()
        _, _, _, _, info = env.step(action)
        single = MaestroEnv(layer)
        truth = single.step(action % sizes[layer])[4]
        assert (info["status"], info["objective"]) == (truth["status"], truth["objective"])
        assert env.best_mapping is None or env.best_cost is not None
        with pytest.raises(MapSpaceError, match=r"an action is .*; allowed: integers from 0 to"):
            env.step(env.action_space.nvec)
    assert len(met) == 2


class FakeMasks:
    """Allows the even choices of every parameter, and knows what it is asked."""

    complete = True

    def __init__(self, problem: Problem) -> None:
        self.sizes = problem.space.sizes

    def allowed(self, prefix: np.ndarray) -> np.ndarray:
        assert prefix.dtype == np.int32
        mask = np.arange(self.sizes[len(prefix)]) % 2 == 0
        mask[1:] |= bool(prefix.sum() % 2)
        return mask

    def independent(self) -> np.ndarray:
        return np.concatenate([np.arange(size) % 2 == 0 for size in self.sizes])


@pytest.fixture
def fake_masks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maestro_env.environments.task.Masks", FakeMasks)


@pytest.mark.usefixtures("fake_masks")
def test_masks_of_steps_are_those_of_the_choices_so_far() -> None:
    env, copies = (
        make(action="discrete_steps", layers=TWO)
        for make in (MaestroEnv, lambda **arguments: make_vector_env(3, **arguments))
    )
    for each in (env, copies):
        each.reset(seed=0)
    rng = np.random.default_rng(0)
    chosen = np.zeros((3, 0), np.int32)
    masks = FakeMasks(env.problem)
    for size in env.space.sizes:
        expected = np.zeros((3, env.action_space.n), bool)
        for row, prefix in zip(expected, chosen, strict=True):
            row[:size] = masks.allowed(prefix)
        assert env.action_masks().tolist() == expected[0].tolist()
        assert copies.action_masks().tolist() == expected.tolist()
        actions = rng.integers(0, size, 3)
        chosen = np.c_[chosen, actions].astype(np.int32)
        env.step(int(actions[0]))
        copies.step(actions)


@pytest.mark.usefixtures("fake_masks")
def test_masks_of_vectors_leave_out_what_a_layer_lacks() -> None:
    env, copies = MaestroEnv(layers=TWO), make_vector_env(3, layers=TWO)
    for each in (env, copies):
        each.reset(seed=0)
    lines = itertools.chain.from_iterable(
        (choice < size and choice % 2 == 0 for choice in range(most))
        for size, most in zip(env.space.sizes, env.action_space.nvec, strict=True)
    )
    expected = list(lines)
    assert env.action_masks().tolist() == expected
    assert copies.action_masks().tolist() == [expected] * 3


@pytest.mark.usefixtures("fake_masks")
def test_a_box_has_no_masks() -> None:
    for env in (MaestroEnv(action="box"), make_vector_env(2, action="box")):
        with pytest.raises(EnvError, match="allowed: action='multidiscrete' or 'discrete_steps'"):
            env.action_masks()


def test_masked_steps_never_make_an_invalid_mapping() -> None:
    env = MaestroEnv("resnet18_l2", hardware="edge", action="discrete_steps")
    rng = np.random.default_rng(0)
    for _ in range(20):
        env.reset()
        ended = False
        while not ended:
            _, _, ended, _, info = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
        assert info["status"] == OK
