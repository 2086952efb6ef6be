"""What observations tell of layer, hardware and objective, and episodes of several layers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from maestro_env import CONTEXT, Hardware, MaestroEnv, find_layer
from maestro_env.accelerators.hardware import PRESETS, UNLIMITED
from maestro_env.base.errors import EnvError, MaestroEnvError, UnknownNameError
from maestro_env.environments.making import make_vector_env
from maestro_env.evaluation.objectives import OBJECTIVES, find_objective
from maestro_env.evaluation.observations_and_rewards import context
from maestro_env.workloads.finding import all_layers
from maestro_env.workloads.layer import nest

LAYERS = ["resnet18_l2", "resnet18_l7", "vgg16_l2"]


def bits(figure: float) -> float:
    return math.log2(1 + figure) / 31


def test_every_number_is_what_its_name_says() -> None:
    layer = find_layer("conv:K=64,C=3,Y=58,X=59,R=3,S=2,stride=2x1")
    hardware = Hardware(
        168, 512, 108_000, 64, 16, noc_hops=3, noc_hop_latency=5, simd_lanes=4, offchip_cost_macs=9
    )
    given = dict(zip(CONTEXT, context(layer, hardware, OBJECTIVES["edp"]), strict=True))
    words = {"input": 57 * 59 * 3, "filter": 64 * 3 * 3 * 2, "output": 64 * 28 * 58}
    loops = {"N": 1, "G": 1, "K": 64, "C": 3, "Y'": 28, "X'": 58, "R": 3, "S": 2}
    figures = {
        **{f"extent_{name}": extent for name, extent in loops.items()},
        "stride_Y": 2,
        "stride_X": 1,
        "num_pes": 168,
        "simd_lanes": 4,
        "l1_words": 512,
        "l2_words": 108_000,
        "noc_bw": 64,
        "offchip_bw": 16,
        "noc_latency": 15,
        "l1_macs": 1.68,
        "l2_macs": 18.61,
        "offchip_macs": 9,
    }
    expected = {
        **{name: bits(figure) for name, figure in figures.items()},
        "macs_per_lane": bits(math.prod(loops.values()) / (168 * 4)) / 2,
        **{f"{tensor}_words": bits(number) / 2 for tensor, number in words.items()},
        **{f"{tensor}_per_l2": 0.5 + math.log2(n / 108_000) / 124 for tensor, n in words.items()},
        "objective_latency_cycles": 0.5,
        "objective_energy_nj": 0.5,
    }
    assert set(expected) <= set(CONTEXT)
    assert given == {name: pytest.approx(expected.get(name, 0.0)) for name in CONTEXT}


def test_contexts_are_in_range_and_tell_problems_apart() -> None:
    objectives = [*OBJECTIVES.values(), find_objective("l2_bytes*latency_cycles*latency_cycles")]
    most = Hardware(2**31 - 1, *[2**31 - 1] * 4, simd_lanes=2**31 - 1, offchip_cost_macs=1e9)
    seen = set()
    for layer in all_layers():
        for hardware in (*PRESETS.values(), most):
            for objective in objectives:
                numbers = context(layer, hardware, objective)
                assert numbers.dtype == np.float32
                assert ((numbers >= 0) & (numbers <= 1)).all()
                seen.add(numbers.tobytes())
    # Operators that compute the same are the same to it.
    shapes = {(*nest(layer).values(), *layer.stride) for layer in all_layers()}
    assert len(seen) == len(shapes) * (len(PRESETS) + 1) * len(objectives)
    assert bits(UNLIMITED) < 1


def test_an_observation_ends_with_the_context() -> None:
    env = MaestroEnv("gpt2_l4", "latency", "edge", observation="context")
    plain = MaestroEnv("gpt2_l4", "latency", "edge")
    expected = context(env.problem.layer, env.problem.hardware, env.objective)
    assert env.observation_space.shape == (4 + len(CONTEXT),)
    action = env.space.sample(1, np.random.default_rng(0))[0]
    for step in (lambda each: each.reset()[0], lambda each: each.step(action)[0]):
        assert step(env).tolist() == [*step(plain), *expected]
    with pytest.raises(UnknownNameError, match="unknown observation 'all': allowed: context, cost"):
        MaestroEnv(observation="all")


def drawn(make: object, seeds: list[int | None]) -> list[str]:
    env = make()
    names = []
    for seed in seeds:
        env.reset(seed=seed)
        names.append(env.space.layer.name)
    return names


@pytest.mark.parametrize("make", [MaestroEnv, lambda **given: make_vector_env(2, **given)])
def test_layers_are_drawn_from_the_seed(make: object) -> None:
    seeds = [3, *[None] * 40]
    names = drawn(lambda: make(layers=LAYERS), seeds)
    assert names == drawn(lambda: make(layers=LAYERS), seeds)
    assert set(names) == set(LAYERS)
    assert names != drawn(lambda: make(layers=LAYERS), [4, *[None] * 40])


def test_every_layer_has_its_own_reference_and_best() -> None:
    env = MaestroEnv(layers=LAYERS, observation="context", info="full")
    alone = {name: MaestroEnv(name, observation="context", info="full") for name in LAYERS}
    rng = np.random.default_rng(0)
    for seed in range(12):
        first = env.reset(seed=seed)[0]
        single = alone[env.problem.layer.name]
        assert first.tolist() == single.reset()[0].tolist()
        action = single.space.sample(1, rng)[0]
        (seen, *mine), (expected, *others) = env.step(action), single.step(action)
        assert seen.tolist() == expected.tolist()
        np.testing.assert_equal(mine, others)
        assert env.reference == single.reference
        assert env.best_mapping == single.best_mapping


def test_copies_pay_by_the_layer_of_the_episode() -> None:
    copies = make_vector_env(3, layers=LAYERS, episode_length=2)
    for seed in range(6):
        copies.reset(seed=seed)
        single = MaestroEnv(copies.space.layer)
        actions = single.space.sample(3, np.random.default_rng(seed))
        rewards = copies.step(actions)[1]
        assert rewards.tolist() == [single.step(action)[1] for action in actions]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": ["resnet18_l2", "gpt2_l4"]}, "layers resnet18_l2 and gpt2_l4 have different"),
        ({"layers": []}, "layers is .*; allowed: a list of at least one layer"),
        ({"layers": "resnet18_l2"}, "layers is 'resnet18_l2'; allowed: a list"),
        ({"layers": ["resnet18_l2"], "layer": "vgg16_l2"}, "allowed: one of them"),
        ({"layers": ["resnet18_l2", 5]}, "layer is 5; allowed: a str, .*, or a Layer"),
        ({"objective": "csv_energy_nj"}, "needs csv_energy_nj, which model exact does not compute"),
        ({"render_mode": "human"}, "unknown render_mode 'human': allowed: ansi, rgb_array"),
    ],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises((EnvError, MaestroEnvError), match=message) as refused:
        MaestroEnv(**arguments)
    assert "\n" not in str(refused.value)


def test_rewards_are_finite_where_an_objective_is_zero() -> None:
    """Some mappings of this layer read no partial sums from L2, so that their objective is 0."""
    arguments = {"layer": "resnet18_l2", "objective": "output_psum_reads"}
    env, copies = MaestroEnv(**arguments), make_vector_env(500, **arguments)
    copies.action_space.seed(0)
    actions = copies.action_space.sample()
    rewards, info = copies.step(actions)[1::3]
    assert (info["objective"] == 0).any()
    assert np.isfinite(rewards.astype(np.float32)).all()
    assert rewards.tolist() == [env.step(action)[1] for action in actions]
