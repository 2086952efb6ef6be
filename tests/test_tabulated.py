"""Tabulated problems against the model: values, searches, environments, optima and ranks."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from commands import tabulate
from test_docs import DOCS, cells

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import MapSpaceError, UnknownNameError
from maestro_env.datasets.tabulated import (
    TABULATED,
    TableError,
    TabulatedEnv,
    TabulatedProblem,
    open_table,
)
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.vector import MaestroVectorEnv
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.status import OK, STATUSES
from maestro_env.experiments.commands.tabulate.writer import write_table
from maestro_env.experiments.shown.tables import significant
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.optimum.search import OptimumSearch
from maestro_env.workloads.layer import Layer

EDP = find_objective("edp")
LAYER = Layer("GEMM", {"M": 4, "N": 3, "K": 2})
# Many of its mappings overflow L1 or L2.
MACHINE = Hardware(num_pes=4, l1_bytes=9, l2_bytes=40, noc_bw=2, offchip_bw=3)
MODEL = Problem(MapSpace(LAYER, MACHINE, tiles="divisors"))
PAGE = (DOCS / "tabulated.md").read_text(encoding="utf-8")


def everything(space: MapSpace) -> Points:
    return np.array(list(product(*map(range, space.sizes))), dtype=np.int32)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> TabulatedProblem:
    path = tmp_path_factory.mktemp("tables") / "tiny.npy"
    write_table(MODEL, path, 1, lambda _: None)
    return TabulatedProblem(MODEL.space, path=path)


def proven(problem: Problem, objective: Objective) -> float:
    """The optimum, by a search that asks the model."""
    model, search = Problem(problem.space), OptimumSearch(problem, objective)
    while not search.finished:
        points = search.ask()
        search.tell(points, model.score(points, objective)[0])
    assert search.bound == search.best
    return search.best


def test_every_value_is_the_models(table: TabulatedProblem) -> None:
    points = everything(MODEL.space)
    rows, expected = table.evaluate(points), MODEL.evaluate(points)
    assert {STATUSES[code] for code in np.unique(rows.status)} >= {"ok", "l1_overflow"}
    assert np.array_equal(rows.status, expected.status)
    known = ~np.isnan(rows.metrics).all(axis=0)
    assert np.count_nonzero(known) == 4
    assert np.array_equal(rows.metrics[:, known], expected.metrics[:, known])
    for objective in OBJECTIVES.values():
        for mine, other in zip(
            table.score(points, objective), MODEL.score(points, objective), strict=True
        ):
            assert mine.dtype == other.dtype
            assert np.array_equal(mine, other)


def test_a_search_of_the_table_is_that_of_the_model(table: TabulatedProblem) -> None:
    assert_same_search(table, MODEL, 500)


def assert_same_search(table: TabulatedProblem, model: Problem, samples: int) -> None:
    evaluators = [Evaluator(each, EDP, samples) for each in (table, model)]
    for evaluator in evaluators:
        make_mapper("ga_log").search(evaluator, samples, np.random.default_rng(0))
    mine, other = evaluators
    assert all(map(np.array_equal, mine.trace, other.trace))
    assert mine.best.cost == other.best.cost
    assert mine.best.point.tolist() == other.best.point.tolist()


def test_environments_of_the_table_are_those_of_the_model(table: TabulatedProblem) -> None:
    single = TabulatedEnv(table, episode_length=3, info="full")
    other = MaestroEnv(LAYER, hardware=MACHINE, tiles="divisors", episode_length=3)
    assert single.reference == other.reference
    assert single.reset(seed=0)[0].tolist() == other.reset(seed=0)[0].tolist()
    points = MODEL.space.sample(30, np.random.default_rng(1))
    for point in points.astype(np.int64):
        (seen, *mine, info), (expected, *others, _) = single.step(point), other.step(point)
        assert (seen.tolist(), mine) == (expected.tolist(), others)
        assert info["best_objective"] == other.best_objective
        assert info["optimum"] == info["optimum_bound"] == table.optimum(EDP)
        value = MODEL.score(point[np.newaxis].astype(np.int32), EDP)[0][0]
        assert info["regret"] == value / info["optimum"] - 1
    assert single.best_mapping == other.best_mapping
    copies = [MaestroVectorEnv(Evaluator(each, EDP), 30) for each in (table, MODEL)]
    steps = []
    for each in copies:
        each.reset(seed=0)
        steps.append(each.step(points))
    for mine, theirs in zip(steps[0][:4], steps[1][:4], strict=True):
        assert np.array_equal(mine, theirs)


@pytest.mark.parametrize("objective", OBJECTIVES.values(), ids=OBJECTIVES)
def test_optimum_and_ranks_are_those_of_brute_force(
    table: TabulatedProblem, objective: Objective, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maestro_env.datasets.tabulated._SCANNED", 1000)
    values = MODEL.score(everything(MODEL.space), objective)[0]
    assert table.optimum(objective) == values.min() == proven(table, objective)
    asked = [*np.random.default_rng(0).choice(values, 20), 0.0, values.min(), math.inf]
    assert table.rank(objective, asked).tolist() == [(values < each).sum() for each in asked]
    valid = MODEL.score(everything(MODEL.space), objective)[1] == OK
    assert table.rank(objective, math.inf) == np.count_nonzero(valid)


def test_it_can_be_sent_to_other_processes(table: TabulatedProblem) -> None:
    sent = pickle.dumps(table)
    assert len(sent) < 10_000
    points = MODEL.space.sample(10, np.random.default_rng(0))
    assert pickle.loads(sent).score(points, EDP)[0].tolist() == table.score(points, EDP)[0].tolist()


def test_what_is_no_vector_or_not_tabulated_is_refused(table: TabulatedProblem) -> None:
    width = len(MODEL.space.parameters)
    for points, message in (
        (np.full((1, width), 99, dtype=np.int32), "point 0: l2_order = 99 is not in"),
        (np.zeros((1, 3), dtype=np.int32), "integers of shape"),
        (np.zeros(width, dtype=np.int32), "integers of shape"),
        (np.zeros((1, width)), "got float64"),
    ):
        for ask in (lambda: table.score(points, EDP), lambda: table.evaluate(points)):  # noqa: B023
            with pytest.raises(MapSpaceError, match=message):
                ask()
    with pytest.raises(MapSpaceError, match="99 is not in"):
        table.observe([99] * width, EDP)
    with pytest.raises(MapSpaceError, match="threads is 0"):
        table.score(MODEL.space.sample(1, np.random.default_rng(0)), EDP, threads=0)
    mine = Objective("mine", "", ("steps",), None)
    with pytest.raises(UnknownNameError, match="unknown tabulated figure 'steps': allowed: area"):
        table.score(MODEL.space.sample(1, np.random.default_rng(0)), mine)


def test_files_that_are_not_the_table_are_refused(table: TabulatedProblem, tmp_path: Path) -> None:
    whole = Path(table.path).read_bytes()
    slower = Hardware(num_pes=4, l1_bytes=9, l2_bytes=40, noc_bw=1, offchip_bw=3)
    for content, space, message in (
        (None, MODEL.space, "there is no table .*; maestro-env tabulate other makes it"),
        (b"", MODEL.space, "cannot read"),
        (b"text", MODEL.space, "cannot read"),
        (whole[:-1], MODEL.space, "cannot read"),
        (whole, MapSpace(LAYER, MACHINE, "paper10", "divisors"), "allowed: the table of"),
        (whole, MapSpace(LAYER, slower, tiles="divisors"), "has other values than the model"),
    ):
        path = tmp_path / "other.npy"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(TableError, match=message):
            TabulatedProblem(space, path=path)
    with pytest.raises(UnknownNameError, match="unknown tabulated space"):
        open_table("gpt3_ffn")


# --- The named spaces ---------------------------------------------------------------------------


def printed(name: str) -> list[str]:
    """A space's row in the document."""
    (row,) = (row for row in cells(PAGE) if row[0] == name)
    return row


