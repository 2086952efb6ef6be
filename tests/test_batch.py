"""Batches survive what callers do to them, and huge layers are counted without wrapping."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import drawn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import column
from two_levels import MODELS

from maestro_env import _native
from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.errors import ArgumentTypeError, MapSpaceError
from maestro_env.evaluation.cost_and_status import OK, STATUSES, Rows
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.layer import Layer


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


@pytest.mark.parametrize("model", MODELS)
def test_scores_are_the_values_and_statuses_of_rows(model: str) -> None:
    seen: set[str] = set()
    columns = OBJECTIVES["edp"].columns
    for seed in range(200):
        rng = np.random.default_rng(seed)
        draws = drawn.Draws(3, seed)
        layer, hardware = drawn.layer(draws), drawn.hardware(draws)
        space = MapSpace(layer, hardware, str(rng.choice(list(SCHEMAS))))
        # Small tiles, so that some fit.
        points = (space.sample(150, rng) * rng.random((150, 1)) ** 4).astype(np.int32)
        judge = _native.BatchEvaluator(
            model, layer.native, hardware.native, guarded=bool(rng.integers(2))
        )
        rows, codes = judge.evaluate(space.native, points)
        expected = np.where(codes == OK, rows[:, columns].prod(axis=1), np.inf)
        values, statuses = judge.score(space.native, points, columns)
        assert statuses.tobytes() == codes.tobytes(), f"{layer} on {hardware}"
        np.testing.assert_array_equal(values, expected)
        seen.update(STATUSES[code] for code in codes)
    assert {"ok", "l1_overflow", "l2_overflow"} <= seen


def test_points_may_change_while_they_are_evaluated() -> None:
    task = problem(SMALL)
    points = task.space.sample(200_000, np.random.default_rng(0))
    expected = task.evaluate(points)
    ended: list[Rows | MapSpaceError] = []

    def evaluate() -> None:
        try:
            ended.append(task.evaluate(points))
        except MapSpaceError as error:
            ended.append(error)

    worker = threading.Thread(target=evaluate)
    worker.start()
    while worker.is_alive():
        points[:] = 2**31 - 1
    (outcome,) = ended
    if isinstance(outcome, Rows):
        assert (outcome.status == expected.status).all()
    else:
        assert "= 2147483647 is not in 0.." in str(outcome)


@pytest.mark.parametrize("model", MODELS)
def test_many_threads_give_the_same_rows(model: str) -> None:
    task = problem(SMALL, model)
    points = task.space.sample(5000, np.random.default_rng(1))
    one, many = task.evaluate(points), task.evaluate(points, threads=64)
    assert one.metrics.tobytes() == many.metrics.tobytes()
    assert one.status.tobytes() == many.status.tobytes()


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="counts threads as Linux does")
def test_a_forked_process_has_threads_of_its_own() -> None:
    task = problem(SMALL)
    points = task.space.sample(5000, np.random.default_rng(1))
    expected = task.evaluate(points, threads=2)

    def evaluate() -> None:
        rows = task.evaluate(points, threads=2)
        assert rows.metrics.tobytes() == expected.metrics.tobytes()
        # One comes along with a fork, the one that forks.
        assert len(os.listdir("/proc/self/task")) == 2

    child = multiprocessing.get_context("fork").Process(target=evaluate)
    child.start()
    child.join(timeout=60)
    child.kill()
    assert child.exitcode == 0


def test_signals_go_to_the_threads_of_the_caller() -> None:
    # A thread of the core that took it would end the process.
    script = """
import os, signal
# Threads that numpy starts must not take it either: they begin with what is blocked now.
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
import numpy as np
from maestro_env.accelerators.finding import find_hardware
from maestro_env.workloads.layer import Layer
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.evaluation.problem import Problem
space = MapSpace(Layer("GEMM", {"M": 8, "N": 8, "K": 8}), find_hardware("paper"))
signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
Problem(space).evaluate(space.sample(5000, np.random.default_rng(0)), threads=4)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
os.kill(os.getpid(), signal.SIGTERM)
print(signal.sigwait({signal.SIGTERM}) == signal.SIGTERM)
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


@pytest.mark.parametrize("threads", [0, -1, 1025, 2.5, "2", None, True])
def test_impossible_numbers_of_threads_are_refused(threads: object) -> None:
    task = problem(SMALL)
    with pytest.raises(
        (MapSpaceError, ArgumentTypeError), match=r"threads is .*integers from 1 to 1024"
    ):
        task.evaluate(task.space.sample(1, np.random.default_rng(0)), threads)


@pytest.mark.parametrize("points", [[1, 2], None, "abc", np.zeros((2, 13)), np.zeros((3, 12), int)])
def test_points_of_another_form_are_refused(points: object) -> None:
    with pytest.raises(MapSpaceError, match=r"int32 array of shape \[N, 13\]"):
        problem(SMALL).evaluate(points)


@given(st.lists(st.integers(0, 50), max_size=5), st.integers(0, 99))
def test_pieces_are_those_of_one_draw_and_one_batch(sizes: list[int], seed: int) -> None:
    task = problem(SMALL)
    rng = np.random.default_rng(seed)
    pieces = [task.space.sample(size, rng) for size in [0, *sizes]]
    points = task.space.sample(sum(sizes), np.random.default_rng(seed))
    assert np.concatenate(pieces).tobytes() == points.tobytes()
    rows = [task.evaluate(piece).metrics for piece in pieces]
    assert np.concatenate(rows).tobytes() == task.evaluate(points).metrics.tobytes()


