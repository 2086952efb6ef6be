"""PBIL against the textbook's table of probabilities."""

from __future__ import annotations

import numpy as np

from maestro_env.accelerators.hardware import Hardware
from maestro_env.mappers.pbil import PbilConfig, PbilMapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

SPACE = MapSpace(Layer("GEMM", {"M": 4, "N": 3, "K": 2}), Hardware(num_pes=4))


def textbook(generations: list[np.ndarray], rate: float, exploration: float) -> list[np.ndarray]:
    """Probabilities of every choice of every parameter after some updates."""
    tables = []
    for column, size in enumerate(SPACE.sizes):
        start = np.full(size, 1 / size)
        table = start
        for chosen in generations:
            frequencies = np.bincount(chosen[:, column], minlength=size) / len(chosen)
            table = (1 - rate) * table + rate * frequencies
        tables.append((1 - exploration) * table + exploration * start)
    return tables


def told(config: PbilConfig, updates: int) -> tuple[PbilMapper, list[np.ndarray]]:
    """A mapper after some updates, and the samples that they selected."""
    mapper = PbilMapper(config)
    mapper.start(SPACE, np.random.default_rng(3))
    rng = np.random.default_rng(4)
    generations = []
    for _ in range(updates):
        points, values = SPACE.sample(20, rng), rng.permutation(20).astype(float)
        mapper.tell(points, values)
        generations.append(points[np.argsort(values)[: config.selected]])
    return mapper, generations


def test_samples_have_the_probabilities_of_the_textbook() -> None:
    config = PbilConfig(population=40_000, selected=4, learning_rate=0.3, exploration=0.1)
    mapper, generations = told(config, 6)
    points = mapper.ask(40_000)
    for column, expected in enumerate(textbook(generations, 0.3, 0.1)):
        found = np.bincount(points[:, column], minlength=len(expected)) / len(points)
        np.testing.assert_allclose(found, expected, atol=0.015)


def test_parameters_are_independent() -> None:
    config = PbilConfig(population=40_000, selected=2, learning_rate=0.9, exploration=0.0)
    mapper, _ = told(config, 1)
    points = mapper.ask(40_000)
    varied = [column for column, size in enumerate(SPACE.sizes) if size > 1]
    correlation = np.corrcoef(points[:, varied].T) - np.eye(len(varied))
    assert abs(np.nan_to_num(correlation)).max() < 0.03


def test_invalid_samples_are_not_learnt_from() -> None:
    config = PbilConfig(selected=3, learning_rate=1.0, exploration=0.0, population=500)
    mapper = PbilMapper(config)
    mapper.start(SPACE, np.random.default_rng(0))
    points = SPACE.sample(6, np.random.default_rng(1))
    mapper.tell(points, np.full(6, np.inf))
    assert len(np.unique(mapper.ask(500), axis=0)) > 100
    mapper.tell(points, np.array([np.inf, 2.0, np.inf, np.inf, np.inf, np.inf]))
    np.testing.assert_array_equal(np.unique(mapper.ask(500), axis=0), points[[1]])