def test_the_named_spaces_are_small_and_told_of() -> None:
    assert len(TABULATED) >= 5
    sizes = [each.problem().space.size() for each in TABULATED.values()]
    assert sizes == sorted(sizes)
    assert all(10**6 <= size <= 10**8 for size in sizes)
    assert [row[0] for row in cells(PAGE)] == list(TABULATED)
    for space, size in zip(TABULATED.values(), sizes, strict=True):
        layer, hardware, schema, vectors = printed(space.name)[1:5]
        assert (layer, hardware.strip("`"), schema.strip("`"), vectors) == (
            space.layer,
            space.hardware,
            space.schema,
            f"{size:,}",
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", TABULATED)
def test_the_optimum_of_a_table_is_the_one_proven(name: str) -> None:
    # The largest table has 3 GB, and pytest keeps the directories of its last runs.
    with TemporaryDirectory() as directory:
        assert tabulate([name, f"--out={directory}", "--threads=2"]) == 0
        table = open_table(name, directory)
        model = TABULATED[name].problem()
        points = model.space.sample(10_000, np.random.default_rng(1))
        for objective, told in zip(OBJECTIVES.values(), printed(name)[6:10], strict=True):
            assert table.optimum(objective) == proven(table, objective)
            assert told.split()[0] == significant(table.optimum(objective), 7)
            assert np.array_equal(
                table.score(points, objective)[0], model.score(points, objective)[0]
            )
        assert_same_search(table, model, 2000)


@pytest.mark.slow
def test_the_example_of_the_document_runs(tmp_path: Path) -> None:
    example, output = PAGE.split("```py\n")[1].split("```\n\n```\n")
    assert tabulate(["gpt2_ffn", f"--out={tmp_path / 'runs' / 'tables'}"]) == 0
    told = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert told.stdout == output.split("```")[0]
