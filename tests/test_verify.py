"""The checker of certificates: its bounds, true certificates, and wrong ones of every kind."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest
from boxes import innermost, random_points, random_problem
from certificate_writer import Writer
from commands import verify
from hypothesis import assume, given
from hypothesis import strategies as st
from test_optimum import small_problems
from verify_helpers import EDP, TINY, tiny

from experiments.commands.verify.bounds.boxes import Table, first, last, whole
from experiments.commands.verify.bounds.facts import Facts
from experiments.commands.verify.bounds.lower import lower_bounds
from experiments.commands.verify.certificate.check import verify as check
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import OBJECTIVES, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.status import OK
from maestro_env.mapspace.space import MapSpace
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.search import OptimumSearch
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer


def around(problem: Problem, facts: Facts, point: np.ndarray, rng: Random) -> Table:
    """Return a random box that holds a mapping."""
    space, dims = problem.space, len(facts.dims)
    point = space.clipped(point[np.newaxis])[0]
    parallel = [facts.parallel[point[space.columns[f"{a}_parallel"]]] for a in ("l2", "l1")]
    box = whole(facts, np.array([parallel], dtype=np.int8))
    names = [f"{a}_tile_{dim.rstrip(chr(39))}" for a in ("l2", "l1") for dim in facts.dims]
    width = rng.choice((0, 1, 4, 10**9))
    for axis, name in enumerate([*names, "cluster_size"]):
        if name in space.columns:
            choice = int(point[space.columns[name]])
            low, high = (0, 0) if rng.random() < 0.4 else (rng.randint(0, width) for _ in "ab")
            box[0, first(axis)] = max(choice - low, 0)
            box[0, last(axis)] = min(choice + high, box[0, last(axis)])
    assert dims * 2 == len(names)
    for level, dim in enumerate(innermost(problem, point)):
        if rng.random() < 0.5:
            box[0, 2 + level] = dim
    return box


@given(st.integers(0, 2**32 - 1))
def test_no_mapping_costs_less_than_the_bound_of_a_box_that_holds_it(seed: int) -> None:
    rng = Random(seed)
    problem = random_problem(rng)
    points = random_points(problem.space, 100, np.random.default_rng(seed))
    rows = problem.evaluate(points)
    valid = np.flatnonzero(rows.status == OK)
    assume(len(valid))
    facts = Facts(problem.space)
    boxes = np.concatenate([around(problem, facts, points[i], rng) for i in valid])
    for objective in OBJECTIVES.values():
        values = objective.function(rows.metrics[valid])
        bounds = lower_bounds(facts, objective.factors, boxes)
        assert (values >= bounds * (1 - 1e-13)).all()


@st.composite
def narrow_layers(draw: st.DrawFn) -> Problem:
    """Draw a problem whose optimum's outer tiles of P and Q may or may not move in L1."""
    window, stride = draw(st.integers(2, 7)), draw(st.integers(1, 6))
    columns, rows, high = draw(st.integers(4, 20)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    extents = {
        "K": draw(st.integers(2, 9)),
        "C": draw(st.integers(1, 2)),
        "Y": rows - 1 + high,
        "X": (columns - 1) * stride + window,
        "R": high,
        "S": window,
    }
    machine = Hardware(
        num_pes=draw(st.integers(2, 8)),
        l1_bytes=draw(st.sampled_from([20, 60, 150, 2**30])),
        l2_bytes=draw(st.sampled_from([60, 400, 2**30])),
        noc_bw=draw(st.sampled_from([1, 4, 2**30])),
        offchip_cost_macs=draw(st.sampled_from([0, 200])),
    )
    return Problem(MapSpace(Layer("CONV", extents, (1, stride)), machine))


@given(narrow_layers(), st.sampled_from(list(OBJECTIVES)))
def test_boxes_around_the_optimum_have_bounds_below_it(task: Problem, name: str) -> None:
    objective = OBJECTIVES[name]
    search = OptimumSearch(task, objective)
    while not search.finished:
        points = search.ask()
        search.tell(points, task.score(points, objective)[0])
    assume(search.best_point is not None)
    facts = Facts(task.space)
    columns, dims = task.space.columns, len(facts.dims)
    point = task.space.clipped(search.best_point[np.newaxis])[0]
    parallel = [facts.parallel[point[columns[f"{a}_parallel"]]] for a in ("l2", "l1")]
    all_of_it = whole(facts, np.array([parallel], dtype=np.int8))
    box = all_of_it.copy()
    names = [f"{a}_tile_{dim.rstrip(chr(39))}" for a in ("l2", "l1") for dim in facts.dims]
    for axis, each in enumerate([*names, "cluster_size"]):
        if each in columns:
            box[0, [first(axis), last(axis)]] = point[columns[each]]
    wider = [
        (axis, up, down, more)
        for axis in range(dims)
        for up in (1, 2, 4)
        for down in (0, 1)
        for more in (0, 1)
    ]
    boxes = np.repeat(box, len(wider), axis=0)
    for row, (axis, up, down, more) in zip(boxes, wider, strict=True):
        row[last(axis)] += up
        row[first(dims + axis)] = max(row[first(dims + axis)] - down, 0)
        row[last(2 * dims)] += more
    boxes[:, 5::2] = np.minimum(boxes[:, 5::2], all_of_it[:, 5::2])
    bounds = lower_bounds(facts, objective.factors, boxes)
    assert bounds.max() <= search.best * (1 + 1e-14)


def test_a_loop_that_may_rest_promises_no_sweeps() -> None:
    layer = Layer("CONV", {"K": 5, "C": 1, "Y": 10, "X": 20, "R": 3, "S": 3}, (9, 2))
    machine = Hardware(16, noc_bw=2, offchip_bw=16, noc_hop_latency=3, offchip_cost_macs=200)
    task = Problem(MapSpace(layer, machine))
    energy = find_objective("energy")
    box = [-1, 3, 0, -2, 3, 3, 0, 0, 0, 0, 5, 6, *[0] * 4, 2, 2, *[0] * 4, 2, 2, *[0] * 4, 1, 1]
    (bound,) = lower_bounds(Facts(task.space), energy.factors, np.array([box], dtype=np.int32))
    point = np.array([[208, 0, 3, 0, 0, 5, 157, 2, 2, 0, 0, 2, 1]], dtype=np.int32)
    assert bound <= task.score(point, energy)[0][0]


@given(
    small_problems().filter(lambda each: each.space.size() < 100_000),
    st.sampled_from(list(OBJECTIVES.values())),
    st.sampled_from([1.0, 0.8]),
    st.integers(0, 2**32 - 1),
)
def test_certificates_of_tiny_spaces_hold(tmp_path_factory, task, objective, share, seed) -> None:
    path = tmp_path_factory.mktemp("c") / "c.gz"
    path.write_bytes(Writer(task, objective, share, seed).file())
    check(path)
    search = OptimumSearch(task, objective)
    while not search.finished:
        points = search.ask()
        search.tell(points, task.score(points, objective)[0])
    best = search.best if search.best_point is not None else None
    certify(task, objective, best, search.best_point, search.bound, path)
    assert check(path).claim.value == search.best


def test_those_that_hold_are_listed_with_what_they_prove(tmp_path, capsys) -> None:
    good, bad = tmp_path / "good.gz", tmp_path / "bad.gz"
    writer = tiny()
    good.write_bytes(writer.file())
    bad.write_bytes(b"")
    assert verify([str(bad), str(good)]) == 1
    shown = capsys.readouterr()
    assert "refused" in shown.err
    assert "tiny" in shown.out
    assert check(good).digest[:16] in shown.out


@pytest.mark.parametrize(
    ("layer", "objective"), [("mobilenetv2_l51", "latency"), ("resnet18_l2", "edp")]
)
def test_certificates_of_known_layers_hold(tmp_path: Path, layer: str, objective: str) -> None:
    task = Problem(MapSpace(find_layer(layer), find_hardware("edge")))
    goal = find_objective(objective)
    search = OptimumSearch(task, goal)
    while not search.finished:
        points = search.ask()
        search.tell(points, task.score(points, goal)[0])
    path = tmp_path / "c.gz"
    made = certify(task, goal, search.best, search.best_point, search.bound, path)
    found = check(path)
    assert (found.digest, found.tally.left_out) == (made.digest, made.boxes)
    assert found.claim.value == found.claim.bound == search.best


def test_a_space_without_a_mapping_is_proven_to_have_none(tmp_path, capsys) -> None:
    none = Problem(MapSpace(TINY.layer, replace(TINY.hardware, l1_bytes=1)))
    path = tmp_path / "c.gz"
    path.write_bytes(Writer(none, EDP).file())
    assert verify([str(path)]) == 0
    assert "no mapping of legal13 (integers) fits the buffers" in capsys.readouterr().out
