"""Enumerations against brute force: every vector decoded and evaluated, one at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from exhaustive_helpers import Case, cases
from hypothesis import given, settings
from map_space_helpers import spaces_and_points, steady

from experiments.exhaustive.config import Task
from experiments.exhaustive.enumeration import Enumeration
from experiments.exhaustive.frame_bound import frame_bound
from experiments.exhaustive.job import scan
from experiments.exhaustive.optimum_files import Found
from experiments.loop_steps import first_pe_macs, moving_loops
from maestro_env.hardware import Hardware
from maestro_env.layer import Layer
from maestro_env.map_space import MapSpace
from maestro_env.objectives import OBJECTIVES
from maestro_env.problem import Problem

few = settings(steady, max_examples=40)


def scanned(task: Task, limit: float = math.inf) -> Found:
    units = map(task.enumeration.unit, range(task.enumeration.units))
    return sum((scan(task, frames, limit) for frames in units), Found())


def listed(enumeration: Enumeration) -> tuple[np.ndarray, np.ndarray]:
    """All vectors, and how many mappings each stands for."""
    units = map(enumeration.unit, range(enumeration.units))
    batches = [batch for frames in units for batch in enumeration.batches(frames)]
    points, weights = zip(*batches, strict=True)
    return np.concatenate(points), np.concatenate(weights)


@few
@given(cases())
def test_optimum_and_counts_are_those_of_brute_force(case: Case) -> None:
    for objective in OBJECTIVES:
        truth, found = case.truth(objective), scanned(case.task(objective))
        assert (found.mappings, found.valid, found.ruled_out) == (truth.mappings, truth.valid, 0)
        assert (found.best, found.optimal) == (truth.best, len(truth.optimal))
        if found.best_point is None:
            assert not truth.optimal
        else:
            assert case.problem.space.decode(found.best_point) in truth.optimal
    assert scanned(case.task(objective, threads=3)) == found
    # Pruning loses no optimum.
    for objective in ("latency", "edp"):
        truth = case.truth(objective)
        found = scanned(case.task(objective, prune=True), truth.best)
        assert found.mappings + found.ruled_out == truth.mappings
        assert (found.best, found.optimal) == (truth.best, len(truth.optimal))


@few
@given(cases())
def test_no_mapping_is_listed_twice_and_what_is_listed_is_counted(case: Case) -> None:
    enumeration = case.task("edp").enumeration
    points, weights = listed(enumeration)
    assert len({case.problem.space.decode(point) for point in points}) == len(points)
    assert enumeration.size() == len(points)
    assert enumeration.vectors == math.prod(map(len, case.choices))
    assert weights.sum() == enumeration.mappings
    assert enumeration.mappings == enumeration.frames * enumeration.mappings_of_frame


ROOMY, TIGHT = Hardware(3), Hardware(3, l1_bytes=12, l2_bytes=14)


@pytest.mark.parametrize(("model", "hardware"), [("exact", ROOMY), ("maestro", TIGHT)])
def test_a_whole_space_with_all_its_orders(model: str, hardware: Hardware) -> None:
    space = MapSpace(Layer("GEMM", {"M": 2, "N": 1, "K": 2}), hardware, tiles="divisors")
    choices = tuple(range(parameter.choices) for parameter in space.parameters)
    case = Case(Problem(space, model), choices)
    truth, found = case.truth("edp"), scanned(case.task("edp"))
    assert truth.valid > 0
    assert (truth.valid == truth.mappings) == (hardware is ROOMY)
    assert (found.mappings, found.valid) == (truth.mappings, truth.valid)
    assert (found.best, found.optimal) == (truth.best, len(truth.optimal))
    # Of three loops no more than two are ever cut, so half of the orders or more are others again.
    assert (found.evaluated < found.mappings / 4) == (model == "exact")


def test_orders_of_loops_of_one_step_are_not_listed() -> None:
    space = MapSpace(Layer("GEMM", {"M": 8, "N": 8, "K": 8}), Hardware(1), tiles="divisors")
    fixed = {"l2_tile_M": (2,), "l2_tile_N": (2,), "l2_tile_K": (3,)}
    fixed |= {"l1_tile_M": (0,), "l1_tile_N": (0,), "l1_tile_K": (0,)}
    choices = [fixed.get(each.name, range(each.choices)) for each in space.parameters]
    merged = Enumeration(space, choices, ignores_still_loops=True)
    assert (merged.frames, merged.mappings) == (9, 9 * 36)
    points, weights = listed(merged)
    # L2 cuts M and N alone, in two orders; L1 cuts all, in six.
    assert len(points) == 9 * 2 * 6
    assert set(weights) == {3}
    points, _ = listed(Enumeration(space, choices, ignores_still_loops=False))
    assert len(points) == 9 * 36


# --- Bounds -------------------------------------------------------------------------------------


def dealt(chunks: list[range], units: int) -> list[list[range]]:
    """Groups of chunks, one group a step."""
    return [chunks[start : start + units] for start in range(0, len(chunks), units)]


def cut(extent: range, tile: int) -> list[range]:
    return [extent[start : start + tile] for start in range(0, len(extent), tile)]


@few
@given(spaces_and_points)
def test_steps_and_the_first_pes_share_are_those_of_dealing_out_chunks(
    drawn: tuple[MapSpace, np.ndarray],
) -> None:
    space, point = drawn
    outer, inner = space.decode(point).levels
    clusters = space.hardware.num_pes // inner.cluster_size
    sizes = {loop.dim: loop for loop in inner.loops}
    moving, macs = [0, 0], 1
    for loop in outer.loops:
        bit = 1 << list(space.extents).index(loop.dim)
        chunks, below = cut(range(space.extents[loop.dim]), loop.size), sizes[loop.dim]
        groups = dealt(chunks, clusters if loop.spatial else 1)
        units = inner.cluster_size if below.spatial else 1
        moving[0] |= bit * (len(groups) > 1)
        moving[1] |= bit * (len(dealt(cut(range(loop.size), below.size), units)) > 1)
        mine = [dealt(cut(group[0], below.size), units) for group in groups]
        macs *= sum(len(step[0]) for steps in mine for step in steps)
    points = point[np.newaxis]
    assert [int(mask[0]) for mask in moving_loops(space, points)] == moving
    assert first_pe_macs(space, points)[0] == macs


def test_pruning_rules_most_out() -> None:
    space = MapSpace(Layer("GEMM", {"M": 8, "N": 8, "K": 8}), Hardware(16), tiles="divisors")
    choices = tuple(range(parameter.choices) for parameter in space.parameters)
    task = Case(Problem(space), choices).task("latency", prune=True)
    frames = task.enumeration.at(np.arange(task.enumeration.frames))
    macs = first_pe_macs(space, frames)
    assert np.array_equal(frame_bound(task.goal)(frames), macs)
    of_frame = task.enumeration.mappings_of_frame
    for limit in (macs.min(), 1.5 * macs.min()):
        # A frame whose bound is the limit may hold the optimum.
        kept = np.sum(macs <= limit)
        assert 0 < kept < len(frames) / 10
        assert scanned(task, limit).mappings == kept * of_frame
    assert scanned(task).ruled_out == 0


def test_the_size_of_many_frames_is_estimated() -> None:
    layer = Layer("CONV", {"K": 6, "C": 4, "Y": 8, "X": 6, "R": 3, "S": 1})
    space = MapSpace(layer, Hardware(12), tiles="divisors")
    choices = [range(parameter.choices) for parameter in space.parameters]
    enumeration = Enumeration(space, choices, ignores_still_loops=True)
    units = map(enumeration.unit, range(enumeration.units))
    counted = sum(len(points) for unit in units for points, _ in enumeration.batches(unit))
    assert enumeration.frames > 100_000
    assert abs(enumeration.size() / counted - 1) < 0.03
