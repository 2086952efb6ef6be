"""The benchmark protocol: what is held out, how methods are scored, and what the records hold."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from commands import pretrain as main
from conftest import Main
from prior_helpers import random_file
from run_helpers import edit, load
from scipy.stats import gmean

from experiments.commands.pretrain.evaluate import Evaluation, Found, checkpoints
from experiments.commands.pretrain.methods import Method, training_library
from experiments.commands.pretrain.problems import HELD_MACHINE
from experiments.commands.pretrain.protocol import (
    Optimum,
    fresh_problems,
    held_problems,
    shapes_of,
    zoo_networks,
)
from experiments.commands.pretrain.scores import WORST, Scores, figures, paired, scores_of
from experiments.commands.pretrain.tables import groups_of
from maestro_env.optimum.known import known_optimum, layer_text

NETWORK = """K,C,Y,X,R,S,T
4,3,6,6,3,3,1
8,4,4,4,1,1,1
"""
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


# --- What is held out ---------------------------------------------------------------------------


def test_a_held_network_has_all_its_layers_on_three_machines_for_two_objectives() -> None:
    held = held_problems("mobilenetv2")
    assert len(held) == 6 * len(shapes_of(held)) == len({each.key for each in held})
    assert {each.machine for each in held} == {"unlimited", "edge", "held"}
    machines = {each.goal.problem.hardware for each in held}
    assert HELD_MACHINE in machines
    assert (HELD_MACHINE.num_pes, HELD_MACHINE.l1_bytes) == (512, 1024)
    assert {each.goal.problem.space.schema for each in held} == {"legal13"}


@pytest.mark.parametrize("network", zoo_networks())
def test_no_library_has_a_layer_of_the_held_network_or_the_held_machine(network: str) -> None:
    held = held_problems(network)
    library, target = training_library(shapes_of(held), None), held[0].goal
    near = list(library.near(target.problem, target.objective.factors))
    assert near
    shapes = {layer_text(each.problem.layer) for each in near}
    assert shapes.isdisjoint(shapes_of(held))
    assert HELD_MACHINE not in {replace(each.problem.hardware, name="held") for each in near}


def test_fresh_problems_follow_from_their_seed() -> None:
    held = fresh_problems(5)
    assert [each.key for each in held] == [each.key for each in fresh_problems(5)]
    assert {each.key for each in held}.isdisjoint(each.key for each in fresh_problems(6))
    assert len({layer_text(each.goal.problem.layer) for each in held}) <= 30
    assert {each.machine for each in held} == {"fresh5.0", "fresh5.1", "fresh5.2"}


def test_groups() -> None:
    held = held_problems("gpt2")
    optima = {each.key: Optimum(4.0, 4.0) for each in held}
    sizes = {name: sum(map(group, held)) for name, group in groups_of(held, optima).items()}
    assert sizes == {
        "all problems": 36,
        **dict.fromkeys(("unlimited", "edge", "held"), 12),
        **dict.fromkeys(("latency", "edp"), 18),
        "edge, edp": 6,
    }


def test_problems_with_a_proven_optimum_are_a_group_where_others_have_none() -> None:
    held = held_problems("gpt2")
    bounds = [4.0] * (len(held) - 3) + [3.0] * 3
    optima = {each.key: Optimum(4.0, bound) for each, bound in zip(held, bounds, strict=True)}
    group = groups_of(held, optima)["proven optimum"]
    assert [group(each) for each in held] == [bound == 4 for bound in bounds]
    assert "proven optimum" not in groups_of(held[:-3], optima)
    assert "proven optimum" not in groups_of(held[-3:], optima)


# --- Statistics ---------------------------------------------------------------------------------


def test_figures_of_ratios_in_closed_form() -> None:
    ratios = np.array([[1.0 + 0.01 * index, 2.0] for index in range(20)])
    found, low, high = figures(ratios)
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
    mean, low, high = paired(np.array([1.0, 4.0]), np.array([2.0, 2.0]))
    assert (mean, low, high) == pytest.approx((1.0, 0.5, 2.0))


def scored(*values: list[float | None]) -> Scores:
    """Scores of a method that found these in 10 samples, by seed, of one problem."""
    held = held_problems("gpt2")[:1]
    found = [Found(each, [1, 5], None) for each in values]
    evaluations = [
        Evaluation(Path("x"), "m", "gpt2", seed, 10, {held[0].key: each})
        for seed, each in enumerate(found)
    ]
    return scores_of(evaluations, {"gpt2": held}, {held[0].key: Optimum(4.0, 2.0)})


def test_a_problem_counts_with_the_geometric_mean_over_seeds_of_value_to_bound() -> None:
    scores = scored([4.0, 2.0], [16.0, 4.0])
    assert (scores.seeds, scores.counts) == (2, (1, 10))
    np.testing.assert_allclose(scores.ratios, [[4.0, math.sqrt(2)]])
    np.testing.assert_allclose(scores.valid, [[1.0, 0.5]])


def test_a_search_without_a_valid_mapping_counts_as_the_worst() -> None:
    np.testing.assert_allclose(scored([None, 2.0]).ratios, [[WORST, 1.0]])
    np.testing.assert_allclose(scored([1e9, 2.0]).ratios, [[WORST, 1.0]])


def test_valid_ones_are_counted_among_what_was_spent() -> None:
    (held, *_) = held_problems("gpt2")
    found = Found([4.0, 4.0, 4.0], [1, 2, 2], None, ended=4)
    evaluation = Evaluation(Path("x"), "m", "gpt2", 0, 100, {held.key: found})
    scores = scores_of([evaluation], {"gpt2": [held]}, {held.key: Optimum(4.0, 4.0)})
    np.testing.assert_allclose(scores.valid, [[1.0, 0.5, 0.5]])


def test_checkpoints() -> None:
    assert checkpoints(500) == (1, 10, 100, 500)
    assert checkpoints(30) == (1, 10, 30)
    assert checkpoints(1) == (1,)


# --- The command --------------------------------------------------------------------------------


def test_scores_are_best_values_by_proven_optima(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    shown = capsys.readouterr().out
    assert "Value / optimum: all problems, 12 problems" in shown
    assert "| random | 2 | 20 |" in Path("out/table.md").read_text()
    rows = [line.split(",") for line in Path("out/problems.csv").read_text().splitlines()[1:]]
    assert len(rows) == 12 * 3
    ratios = {tuple(row[2:6]): float(row[6]) for row in rows}
    assert min(ratios.values()) >= 1
    for held in held_problems("net.csv"):
        # No table has these layers.
        assert known_optimum(held.goal.problem, held.goal.objective) is None
        name = (held.cell.layer, held.machine, held.objective)
        assert ratios[*name, "20"] <= ratios[*name, "10"] <= ratios[*name, "1"]


def test_what_is_there_is_not_searched_again_and_jobs_change_no_byte(place: Path) -> None:
    assert run() == 0
    before = records()
    (removed, *_) = before
    removed.unlink()
    stamps = {path: path.stat().st_mtime_ns for path in records()}
    assert run("--jobs=2") == 0
    assert records() == before
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert not list(place.glob("out/**/*.lock"))


def test_other_methods_of_the_directory_stand_beside_those_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(methods="random") == 0
    assert run("--seeds=1", methods="random_log,library", samples=120) == 0
    shown = capsys.readouterr().out
    assert "library / other method" in shown
    assert "random / other method" not in shown
    table = Path("out/table.md").read_text()
    assert "| random | 2 | 20 |" in table
    assert "| library | 1 | 100 |" in table


def test_a_mapper_of_a_module(capsys: pytest.CaptureFixture[str]) -> None:
    Path("toys_of_mine.py").write_text(TOY)
    assert run(methods="toys_of_mine:Toy") == 0
    assert "toys_of_mine:Toy" in capsys.readouterr().out
    assert run(methods="toys_of_mine:Lazy") == 1
    error = capsys.readouterr().err
    assert "UnspentError: it spent 0 of 20 evaluations" in error


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
    goals = [(held.goal.problem, held.goal.objective) for held in held_problems("gpt2")]
    for method, told in [(str(path), False), ("prior", True), ("marl:start=prior", True)]:
        warning = Method(method).mapper(held_problems("gpt2")).warning(goals)
        assert ("trained with" in (warning or "")) is told
    # The last layer of ResNet-18.
    Path("net.csv").write_text("K,C,Y,X,R,S,T\n1000,512,1,1,1,1,0\n")
    assert run("--seeds=1", methods="prior,random") == 0
    error = capsys.readouterr().err
    assert error.count("warning") == 1
    assert "warning: prior on net.csv: the prior was trained with this layer" in error


@pytest.mark.parametrize(
    ("change", "sealed", "message"),
    [
        (lambda entry: entry.pop("problems"), True, "is no evaluation: KeyError: 'problems'"),
        (lambda entry: entry.update(versions={}), False, "does not fit its digest"),
        (
            lambda entry: next(iter(entry["problems"].values()))["values"].append(1.0),
            True,
            "is no evaluation: ValueError: 4 values for 3 numbers of samples",
        ),
        (
            lambda entry: next(iter(entry["problems"].values())).update(point=[0] * 13),
            True,
            "is no evaluation: ValueError: best_point has",
        ),
    ],
)
def test_a_damaged_record_is_refused_in_one_line(
    change: Callable[[dict[str, object]], object],
    sealed: bool,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run() == 0
    (path, *_) = records()
    edit(path, change, sealed)
    capsys.readouterr()
    assert run() == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert str(path) in error
    assert message in error
    assert "delete it" in error


def test_other_samples_or_another_file_of_weights_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run() == 0
    capsys.readouterr()
    assert run(samples=10) == 2
    assert "begun with evaluation samples = 20, asked for 10" in capsys.readouterr().err


def test_a_value_below_the_optimum_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    capsys.readouterr()
    (path, *_) = records()
    entry = load(path)
    for found in entry["problems"].values():
        found["values"][0] = 1e-9
    path.write_text(json.dumps(entry))
    edit(path, lambda entry: None, sealed=True)
    assert run() == 2
    assert "below the optimum" in capsys.readouterr().err


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
