"""Certificates: what is written, and that the checker's bounds and verdicts are right."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import numpy as np
import pytest
from boxes import box_of, random_points, random_problem
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

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.verify import verify as check
from maestro_env.experiments.commands.verify.blocks import mappings
from maestro_env.experiments.commands.verify.bounds.boxes import (
    INNERMOST,
    Facts,
    first,
    last,
    only_idle,
)
from maestro_env.experiments.commands.verify.bounds.levels import lower_bounds
from maestro_env.experiments.commands.verify.bounds.sides import Ranges
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum import certificate
from maestro_env.optimum.search import OptimumError
from maestro_env.workloads.layer import Layer

objectives = st.sampled_from(list(OBJECTIVES.values()))


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
    dims, most = len(facts.dims), [len(sizes) - 1 for sizes in facts.sizes]
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


@given(st.integers(0, 2**32 - 1))
def test_clusters_with_idle_pes_cost_no_less_than_the_next_larger_one(seed: int) -> None:
    draws = np.random.default_rng(seed)
    task = random_problem(Random(seed))
    facts, column = Facts(task.space), task.space.columns.get("cluster_size")
    if column is None:
        return
    points = random_points(task.space, 50, draws)
    boxes = np.concatenate([box_of(facts, point) for point in points])
    smaller = points[only_idle(facts, boxes)]
    larger = smaller.copy()
    larger[:, column] += 1
    for objective in OBJECTIVES.values():
        values, status = task.score(smaller, objective)
        others, other_status = task.score(larger, objective)
        assert not other_status[status == 0].any()
        if objective.factors:
            assert (others <= values)[status == 0].all()


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
    choices = distinct_choices(task.space)
    for column, parameter in enumerate(task.space.parameters):
        if parameter.kind != "order":
            choices[column] = [point[0, column]]
    best = task.score(vectors(choices), objective)[0].min()
    r = Ranges(facts, leaf)
    pairs = list(product(*([dim for dim, can in r.innermost(n) if can[0]] for n in (0, 1))))
    decided = np.repeat(leaf, len(pairs), axis=0)
    decided[:, INNERMOST : INNERMOST + 2] = pairs
    for boxes in (leaf, decided):
        points = np.concatenate(list(mappings(facts, boxes)))
        assert task.score(points, objective)[0].min() == best


@given(small_problems(most=100_000), objectives)
def test_certificates_of_small_spaces_hold(tmp_path_factory, task, objective) -> None:
    path = tmp_path_factory.mktemp("c") / "c.gz"
    search = solve(task, objective)
    certified(search, task, objective, path)
    assert check(path).claim.value == search.best


@pytest.mark.parametrize(
    ("layer", "objective"),
    [
        *[("conv:K=4,C=3,Y=6,X=6,R=3,S=3", "ed2p"), ("gemm:M=16,N=12,K=8", "area*energy*energy")],
        pytest.param("mobilenetv2_l51", "latency", marks=pytest.mark.slow),
        pytest.param("resnet18_l2", "edp", marks=pytest.mark.slow),
    ],
)
def test_certificates_of_known_layers_hold(tmp_path: Path, layer: str, objective: str) -> None:
    search, path, other = solved(layer, "edge", objective), tmp_path / "c.gz", tmp_path / "3.gz"
    task, goal = problem(layer), find_objective(objective)
    made = certified(search, task, goal, path)
    assert certified(search, task, goal, other, threads=3) == made
    assert other.read_bytes() == path.read_bytes()
    assert made.bytes == path.stat().st_size
    assert made.digest == hashlib.sha256(gzip.decompress(path.read_bytes())).hexdigest()
    found = check(path)
    assert (found.digest, found.tally.left_out) == (made.digest, made.boxes)
    assert found.claim.value == found.claim.bound == search.best


def test_nothing_half_written_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(certificate, "_bytes", interrupt)
    with pytest.raises(KeyboardInterrupt):
        certified(solved("resnet18_l2"), problem("resnet18_l2"), EDP, tmp_path / "c.gz")
    assert not list(tmp_path.iterdir())


def test_what_has_no_bound_has_no_certificate(tmp_path: Path) -> None:
    maestro = problem("resnet18_l2", model="maestro")
    with pytest.raises(OptimumError, match="model maestro has no bounds"):
        certified(solved("resnet18_l2"), maestro, EDP, tmp_path / "c.gz")


def test_those_that_hold_are_listed_with_what_they_prove(tmp_path, capsys) -> None:
    good, bad, none = (tmp_path / f"{name}.gz" for name in ("good", "bad", "none"))
    good.write_bytes(gzip.compress(tiny().content()))
    bad.write_bytes(b"")
    without = Problem(MapSpace(TINY.layer, replace(TINY.hardware, l1_bytes=1)))
    certified(solve(without, EDP), without, EDP, none)
    assert verify([str(good), str(none)]) == 0
    shown = capsys.readouterr().out
    assert " on an accelerator of its own: " in shown
    assert "num_pes=2,l1_bytes=24,l2_bytes=60,noc_bw=2,offchip_bw=1,noc_hops=1" in shown
    assert check(good).digest[:16] in shown
    assert "no mapping of legal13 (integers) fits the buffers" in shown
    assert verify([str(bad), str(good)]) == 1
    after = capsys.readouterr()
    assert (after.err.count("refused"), after.out.count("verified")) == (1, 1)


@pytest.mark.parametrize(
    "name", ["edge", "Edge", "edge ", "\u0435dge", "\r\x1b[2Kverified: all\n\x1b[8m"]
)
def test_only_the_name_of_these_figures_is_told(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "c.gz"
    task = Problem(MapSpace(TINY.layer, replace(find_hardware("edge"), name=name)))
    certified(solve(task, EDP), task, EDP, path)
    assert verify([str(path)]) == 0
    line, figures, end = capsys.readouterr().out.split("\n")
    assert (" on edge: " in line) is (name == "edge")
    assert name == "edge" or name not in line
    assert figures.startswith("accelerator: num_pes=168,l1_bytes=512,l2_bytes=108000,noc_bw=64,")
    assert figures.endswith(",technology=maestro,word_bytes=1,clock_mhz=None")
    assert end == ""
    # The same problem, whatever its accelerator is called.
    assert "of the problem f9a3" in line
