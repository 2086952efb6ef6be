"""Labels: compared with all vectors of small spaces; files, and processes that share them."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import spaces

from experiments.commands.pretrain import labels as making
from experiments.commands.pretrain import shards
from experiments.commands.pretrain.labels import (
    Label,
    make_label,
    read_labels,
    without,
    write_labels,
)
from experiments.commands.pretrain.near_optima import NEAR, NearEvaluator, essentials, neighbours
from experiments.commands.pretrain.problems import shapes_of
from experiments.commands.pretrain.shards import make_labels
from experiments.shell import cli
from experiments.shell.files import RecordError
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import find_technology
from maestro_env.environments.task import Task
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.optimum.known import known_optimum
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

SMALL = Layer("GEMM", {"M": 2, "N": 2, "K": 3})
EDGE = find_hardware("edge")
MACHINES = (Hardware(6), Hardware(4, 8, 40, noc_bw=2, offchip_bw=1, noc_hop_latency=0))


def small(machine: Hardware = MACHINES[1], objective: str = "edp") -> Task:
    return Task(Problem(MapSpace(SMALL, machine)), find_objective(objective))


def label_of(task: Task, seed: int = 0) -> Label:
    label = make_label(task, np.random.default_rng(seed))
    assert label is not None
    return label


def every_point(space: MapSpace) -> Points:
    indices = np.unravel_index(np.arange(space.size()), tuple(space.sizes))
    return np.stack(indices, axis=1).astype(np.int32)


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("objective", ["latency", "energy", "edp", "area", "energy_nj*area_um2"])
def test_a_label_has_the_least_value_of_all_vectors(machine: Hardware, objective: str) -> None:
    task = small(machine, objective)
    points = every_point(task.space)
    values, _ = task.problem.score(points, task.objective)
    label = label_of(task)
    assert label.proven
    assert label.value == values.min()
    assert label.values.tolist() == task.problem.score(label.points, task.objective)[0].tolist()
    assert label.values.tolist() == sorted(label.values)
    assert label.values[-1] <= (1 + NEAR) * label.value
    near = values <= (1 + NEAR) * values.min()
    different = len(np.unique(essentials(task.space, points[near])))
    assert len(np.unique(essentials(task.space, label.points))) == len(label.points)
    assert len(label.points) <= min(different, making.MOST_POINTS)


def test_what_has_no_proof_or_no_mapping_has_no_label() -> None:
    twice = small(objective="latency_cycles*latency_cycles*energy_nj")
    assert make_label(twice, np.random.default_rng(0)) is None
    assert make_label(small(Hardware(4, 1, 1)), np.random.default_rng(0)) is None


def test_a_label_begins_with_the_known_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_MOST_BOXES", 0)
    problem = Problem(MapSpace(find_layer("resnet18_l2"), EDGE))
    known = known_optimum(problem, find_objective("edp"))
    assert known is not None
    label = label_of(Task(problem, find_objective("edp")))
    assert (label.value, label.bound, label.proven) == (known.value, known.value, True)


def test_a_search_that_ends_at_its_limit_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(making, "_MOST_BOXES", 1)
    task = Task(
        Problem(MapSpace(find_layer("vgg16_l2"), Hardware(100, 300))), find_objective("edp")
    )
    label = label_of(task)
    assert 0 < label.bound < label.value
    assert not label.proven


@given(spaces(("legal13", "full17")), st.integers(0, 2**32))
def test_mappings_that_differ_in_resting_loops_alone_have_the_same_value(
    space: MapSpace, seed: int
) -> None:
    if space.layer.operator == "TRCONV":
        return
    points = space.sample(64, np.random.default_rng(seed))
    # Vectors that differ in their orders alone: of few loops that move, these coincide often.
    rest = [column for name, column in space.columns.items() if not name.endswith("_order")]
    points[:, rest] = points[0, rest]
    rows = Problem(space).evaluate(points)
    _, group = np.unique(essentials(space, points), return_inverse=True)
    for each in range(group.max() + 1):
        metrics = rows.metrics[group == each]
        np.testing.assert_array_equal(metrics, np.broadcast_to(metrics[0], metrics.shape))


@given(spaces(), st.integers(0, 2**32))
def test_neighbours_differ_in_one_parameter(space: MapSpace, seed: int) -> None:
    (point,) = space.sample(1, np.random.default_rng(seed))
    others = neighbours(space, point)
    assert ((others != point).sum(axis=1) <= 1).all()
    assert (others >= 0).all()
    assert (others < space.sizes).all()
    changed = (others != point).any(axis=0)
    assert changed.tolist() == [size > 1 for size in space.sizes]


def test_an_evaluator_keeps_no_more_than_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.commands.pretrain.near_optima._KEPT", 8)
    monkeypatch.setattr("experiments.commands.pretrain.near_optima._WAITING", 8)
    task = small()
    points = task.space.sample(5000, np.random.default_rng(0))
    evaluator = NearEvaluator(task.problem, task.objective)
    for batch in np.split(points, 100):
        evaluator.evaluate(batch)
    values, _ = task.problem.score(points, task.objective)
    _, kept = evaluator.near(4)
    assert kept[0] == values.min()
    assert len(evaluator._near) <= 16 + 50


# --- Files --------------------------------------------------------------------------------------


def grouped() -> Task:
    extents = {"G": 2, "K": 3, "C": 2, "Y": 7, "X": 6, "R": 3, "S": 2, "N": 2}
    machine = Hardware(8, 4096, 8192, technology=find_technology("eyeriss"), word_bytes=2)
    space = MapSpace(Layer("NGCONV", extents, (2, 1)), machine)
    return Task(Problem(space), find_objective("latency"))


@pytest.fixture(scope="module")
def some() -> list[Label]:
    tasks = [small(), small(MACHINES[0], "energy_nj*area_um2"), grouped()]
    return [label_of(task) for task in tasks]


def test_a_file_has_the_labels_written(some: list[Label], tmp_path: Path) -> None:
    write_labels(tmp_path / "a.jsonl.gz", some)
    write_labels(tmp_path / "b.jsonl.gz", some)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    for label, read in zip(some * 2, read_labels(tmp_path), strict=True):
        assert read.task.problem == label.task.problem
        assert read.task.objective.factors == label.task.objective.factors
        assert (read.value, read.bound) == (label.value, label.bound)
        assert read.points.dtype == np.int32
        np.testing.assert_array_equal(read.points, label.points)
        np.testing.assert_array_equal(read.values, label.values)


def test_files_joined_end_to_end_are_one(some: list[Label], tmp_path: Path) -> None:
    write_labels(tmp_path / "a.jsonl.gz", some[:1])
    write_labels(tmp_path / "b.jsonl.gz", some[1:])
    joined = tmp_path / "joined.jsonl.gz"
    joined.write_bytes(b"".join((tmp_path / f"{name}.jsonl.gz").read_bytes() for name in "ab"))
    assert [each.value for each in read_labels(joined)] == [each.value for each in some]


@given(data=st.data())
def test_damaged_files_are_refused_or_read_alike(
    data: st.DataObject, some: list[Label], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "labels.jsonl.gz"
    write_labels(path, some)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(1, len(content) - 1))]
    else:
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        read = read_labels(path)
    except RecordError as error:
        told = str(error)
    else:
        # Some bytes of the header of gzip say nothing.
        assert [each.value for each in read] == [each.value for each in some]
        return
    assert str(path) in told
    assert "\n" not in told


CHANGES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "newer": (lambda entry: entry.update(format="maestro-env/labels/2"), "labels/2'.*not"),
    "other value": (lambda entry: entry["values"].__setitem__(0, 1.0), "other values"),
    "other point": (lambda entry: entry["points"][0].__setitem__(0, 10**6), "l2_order"),
    "no points": (lambda entry: entry.update(points=[], values=[]), "line 1 is no label"),
    "bound above": (lambda entry: entry.update(bound=1e300), "bound is 1e\\+300"),
    "no bound": (lambda entry: entry.pop("bound"), "bound"),
    "text bound": (lambda entry: entry.update(bound="0"), "line 1 is no label"),
    "no number": (lambda entry: entry.update(bound=float("nan")), "bound is nan"),
    "other layer": (lambda entry: entry["layer"].update(operator="POOL"), "POOL"),
    "other machine": (lambda entry: entry["hardware"].update(num_pes=0), "num_pes"),
    "other field": (lambda entry: entry["hardware"].update(cores=1), "cores"),
    "other factors": (lambda entry: entry.update(factors=["speed"]), "speed"),
    "no factors": (lambda entry: entry.update(factors=[]), "line 1 is no label"),
    "numbers": (lambda entry: entry.update(factors=[1]), "line 1 is no label"),
    "other schema": (lambda entry: entry.update(schema="none"), "schema 'none'"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changed_labels_are_refused(name: str, some: list[Label], tmp_path: Path) -> None:
    change, reason = CHANGES[name]
    path = tmp_path / "labels.jsonl.gz"
    write_labels(path, some[:1])
    entry = json.loads(gzip.decompress(path.read_bytes()))
    change(entry)
    path.write_bytes(gzip.compress(json.dumps(entry).encode()))
    with pytest.raises(RecordError, match=reason) as refused:
        read_labels(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("content", [b"1", b"[]", b"\xff", b"[" * 10**5, b" " * 2**21])
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl.gz"
    path.write_bytes(content)
    with pytest.raises(RecordError, match="cannot read"):
        read_labels(path)
    path.write_bytes(gzip.compress(content))
    with pytest.raises(RecordError, match=str(path)):
        read_labels(path)
    path.write_bytes(b"")
    with pytest.raises(RecordError, match="it is empty"):
        read_labels(path)


def test_a_directory_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no file"):
        read_labels(tmp_path)
    with pytest.raises(RecordError, match="cannot read"):
        read_labels(tmp_path / "none")


def test_without_drops_every_shape_of_a_network(some: list[Label]) -> None:
    shared = find_layer("resnet18_l2")
    problem = Problem(MapSpace(Layer(shared.operator, shared.extents, shared.stride), Hardware(64)))
    point = np.zeros((1, len(problem.space.parameters)), dtype=np.int32)
    held = Label(Task(problem, find_objective("edp")), 0.0, point, np.ones(1))
    assert without([*some, held], shapes_of("resnet18")) == some
    assert without([*some, held], shapes_of("vgg16")) == [*some, held]


# --- Processes ----------------------------------------------------------------------------------

RUN = """
import sys
from pathlib import Path
from experiments.pretrain import labels, shards
shards.PROBLEMS, labels._MOST_BOXES = 2, 1000
sys.exit(shards.make_labels(Path(sys.argv[1]), 3, 3))
"""


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "PROBLEMS", 2)
    monkeypatch.setattr(making, "_MOST_BOXES", 1000)


@pytest.mark.usefixtures("few")
def test_two_processes_write_what_one_does(tmp_path: Path) -> None:
    two = [subprocess.Popen([sys.executable, "-c", RUN, tmp_path / "two"]) for _ in range(2)]
    assert make_labels(tmp_path / "one", 3, 3) == 0
    assert [each.wait() for each in two] == [0, 0]
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    assert len(read_labels(tmp_path / "one")) <= 6


@pytest.mark.usefixtures("few")
def test_an_interrupted_run_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Task] = []

    def quick(task: Task, rng: np.random.Generator) -> Label | None:
        made.append(task)
        if len(made) == 4:
            raise KeyboardInterrupt
        return label_of(small(), int(rng.integers(100)))

    monkeypatch.setattr(shards, "make_label", quick)
    assert make_labels(tmp_path / "once", 0, 3) == cli.INTERRUPTED
    assert len(read_labels(tmp_path / "once")) == 2
    assert make_labels(tmp_path / "once", 0, 3) == 0
    layers = [str(task.problem.layer) for task in made]
    assert len(layers) == 8
    assert layers[4:6] == layers[2:4]
    assert make_labels(tmp_path / "again", 0, 3) == 0
    assert contents(tmp_path / "once") == contents(tmp_path / "again")


@pytest.mark.usefixtures("few")
def test_a_failure_is_told_and_the_rest_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(task: Task, rng: np.random.Generator) -> Label | None:
        if rng.integers(2):
            raise RuntimeError("no luck")
        return None

    monkeypatch.setattr(shards, "make_label", failing)
    assert make_labels(tmp_path, 0, 12) == cli.FAILED
    assert "no luck" in capsys.readouterr().err
    there = {path.name for path in tmp_path.glob("labels-*.gz")}
    failed = {path.name for path in tmp_path.glob("labels-*.txt")}
    assert there
    assert failed
    assert len(there) + len(failed) == 12


def test_labels_of_another_seed_are_refused(tmp_path: Path) -> None:
    assert make_labels(tmp_path, 0, 0) == 0
    with pytest.raises(RecordError, match="seed = 0, asked for 1"):
        make_labels(tmp_path, 1, 0)
