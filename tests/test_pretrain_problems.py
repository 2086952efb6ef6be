"""Training problems: what they depend on, what they span, and what is held out."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import product, repeat
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.accelerators.finding import known_hardware
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.base.errors import UnknownNameError
from maestro_env.environments.task import Task
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.problems import drawn
from maestro_env.experiments.problems.drawn import (
    HELD_MACHINE,
    distinct_layers,
    has_mapping,
    random_problem,
    shapes_of,
    training_problem,
    zoo_problems,
)
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import all_layers, models
from maestro_env.workloads.layer import Layer


def facts(task: Task) -> tuple[Layer, Hardware, str, str]:
    problem = task.problem
    return problem.layer, problem.hardware, problem.space.schema, task.objective.name


def test_a_problem_follows_from_the_seed_and_its_number() -> None:
    numbers = (0, 1, 2, 99, 5000)
    forwards = [facts(training_problem(7, number)) for number in numbers]
    zoo_problems.cache_clear()
    backwards = [facts(training_problem(7, number)) for number in reversed(numbers)]
    assert forwards == backwards[::-1]
    assert len({str(each) for each in forwards}) == len(numbers)
    assert [facts(training_problem(8, number)) for number in numbers] != forwards


def test_every_layer_of_the_zoo_is_there_on_every_preset() -> None:
    tasks = zoo_problems(3)
    there = {
        (task.problem.layer.shape, task.problem.hardware.name, task.objective.name)
        for task in tasks
    }
    shapes = {layer.shape for layer in all_layers()}
    assert {*product(shapes, PRESETS, ("latency", "edp"))} <= there
    assert len({task.problem.hardware for task in tasks}) == len(PRESETS) + 4
    every_other = [training_problem(3, number) for number in range(0, 2 * len(tasks), 2)]
    assert every_other == list(tasks)


@given(st.integers(0, 2**32))
def test_some_mapping_of_a_random_problem_fits(seed: int) -> None:
    problem = random_problem(Random(seed)).problem
    assert has_mapping(problem)
    assert drawn.LEAST_MACS <= problem.layer.macs <= drawn.MOST_MACS
    # Its L2 and its network suit its PEs.
    machine = problem.hardware
    assert replace(machine, name="held") != HELD_MACHINE
    assert machine.l2_bytes >= 4 * machine.num_pes * machine.word_bytes
    assert machine.noc_bw >= machine.num_pes / 256


def test_a_machine_has_a_mapping_if_one_of_all_its_vectors_is_valid() -> None:
    layer = Layer("CONV", {"K": 2, "C": 2, "Y": 4, "X": 3, "R": 3, "S": 3})
    found = []
    for l1_bytes, l2_bytes in [*zip(range(50, 64), repeat(60)), *zip(repeat(60), range(32, 44))]:
        problem = Problem(MapSpace(layer, Hardware(2, l1_bytes, l2_bytes)))
        # Orders and parallel loops do not change what a mapping needs of the buffers.
        sizes = [each.choices if each.is_size else 1 for each in problem.space.parameters]
        points = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
        valid = problem.evaluate(points.astype(np.int32)).status == 0
        found.append(has_mapping(problem))
        assert found[-1] == valid.any()
    assert found == [False] * 7 + [True] * 7 + [False] * 6 + [True] * 6


def test_the_held_machine_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    other = Hardware(512)
    machines = iter([replace(HELD_MACHINE, name=""), other])
    monkeypatch.setattr(drawn, "_machine", lambda rng, pes: next(machines))
    assert drawn.machine(Random(0)) is other


def test_presets_chips_and_the_held_machine_are_within_what_is_drawn() -> None:
    rng = Random(1)
    machines = [drawn.machine(rng) for _ in range(3000)]
    named = ("name", "technology", "clock_mhz")
    for field in (each.name for each in fields(Hardware) if each.name not in named):
        values = [getattr(machine, field) for machine in machines]
        for known in (*known_hardware().values(), HELD_MACHINE):
            # One in a thousand draws of a range misses its last percent.
            assert 0.98 * min(values) <= getattr(known, field) <= 1.02 * max(values), field
    assert {machine.technology.name for machine in machines} >= {
        chip.technology.name for chip in known_hardware().values()
    }


def test_layers_of_the_zoo_are_within_what_is_drawn() -> None:
    rng = Random(1)
    layers = [drawn.layer(rng) for _ in range(1500)]
    for layer in all_layers():
        alike = [each for each in layers if each.operator == layer.operator]
        for dim, extent in layer.extents.items():
            values = [each.extents[dim] for each in alike]
            assert min(values) <= extent <= 1.1 * max(values), (layer, dim)
        assert min(each.macs for each in alike) <= layer.macs <= max(each.macs for each in alike)


def test_shapes_are_those_of_a_network_by_any_name() -> None:
    assert shapes_of("resnet18") & shapes_of("resnet50")
    assert len(shapes_of("vgg16")) <= len(models()["vgg16"])
    assert frozenset().union(*map(shapes_of, models())) == distinct_layers().keys()
    with pytest.raises(UnknownNameError, match="unknown network 'vgg'"):
        shapes_of("vgg")
