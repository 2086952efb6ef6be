"""The checker of certificates: its bounds, and certificates that hold."""

from __future__ import annotations

import gzip
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from boxes import innermost, random_points, random_problem
from certificate_forger import TINY, tiny
from commands import verify
from hypothesis import assume, given
from hypothesis import strategies as st
from optimum_helpers import (
    EDP,
    certified,
    distinct_choices,
    problem,
    small_problems,
    solve,
    solved,
    vectors,
)

from experiments.commands.verify.bounds.boxes import INNERMOST, Table, first, last, whole
from experiments.commands.verify.bounds.facts import Facts
from experiments.commands.verify.bounds.lower import lower_bounds
from experiments.commands.verify.bounds.ranges import Ranges
from experiments.commands.verify.certificate.check import verify as check
from experiments.commands.verify.certificate.leaves import mappings
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.status import OK
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.workloads.layer import Layer

objectives = st.sampled_from(list(OBJECTIVES.values()))


def box_of(facts: Facts, point: Points) -> Table:
    """Return the box of the sizes and parallel loops of a vector."""
    point = facts.space.clipped(point[np.newaxis])[0]
    parallel = [facts.parallel[point[facts.space.columns[f"{a}_parallel"]]] for a in ("l2", "l1")]
    box = whole(facts, np.array([parallel], dtype=np.int8))
    for axis, column in facts.columns.items():
        box[0, [first(axis), last(axis)]] = point[column]
    return box


def ends(facts: Facts) -> list[int]:
    """Return the last choices of all axes."""
    return [len(sizes) - 1 for sizes in facts.sizes]


def around(task: Problem, facts: Facts, point: Points, rng: Random) -> Table:
    """Return a random box that holds a mapping."""
    box = box_of(facts, point)
    width = rng.choice((0, 1, 4, 10**9))
    for axis, most in enumerate(ends(facts)):
        if rng.random() < 0.6:
            box[0, first(axis)] = max(box[0, first(axis)] - rng.randint(0, width), 0)
            box[0, last(axis)] = min(box[0, last(axis)] + rng.randint(0, width), most)
    for level, dim in enumerate(innermost(task, point)):
        if rng.random() < 0.5:
            box[0, INNERMOST + level] = dim
    return box


@given(st.integers(0, 2**32 - 1))
def test_no_mapping_costs_less_than_the_bound_of_a_box_that_holds_it(seed: int) -> None:
    rng = Random(seed)
    task = random_problem(rng)
    points = random_points(task.space, 100, np.random.default_rng(seed))
    rows = task.evaluate(points)
    valid = np.flatnonzero(rows.status == OK)
    assume(len(valid))
    facts = Facts(task.space)
    boxes = np.concatenate([around(task, facts, points[i], rng) for i in valid])
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


@given(narrow_layers(), objectives)
def test_boxes_around_the_optimum_have_bounds_below_it(task: Problem, objective: Objective) -> None:
    search = solve(task, objective)
    assume(search.best_point is not None)
    facts = Facts(task.space)
    dims, most = len(facts.dims), ends(facts)
    box = box_of(facts, search.best_point)
    wider = list(product(range(dims), (1, 2, 4), (0, 1), (0, 1)))
    boxes = np.repeat(box, len(wider), axis=0)
    for row, (axis, up, down, more) in zip(boxes, wider, strict=True):
        row[last(axis)] += up
        row[first(dims + axis)] = max(row[first(dims + axis)] - down, 0)
        row[last(2 * dims)] += more
    columns = last(np.arange(len(most)))
    boxes[:, columns] = np.minimum(boxes[:, columns], most)
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


@given(small_problems(most=100_000), st.integers(0, 2**32 - 1), objectives)
def test_the_mappings_of_a_leaf_include_a_best_one(
    task: Problem, seed: int, objective: Objective
) -> None:
    facts = Facts(task.space)
    point = task.space.clipped(task.space.sample(1, np.random.default_rng(seed)))
    leaf = box_of(facts, point[0])
    r = Ranges(facts, leaf)
    every = vectors(
        [
            orders if parameter.kind == "order" else [choice]
            for parameter, orders, choice in zip(
                task.space.parameters, distinct_choices(task.space), point[0], strict=True
            )
        ]
    )
    best = task.score(every, objective)[0].min()
    possible = ([dim for dim, can in r.innermost(level) if can[0]] for level in (0, 1))
    pairs = list(product(*possible))
    decided = np.repeat(leaf, len(pairs), axis=0)
    decided[:, INNERMOST : INNERMOST + 2] = pairs
    for boxes in (leaf, decided):
        points = np.concatenate(list(mappings(facts, boxes)))
        assert task.score(points, objective)[0].min() == best


@given(small_problems(most=100_000), objectives)
def test_certificates_of_small_spaces_hold(tmp_path_factory, task, objective) -> None:
    # Where windows are cut, the search deals out their loops of one index, which is refused.
    assume(not task.space.cuts_windows or min(task.layer.loop_extents[d] for d in ("Y'", "X'")) > 1)
    path = tmp_path_factory.mktemp("c") / "c.gz"
    search = solve(task, objective)
    certified(search, task, objective, path)
    assert check(path).claim.value == search.best


@pytest.mark.parametrize(
    ("layer", "objective"), [("mobilenetv2_l51", "latency"), ("resnet18_l2", "edp")]
)
def test_certificates_of_known_layers_hold(tmp_path: Path, layer: str, objective: str) -> None:
    search, path = solved(layer, "edge", objective), tmp_path / "c.gz"
    made = certified(search, problem(layer), find_objective(objective), path)
    found = check(path)
    assert (found.digest, found.tally.left_out) == (made.digest, made.boxes)
    assert found.claim.value == found.claim.bound == search.best


def test_those_that_hold_are_listed_with_what_they_prove(tmp_path, capsys) -> None:
    good, bad, none = (tmp_path / f"{name}.gz" for name in ("good", "bad", "none"))
    good.write_bytes(gzip.compress(tiny().content()))
    bad.write_bytes(b"")
    without = Problem(MapSpace(TINY.layer, replace(TINY.hardware, l1_bytes=1)))
    certified(solve(without, EDP), without, EDP, none)
    assert verify([str(good), str(none)]) == 0
    shown = capsys.readouterr().out
    assert "tiny" in shown
    assert check(good).digest[:16] in shown
    assert "no mapping of legal13 (integers) fits the buffers" in shown
    assert verify([str(bad), str(good)]) == 1
    assert capsys.readouterr().out == shown.splitlines(keepends=True)[0]
