"""The benchmark protocol: what is held out, how methods are scored, and what the records hold."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import pretrain as main
from conftest import Main
from prior_helpers import random_file
from run_helpers import edit, load
from scipy.stats import gmean

from experiments.commands.pretrain.benchmark.methods import Method, training_library
from experiments.commands.pretrain.benchmark.protocol import Held, fresh_problems, held_problems
from experiments.commands.pretrain.benchmark.records import Evaluation, checkpoints
from experiments.commands.pretrain.benchmark.scores import WORST, estimates, paired, scores_of
from experiments.commands.pretrain.benchmark.tables import groups_of
from experiments.commands.pretrain.benchmark.unusual import unusual_problems
from experiments.commands.pretrain.training.drawn import HELD_MACHINE
from experiments.commands.pretrain.training.problems import distinct_layers
from maestro_env.optimum.known import KnownOptimum, known_optimum
from maestro_env.workloads.finding import models

NETWORK = "K,C,Y,X,R,S,T\n4,3,6,6,3,3,1\n"
TOY = """
import numpy as np
from mappers.base import Mapper, NoConfig


class Toy(Mapper[NoConfig]):
    def search(self, evaluator, budget, rng):
        evaluator.evaluate(evaluator.space.sample(budget, rng))


class Lazy(Toy):
    def search(self, evaluator, budget, rng):
        pass
