"""Certificates on any memories: the checker's program is the core's, and forgeries are refused."""

from __future__ import annotations

import ast
import gzip
import json
import math
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gate import few
from hypothesis import given
from hypothesis import strategies as st
from test_relaxed import CHIPS, problem_on, small_layer

from maestro_env.accelerators.hierarchy_file import read_hierarchy
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.objectives import find_objective
from maestro_env.experiments.commands.verify import memories, verify
from maestro_env.experiments.commands.verify.claim import CertificateError
from maestro_env.experiments.commands.verify.memories.charges import Task
from maestro_env.experiments.commands.verify.memories.check import _least_product
from maestro_env.experiments.commands.verify.memories.facts import (
    Facts,
    port_prices,
    steps_of,
    touched,
)
from maestro_env.experiments.commands.verify.memories.program import Program
from maestro_env.experiments.commands.verify.memories.resting import in_tails, of_tails
from maestro_env.hierarchy.relaxed import Limits, Relaxation, Weights
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.optimum.certificate import certify
from maestro_env.optimum.search import OptimumError
from maestro_env.optimum.solving import Limits as Until
from maestro_env.optimum.solving import solve
from maestro_env.workloads.finding import find_layer


@pytest.mark.parametrize("chip", few(CHIPS, 2))
def test_the_program_of_the_checker_says_what_that_of_the_core_does(chip: str) -> None:
    rng, numbers = random.Random(chip), np.random.default_rng(0)
    for _ in range(4):
        problem = problem_on(chip, small_layer(rng))
        relaxed, facts = Relaxation(problem.space.evaluator), Facts(problem.space.evaluator)
        as_rows = (
            each.reshape(len(each), -1).tolist() for each in (relaxed.units.tuples, facts.tuples)
        )
        assert sorted(next(as_rows)) == sorted(next(as_rows))
        count = min(len(facts.tuples), rng.choice((1, 4)))
        some = facts.tuples[numbers.choice(len(facts.tuples), count, replace=False)]
        ends = [sorted(rng.choices(range(1, extent + 1), k=2)) for extent in facts.extents]
        outer = rng.choice((None, [(low, high) for low, high in ends]))
        box = relaxed.units.box(some, None if outer is None else np.array(outer).T.copy())
        units = facts.units(some, outer)
        ratio, limits = rng.choice((4.0, 1.5, 1.0)), Limits(rng.random() * 1e4, rng.random() * 1e5)
        for port in (None, *relaxed.ports):
            weights = Weights(1.0, {port: 0.7} if port else {}, 0.3)
            prices, steps = facts.energy / 1000, [0.0] * len(facts.elements)
            if port:
                prices = prices + 0.7 * port_prices(facts, units, port)
                steps = [0.7 * each for each in steps_of(facts, port)]
            latency, shares = (1.0, {port: 0.7}) if port else (0.3, {})
            every = range(len(facts.elements))
            fills, drains = (
                [latency - facts.hidden(e, of, shares) for e in every] for of in ([0, 1], [2])
            )
            limited = limits.exposed_cycles, limits.cycles
            task = Task(units, prices, steps, fills, drains, latency, *limited)
            more = facts.mac["pj"] * facts.macs / 1000
            more += 0.7 * facts.rounding[port] if port else 0.0
            least = [
                each + more for each in Program(facts, ratio, units.outer).least(task).values()
            ]
            by_kind = relaxed.by_kind(box, weights, ratio, limits)
            assert sorted(least) == pytest.approx(np.sort(by_kind), rel=1e-9)


