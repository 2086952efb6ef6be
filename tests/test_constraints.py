"""Constraints of a request: in one syntax, on any memories and on two buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from maestro_env.accelerators.constraints import constrained, constraints_text
from maestro_env.accelerators.elements import FanoutElement
from maestro_env.accelerators.finding import chips_with, find_hierarchy
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy_file import read_hierarchy
from maestro_env.base.errors import HardwareError, MaestroEnvError
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.search.goals import AnyProblemConfig, make_goal
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.solving import solve
from maestro_env.workloads.finding import find_layer

_LAYER = find_layer("gemm:M=2,N=1,K=3")
_TINY = Hardware(num_pes=2, l1_bytes=64, l2_bytes=256)
_EDP = find_objective("edp")
_FREE = Problem(MapSpace(_LAYER, _TINY, "full17"), "exact")


def _distinct(space: MapSpace) -> Points:
    """Return a vector of each mapping of a space."""
    every = np.stack(np.unravel_index(np.arange(space.size()), space.sizes), axis=1)
    return np.unique(space.clipped(every.astype(np.int32)), axis=0)


@cache
def _all() -> list[tuple[Mapping, float]]:
    """Return all mappings without constraints, with their values."""
    points = _distinct(_FREE.space)
    values = _FREE.score(points, _EDP)[0].tolist()
    return list(zip(map(_FREE.space.decode, points), values, strict=True))


def _parallel(mapping: Mapping) -> tuple[str, str]:
    outer, inner = (next(x.dim for x in each.loops if x.spatial) for each in mapping.levels)
    return outer, inner


@pytest.mark.parametrize(
    ("rules", "obeys"),
    [
        # Of a GEMM, M is P of the nest, N is K, and K is C.
        ("clusters: {dims: [K, C]}", lambda mapping: _parallel(mapping)[0] in ("N", "K")),
        ("PEs: {dims: [P]}", lambda mapping: _parallel(mapping)[1] == "M"),
        ("parallel=N,K", lambda mapping: _parallel(mapping) == ("N", "K")),
        (
            "clusters: {dims: [C]}, L1: {whole: [P]}",
            lambda mapping: (
                _parallel(mapping)[0] == "K"
                and {x.size for level in mapping.levels for x in level.loops if x.dim == "M"} == {2}
            ),
        ),
    ],
)
def test_two_buffers_have_the_filtered_space_and_its_optimum(
    rules: str, obeys: Callable[[Mapping], bool]
) -> None:
    problem = Problem(MapSpace(_LAYER, _TINY, f"full17:{rules}"), "exact")
    left = {mapping: value for mapping, value in _all() if obeys(mapping)}
    assert set(map(problem.space.decode, _distinct(problem.space))) == set(left)
    solved = solve(problem, _EDP)
    assert solved.proven
    assert solved.value == min(left.values())


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ("rows: {dims: [K]}", "rows has the rule dims; allowed with two buffers"),
        ("L1: {tiles: {K: 2}}", "L1 has the rule tiles; allowed with two buffers"),
        ("clusters: {dims: [G]}", "clusters may have no loop of gemm:M=2,N=1,K=3; allowed"),
        ("clusters: {dims: [M]}", "has 'M'; allowed: N, G, K, C, P, Q, R, S"),
    ],
)
def test_two_buffers_refuse_other_rules(rules: str, said: str) -> None:
    with pytest.raises(MaestroEnvError, match=said):
        MapSpace(_LAYER, _TINY, f"legal13:{rules}")


def test_requests_are_files_names_rules_or_none(tmp_path: Path) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text("rows: {dims: [C]}\ncolumns: {units: {K: 4}}\n")
    gemmini = find_hierarchy("gemmini")
    ruled = constrained(gemmini, constraints_text(str(file)))
    assert ruled == constrained(gemmini, "rows: {dims: [C]}, columns: {units: {K: 4}}")
    assert ruled.name == "gemmini, constrained"
    assert dict(zip(ruled.names, ruled.rules, strict=True))["columns"].record() == {
        "dims": ["K"],
        "units": {"K": 4},
    }
    assert constrained(ruled, "columns: {units: {K: 4}}") is ruled
    assert not any(constrained(gemmini, "none").rules)
    # A mapping file of ZigZag has units of each dimension of the array; OX is Q.
    file.write_text(
        "- {name: default, spatial_mapping: {rows: ['C, 16'], columns: ['K, 8', 'OX, 1']}}\n"
        "- {name: Add, spatial_mapping: {rows: ['G, 16']}}\n"
    )
    assert constrained(gemmini, constraints_text(str(file))) == constrained(
        gemmini, "rows: {dims: [C], units: {C: 16}}, columns: {dims: [K], units: {K: 8, Q: 1}}"
    )
    for given, said in (
        ("weight", "constraints weight; allowed: none, weight-stationary"),
        ("missing.yaml", "missing.yaml"),
    ):
        with pytest.raises(HardwareError, match=said):
            constraints_text(given)
    for rules, said in (
        ("row: {dims: [C]}", "gemmini: unknown element 'row': did you mean rows"),
        # Its array adds up channels along the rows, so it cannot hold outputs.
        ("output-stationary", "rows has loops of C alone, and the constraints leave it N, G, K, P"),
        ("registers: {stays: [input]}", "stays has input, which it does not keep; allowed: filter"),
    ):
        with pytest.raises(HardwareError, match=said):
            constrained(gemmini, rules)


def test_flags_constrain_both_kinds_of_accelerators() -> None:
    layer = find_layer("mobilenetv2_l2")
    config = AnyProblemConfig("gemmini", constraints="rows: {units: {C: 8}}")
    (rows,) = (x for x in config.accelerator().elements if x.name == "rows")
    assert isinstance(rows, FanoutElement)
    assert rows.rules.record() == {"dims": ["C"], "units": {"C": 8}}
    kept = AnyProblemConfig("edge", keep="weight-stationary")
    assert make_goal(kept, layer, kept.accelerator(), "edp").problem.schema.endswith(
        ":parallel=K,C"
    )
    free = AnyProblemConfig("edge", constraints="none")
    assert ":" not in make_goal(free, layer, free.accelerator(), "edp").problem.schema
    with pytest.raises(UsageError, match="give one of them"):
        AnyProblemConfig("edge", keep="none", constraints="weight-stationary")


@pytest.mark.parametrize("chip", chips_with("memories"))
def test_chips_say_which_dimensions_their_arrays_have(chip: str) -> None:
    hierarchy = find_hierarchy(chip)
    fanouts = [each for each in hierarchy.elements if isinstance(each, FanoutElement)]
    assert all(each.rules.dims for each in fanouts)
    # Sums are added up along fan-outs that have them together, and nowhere else.
    for each in fanouts:
        assert not ({"C", "R", "S"} & set(each.rules.dims or ())) or "output" not in each.apart


def test_rules_that_contradict_are_refused() -> None:
    gemmini = constrained(find_hierarchy("gemmini"), "DRAM: {outermost: [K, C]}")
    assert constrained(gemmini, "DRAM: {outermost: [K]}") is gemmini
    with pytest.raises(HardwareError, match="orders K, C and C contradict each other"):
        constrained(gemmini, "DRAM: {outermost: [C]}")


def test_a_file_may_name_its_dataflow() -> None:
    array = "[{memory: D}, {fanout: F, size: 4}, {memory: R, keeps: [filter]}]"
    found = read_hierarchy(f"dataflow: weight-stationary\nmemories: {array}")
    assert found == replace(
        constrained(read_hierarchy(f"memories: {array}"), "weight-stationary"), name=""
    )
    assert [each.record() for each in found.rules] == [
        {},
        {"dims": ["G", "K", "C", "R", "S"]},
        {"stays": ["filter"]},
    ]
    with pytest.raises(HardwareError, match=r"unknown dataflow 'rows'.* allowed: input-stationary"):
        read_hierarchy(f"dataflow: rows\nmemories: {array}")
