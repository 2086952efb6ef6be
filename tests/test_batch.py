"""Batches survive what callers do to them, and huge layers are counted without wrapping."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from maestro_env import _native
from maestro_env.errors import MapSpaceError
from maestro_env.hardware import find_hardware
from maestro_env.layer import Layer
from maestro_env.map_space import MapSpace
from maestro_env.models import DEFAULT_MODEL, MODELS
from maestro_env.objectives import OBJECTIVES, column
from maestro_env.problem import OK, Problem


def problem(layer: Layer, model: str = DEFAULT_MODEL) -> Problem:
    return Problem(MapSpace(layer, find_hardware("paper")), model)


SMALL = Layer("CONV", {"K": 8, "C": 8, "Y": 10, "X": 10, "R": 3, "S": 3})


@pytest.mark.parametrize(
    "layer",
    [
        Layer("GEMM", {"M": 4096, "N": 128_256, "K": 16_384}),
        Layer("GEMM", {"M": 65_536, "N": 65_536, "K": 65_536}),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_buffers_of_huge_layers_do_not_wrap(model: str, layer: Layer) -> None:
    task = problem(layer, model)
    rows = task.evaluate(task.space.sample(3000, np.random.default_rng(0)))
    valid = rows.metrics[rows.status == OK]
    assert len(valid) > 100
    for name in ("l1_bytes", "l2_bytes", "area_um2", "energy_nj", "latency_cycles"):
        assert column(valid, name).min() > 0
    for objective in OBJECTIVES.values():
        bound = objective.bound(layer, task.hardware)
        assert objective.function(valid).min() >= bound * (1 - 1e-12)


def test_points_may_change_while_they_are_evaluated() -> None:
    task = problem(SMALL)
    points = task.space.sample(200_000, np.random.default_rng(0))
    expected = task.evaluate(points)
    results = []
    worker = threading.Thread(target=lambda: results.append(task.evaluate(points)))
    worker.start()
    while worker.is_alive():
        points[:] = 2**31 - 1
    assert results == [] or (results[0].status == expected.status).all()


@pytest.mark.parametrize("model", MODELS)
def test_many_threads_give_the_same_rows(model: str) -> None:
    task = problem(SMALL, model)
    points = task.space.sample(5000, np.random.default_rng(1))
    one, many = task.evaluate(points), task.evaluate(points, threads=64)
    assert one.metrics.tobytes() == many.metrics.tobytes()
    assert one.status.tobytes() == many.status.tobytes()


@pytest.mark.parametrize("threads", [0, -1, 1025, 2.5, "2", None, True])
def test_impossible_numbers_of_threads_are_refused(threads: object) -> None:
    task = problem(SMALL)
    with pytest.raises(MapSpaceError, match=r"threads is .*integers from 1 to 1024"):
        task.evaluate(task.space.sample(1, np.random.default_rng(0)), threads)


@pytest.mark.parametrize("points", [[1, 2], None, "abc", np.zeros((2, 13)), np.zeros((3, 12), int)])
def test_points_of_another_form_are_refused(points: object) -> None:
    with pytest.raises(MapSpaceError, match=r"int32 array of shape \[N, 13\]"):
        problem(SMALL).evaluate(points)


def test_an_empty_batch_has_empty_results() -> None:
    task = problem(SMALL)
    rows = task.evaluate(task.space.sample(0, np.random.default_rng(0)))
    assert rows.metrics.shape == (0, len(_native.METRICS))
    assert rows.status.shape == (0,)
