"""What the tests of proofs share: searches to their ends, small spaces and all their vectors."""

from __future__ import annotations

import math
from functools import cache
from itertools import permutations
from pathlib import Path

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from technology_helpers import drawn_technologies

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.objectives import Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import TILES, Points, lehmer_rank
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.optimum.certificate import Certificate, certify
from maestro_env.optimum.search import OptimumSearch
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

EDP, LATENCY = find_objective("edp"), find_objective("latency")


def problem(layer: str, hardware: str = "edge", model: str = "exact") -> Problem:
    return Problem(MapSpace(find_layer(layer), find_hardware(hardware)), model)


def solve(task: Problem, objective: Objective, threads: int = 1) -> OptimumSearch:
    return finish(OptimumSearch(task, objective), task, objective, threads)


def finish(
    search: OptimumSearch, task: Problem, objective: Objective, threads: int = 1
) -> OptimumSearch:
    while not search.finished:
        points = search.ask(threads=threads)
        search.tell(points, task.score(points, objective)[0])
    return search


def certified(
    search: OptimumSearch,
    task: Problem,
    objective: Objective,
    path: Path,
    share: float = 1.0,
    threads: int = 1,
) -> Certificate:
    """Write the certificate of a bound that is a share of the one found."""
    best = None if search.best_point is None else search.best
    return certify(task, objective, best, search.best_point, search.bound * share, path, threads)


@cache
def solved(layer: str, hardware: str = "edge", objective: str = "edp") -> OptimumSearch:
    """Return a search that has ended, which several tests look at."""
    return solve(problem(layer, hardware), find_objective(objective))


def distinct_choices(space: MapSpace) -> list[list[int]]:
    """Return what each entry of a vector may be; where loops of one index stand is all the same."""
    extents, parallel = list(space.extents.values()), space.parallel_dims
    still = [dim for dim, extent in enumerate(extents) if extent == 1]
    moving = [dim for dim, extent in enumerate(extents) if extent > 1]
    orders = [lehmer_rank([*still, *order]) for order in permutations(moving)]
    dealt = {(dim if space.extents[dim] > 1 else ""): choice for choice, dim in enumerate(parallel)}
    of_kind = {"order": orders, "parallel": list(dealt.values())}
    return [of_kind.get(each.kind, list(range(each.choices))) for each in space.parameters]


def every_vector(space: MapSpace) -> Points:
    """Return a vector of each mapping of a small space, int32[N, D]."""
    return vectors(distinct_choices(space))


def vectors(choices: list[list[int]]) -> Points:
    """Return all vectors of some choices of each entry."""
    grid = np.meshgrid(*choices, indexing="ij")
    return np.stack([each.ravel() for each in grid], axis=1).astype(np.int32)


@st.composite
def small_problems(draw: st.DrawFn, most: int) -> Problem:
    """Draw problems of fewer mappings than that."""
    size = st.integers(1, 4)
    operator = draw(st.sampled_from(["GEMM", "CONV", "DSCONV"]))
    if operator == "GEMM":
        layer = Layer("GEMM", {dim: draw(size) for dim in "MNK"})
    else:
        extents = {dim: draw(size) for dim in ("KC" if operator == "CONV" else "C")}
        for axis, window in ("YR", "XS"):
            extents[window] = draw(st.integers(1, 3))
            extents[axis] = extents[window] + draw(st.integers(0, 4))
        layer = Layer(operator, extents, (draw(st.integers(1, 3)), draw(st.integers(1, 3))))
    technology = draw(drawn_technologies)
    machine = Hardware(
        num_pes=draw(st.integers(1, 6)),
        l1_bytes=draw(st.sampled_from([8, 40, 2**30])),
        l2_bytes=draw(st.sampled_from([30, 200, 2**30])),
        noc_bw=draw(st.sampled_from([1, 5, 2**30])),
        offchip_bw=draw(st.sampled_from([1, 4, 2**30])),
        noc_hop_latency=draw(st.integers(0, 2)),
        simd_lanes=draw(st.integers(1, 2)),
        offchip_cost_macs=0 if technology.offchip_macs else draw(st.sampled_from([0, 200])),
        technology=technology,
        word_bytes=draw(st.sampled_from([1, 1, 2, 3])),
    )
    schema, tiles = draw(st.sampled_from(list(SCHEMAS))), draw(st.sampled_from(TILES))
    space = MapSpace(layer, machine, schema, tiles)
    assume(math.prod(map(len, distinct_choices(space))) < most)
    return Problem(space)
