"""Map spaces that keep their parallel loops: the mappings of the full space that have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import optimum, verify
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import layers
from optimum_helpers import every_vector, solve

from maestro_env import Evaluator, Masks
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MaestroEnvError, MapSpaceError, UnknownNameError
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem, find_schema
from maestro_env.experiments.search.goals import ProblemConfig, make_goal
from maestro_env.explanation.dataflows import parallel_loops
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.optimum.known import known_optimum
from maestro_env.workloads.finding import find_layer

TINY = [
    ("gemm:M=2,N=2,K=3", "legal13", "M,K"),
    ("gemm:M=3,N=2,K=4", "paper10", "K,K"),
    ("conv:K=2,C=1,Y=3,X=1,R=2,S=1", "full17", "K,Y"),
    ("dsconv:C=3,Y=2,X=2,R=1,S=1", "legal13", "Y,C"),
]


def kept(space: MapSpace, pair: str) -> list[str]:
    """Return the dimensions that a pair names."""
    return [dim for each in pair.split(",") for dim in space.extents if dim.rstrip("'") == each]


@pytest.mark.parametrize(("layer", "schema", "pair"), TINY)
def test_the_optimum_is_the_least_of_the_vectors_that_keep_the_loops(
    layer: str, schema: str, pair: str
) -> None:
    machine = Hardware(4, l1_bytes=24, l2_bytes=40, noc_bw=2, offchip_bw=1)
    whole = Problem(MapSpace(find_layer(layer), machine, schema))
    some = Problem(MapSpace(find_layer(layer), machine, f"{schema}:parallel={pair}"))
    points = every_vector(whole.space)
    dims = whole.space.parallel_dims
    for level, dim in zip(("l2", "l1"), kept(whole.space, pair), strict=True):
        column = whole.space.columns[f"{level}_parallel"]
        points = points[points[:, column] == dims.index(dim)]
    assert some.space.size() * len(dims) ** 2 == whole.space.size()
    for objective in OBJECTIVES.values():
        values = whole.score(points, objective)[0]
        search = solve(some, objective)
        assert search.best == search.bound == values.min() < np.inf


@given(layers(), st.sampled_from(list(SCHEMAS)), st.data())
def test_vectors_are_those_of_the_whole_space_that_keep_the_loops(layer, schema, data) -> None:
    whole = MapSpace(layer, Hardware(16), schema)
    pair = [data.draw(st.sampled_from(whole.parallel_dims)) for _ in range(2)]
    text = ",".join(dim.rstrip("'") for dim in pair)
    some = MapSpace(layer, Hardware(16), f"{schema}:parallel={text}")
    points = some.sample(20, np.random.default_rng(0))
    for point in points:
        mapping = some.decode(point)
        spatial = [loop.dim for level in mapping.levels for loop in level.loops if loop.spatial]
        assert spatial == pair
        assert some.decode(some.encode(mapping)) == whole.decode(whole.encode(mapping)) == mapping
    other = whole.decode(whole.sample(1, np.random.default_rng(0))[0])
    found = [loop.dim for level in other.levels for loop in level.loops if loop.spatial]
    if found != pair:
        with pytest.raises(MapSpaceError):
            some.encode(other)


@pytest.mark.parametrize("name", ["ga_log", "gamma", "library", "marl", "optimum", "pbil", "prior"])
def test_mappers_search_what_keeps_the_loops(name: str) -> None:
    space = MapSpace(find_layer("resnet18_l2"), find_hardware("edge"), "legal13:parallel=K,C")
    problem = Problem(space)
    evaluator = Evaluator(problem, OBJECTIVES["edp"], 200)
    make_mapper(name).search(evaluator, 200, np.random.default_rng(0))
    masked = Masks(problem).sample(5, np.random.default_rng(0))
    assert all(problem.evaluate_mapping(space.decode(each))[1] == "ok" for each in masked)
    if evaluator.best is not None:
        outer, inner = space.decode(evaluator.best.point).levels
        assert [each.dim for each in (*outer.loops, *inner.loops) if each.spatial] == ["K", "C"]


def test_what_is_known_of_the_whole_space_is_not_taken_for_a_part() -> None:
    layer, edge = find_layer("resnet18_l2"), find_hardware("edge")
    assert known_optimum(Problem(MapSpace(layer, edge)), OBJECTIVES["edp"])
    some = Problem(MapSpace(layer, edge, "legal13:parallel=K,C"))
    assert known_optimum(some, OBJECTIVES["edp"]) is None


def test_the_command_keeps_and_proves(tmp_path: Path) -> None:
    flags = ["--layer=gemm:M=8,N=6,K=5", "--hardware=edge", "--keep=weight_stationary"]
    assert optimum([*flags, f"--out={tmp_path / 'o'}"]) == 0
    assert '"schema": "legal13:parallel=N,K"' in (tmp_path / "o" / "optimum.json").read_text()
    assert verify([str(tmp_path / "o" / "certificate.gz")]) == 0


@pytest.mark.parametrize(
    ("layer", "keep", "schema"),
    [
        ("resnet18_l2", "parallel=K,C", "legal13:parallel=K,C"),
        ("resnet18_l2", "output-stationary", "legal13:parallel=Y,X"),
        ("gpt2_l4", "weight_stationary", "legal13:parallel=N,K"),
    ],
)
def test_a_dataflow_keeps_its_parallel_loops(layer: str, keep: str, schema: str) -> None:
    config = ProblemConfig(keep=keep)
    goal = make_goal(config, find_layer(layer), find_hardware("edge"), "edp")
    assert goal.problem.space.schema == schema
    assert goal.describe()["map_space"]["schema"] == schema
    assert find_schema("auto:parallel=K,C", [find_layer("resnet18_l2")], find_hardware("gemmini"))


@pytest.mark.parametrize(
    ("keep", "told"),
    [
        ("parallel=K", "allowed behind a colon: parallel=OUTER,INNER, two of C, K, X, Y"),
        ("parallel=K,R", "parallel=OUTER,INNER, two of C, K, X, Y"),
        ("parallel=K,C,X", "parallel=OUTER,INNER, two of C, K, X, Y"),
        ("order=K,C", "constraints order=K,C; allowed: none, weight-stationary"),
        ("row-stationary", "parallel over R"),
    ],
)
def test_other_loops_are_refused(keep: str, told: str) -> None:
    with pytest.raises(MaestroEnvError) as caught:
        make_goal(ProblemConfig(keep=keep), find_layer("resnet18_l2"), find_hardware("edge"), "edp")
    assert told in str(caught.value)


def test_an_unknown_dataflow_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="output-stationary, row-stationary, weight-stat"):
        parallel_loops("input-stationary", find_layer("resnet18_l2"))
