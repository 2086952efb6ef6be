"""Training of the prior: what it learns, and that it goes on as if it had not stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

pytest.importorskip("torch")

from experiments.commands.pretrain.labels import make_label
from experiments.commands.pretrain.lessons import Lesson, draw_lessons, lessons_of, training_layers
from experiments.commands.pretrain.problems import HELD_MACHINE, shapes_of
from experiments.commands.pretrain.training import Settings, Training
from experiments.shell.files import RecordError
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.environments.task import Task
from maestro_env.evaluation.context import context
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.proposer import Networks, Proposer
from maestro_env.mapspace.space import MapSpace
from maestro_env.optimum.known import layer_text
from maestro_env.workloads.layer import Layer
from mappers.learners.prior.learner import Learner
from mappers.learners.prior.policy import Batch, Policy

EDP = OBJECTIVES["edp"]


def task(rows: int = 40) -> Task:
    layer = Layer("GEMM", {"M": rows, "N": 60, "K": 24})
    return Task(Problem(MapSpace(layer, Hardware(16, 100, 4000, noc_bw=4, offchip_bw=2))), EDP)


def gap(policy: Policy, lesson: Lesson, best: float) -> float:
    points = lesson.proposer.draw(Networks(policy.arrays()), 200, np.random.default_rng(9))[0]
    return float(np.log(lesson.values(points) / best).mean())


def test_imitation_makes_a_label_likely() -> None:
    label = make_label(task(), np.random.default_rng(0))
    assert label is not None
    assert label.proven
    (lesson,) = lessons_of([label])
    assert lesson.values(lesson.good).min() <= 1.1 * label.value
    policy = Policy(seed=0)
    learner = Learner(policy, 1e-2, 150)
    batch = Batch.of([(len(lesson.good), lesson.proposer.trace(lesson.good), lesson.context)])
    before = gap(policy, lesson, label.value)
    assert policy.log_probabilities(batch)[0].mean() < -15
    for _ in range(150):
        learner.imitate(batch)
    assert policy.log_probabilities(batch)[0].mean() > -10
    assert gap(policy, lesson, label.value) < before / 4


def test_the_gradient_is_that_of_differences() -> None:
    """Advantages times log-probabilities, differentiated numerically along a random direction."""
    lesson = Lesson(task())
    weights = {name: array.astype(np.float64) for name, array in Policy(seed=1).arrays().items()}
    points = lesson.proposer.draw(Networks(Policy(seed=1).arrays()), 6, np.random.default_rng(0))[0]
    batch = Batch.of([(6, lesson.proposer.trace(points), lesson.context)])
    advantages = np.linspace(-1, 1, 6).astype(np.float32)
    import torch

    rng = np.random.default_rng(2)
    way = {name: rng.standard_normal(array.shape) for name, array in weights.items()}

    def objective(step: float) -> tuple[Policy, torch.Tensor]:
        moved = {n: (weights[n] + step * way[n]).astype(np.float32) for n in weights}
        policy = Policy(moved)
        chosen, _ = policy.log_probabilities(batch)
        return policy, (torch.from_numpy(advantages) * chosen).mean()

    policy, value = objective(0.0)
    value.backward()
    along = sum(
        float((net[name].grad.numpy() * way[name][i]).sum())
        for i, net in enumerate(policy.networks)
        for name in net
        if net[name].grad is not None
    )
    step = 1e-3
    numeric = (objective(step)[1].item() - objective(-step)[1].item()) / (2 * step)
    assert along == pytest.approx(numeric, rel=0.02, abs=1e-3)


def settings(**changes: object) -> Settings:
    return replace(Settings(0, "mobilenetv2", 0, 6, ""), **changes)


def trained(directory: Path, stops: tuple[int, ...] = (), **changes: object) -> Training:
    """Train, stopping after some numbers of steps to begin anew from what was kept."""
    directory.mkdir(exist_ok=True)
    held = shapes_of("mobilenetv2")
    for stop in stops:
        training = Training(settings(**changes), held, [], directory)
        while training.done < stop:
            training._step()
        training._write()
    training = Training(settings(**changes), held, [], directory)
    training.run(lambda done, note: None)
    return training


def test_a_training_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    whole, parts = trained(tmp_path / "whole"), trained(tmp_path / "parts", (2, 5))
    for name, array in whole.policy.arrays().items():
        np.testing.assert_array_equal(parts.policy.arrays()[name], array)
    np.testing.assert_array_equal(whole.least, parts.least)
    other = trained(tmp_path / "other", seed=1)
    assert any((other.policy.arrays()[n] != a).any() for n, a in whole.policy.arrays().items())


def test_the_directory_of_another_training_is_refused(tmp_path: Path) -> None:
    trained(tmp_path, steps=2)
    with pytest.raises(RecordError, match="begun with training steps = 2, asked for 3"):
        trained(tmp_path, steps=3)
    (tmp_path / "training.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(RecordError, match=r"training.npz is damaged: .*; give another --out"):
        trained(tmp_path, steps=2)


def test_what_is_held_is_not_drawn() -> None:
    held = shapes_of("resnet18", "bert_base")
    assert held == shapes_of("resnet18") | shapes_of("bert_base")
    layers = training_layers(held)
    assert not {layer_text(each) for each in layers} & held
    lessons = draw_lessons(Random("0"), layers, held)
    drawn = [next(lessons).task.problem for _ in range(300)]
    assert not {layer_text(each.layer) for each in drawn} & held
    assert all(replace(each.hardware, name="held") != HELD_MACHINE for each in drawn)
    # Presets and schemas of both kinds are among them.
    assert {"edge", "unlimited", "cloud", ""} == {each.hardware.name for each in drawn}
    assert {"legal13", "full17"} == {each.space.schema for each in drawn}


@pytest.mark.slow
def test_a_short_training_beats_the_untrained_policy(tmp_path: Path) -> None:
    """On a network that it has not seen, by a wide margin."""
    policy = trained(tmp_path, steps=150).policy
    machine = find_hardware("edge")
    gaps = []
    for each in (policy, Policy(seed=0)):
        networks = Networks(each.arrays())
        found = []
        for layer in list(shapes_of_layers("mobilenetv2"))[::4]:
            problem = Problem(MapSpace(layer, machine))
            points = Proposer(problem, EDP).draw(networks, 30, np.random.default_rng(0))[0]
            found.append(np.log(problem.score(points, EDP)[0]).mean())
        gaps.append(np.mean(found))
    assert gaps[0] < gaps[1] - 1


def shapes_of_layers(network: str) -> list[Layer]:
    from maestro_env.workloads.finding import find_network

    return list({layer_text(each): each for each in find_network(network).layers}.values())


def test_contexts_of_lessons_are_those_of_environments() -> None:
    lesson = Lesson(task())
    problem = lesson.task.problem
    np.testing.assert_array_equal(lesson.context, context(problem.layer, problem.hardware, EDP))