def _in_pieces(extent: int, cuts: list[tuple[bool, int]], tile: int) -> float:
    """Return the share of a dimension in pieces of at most a tile beside larger ones.

    A cut is a memory's, with its tile, or that of so many units. Pieces are of unit 0 and of all.
    """
    pieces = [(extent, [extent])]
    for memory, size in cuts:
        largest = max(first for first, _ in pieces)
        step = size if memory else -(-largest // size)
        parts = []
        for first, units in pieces:
            starts = range(0, max(first, 1), step)
            cut = [[max(0, min(step, each - at)) for each in units] for at in starts]
            if memory:
                parts += [(min(step, first - at), own) for at, own in zip(starts, cut, strict=True)]
            else:
                places = range(0, size * step, step)
                shares = [max(0, min(step, each - at)) for each in units for at in places]
                parts.append((min(step, first), shares))
        pieces = parts
    if max(first for first, _ in pieces) <= tile:
        return 0.0
    return sum(sum(units) for first, units in pieces if first <= tile) / extent


@given(st.integers(1, 60), st.lists(st.tuples(st.booleans(), st.integers(1, 40)), max_size=5))
def test_no_larger_share_is_in_tails(extent: int, cuts: list[tuple[bool, int]]) -> None:
    count = sum(memory for memory, _ in cuts)
    once = not cuts or cuts[0][0]
    # Units that have something to do.
    cuts = [(memory, size if memory else 1 + size % 4) for memory, size in cuts]
    for tile in range(1, 20):
        share = _in_pieces(extent, cuts, tile)
        assert share <= in_tails(extent, tile, tile, count, once) + 1e-12
        assert share <= in_tails(extent, max(1, tile - 2), tile + 3, count, once) + 1e-12
        assert share <= of_tails(extent, tile, count, once) + 1e-12


@given(st.integers(1, 12), st.integers(1, 8), st.integers(1, 8), st.integers(1, 8))
def test_each_output_has_rows_of_its_own(count: int, taps: int, stride: int, dilation: int) -> None:
    """As many as its taps leave remainders: together no fewer than P8 counts."""
    rows = [{at * stride + tap * dilation for tap in range(taps)} for at in range(count)]
    own = len({row % stride for row in rows[0]})
    for at, each in enumerate(rows):
        for others in (rows[:at], rows[at + 1 :]):
            assert len(each.difference(*others)) >= own
    kept = max(0, (taps - 1) * dilation + 1 - stride)
    assert (
        touched(count, taps, stride, dilation) == len(set[int]().union(*rows)) <= count * own + kept
    )


@cache
def certificate(objective: str = "edp") -> bytes:
    """Return the content of a certificate of a small layer, before it is compressed."""
    problem, goal = problem_on("gemmini", "gemm:M=8,N=12,K=10"), find_objective(objective)
    found, path = solve(problem, goal), Path("certificate.gz")
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "certificate.gz"
        made = certify(problem, goal, found.value, found.point, found.bound, path)
        assert made.bytes == path.stat().st_size < 10_000
        return gzip.decompress(path.read_bytes())


def checked(content: bytes, directory: Path) -> None:
    path = directory / "forged.gz"
    path.write_bytes(gzip.compress(content))
    verify(path)


@pytest.mark.parametrize("objective", few(["energy", "edp", "latency"]))
def test_what_a_search_writes_holds(objective: str, tmp_path: Path) -> None:
    checked(certificate(objective), tmp_path)


def _round(rng: random.Random) -> HierarchyProblem:
    """Return a problem of round numbers, whose mappings may take just the time of a limit."""
    size, banks, units = (
        rng.choice((4, 8, 16, 32)),
        rng.choice((256, 512, 1024)),
        rng.choice((2, 4)),
    )
    text = f"""
    memories:
    - {{memory: D, bw: {size}, read_pj_per_bit: 1, write_pj_per_bit: 1}}
    - {{memory: b, capacity_bits: {banks}, read_pj_per_bit: 1, write_pj_per_bit: 1}}
    - {{fanout: f, size: {units}, dims: [{rng.choice("KCP")}]}}
    """
    sizes = ",".join(f"{dim}={rng.choice((8, 10, 12, 16))}" for dim in "MNK")
    return HierarchyProblem(
        HierarchySpace(find_layer(f"gemm:{sizes}"), read_hierarchy(text, "round"))
    )


@pytest.mark.parametrize("problems", few([4, 300]))
def test_what_takes_just_the_time_of_a_limit_is_shown_too(problems: int, tmp_path: Path) -> None:
    rng, goal = random.Random(5), find_objective("edp")
    for _ in range(problems):
        problem, path = _round(rng), tmp_path / "round.gz"
        found = solve(problem, goal, Until(nodes=200))
        certify(problem, goal, found.value, found.point, found.bound, path)
        verify(path)


def test_where_nothing_is_to_choose_one_mapping_is_proven(tmp_path: Path) -> None:
    hierarchy = read_hierarchy("memories: [{memory: D, read_pj_per_bit: 1}]", "one")
    layer, goal = find_layer("gemm:M=13,N=7,K=11"), find_objective("edp")
    problem = HierarchyProblem(HierarchySpace(layer, hierarchy))
    found = solve(problem, goal)
    assert found.proven
    assert found.point is not None
    assert problem.space.as_points([found.point.tolist()], 1).shape == (1, 0)
    certify(problem, goal, found.value, found.point, found.bound, tmp_path / "one.gz")
    verify(tmp_path / "one.gz")


def test_no_line_of_latency_needs_another_one_first(tmp_path: Path) -> None:
    """What no mapping of less than the claim takes is known before all lines (P10)."""
    layer = "conv:K=64,C=64,H=28,W=28,R=1,S=1,stride=2"
    problem, latency = problem_on("gemmini", layer), find_objective("latency")
    found, path = solve(problem, latency, Until(nodes=100)), tmp_path / "certificate.gz"
    certify(problem, latency, found.value, found.point, found.bound, path)
    verify(path)


Parts = list[Any]


def _higher(share: float) -> Callable[[random.Random, Parts], None]:
    def forge(rng: random.Random, parts: Parts) -> None:
        parts[0]["bound"] *= 1 + share * (0.1 + rng.random())
        parts[0]["optimum"] = None

    return forge


def _no_leaf(rng: random.Random, parts: Parts) -> None:
    parts.pop(rng.randrange(1, len(parts)))


def _fewer_units(rng: random.Random, parts: Parts) -> None:
    leaf = parts[rng.randrange(1, len(parts))]
    column = rng.choice([i for i, (a, z) in enumerate(zip(*leaf[:2], strict=True)) if a < z])
    leaf[rng.randrange(2)][column] = rng.choice((0, leaf[1][column] + 1, 99, -1))
    leaf[1][column] = leaf[0][column] - 1


def _fewer_tiles(rng: random.Random, parts: Parts) -> None:
    leaf = parts[rng.randrange(1, len(parts))]
    dim = rng.choice([d for d, (a, z) in enumerate(zip(*leaf[2], strict=True)) if a < z])
    leaf[2][rng.randrange(2)][dim] = rng.choice((0, -1, 10**6))
    if rng.random() < 0.5:
        leaf[2][1][dim] = max(1, leaf[2][0][dim])


def _weights(rng: random.Random, parts: Parts) -> None:
    lines = parts[rng.randrange(1, len(parts))][4]
    wrong = rng.choice((-1.0, float("inf"), float("nan"), 1e308, 5e-324))
    lines[rng.randrange(len(lines))][rng.randrange(2)] = wrong


def _shares(rng: random.Random, parts: Parts) -> None:
    lines = parts[rng.randrange(1, len(parts))][4]
    wrong = rng.choice(([[0, 0, 1.5]], [[0, 0, -0.5]], [[77, 0, 0.5]], [[0, 5, 0.5]], [[0, 0]]))
    lines[rng.randrange(len(lines))][2] = wrong


def _no_lines(rng: random.Random, parts: Parts) -> None:
    parts[rng.randrange(1, len(parts))][4] = []


def _ratio(rng: random.Random, parts: Parts) -> None:
    parts[rng.randrange(1, len(parts))][3] = rng.choice((0.5, -1, "1", None, 10**400))


def _value(rng: random.Random, parts: Parts) -> None:
    parts[0]["optimum"]["value"] *= 1 + rng.choice((-1e-9, 1e-9, 0.1))


def _point(rng: random.Random, parts: Parts) -> None:
    point = parts[0]["optimum"]["point"]
    point[rng.randrange(len(point))] = rng.choice((-1, 10**6, True, 1.5))


def _shape(rng: random.Random, parts: Parts) -> None:
    parts[rng.randrange(1, len(parts))] = rng.choice(([], [1, 2], {}, "x", [[1], [1], 1, []]))


def _accelerator(rng: random.Random, parts: Parts) -> None:
    text = parts[0]["accelerator"]
    parts[0]["accelerator"] = text.replace("pj: 0.3", f"pj: {rng.choice((0.01, 3))}")


FORGERIES = (
    *(
        _higher(1e-6),
        _higher(1.0),
        _no_leaf,
        _fewer_units,
        _fewer_tiles,
        _weights,
        _shares,
        _no_lines,
        _ratio,
    ),
    *(_value, _point, _shape, _accelerator),
)


@pytest.mark.parametrize("seeds", [range(3), pytest.param(range(3, 43), marks=pytest.mark.slow)])
@pytest.mark.parametrize("forge", FORGERIES, ids=lambda each: each.__qualname__.split(".")[0])
def test_forged_certificates_are_refused(
    forge: Callable[[random.Random, Parts], None], seeds: range, tmp_path: Path
) -> None:
    header, *leaves = map(json.loads, certificate().splitlines())
    for seed in seeds:
        parts = json.loads(json.dumps([header, *leaves]))
        forge(random.Random(seed), parts)
        content = b"".join(json.dumps(each, sort_keys=True).encode() + b"\n" for each in parts)
        with pytest.raises(CertificateError):
            checked(content, tmp_path)


def test_a_torn_file_is_refused(tmp_path: Path) -> None:
    content = certificate()
    for cut in (content[:-1], content[: len(content) // 2], content + b"x", b"{}\n"):
        with pytest.raises(CertificateError):
            checked(cut, tmp_path)


def test_a_line_that_no_mapping_reaches_bounds_all() -> None:
    # Latency from 5, energy from 3, and energy + 2 latency from 14: least where the last two meet.
    bounds = [(0.0, 1.0, 5.0), (1.0, 0.0, 3.0), (1.0, 2.0, 14.0)]
    assert _least_product(bounds, 1, 1) == 5.5 * 3
    assert _least_product([*bounds, (1.0, 0.5, math.inf)], 1, 1) == math.inf
    assert _least_product([(0.0, 1.0, math.inf), *bounds[1:]], 1, 1) == math.inf


def test_units_that_cannot_be_listed_have_no_certificate(tmp_path: Path) -> None:
    problem, energy = problem_on("tpu_v1", "resnet18_l2", free=True), find_objective("energy")
    with pytest.raises(OptimumError, match="too many choices of units"):
        certify(problem, energy, None, None, 1.0, tmp_path / "c.gz")


def test_the_checker_shares_nothing_with_the_prover() -> None:
    folder = Path(memories.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [each.name for each in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                assert ".optimum" not in name, path
                assert not name.endswith(("relaxed", "cost_floors", "_native", "bounds")), path