"""


@pytest.fixture(scope="module")
def proofs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, proofs: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(proofs))
    monkeypatch.chdir(tmp_path)
    Path("net.csv").write_text(NETWORK)
    return tmp_path


def run(*flags: str, methods: str = "random", samples: int = 20) -> int:
    defaults = ["--networks=net.csv", "--seeds=2", "--out=out", f"--samples={samples}"]
    return main([f"--evaluate={methods}", *defaults, *flags])


def records() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path("out").glob("cells/*/*/*.json")}


def rows() -> dict[tuple[str, ...], tuple[float, float]]:
    """Ratios and shares of valid ones, by method, network, layer, hardware, objective, samples."""
    lines = [line.split(",") for line in Path("out/problems.csv").read_text().splitlines()[1:]]
    return {tuple(line[:6]): (float(line[6]), float(line[7])) for line in lines}


def optimum(value: float, bound: float) -> KnownOptimum:
    return KnownOptimum(value, np.zeros(13, np.int32), bound, 0.0, 0)


# --- What is held out ---------------------------------------------------------------------------


def test_a_held_network_has_all_its_layers_on_three_machines_for_two_objectives() -> None:
    held = held_problems("mobilenetv2")
    shapes = {layer.shape for layer in models()["mobilenetv2"]}
    assert {each.shape for each in held} == shapes
    assert len(held) == 6 * len(shapes) == len({each.key for each in held})
    assert {each.machine for each in held} == {"unlimited", "edge", "held"}
    machines = {each.goal.problem.hardware for each in held}
    assert HELD_MACHINE in machines
    assert (HELD_MACHINE.num_pes, HELD_MACHINE.l1_bytes) == (512, 1024)
    assert {each.goal.problem.space.schema for each in held} == {"legal13"}


@pytest.mark.parametrize("network", ["resnet50", "gpt2"])
def test_no_library_has_a_layer_of_the_held_network_or_the_held_machine(network: str) -> None:
    held = held_problems(network)
    shapes, target = frozenset(each.shape for each in held), held[0].goal
    near = list(training_library(shapes, None).near(target.problem, target.objective.factors))
    assert near
    assert shapes.isdisjoint(each.problem.layer.shape for each in near)
    assert HELD_MACHINE not in {replace(each.problem.hardware, name="held") for each in near}


def test_unusual_problems_are_of_all_kinds_and_none_of_the_zoo() -> None:
    held = unusual_problems()
    assert (
        len(held) == len({each.key for each in held}) == len({each.shape for each in held}) == 500
    )
    assert not distinct_layers().keys() & {each.shape for each in held}
    operators = Counter(each.goal.problem.layer.operator for each in held)
    assert operators == {"CONV": 260, "GEMM": 120, "DSCONV": 60, "NGCONV": 60}
    assert set(Counter(each.machine for each in held).values()) == {125}
    objectives = Counter(each.objective for each in held)
    assert {*objectives} == {"latency", "edp", "energy"}
    assert min(objectives.values()) > 160
    extents = [each.goal.problem.layer.extents for each in held]
    assert any(each.get("M") == 1 for each in extents)
    assert any(each["R"] != each["S"] for each in extents if "R" in each)


def test_fresh_problems_follow_from_their_seed() -> None:
    held = fresh_problems(5)
    assert [each.key for each in held] == [each.key for each in fresh_problems(5)]
    assert {each.key for each in held}.isdisjoint(each.key for each in fresh_problems(6))
    assert len({each.shape for each in held}) <= 30
    assert {each.machine for each in held} == {"fresh5.0", "fresh5.1", "fresh5.2"}


def test_groups() -> None:
    held = held_problems("gpt2")
    bounds = [4.0] * (len(held) - 3) + [3.0] * 3
    optima = {each.key: optimum(4.0, bound) for each, bound in zip(held, bounds, strict=True)}
    groups = groups_of(held, optima)
    assert groups.pop("proven optimum").tolist() == [bound == 4 for bound in bounds]
    assert {name: group.sum() for name, group in groups.items()} == {
        "all problems": 36,
        **dict.fromkeys(("unlimited", "edge", "held"), 12),
        **dict.fromkeys(("latency", "edp"), 18),
        "edge, edp": 6,
    }
    assert [held[i].machine for i in np.flatnonzero(groups["edge"])] == ["edge"] * 12
    # Where all problems are proven, or none, they are no group.
    assert "proven optimum" not in groups_of(held[:-3], optima)
    assert "proven optimum" not in groups_of(held[-3:], optima)


# --- Statistics ---------------------------------------------------------------------------------


def test_figures_of_ratios_in_closed_form() -> None:
    ratios = np.array([[1.0 + 0.01 * index, 2.0] for index in range(20)])
    found, low, high = np.moveaxis(estimates(ratios), 1, 0)
    iqm, mean, percentile, within, largest = found[:, 0]
    assert iqm == pytest.approx(np.mean(ratios[5:15, 0]))
    assert mean == pytest.approx(gmean(ratios[:, 0]))
    # 18 of 20 are at most this.
    assert percentile == ratios[17, 0]
    assert within == 6 / 20
    assert largest == 1.19
    assert (low[:, 0] < found[:, 0]).all()
    assert (found[:4, 0] < high[:4, 0]).all()
    # Without spread there is no interval.
    np.testing.assert_allclose([low[:, 1], high[:, 1]], [[2, 2, 2, 0, 2]] * 2)


def test_a_pair_is_compared_problem_by_problem() -> None:
    other = np.array([1.0, 10.0, 3.0, 7.0])
    assert paired(0.5 * other, other) == pytest.approx((0.5, 0.5, 0.5))
    assert paired(np.array([1.0, 4.0]), np.array([2.0, 2.0])) == pytest.approx((1.0, 0.5, 2.0))


def test_a_problem_counts_with_the_geometric_mean_over_seeds_that_all_networks_have() -> None:
    (held, *_) = held_problems("gpt2")
    problems = {name: [Held(held.goal, held.layer, name)] for name in "ab"}
    found = {
        ("m", "a", 0): [4.0, 2.0],
        ("m", "a", 1): [16.0, 4.0],
        ("m", "a", 2): [2.0, 2.0],
        ("m", "b", 0): [np.inf, 2.0],
        ("m", "b", 1): [1e9, 2.0],
        ("n", "b", 2): [2.0, 2.0],
    }
    evaluations = [
        Evaluation(Path("x"), *which, 10, np.array([values]), np.array([[1.0, which[2]]]))
        for which, values in found.items()
    ]
    optima = {held.key: optimum(4.0, 2.0)}
    scores = scores_of("m", evaluations, problems, optima)
    assert scores is not None
    assert (scores.seeds, scores.counts) == (2, (1, 10))
    # Without a valid mapping, or far from the optimum, a search counts as the worst.
    np.testing.assert_allclose(scores.ratios, [[4.0, math.sqrt(2)], [WORST, 1.0]])
    np.testing.assert_allclose(scores.valid, [[1.0, 0.5]] * 2)
    assert scores_of("n", evaluations, problems, optima) is None


def test_checkpoints() -> None:
    assert checkpoints(500) == (1, 10, 100, 500)
    assert checkpoints(30) == (1, 10, 30)
    assert checkpoints(1) == (1,)


# --- The command --------------------------------------------------------------------------------


def test_scores_are_best_values_by_proven_optima(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--seeds=1", methods="random,optimum", samples=5000) == 0
    shown = capsys.readouterr().out
    assert "Value / optimum: all problems, 6 problems" in shown
    assert "| random | 1 | 5,000 |" in Path("out/table.md").read_text()
    found = rows()
    assert len(found) == 2 * 6 * 6
    assert min(ratio for ratio, _ in found.values()) >= 1
    proof = load(next(path for path in records() if path.parent.name == "optimum"))
    for held in held_problems("net.csv"):
        # No table has this layer.
        assert known_optimum(held.goal.problem, held.goal.objective) is None
        name = ("net.csv", held.layer, held.machine, held.objective)
        drawn = [found["random", *name, count][0] for count in ("1", "10", "100", "5000")]
        assert drawn == sorted(drawn, reverse=True)
        # It ends early, and is scored by what it spent.
        of_proof = proof["problems"][held.key]
        assert of_proof["ended"] < 5000
        share = of_proof["valid"][-1] / of_proof["ended"]
        assert found["optimum", *name, "5000"] == (1.0, pytest.approx(share, abs=1e-4))


def test_what_is_there_is_not_searched_again_and_jobs_change_no_byte(place: Path) -> None:
    assert run("--seeds=3") == 0
    before = records()
    # With one that is missing, there would be no other process.
    for removed in list(before)[:2]:
        removed.unlink()
    ((path, _),) = records().items()
    stamp = path.stat().st_mtime_ns
    assert run("--seeds=3", "--jobs=2") == 0
    assert records() == before
    assert path.stat().st_mtime_ns == stamp
    assert not list(place.glob("out/**/*.lock"))


def test_other_methods_of_the_directory_stand_beside_those_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run() == 0
    assert run("--seeds=1", methods="random_log,library", samples=120) == 0
    shown = capsys.readouterr().out
    assert "library / other method" in shown
    assert "random / other method" not in shown
    table = Path("out/table.md").read_text()
    assert "| random | 2 | 20 |" in table
    assert "| library | 1 | 100 |" in table
    # After 100 samples against all that the other spent.
    assert "| random | 100 | 20 |" in table


def test_a_mapper_of_a_module(capsys: pytest.CaptureFixture[str]) -> None:
    Path("toys_of_mine.py").write_text(TOY)
    assert run(methods="toys_of_mine:Toy") == 0
    assert "toys_of_mine:Toy" in capsys.readouterr().out
    assert run(methods="toys_of_mine:Lazy") == 1
    assert "UnspentError: it spent 0 of 20 evaluations" in capsys.readouterr().err


def test_the_name_of_the_held_network_and_files_are_part_of_a_method(place: Path) -> None:
    path = place / "groups-net.csv.json"
    method = Method(f"marl:groups={place}/groups-{{network}}.json")
    assert method.files("net.csv") == {}
    path.write_text("{}")
    assert list(method.files("net.csv")) == ["groups"]
    assert method.key == "marl"
    assert Method("a.b:Toy:x=1").key == "a.b:Toy"


def test_a_prior_that_has_seen_the_held_layers_is_told(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "mine.safetensors"
    path.write_bytes(random_file(data_card={"hold": "gpt2"}).to_bytes())
    held = held_problems("gpt2")
    goals = [(each.goal.problem, each.goal.objective) for each in held]
    for method, told in [(str(path), False), ("prior", True), ("marl:start=prior", True)]:
        warning = Method(method).mapper("gpt2", held).warning(goals)
        assert ("trained with" in (warning or "")) is told
    # The last layer of ResNet-18.
    Path("net.csv").write_text("K,C,Y,X,R,S,T\n1000,512,1,1,1,1,0\n")
    assert run("--seeds=1", methods="prior,random") == 0
    error = capsys.readouterr().err
    assert error.count("warning") == 1
    assert "warning: prior on net.csv: the prior was trained with this layer" in error


def first(entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(iter(entry["problems"].values()))
    return found


DAMAGES: list[tuple[Callable[[dict[str, Any]], object], bool, str]] = [
    (lambda entry: entry.update(versions={}), False, "does not fit its digest"),
    (lambda entry: entry.pop("problems"), True, "is not an evaluation: KeyError: 'problems'"),
    (lambda entry: first(entry)["values"].append(1.0), True, "4 values for 3 numbers of samples"),
    (lambda entry: first(entry).update(ended=20), True, "it ended after 20 of 20 samples"),
    (lambda entry: first(entry).update(point=[0] * 13), True, "ValueError: best_point has"),
]


def test_records_that_do_not_fit_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--seeds=1") == 0
    ((path, content),) = records().items()

    def refused() -> str:
        capsys.readouterr()
        assert run("--seeds=1") == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert str(path) in error
        return error

    for change, sealed, message in DAMAGES:
        edit(path, change, sealed)
        error = refused()
        assert message in error
        assert "delete it" in error
        path.write_bytes(content)
    edit(path, lambda entry: first(entry)["values"].__setitem__(0, 1e-9), sealed=True)
    assert "has 1e-09, below the optimum" in refused()
    path.write_bytes(content)


def test_seeds_of_several_numbers_of_samples_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--seeds=1") == 0
    capsys.readouterr()
    assert run("--seeds=1", "--first-seed=1", samples=10) == 2
    error = capsys.readouterr().err
    assert "1.json has 10 samples, " in error
    assert "0.json 20" in error
    assert "use another --out" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--evaluate=gaa"], "unknown mapper 'gaa'"),
        (["--evaluate=no_module:Mapper"], "mapper no_module:Mapper cannot be loaded"),
        (["--evaluate=json:JSONDecoder"], "a subclass of mappers.base.Mapper"),
        (["--evaluate=library:keep=all"], "unknown keep 'all'"),
        (["--evaluate=random", "--networks=resnet51"], "unknown network 'resnet51'"),
        (["--evaluate=library", "--networks=gpt2", "--labels=none"], "cannot read none"),
        (["--evaluate=none.safetensors", "--networks=gpt2"], "cannot read the prior none"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_one_line(
    assert_refused: Callable[[Main, list[str], str], None],
    flags: list[str],
    message: str,
    place: Path,
) -> None:
    (place / "net.csv").unlink()
    assert_refused(main, flags, message)