@pytest.mark.parametrize("threads", [1, 2])
def test_large_batches_have_the_rows_of_their_pieces(threads: int) -> None:
    task = problem(SMALL)
    points = task.space.sample(70_000, np.random.default_rng(0))
    rows = task.evaluate(points, threads)
    for piece in np.array_split(np.arange(len(points)), 7):
        expected = task.evaluate(points[piece])
        assert rows.metrics[piece].tobytes() == expected.metrics.tobytes()
        assert rows.status[piece].tobytes() == expected.status.tobytes()


def test_an_empty_batch_has_empty_results() -> None:
    task = problem(SMALL)
    rows = task.evaluate(task.space.sample(0, np.random.default_rng(0)))
    assert rows.metrics.shape == (0, len(_native.METRICS))
    assert rows.status.shape == (0,)


def test_the_value_refused_is_the_one_found() -> None:
    task = problem(SMALL)
    points = task.space.sample(30_000, np.random.default_rng(0))
    refused: list[str] = []

    def evaluate() -> None:
        for _ in range(2000):
            try:
                task.evaluate(points)
            except MapSpaceError as error:
                refused.append(str(error))
                break

    worker = threading.Thread(target=evaluate)
    worker.start()
    while worker.is_alive():
        points[20_000, 0] = 2**30
        points[20_000, 0] = 0
    assert refused
    assert all("point 20000: l2_order = 1073741824 is not in 0.." in each for each in refused)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_first_point_out_of_range_is_named(threads: int) -> None:
    task = problem(SMALL)
    points = task.space.sample(10_000, np.random.default_rng(0))
    points[9_000, 0] = points[300:8_000:700, 5] = points[300, 2] = 2**30
    points[300, 5] = 0
    name = task.space.parameters[2].name
    for _ in range(20):
        with pytest.raises(MapSpaceError, match=f"point 300: {name} = 1073741824 is not in 0"):
            task.evaluate(points, threads)


def test_a_point_out_of_range_is_named_wherever_it_stands() -> None:
    task = problem(SMALL)
    points = task.space.sample(70_000, np.random.default_rng(0))
    points[69_998, 3] = -1
    name = task.space.parameters[3].name
    for judge in (task.evaluate, task.time):
        with pytest.raises(MapSpaceError, match=f"point 69998: {name} = -1 is not in 0"):
            judge(points)


MEMORY_OF_BATCHES = """
import sys
import numpy as np
from maestro_env import MapSpace, Problem, find_hardware, find_layer

def kilobytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field))

problem = Problem(MapSpace(find_layer("mobilenetv2_l2"), find_hardware("paper")))
points = problem.space.sample(400_000, np.random.default_rng(0))
problem.evaluate(points[:100_000], 2)
before = kilobytes("VmRSS:")
rows = problem.evaluate(points, 2)
results = (rows.metrics.nbytes + rows.status.nbytes) // 1024
print(kilobytes("VmHWM:") - before - results, points.nbytes // 1024)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_a_batch_takes_no_memory_but_that_of_points_and_results() -> None:
    command = [sys.executable, "-c", MEMORY_OF_BATCHES]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    more, points = map(int, shown.split())
    assert points > 20_000
    assert more < points / 4


@pytest.mark.parametrize("model", MODELS)
def test_times_of_mappings_fit_into_that_of_all(model: str) -> None:
    task = problem(SMALL, model)
    points = task.space.sample(300, np.random.default_rng(0))
    began = time.perf_counter()
    seconds = task.time(points)
    assert seconds.sum() <= time.perf_counter() - began
    assert seconds.shape == (300,)
    # 100 ns: some hundred instructions.
    assert seconds.min() > 1e-7


def test_peaks_beyond_64_bits_are_those_of_single_mappings() -> None:
    """The busiest step computes 2 MACs while the next one's whole tiles come in."""
    tile = 65_536
    layer = Layer("GEMM", {"M": 7, "N": tile + 1, "K": tile + 1})
    machine = replace(find_hardware("paper"), num_pes=1, noc_hops=0)
    space = MapSpace(layer, machine)
    chosen = {"l2_tile_M": 1, "l2_tile_N": tile - 1, "l2_tile_K": tile - 1}
    point = np.array([[chosen.get(each.name, 0) for each in space.parameters]], dtype=np.int32)
    task = Problem(space)
    for points in (point, np.repeat(point, 2, axis=0)):
        peaks = column(task.evaluate(points).metrics, "noc_peak_words_per_cycle")
        assert set(peaks) == {(tile * tile + 2 * tile) / 2}


def test_a_window_listed_twice_is_refused_together_as_alone() -> None:
    space = MapSpace(SMALL, find_hardware("paper"))
    listed = [*SMALL.extents.items(), ("R", 4)]
    layer = _native.Layer("CONV", listed, [])
    evaluator = _native.BatchEvaluator("maestro", layer, space.hardware.native, False)
    points = space.sample(16, np.random.default_rng(0))
    together = evaluator.evaluate(space.native, points)[1]
    alone = [evaluator.evaluate(space.native, point[None])[1][0] for point in points]
    assert together.tolist() == alone
    assert {_native.STATUSES[code] for code in alone} == {"reference_exit"}


@pytest.mark.parametrize(("tile", "cluster"), [(0, 1), (1, 0), (-5, 1)])
def test_a_space_of_impossible_sizes_is_refused(tile: int, cluster: int) -> None:
    level = (0, (-1, [0]), [(-1, [tile])])
    with pytest.raises(ValueError, match=r"size (0|-5): allowed: from 1 on"):
        _native.MapSpace(SMALL.native, [("order", 1)], ["K"], [level, level], (-1, [cluster]))
