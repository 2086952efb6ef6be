"""``MaestroConstruct-v1``: all mappings by its decisions alone, as the prior sees them; copies."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

from maestro_env.base.errors import ArgumentTypeError, EnvError, MapSpaceError
from maestro_env.environments.constructing import MaestroConstructEnv
from maestro_env.environments.information import INFOS
from maestro_env.environments.named import CONSTRUCTED
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.observations_and_rewards import CONTEXT
from maestro_env.mapspace.space import Points
from maestro_env.prior.proposals import DECISIONS, FEATURES, OPTIONS, STATE, Proposer

MANY = "maestro_env/construct-train-v1"
SMALL = {"layer": "gemm:M=3,N=2,K=2", "hardware": "num_pes=2,l1_bytes=14,l2_bytes=28"}


def make(seed: int = 0, name: str = "MaestroConstruct-v1", **arguments: Any) -> MaestroConstructEnv:
    env = gymnasium.make(name, **arguments).unwrapped
    assert isinstance(env, MaestroConstructEnv)
    env.reset(seed=seed)
    return env


# --- Decisions ------------------------------------------------------------------------------------


def leaves(env: MaestroConstructEnv, path: tuple[int, ...] = ()) -> Iterator[Points]:
    """Yield the vectors that all allowed decisions lead to."""
    env.reset()
    over = False
    for option in path:
        over = env.step(option)[2]
    if over:
        assert env.vector is not None
        yield env.vector
        return
    for option in np.flatnonzero(env.action_masks()).tolist():
        yield from leaves(env, (*path, option))


def essence(env: MaestroConstructEnv, point: Points) -> tuple[Any, ...]:
    """Return what matters of a mapping: loops that are passed once may stand anywhere."""
    mapping = env.space.decode(point)
    inner_units = mapping.levels[1].cluster_size or 1
    units = (env.problem.hardware.num_pes // inner_units, inner_units)  # type: ignore[union-attr]
    above, found = dict(env.space.extents), []
    for level, count in zip(mapping.levels, units, strict=True):
        order, sizes = [], {}
        for loop in level.loops:
            sizes[loop.dim] = min(loop.size, above[loop.dim])
            chunks = -(-above[loop.dim] // sizes[loop.dim])
            if (-(-chunks // count) if loop.spatial else chunks) > 1:
                order.append(loop.dim)
        spatial = next(loop.dim for loop in level.loops if loop.spatial)
        found.append((spatial, tuple(order), tuple(sorted(sizes.items()))))
        above = sizes
    return (*found, inner_units)


def test_decisions_lead_to_every_mapping_that_fits_and_to_each_once() -> None:
    env = make(**SMALL)
    points = np.array([*product(*map(range, env.space.sizes.tolist()))], dtype=np.int32)
    fitting = points[env.problem.score(points, env.objective)[1] == OK]
    assert 0 < len(fitting) < len(points)
    reached = [essence(env, point) for point in leaves(env)]
    assert len(set(reached)) == len(reached) > 200
    assert set(reached) == {essence(env, point) for point in fitting}


def test_decisions_are_those_of_the_prior_and_the_cost_is_the_evaluators() -> None:
    rng = np.random.default_rng(0)
    for seed in range(6):
        env = make(seed, MANY, masks=True, info="full")
        seen, info = env.reset(seed=seed)
        rows, over, total = [], False, 0.0
        while not over:
            options = int(env.action_masks().sum())
            assert 1 < options == info["action_mask"].sum()
            assert (info["status"], info["objective"], total) == (255, np.inf, 0)
            chosen = int(rng.integers(options))
            rows.append((seen, chosen, options))
            # What is beyond the options is taken modulo their number.
            beyond = chosen + options * int(rng.integers((OPTIONS - 1 - chosen) // options + 1))
            seen, reward, over, truncated, info = env.step(beyond)
            total += reward
        assert not truncated
        value, status = env.problem.score(env.vector[np.newaxis], env.objective)  # type: ignore[index]
        assert (info["objective"], info["status"]) == (value[0], status[0])
        assert info["regret"] == value[0] / info["optimum"] - 1
        assert total == pytest.approx(np.log(env.problem.bound(env.objective) / value[0]))
        trace = Proposer(env.problem, env.objective).trace(env.vector[np.newaxis])  # type: ignore[arg-type, index]
        ends = np.cumsum([0, *trace[3]])
        assert len(rows) == len(trace[0])
        for row, (observed, chosen, options) in enumerate(rows):
            context, kind, state, features = np.split(
                observed, np.cumsum([len(CONTEXT), DECISIONS, STATE])
            )
            np.testing.assert_array_equal(context, env._task.context)
            assert np.flatnonzero(kind).tolist() == [trace[1][row]]
            assert (chosen, options) == (trace[2][row], trace[3][row])
            np.testing.assert_array_equal(state, trace[4][row])
            features = features.reshape(OPTIONS, FEATURES)
            np.testing.assert_array_equal(features[:options], trace[5][ends[row] : ends[row + 1]])
            assert not features[options:].any()


# --- Contracts ------------------------------------------------------------------------------------


@pytest.mark.parametrize("info", INFOS)
def test_checkers_are_content(info: str) -> None:
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    for arguments in ({"layer": "resnet18_l2", "hardware": "edge", "masks": True}, SMALL):
        env = gymnasium.make("MaestroConstruct-v1", info=info, **arguments)
        check_env(env.unwrapped, skip_render_check=True)
        checker.check_env(env)


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("limit", [None, 5])
def test_copies_are_those_of_single_environments(mode: AutoresetMode, limit: int | None) -> None:
    more: dict[str, Any] = {"info": "full", "masks": True, "max_episode_steps": limit}
    how = {"vectorization_mode": "vector_entry_point", "autoreset_mode": mode}
    envs = gymnasium.make_vec(MANY, 4, **how, **more)
    how = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
    truth = gymnasium.make_vec(MANY, 4, **how, **more)
    assert envs.single_observation_space == truth.single_observation_space
    assert envs.single_action_space == truth.single_action_space
    rng = np.random.default_rng(0)
    (seen, info), (true_seen, true_info) = envs.reset(seed=3), truth.reset(seed=3)
    ends = 0
    for _ in range(30):
        np.testing.assert_array_equal(seen, true_seen)
        assert info.keys() >= true_info.keys()
        for name in true_info.keys() - {"best_objective", "_action_mask"}:
            assert info[name].dtype == true_info[name].dtype
            # Of copies without information the values do not count.
            told = true_info.get(f"_{name}", ...)
            np.testing.assert_array_equal(info[name][told], true_info[name][told], name)
        actions = rng.integers(OPTIONS, size=4)
        seen, *got, info = envs.step(actions)
        true_seen, *expected, true_info = truth.step(actions)
        np.testing.assert_equal(got, expected)
        over = got[1] | got[2]
        ends += over.sum()
        if mode is AutoresetMode.SAME_STEP and over.any():
            for each in np.flatnonzero(over):
                np.testing.assert_array_equal(info["final_obs"][each], true_info["final_obs"][each])
                for name in ("objective", "status", "vector"):
                    told = true_info["final_info"][name][each]
                    np.testing.assert_array_equal(info[name][each], told)
            true_info = {"action_mask": true_info["action_mask"]}
        if mode is AutoresetMode.DISABLED and over.any():
            seen, info = envs.reset(options={"reset_mask": over})
            true_seen, true_info = truth.reset(options={"reset_mask": over})
    assert ends > 4


def test_a_copy_goes_on_apart() -> None:
    env = make(3, MANY)
    env.step(1)
    twin = copy.deepcopy(env)
    twin.step(0)
    again = make(3, MANY)
    again.step(1)
    for _ in range(3):
        np.testing.assert_array_equal(env.step(1)[0], again.step(1)[0])


def test_seeds_draw_the_layers_of_the_transfer_tasks() -> None:
    for each in CONSTRUCTED[::2]:
        how = {"vectorization_mode": "vector_entry_point"}
        pair = [
            gymnasium.make_vec(name, 5, **how).unwrapped
            for name in (each.id, each.id.replace("construct", "transfer"))
        ]
        for envs in pair:
            envs.reset(seed=7)
        assert pair[0].layers == pair[1].layers  # type: ignore[attr-defined]


def test_what_is_not_allowed_is_refused() -> None:
    env = gymnasium.make("MaestroConstruct-v1", **SMALL).unwrapped
    with pytest.raises(EnvError, match=r"nothing to decide; call reset\(\)"):
        env.step(0)
    env.reset(seed=0)
    for action in (-1, OPTIONS, 0.5, [0]):
        with pytest.raises(MapSpaceError, match="allowed: integers"):
            env.step(action)
    while not env.step(0)[2]:
        pass
    with pytest.raises(EnvError, match=r"nothing to decide; call reset\(\)"):
        env.step(0)
    with pytest.raises(ArgumentTypeError, match="masks is 1; allowed: a bool, True or False"):
        make(masks=1)
    with pytest.raises(MapSpaceError, match="no mapping fits"):
        make(layer="resnet18_l2", hardware="num_pes=4,l1_bytes=2,l2_bytes=2")
    with pytest.raises(EnvError, match=r"allowed: none, as .*; MaestroConstruct-v1 takes it"):
        gymnasium.make(MANY, layer="resnet18_l2")
