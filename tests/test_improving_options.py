"""Options of ``MaestroImprove-v1`` against what the documentation says, counted another way."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import permutations
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import maestro_env
from maestro_env.accelerators.accelerator import HELD_HARDWARE
from maestro_env.base.errors import EnvError, MaestroEnvError, ModelError, UnknownNameError
from maestro_env.environments.improving import MaestroImproveEnv
from maestro_env.environments.named import CONTEXTS
from maestro_env.evaluation.cost_and_status import OK

ID = "MaestroImprove-v1"
EDGE = {"layer": "resnet18_l2", "hardware": "edge"}
TIGHT = {"layer": "gemm:M=6,N=4,K=5", "hardware": "num_pes=4,l1_bytes=12,l2_bytes=64"}
GEMMINI = {"layer": "gemm:M=64,N=64,K=64", "hardware": "gemmini", "model": "hierarchy"}


def make(seed: int = 0, **arguments: Any) -> MaestroImproveEnv:
    env = gymnasium.make(ID, **arguments).unwrapped
    assert isinstance(env, MaestroImproveEnv)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    return env


def walk(env: MaestroImproveEnv, steps: int, rng: np.random.Generator) -> None:
    """Make random moves that masks allow."""
    for _ in range(steps):
        env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))


# --- What is seen ---------------------------------------------------------------------------------


def octaves(number: float, over: float = 8) -> float:
    return math.log2(max(number, 1e-9)) / over


def bottlenecks(env: MaestroImproveEnv) -> list[float]:
    """The features of the present mapping of a convolution, of its mapping and its figures."""
    mapping, cost, problem = env.mapping, env.cost, env.problem
    assert mapping is not None
    assert cost is not None
    hardware: Any = problem.hardware
    layer, pes = problem.layer, hardware.num_pes
    outer, inner = ({loop.dim: loop.size for loop in level.loops} for level in mapping.levels)
    extents = problem.space.extents
    dims = ("K", "C", "Y'", "X'")
    clusters = pes / mapping.levels[1].cluster_size
    figures = cost.figures()
    cycles = cost.latency_cycles
    words = layer.input_words + layer.filter_words + layer.output_words
    offchip = figures["offchip_read_words"] + figures["offchip_write_words"]
    resident = int(figures["l2_resident_tensors"])
    energies = hardware.energies
    parts = [
        layer.macs,
        figures["l1_accesses"] * energies.l1_macs,
        figures["cluster_accesses"] * energies.l1_macs,
        figures["l2_accesses"] * energies.l2_macs,
    ]
    return [
        *(octaves(-(-extents[dim] // outer[dim])) for dim in dims),
        *(octaves(-(-outer[dim] // inner[dim])) for dim in dims),
        *(octaves(clusters), octaves(math.floor(clusters))),
        *(figures["utilization"], figures["active_pes"] / pes),
        octaves(figures["active_pes"] / pes),
        *(figures["l1_bytes"] / hardware.l1_bytes, figures["l2_bytes"] / hardware.l2_bytes),
        octaves(figures["l1_bytes"] / hardware.l1_bytes),
        octaves(figures["l2_bytes"] / hardware.l2_bytes, 16),
        figures["l2_used_bytes"] / hardware.l2_bytes,
        octaves(cycles * pes / layer.macs),
        octaves(offchip / hardware.offchip_bw / cycles),
        octaves(offchip / words),
        figures["compute_sum_cycles"] / cycles,
        *(octaves(figures[f"{each}_sum_cycles"] / cycles) for each in ("ingress", "egress")),
        octaves(figures["steps"], 16),
        *(resident >> tensor & 1 for tensor in range(3)),
        *(octaves(figures[f"{each}_reuse"], 16) for each in ("input", "filter")),
        *(octaves(figures[f"{each}_multicast"]) for each in ("input", "filter")),
        *(part / sum(parts) for part in parts),
        octaves(sum(parts) / layer.macs),
    ]


@pytest.mark.parametrize("layer", ["resnet18_l2", "alexnet_l1", "mobilenetv2_l3"])
def test_bottlenecks_are_those_of_the_present_mapping(layer: str) -> None:
    env = make(layer=layer, hardware="edge", observation="bottlenecks")
    plain = make(layer=layer, hardware="edge")
    rng = np.random.default_rng(1)
    for _ in range(25):
        action = int(rng.choice(np.flatnonzero(env.action_masks())))
        seen, plainly = env.step(action)[0], plain.step(action)[0]
        assert env.observation_space.contains(seen)
        np.testing.assert_array_equal(seen[:-37], plainly)
        expected = np.clip(bottlenecks(env), -3, 3)
        np.testing.assert_allclose(seen[-37:], expected, rtol=1e-5, atol=1e-6)


def test_bottlenecks_are_of_two_levels() -> None:
    with pytest.raises(ModelError, match=r"bottlenecks. needs .*; allowed: model exact"):
        make(objective="latency", observation="bottlenecks", **GEMMINI)
    seen = make(layer="gpt2_l4", model="maestro", observation="bottlenecks").reset(seed=1)[0]
    assert np.isfinite(seen).all()


# --- Moves ----------------------------------------------------------------------------------------


def test_sets_of_moves_have_each_other() -> None:
    names = [make(**EDGE, moves=kind).moves for kind in ("plain", "chunks", "pairs")]
    assert [len(each) for each in names] == [54, 99, 399]
    assert names[2][:99] == names[1]
    assert names[1][:54] == names[0]
    assert len(set(names[2])) == 399


def resized(env: MaestroImproveEnv, values: dict[str, Any], name: str, move: str) -> int:
    """The size after a move, by the words of the documentation."""
    parameter, size = env.space.parameter(name), values[name]
    whole = int(parameter.values[-1])
    if name.startswith("l1_tile"):
        whole = values[name.replace("l1", "l2")]
    chunks = -(-whole // size)

    def least(pieces: int) -> int:
        return next(each for each in range(1, whole + 1) if -(-whole // each) <= pieces)

    asked = {
        "half": size // 2,
        "double": size * 2,
        "one": 1,
        "all": whole,
        "fewer": least(max(chunks - 1, 1)),
        "even": least(chunks),
        # As even as so many chunks can be, though rounding may leave no more than before.
        "more": -(-whole // (chunks + 1)),
    }[move]
    return max([int(each) for each in parameter.values if int(each) <= asked], default=1)


def after(env: MaestroImproveEnv, name: str, move: str) -> Any:
    """The mapping after a move that plain sets do not have."""
    choices = zip(env.space.parameters, env.vector.tolist(), strict=True)  # type: ignore[union-attr]
    values: dict[str, Any] = {each.name: each.values[choice] for each, choice in choices}
    if move.endswith(" innermost"):
        mapping = env.space.loops(env.mapping)[name[:2]]
        dims = [dim for dim in mapping if dim != move.split()[0]]
        order = [env.space.ordered(name).index(dim) for dim in [*dims, move.split()[0]]]
        rank = list(permutations(range(len(order)))).index(tuple(order))
        return env.space.decode(env.space.from_values(values | {name: rank}))
    if ", " in name:
        (level, size), (value, resize) = name.split(", "), move.split(", ")
        changed = {level: value, size: resized(env, values, size, resize)}
    else:
        changed = {name: resized(env, values, name, move)}
    return env.space.decode(env.space.from_values(values | changed))


@pytest.mark.parametrize("tiles", ["integers", "divisors"])
@pytest.mark.parametrize("where", [EDGE, TIGHT])
def test_moves_and_masks_are_what_their_names_say(where: dict[str, Any], tiles: str) -> None:
    env, rng = make(3, **where, moves="pairs", tiles=tiles), np.random.default_rng(2)
    plain = len(make(**where, tiles=tiles).moves)
    for _ in range(3):
        walk(env, 4, rng)
        mask, vector = env.action_masks(), env.vector
        for action in rng.choice(np.arange(plain, len(env.moves)), 60, replace=False).tolist():
            expected = after(env, *env.moves[action])
            _, status = env.problem.evaluate_mapping(expected)
            assert mask[action] == (status == "ok" and expected != env.mapping)
            info = env.step(action)[-1]
            assert maestro_env.STATUSES[info["status"]] == status
            if status == "ok":
                assert env.mapping == expected
                env._after(env._copies.native.try_point(vector))


def test_moves_of_any_memories_keep_to_their_space() -> None:
    env, rng = make(objective="latency", moves="pairs", **GEMMINI), np.random.default_rng(0)
    for _ in range(60):
        mask, before = env.action_masks(), env.mapping
        action = int(rng.integers(len(mask)))
        info = env.step(action)[-1]
        changed = env.mapping != before
        assert mask[action] == (info["status"] == OK and changed)


# --- Rewards and starts ---------------------------------------------------------------------------


def test_only_new_bests_are_paid() -> None:
    env, plain = make(1, **EDGE, reward="best"), make(1, **EDGE)
    values, total, rng = [env.best_objective], 0.0, np.random.default_rng(0)
    for _ in range(60):
        action = int(rng.integers(54))
        reward, info = env.step(action)[1], plain.step(action)[-1]
        values.append(info["objective"])
        total += reward
        assert reward >= 0
        assert (reward > 0) == (min(values[:-1]) > values[-1])
    assert total == pytest.approx(math.log(values[0] / min(values)))


def test_starts_may_be_proposals() -> None:
    optimum = maestro_env.known_optimum("resnet18_l2", "edp", "edge")
    assert optimum is not None
    env = make(**EDGE, start="prior")
    starts = [env.reset(seed=seed)[1]["objective"] for seed in range(8)]
    assert len(set(starts)) > 1
    assert np.median(starts) < 1.5 * optimum.value
    assert env.reset(seed=3)[1]["objective"] == starts[3]
    with pytest.raises(ModelError, match="start='prior' needs"):
        make(objective="latency", start="prior", **GEMMINI)


CHOICES = (
    {"reward": "best", "start": "prior", "observation": "bottlenecks", "moves": "chunks"},
    {"moves": "pairs", "masks": True, "info": "full"},
)


@pytest.mark.parametrize("chosen", CHOICES)
def test_copies_with_options_are_those_of_single_environments(chosen: dict[str, Any]) -> None:
    # Of the second no optimum is known.
    layers = ["resnet18_l2", "conv:K=9,C=5,Y=8,X=8,R=3,S=3"]
    more = {"layers": layers, "hardware": "edge", "episode_length": 4}
    mode = AutoresetMode.NEXT_STEP
    how = {"vectorization_mode": "vector_entry_point", "autoreset_mode": mode}
    envs = gymnasium.make_vec(ID, 3, **how, **more, **chosen)
    truth = gymnasium.make_vec(ID, 3, vectorization_mode="sync", **more, **chosen)
    assert envs.single_observation_space == truth.single_observation_space
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(envs.reset(seed=2)[0], truth.reset(seed=2)[0])
    for _ in range(9):
        actions = rng.integers(envs.single_action_space.n, size=3)  # type: ignore[attr-defined]
        got, expected = envs.step(actions), truth.step(actions)
        np.testing.assert_equal(got[:4], expected[:4])
        assert got[4].keys() == expected[4].keys()
        for name in got[4].keys() - {"best_objective"}:
            np.testing.assert_array_equal(got[4][name], expected[4][name], name)


@pytest.mark.parametrize("chosen", CHOICES)
def test_checkers_are_content_with_options(chosen: dict[str, Any]) -> None:
    check_env(gymnasium.make(ID, **EDGE, **chosen).unwrapped)
    env = make(**EDGE, masks=True)
    _, info = env.reset(seed=0)
    assert info["action_mask"].dtype == np.int8
    np.testing.assert_array_equal(info["action_mask"], env.action_masks())
    np.testing.assert_array_equal(env.step(0)[-1]["action_mask"], env.action_masks())


@pytest.mark.parametrize(
    ("option", "allowed"),
    [
        ("moves", "plain, chunks, pairs"),
        ("observation", "context, bottlenecks"),
        ("reward", "improvement, best"),
        ("start", "random, prior"),
    ],
)
def test_unknown_options_are_refused(option: str, allowed: str) -> None:
    listed = ", ".join(sorted(allowed.split(", ")))
    with pytest.raises(UnknownNameError, match=f"unknown {option} '7': allowed: {listed}"):
        MaestroImproveEnv(**{option: "7"})  # type: ignore[arg-type]


def test_agents_make_no_moves_of_two_parameters() -> None:
    pytest.importorskip("pettingzoo", reason="needs the extra agents")
    with pytest.raises(EnvError, match="moves is 'pairs'; allowed with many agents: 'plain'"):
        maestro_env.parallel_improve_env(moves="pairs")
    env = maestro_env.parallel_improve_env(moves="chunks", masks=True, **EDGE)
    _, infos = env.reset(seed=0, options={"layer": "resnet18_l2", "other": 1})
    assert sum(len(each["action_mask"]) - 1 for each in infos.values()) == 99


# --- Problems -------------------------------------------------------------------------------------


def test_optima_on_the_held_accelerator_are_known() -> None:
    for context in CONTEXTS:
        if context.hardware != HELD_HARDWARE:
            continue
        env = gymnasium.make(context.id, info="full").unwrapped
        assert isinstance(env, MaestroImproveEnv)
        assert all(task.optimum[0] == task.optimum[1] for task in env.tasks)
        _, info = env.reset(seed=0)
        assert info["regret"] == info["objective"] / info["optimum"] - 1 >= 0
        assert info["optimum_gap"] == 0


@pytest.mark.parametrize("make_env", [maestro_env.MaestroEnv, MaestroImproveEnv])
def test_resets_may_choose_layer_and_accelerator(make_env: Callable[..., Any]) -> None:
    layers = ["resnet18_l2", "vgg16_l2", "resnet18_l2"]
    env = make_env(layers=layers, hardware=["edge", "edge", "cloud"])
    for layer, hardware in zip(layers, ["edge", "edge", "cloud"], strict=True):
        env.reset(seed=0, options={"layer": layer, "hardware": hardware})
        assert (env.problem.layer.name, env.problem.hardware.name) == (layer, hardware)
    drawn = set()
    for _ in range(20):
        env.reset(options={"layer": "resnet18_l2"})
        assert env.problem.layer.name == "resnet18_l2"
        drawn.add(env.problem.hardware.name)
    assert drawn == {"edge", "cloud"}
    for options in ({"layer": "alexnet_l2"}, {"layer": "vgg16_l2", "hardware": "cloud"}):
        with pytest.raises(EnvError, match="allowed: layers resnet18_l2, vgg16_l2 on edge, cloud"):
            env.reset(options=options)
    with pytest.raises(EnvError, match="allowed: an accelerator, or a list of one for each of"):
        make_env(layers=layers, hardware=["edge"])


def test_layers_of_other_moves_are_refused() -> None:
    with pytest.raises(MaestroEnvError, match="different parameters"):
        MaestroImproveEnv(layers=["resnet18_l2", "gpt2_l4"])


def test_a_switch_is_true_or_false() -> None:
    with pytest.raises(maestro_env.ArgumentTypeError, match="masks"):
        MaestroImproveEnv(masks="no")  # type: ignore[arg-type]


def test_chips_have_no_pictures_and_say_so() -> None:
    env = gymnasium.make("maestro_env/gemmini-bert_base_l4-edp-v1").unwrapped
    assert env.metadata["render_modes"] == []
    with pytest.raises(maestro_env.UnknownNameError, match="render_mode"):
        gymnasium.make("maestro_env/gemmini-bert_base_l4-edp-v1", render_mode="ansi")


def test_options_of_copies_are_a_mapping() -> None:
    envs = gymnasium.make_vec(
        "maestro_env/transfer-train-v1", 2, vectorization_mode="vector_entry_point"
    )
    with pytest.raises(maestro_env.ArgumentTypeError, match="options"):
        envs.reset(options="x")  # type: ignore[arg-type]
