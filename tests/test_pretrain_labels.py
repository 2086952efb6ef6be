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

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import find_technology
from maestro_env.environments.task import Task
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands import pretrain
from maestro_env.experiments.commands.pretrain import make_label, make_labels
from maestro_env.experiments.commands.pretrain.lessons import (
    NEAR,
    NearEvaluator,
    essentials,
    lessons_of,
    neighbours,
)
from maestro_env.experiments.problems.drawn import shapes_of
from maestro_env.experiments.problems.labels import Label, read_labels, write_labels
from maestro_env.experiments.shell import cli
from maestro_env.experiments.shell.files import RecordError
from maestro_env.mapspace.two_level_space import MapSpace
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


@pytest.mark.parametrize(
    ("machine", "objective"),
    [(MACHINES[0], "edp"), *((MACHINES[1], each) for each in ("latency", "energy_nj*area_um2"))],
)
def test_a_label_has_the_least_value_of_all_vectors(machine: Hardware, objective: str) -> None:
    task = small(machine, objective)
    sizes = tuple(task.space.sizes)
    points = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1).astype(np.int32)
    values, _ = task.problem.score(points, task.objective)
    label = label_of(task)
    assert label.bound == label.value == values.min()
    assert label.values.tolist() == task.problem.score(label.points, task.objective)[0].tolist()
    assert label.values.tolist() == sorted(label.values)
    assert label.values[-1] <= (1 + NEAR) * label.value
    near = values <= (1 + NEAR) * values.min()
    different = len(np.unique(essentials(task.space, points[near])))
    assert len(np.unique(essentials(task.space, label.points))) == len(label.points)
    assert len(label.points) <= min(different, pretrain.MOST_POINTS)


def test_what_has_no_proof_or_no_mapping_has_no_label() -> None:
    twice = small(objective="latency_cycles*latency_cycles*energy_nj")
    assert make_label(twice, np.random.default_rng(0)) is None
    assert make_label(small(Hardware(4, 1, 1)), np.random.default_rng(0)) is None


def test_without_a_proof_a_label_has_a_bound_or_the_known_optimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pretrain, "_MOST_BOXES", 1)
    edp = find_objective("edp")
    label = label_of(Task(Problem(MapSpace(find_layer("vgg16_l2"), Hardware(100, 300))), edp))
    assert 0 < label.bound < label.value
    problem = Problem(MapSpace(find_layer("resnet18_l2"), EDGE))
    known = known_optimum(problem, edp)
    assert known is not None
    label = label_of(Task(problem, edp))
    assert (label.value, label.bound) == (known.value, known.value)


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
    monkeypatch.setattr("maestro_env.experiments.commands.pretrain.lessons._KEPT", 8)
    monkeypatch.setattr("maestro_env.experiments.commands.pretrain.lessons._WAITING", 8)
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


@pytest.fixture(scope="module")
def some() -> list[Label]:
    extents = {"G": 2, "K": 3, "C": 2, "Y": 7, "X": 6, "R": 3, "S": 2, "N": 2}
    machine = Hardware(8, 4096, 8192, technology=find_technology("eyeriss"), word_bytes=2)
    grouped = Problem(MapSpace(Layer("NGCONV", extents, (2, 1)), machine))
    other = small(MACHINES[0], "energy_nj*area_um2")
    return [label_of(each) for each in (small(), other, Task(grouped, find_objective("latency")))]


def test_files_have_the_labels_written_and_can_be_joined_end_to_end(
    some: list[Label], tmp_path: Path
) -> None:
    write_labels(tmp_path / "a.jsonl.gz", some[:1])
    write_labels(tmp_path / "b.jsonl.gz", some[1:])
    joined = b"".join((tmp_path / f"{name}.jsonl.gz").read_bytes() for name in "ab")
    (tmp_path / "c.jsonl.gz").write_bytes(joined)
    for label, read in zip(some * 2, read_labels(tmp_path), strict=True):
        assert read.task.problem == label.task.problem
        assert read.task.objective.factors == label.task.objective.factors
        assert (read.value, read.bound) == (label.value, label.bound)
        assert read.points.dtype == np.int32
        np.testing.assert_array_equal(read.points, label.points)
        np.testing.assert_array_equal(read.values, label.values)


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
    "no points": (lambda entry: entry.update(points=[], values=[]), "line 1 is not a label"),
    "bound above": (lambda entry: entry.update(bound=1e300), "bound is 1e\\+300"),
    "no number": (lambda entry: entry.update(bound=float("nan")), "bound is nan"),
    "other layer": (lambda entry: entry["layer"].update(operator="POOL"), "POOL"),
    "other field": (lambda entry: entry["hardware"].update(cores=1), "cores"),
    "other factors": (lambda entry: entry.update(factors=["speed"]), "speed"),
    "numbers": (lambda entry: entry.update(factors=[1]), "line 1 is not a label"),
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
    with pytest.raises(RecordError, match=rf"{path}[^\n]*{reason}[^\n]*$"):
        read_labels(path)


