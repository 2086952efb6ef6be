"""Layers, hardware and objectives as texts, and specifications of environments made of them."""

from __future__ import annotations

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode
from hypothesis import example, given
from hypothesis import strategies as st

from maestro_env import Hardware, Layer, MaestroEnvError, find_hardware, find_layer, find_objective
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.environments.task import text_of
from maestro_env.evaluation.objectives import OBJECTIVES, Objective
from maestro_env.workloads.finding import all_layers

names = st.text(max_size=40)
counts = st.integers(1, 2**31 - 1)


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    small = st.integers(1, 60)
    stride = (1, 1)
    if draw(st.booleans()):
        operator, extents = "GEMM", {name: draw(small) for name in "MNK"}
    else:
        operator, extents = "NGCONV", {name: draw(small) for name in "GNKCYX"}
        extents |= {
            "R": draw(st.integers(1, extents["Y"])),
            "S": draw(st.integers(1, extents["X"])),
        }
        stride = (draw(counts), draw(counts))
    return Layer(operator, extents, stride, draw(names), draw(counts))


@given(layers())
@example(Layer("GEMM", {"M": 2, "N": 3, "K": 4}, name="like a file.CSV"))
def test_a_layer_is_read_back(layer: Layer) -> None:
    assert find_layer(text_of(layer)) == layer
    assert find_layer(layer) is layer


@given(
    st.tuples(*[counts] * 5, *[st.integers(0, 40000)] * 2, counts),
    names,
    st.floats(0, 1e9).filter(lambda cost: cost == 0 or cost > 1e-90),
)
def test_hardware_is_read_back(numbers: tuple[int, ...], name: str, cost: float) -> None:
    hardware = Hardware(*numbers, name=name, offchip_cost_macs=cost)
    assert find_hardware(text_of(hardware)) == hardware
    assert find_hardware(hardware) is hardware


def test_what_has_a_name_is_called_by_it() -> None:
    for layer in all_layers():
        assert text_of(layer) == layer.name
    for name, hardware in PRESETS.items():
        assert text_of(hardware) == name
    for name, objective in OBJECTIVES.items():
        assert text_of(objective) == name


def test_an_objective_keeps_its_factors() -> None:
    mine = Objective(
        "ED2P", "cycles^2 x nJ", ("latency_cycles", "latency_cycles", "energy_nj"), None
    )
    assert text_of(mine) == "latency_cycles*latency_cycles*energy_nj"
    assert find_objective(text_of(mine)).factors == mine.factors
    assert find_objective(mine) is mine
    assert text_of(find_objective("edp", "csv")) == "latency_cycles*csv_energy_nj"


@pytest.mark.parametrize(
    ("find", "text", "message"),
    [
        (find_hardware, "num_pes=x", "hardware 'num_pes=x': num_pes is 'x'; allowed: integers"),
        (find_hardware, "num_pes=4,l3=5", "unknown key 'l3'; allowed: num_pes, l1_bytes"),
        (find_hardware, "l1_bytes=4", "num_pes is missing"),
        (find_hardware, "num_pes=4,num_pes=5", "num_pes is given twice"),
        (find_hardware, "num_pes=0", "num_pes is 0; allowed: integers from 1"),
        (find_layer, "gemm:M=1,N=1,K=1,count=0", "count is 0; allowed: integers from 1"),
        (find_layer, "gemm:M=1,N=1,K=1,count=x", "count is 'x'; allowed: integers"),
        (find_objective, "latency_cycles*speed", "unknown metric 'speed'"),
        (find_objective, 5, "objective is 5; allowed: a str, one of latency"),
    ],
)
def test_what_cannot_be_read_is_named(find: object, text: object, message: str) -> None:
    with pytest.raises(MaestroEnvError, match=message) as refused:
        find(text)
    assert "\n" not in str(refused.value)


ARGUMENTS = {
    "layers": [Layer("GEMM", {"M": 3, "N": 4, "K": 5}, name="my, odd=name"), "gemm:M=6,N=7,K=8"],
    "hardware": Hardware(64, 4096, name="mine"),
    "objective": Objective("mine", "odd", ("latency_cycles", "area_um2"), None),
}


def test_a_specification_is_written_and_read() -> None:
    env = gymnasium.make("MaestroEnv-v1", max_episode_steps=7, **ARGUMENTS)
    spec = EnvSpec.from_json(env.spec.to_json())
    again = gymnasium.make(spec)
    assert json.loads(again.spec.to_json()) == json.loads(env.spec.to_json())
    for one, other in zip(env.unwrapped.tasks, again.unwrapped.tasks, strict=True):
        assert one.problem == other.problem
        assert one.reference == other.reference
    for seed in range(3):
        np.testing.assert_equal(env.reset(seed=seed), again.reset(seed=seed))
        np.testing.assert_equal(env.step([1] * 11), again.step([1] * 11))


def test_a_specification_of_copies_is_written_and_read() -> None:
    mode = {"vectorization_mode": "vector_entry_point", "autoreset_mode": AutoresetMode.NEXT_STEP}
    envs = gymnasium.make_vec("MaestroEnv-v1", 3, **mode, **ARGUMENTS)
    again = gymnasium.make_vec(EnvSpec.from_json(envs.spec.to_json()))
    assert type(again) is type(envs)
    assert (again.num_envs, again.metadata) == (3, envs.metadata)
    np.testing.assert_equal(envs.reset(seed=0), again.reset(seed=0))


def test_the_registered_specification_is_written() -> None:
    for version in (0, 1):
        assert f"MaestroEnv-v{version}" in gymnasium.spec(f"MaestroEnv-v{version}").to_json()
