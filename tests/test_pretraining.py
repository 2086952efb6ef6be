"""Training of the prior: what it learns, and that it goes on as if it had not stopped."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from commands import pretrain as main
from conftest import Main

pytest.importorskip("torch")

import torch

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.environments.task import Task
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.pretrain import make_label
from maestro_env.experiments.commands.pretrain.lessons import (
    Lesson,
    Taught,
    draw_lessons,
    lessons_of,
)
from maestro_env.experiments.commands.pretrain.trainer import Settings, Training
from maestro_env.experiments.problems.drawn import HELD_MACHINE, distinct_layers, shapes_of
from maestro_env.experiments.problems.labels import Label
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.store.claims import open_directory
from maestro_env.mappers.parts import prior_policy
from maestro_env.mappers.parts.prior_policy import Learner, Policy, TraceBatch
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.prior.file import read_prior
from maestro_env.prior.proposals import Networks, Proposer
from maestro_env.workloads.finding import models
from maestro_env.workloads.layer import Layer

# Threads that other processes leave no time for wait for each other.
torch.set_num_threads(1)

EDP = OBJECTIVES["edp"]
LAYER = Layer("GEMM", {"M": 40, "N": 60, "K": 24})
TASK = Task(Problem(MapSpace(LAYER, Hardware(16, 100, 4000, noc_bw=4, offchip_bw=2))), EDP)


@pytest.fixture(scope="module")
def label() -> Label:
    made = make_label(TASK, np.random.default_rng(0))
    assert made is not None
    return made


def batch_of(taught: Taught) -> TraceBatch:
    lesson, points = taught
    return TraceBatch.of([(len(points), lesson.proposer.trace(points), lesson.task.context)])


def gap(policy: Policy, lesson: Lesson) -> float:
    points = lesson.proposer.draw(Networks(policy.arrays()), 200, np.random.default_rng(9))[0]
    return float(np.log(lesson.values(points) / lesson.best).mean())


def test_imitation_makes_a_label_likely(label: Label) -> None:
    (taught,) = lessons_of([label], frozenset())
    policy, batch = Policy(seed=0), batch_of(taught)
    learner = Learner(policy, 3e-2, 50)
    before = gap(policy, taught[0])
    assert policy.log_probabilities(batch)[0].mean() < -15
    for _ in range(50):
        learner.imitate(batch)
    assert policy.log_probabilities(batch)[0].mean() > -10
    assert gap(policy, taught[0]) < before / 4


def test_the_gradient_is_that_of_differences() -> None:
    """Advantages times log-probabilities, differentiated numerically along a random direction."""
    lesson = Lesson(TASK)
    weights = {name: array.astype(np.float64) for name, array in Policy(seed=1).arrays().items()}
    points = lesson.proposer.draw(Networks(Policy(seed=1).arrays()), 6, np.random.default_rng(0))[0]
    batch = batch_of((lesson, points))
    advantages = np.linspace(-1, 1, 6).astype(np.float32)
    rng = np.random.default_rng(2)
    way = {name: rng.standard_normal(array.shape) for name, array in weights.items()}

    def mean(policy: Policy) -> torch.Tensor:
        return (torch.from_numpy(advantages) * policy.log_probabilities(batch)[0]).mean()

    def moved(step: float) -> Policy:
        return Policy({n: (weights[n] + step * way[n]).astype(np.float32) for n in weights})

    policy = moved(0.0)
    mean(policy).backward()
    along = sum(
        float((weight.grad.numpy() * way[name][i]).sum())
        for i, net in enumerate(policy.networks)
        for name, weight in net.items()
        if weight.grad is not None
    )
    step = 5e-4
    numeric = (mean(moved(step)).item() - mean(moved(-step)).item()) / (2 * step)
    assert along == pytest.approx(numeric, rel=0.03, abs=1e-3)


def trained(
    directory: Path, settings: Settings, labels: list[Label], stops: tuple[int, ...] = ()
) -> Training:
    """Train, stopping after some numbers of steps to begin anew from what was kept."""
    directory.mkdir(exist_ok=True)
    held = shapes_of(*filter(None, settings.hold.split(",")))
    for stop in stops:
        training = Training(settings, held, labels, directory)
        while training.done < stop:
            training._step()
        training._write()
    training = Training(settings, held, labels, directory)
    training.run(lambda done, note: None)
    return training


@pytest.mark.slow
def test_a_training_goes_on_as_if_it_had_not_stopped(label: Label, tmp_path: Path) -> None:
    """In either phase, and between them."""
    settings = Settings(0, "mobilenetv2", 2, 2, "some", 1)
    whole = trained(tmp_path / "whole", settings, [label]).prior()
    parts = trained(tmp_path / "parts", settings, [label], (1, 2, 3)).prior()
    assert parts.to_bytes() == whole.to_bytes()
    # Policy gradient has seen more problems than the label's.
    assert all(least < most for least, most in whole.ranges.values() if most not in (0, least))
    assert whole.data_card["labelled_problems"] == 1


@pytest.mark.slow
def test_sparse_networks_stay_so_and_their_training_goes_on(
    label: Label, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prior_policy, "_INTERVAL", 2)
    settings = Settings(0, "mobilenetv2", 3, 3, "some", 0.2)
    whole = trained(tmp_path / "whole", settings, [label])
    parts = trained(tmp_path / "parts", settings, [label], (1, 2, 4, 5))
    assert parts.prior().to_bytes() == whole.prior().to_bytes()
    assert whole.prior().data_card["density"] == 0.2
    assert whole.prior().command.endswith("--density 0.2")
    begun = trained(tmp_path / "begun", replace(settings, imitation=0, steps=0), [])
    masks = [
        torch.cat([mask.flatten() for mask in each._topology.masks]) for each in (begun, whole)
    ]
    weights = torch.cat([each.flatten() for each in whole._policy.parameters()])
    assert not weights[masks[1] == 0].any()
    links, sizes = whole._topology.links, whole._topology.sizes
    assert links == begun._topology.links
    assert sum(links) == round(0.2 * sum(sizes))
    assert sum(links) + len(weights) - sum(sizes) == masks[1].sum()
    moved = (masks[0] > masks[1]).sum()
    assert 0 < moved < sum(links) / 2


def test_the_directory_of_another_training_is_refused(tmp_path: Path) -> None:
    trained(tmp_path, Settings(0, "", 0, 0, "", 1), [])
    with pytest.raises(RecordError, match="has training steps = 0, asked for 3"):
        trained(tmp_path, Settings(0, "", 0, 3, "", 1), [])
    (tmp_path / "training.npz").write_bytes(b"PK\x03\x04 no archive")
    with pytest.raises(RecordError, match=r"training.npz is damaged: .*; give another --out"):
        trained(tmp_path, Settings(0, "", 0, 0, "", 1), [])


def test_the_command_writes_a_prior_that_tells_what_it_is_of(tmp_path: Path) -> None:
    flags = ["--hold=gpt2, vgg16", "--steps=0", "--seed=3", f"--out={tmp_path}"]
    assert main(flags) == 0
    prior = read_prior(tmp_path / "prior.safetensors")
    told = "--hold gpt2,vgg16 --seed 3 --imitation 0 --steps 0"
    assert prior.command == f"maestro-env pretrain {told}"
    assert prior.data_card["hold"] == "gpt2,vgg16"
    assert prior.data_card["held_machine"] == HELD_MACHINE.record()
    for name, array in Policy(seed=3).arrays().items():
        np.testing.assert_array_equal(prior.arrays[name], array)


def test_the_directory_of_another_command_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_directory(tmp_path, "run", {})
    assert main(["--steps=0", f"--out={tmp_path}"]) == 2
    assert "not of pretrain" in capsys.readouterr().err
    assert os.listdir(tmp_path) == ["config.json"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--hold=gpt2", "--make-labels=1"], "--hold: --make-labels takes only --make-labels"),
        (["--jobs=5"], "--jobs: a training takes only --hold"),
        (["--hold=gpt3"], "unknown network 'gpt3'"),
        (["--imitation=3"], "--imitation is 3; allowed: numbers from 0 on, and 0 without --labels"),
        (["--make-labels=1"], "--make-labels needs --labels DIRECTORY"),
    ],
)
def test_what_cannot_be_trained_is_refused(
    assert_refused: Callable[[Main, list[str], str], None], flags: list[str], message: str
) -> None:
    assert_refused(main, flags, message)


def test_what_is_held_is_not_drawn() -> None:
    held = shapes_of("resnet18", "bert_base")
    assert held == shapes_of("resnet18") | shapes_of("bert_base")
    layers = distinct_layers(held)
    assert not layers.keys() & held
    lessons = draw_lessons(Random("0"), list(layers.values()), held)
    drawn = [next(lessons).task.problem for _ in range(300)]
    assert not {each.layer.shape for each in drawn} & held
    assert all(replace(each.hardware, name="held") != HELD_MACHINE for each in drawn)
    # Presets and schemas of both kinds are among them.
    assert {"edge", "unlimited", "cloud", ""} == {each.hardware.name for each in drawn}
    assert {"legal13", "full17"} == {each.space.schema for each in drawn}


@pytest.mark.slow
def test_a_short_training_beats_the_untrained_policy(tmp_path: Path) -> None:
    """On a network that it has not seen, by a wide margin."""
    training = trained(tmp_path, Settings(0, "mobilenetv2", 0, 150, "", 1), [])
    layers = list({each.shape: each for each in models()["mobilenetv2"]}.values())
    problems = [Problem(MapSpace(layer, find_hardware("edge"))) for layer in layers[::4]]
    gaps = []
    for arrays in (training.prior().arrays, Policy(seed=0).arrays()):
        found = []
        for problem in problems:
            rng = np.random.default_rng(0)
            points = Proposer(problem, EDP).draw(Networks(arrays), 30, rng)[0]
            found.append(np.log(problem.score(points, EDP)[0]).mean())
        gaps.append(np.mean(found))
    assert gaps[0] < gaps[1] - 1