def test_what_is_no_file_of_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="no file"):
        read_labels(tmp_path)
    path = tmp_path / "labels.jsonl.gz"
    with pytest.raises(RecordError, match="cannot read"):
        read_labels(path)
    path.write_bytes(b"")
    with pytest.raises(RecordError, match="it is empty"):
        read_labels(path)
    for content in (b"1", b"[]", b"\xff", b"[" * 10**5, b" " * 2**21):
        path.write_bytes(content)
        with pytest.raises(RecordError, match="cannot read"):
            read_labels(path)
        path.write_bytes(gzip.compress(content))
        with pytest.raises(RecordError, match=str(path)):
            read_labels(path)


def test_lessons_are_of_labels_without_held_layers(some: list[Label]) -> None:
    shared = find_layer("resnet18_l2")
    layer = Layer(shared.operator, shared.extents, shared.stride)
    task = Task(Problem(MapSpace(layer, EDGE)), find_objective("edp"))
    known = known_optimum(task.problem, task.objective)
    assert known is not None
    held = Label(task, known.bound, known.point[np.newaxis], np.array([known.value]))
    assert len(lessons_of([held], frozenset())) == 1
    assert len(lessons_of([held], shapes_of("vgg16"))) == 1
    assert lessons_of([held], shapes_of("resnet18")) == []
    (lesson, good), *_ = lessons_of(some, shapes_of("resnet18"))
    assert lesson.best == some[0].value
    assert lesson.values(good).min() <= 1.1 * lesson.best


# --- Processes ----------------------------------------------------------------------------------

RUN = """
import sys
from pathlib import Path
from maestro_env.experiments.commands import pretrain
pretrain.PROBLEMS, pretrain._MOST_BOXES = 2, 1000
sys.exit(pretrain.make_labels(Path(sys.argv[1]), 3, 2))
"""


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrain, "PROBLEMS", 2)
    monkeypatch.setattr(pretrain, "_MOST_BOXES", 1000)


@pytest.mark.slow
@pytest.mark.usefixtures("few")
def test_two_processes_write_what_one_does(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", RUN, tmp_path / "two"]) as other:
        assert make_labels(tmp_path / "one", 3, 2) == 0
        assert make_labels(tmp_path / "two", 3, 2) == 0
    assert other.returncode == 0
    assert contents(tmp_path / "two") == contents(tmp_path / "one")
    assert len(read_labels(tmp_path / "one")) <= 4


@pytest.mark.usefixtures("few")
def test_what_failed_is_told_and_made_by_the_next_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made: list[Task] = []

    def failing(task: Task, rng: np.random.Generator) -> Label | None:
        made.append(task)
        if len(made) == 4:
            raise RuntimeError("no luck")
        return label_of(small(), int(rng.integers(100)))

    monkeypatch.setattr(pretrain, "make_label", failing)
    assert make_labels(tmp_path, 0, 3) == cli.FAILED
    assert "no luck" in capsys.readouterr().err
    failed = tmp_path / "labels-00001.jsonl.error.txt"
    assert "no luck" in failed.read_text()
    assert len(read_labels(tmp_path)) == 4
    assert make_labels(tmp_path, 0, 3) == 0
    assert len(read_labels(tmp_path)) == 6
    assert not failed.exists()
    # Six and, of the file that failed, two again.
    assert [str(task.problem.layer) for task in made[6:]] == [
        str(task.problem.layer) for task in made[2:4]
    ]
    with pytest.raises(RecordError, match="seed = 0, asked for 1"):
        make_labels(tmp_path, 1, 3)
