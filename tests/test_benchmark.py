"""The benchmark protocol: what is held out, how methods are scored, and what the records hold."""

from __future__ import annotations

import json
import math
import re
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import benchmark as main
from conftest import Main
from prior_helpers import random_file
from run_helpers import edit, load
from scipy.stats import gmean

from maestro_env.experiments.commands.benchmark.entries import read_entry
from maestro_env.experiments.commands.benchmark.methods import (
    Evaluation,
    Method,
    checkpoints,
    training_library,
)
from maestro_env.experiments.commands.benchmark.scores import (
    WORST,
    estimates,
    groups_of,
    paired,
    scores_of,
)
from maestro_env.experiments.problems.drawn import HELD_MACHINE, distinct_layers
from maestro_env.experiments.problems.labels import Held
from maestro_env.experiments.problems.splits import (
    fresh_problems,
    held_problems,
    hidden_problems,
    unusual_problems,
)
from maestro_env.experiments.shell.files import RecordError
from maestro_env.optimum.known import KnownOptimum, known_optimum
from maestro_env.workloads.finding import models

ROOT = Path(__file__).parents[1]
NETWORK = "K,C,Y,X,R,S,T\n4,3,6,6,3,3,1\n"
TOY = """
import numpy as np
from maestro_env.mappers.base import Mapper, NoConfig


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


OF_NETWORK = ["--split=ood-network", "--networks=net.csv"]


def run(*flags: str, method: str = "random", samples: int = 20, out: str = "out") -> int:
    defaults = ["--seeds=2", f"--out={out}", f"--samples={samples}"]
    return main(["run", method, *OF_NETWORK, *defaults, *flags])


def score(*entries: str) -> int:
    shutil.rmtree("scores", ignore_errors=True)
    return main(["score", *(entries or ("out",)), *OF_NETWORK, "--out=scores"])


def records(out: str = "out") -> dict[Path, dict[str, Any]]:
    """All records by path, without what differs from one machine to another."""
    found = {path: load(path) for path in sorted(Path(out).glob("ood-network/*/*.json"))}
    for entry in found.values():
        entry.pop("seconds"), entry.pop("digest")
    return found


def rows() -> dict[tuple[str, ...], tuple[float, float]]:
    """Ratios and shares of valid ones, by method, network, layer, hardware, objective, samples."""
    lines = [line.split(",") for line in Path("scores/problems.csv").read_text().splitlines()[1:]]
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

    def evaluations(method: str) -> list[Evaluation]:
        return [
            Evaluation(Path("x"), *which, 10, np.array([values]), np.array([[1.0, which[1]]]), 3.0)
            for (name, *which), values in found.items()
            if name == method
        ]

    optima = {held.key: optimum(4.0, 2.0)}
    scores = scores_of("m", evaluations("m"), problems, optima)
    assert scores is not None
    assert (scores.seeds, scores.counts) == (2, (1, 10))
    # Without a valid mapping, or far from the optimum, a search counts as the worst.
    np.testing.assert_allclose(scores.ratios, [[4.0, math.sqrt(2)], [WORST, 1.0]])
    np.testing.assert_allclose(scores.valid, [[1.0, 0.5]] * 2)
    assert scores.seconds == 12
    assert scores_of("n", evaluations("n"), problems, optima) is None


def test_checkpoints() -> None:
    assert checkpoints(500) == (1, 10, 100, 500)
    assert checkpoints(30) == (1, 10, 30)
    assert checkpoints(1) == (1,)


# --- The command --------------------------------------------------------------------------------


def test_scores_are_best_values_by_proven_optima(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--seeds=1", samples=5000) == 0
    assert "Value / optimum: all problems, 6 problems" in capsys.readouterr().out
    assert run("--seeds=1", method="optimum", samples=5000, out="proof") == 0
    assert score("out", "proof") == 0
    shown = capsys.readouterr().out
    assert re.search("optimum .*\nrandom ", shown)
    table = Path("scores/table.md").read_text()
    assert "Value / optimum: all problems, 6 problems" in table
    assert "| random | 1 | 5,000 |" in table
    found = rows()
    assert len(found) == 2 * 6 * 6
    assert min(ratio for ratio, _ in found.values()) >= 1
    (proof,) = records("proof").values()
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


@pytest.mark.slow
def test_what_is_there_is_not_searched_again_and_jobs_change_no_byte(place: Path) -> None:
    assert run("--seeds=3") == 0
    before = records()
    # With one that is missing, there would be no other process.
    *removed, path = before
    for each in removed:
        each.unlink()
    stamp = path.stat().st_mtime_ns
    assert run("--seeds=3", "--jobs=2") == 0
    assert records() == before
    assert path.stat().st_mtime_ns == stamp
    assert not list(place.glob("out/**/*.lock"))


def test_the_first_entry_is_compared_with_all_others() -> None:
    assert run() == 0
    assert run("--seeds=1", method="library", samples=120, out="known") == 0
    assert score("known", "out") == 0
    assert Path("scores/reached.png").exists()
    table = Path("scores/table.md").read_text()
    assert "library / other method" in table
    assert "random / other method" not in table
    assert "| random | 2 | 20 |" in table
    assert "| library | 1 | 100 |" in table
    # After 100 samples against all that the other spent.
    assert "| random | 100 | 20 |" in table


def test_a_mapper_of_a_module(capsys: pytest.CaptureFixture[str]) -> None:
    Path("toys_of_mine.py").write_text(TOY)
    assert run(method="toys_of_mine:Toy") == 0
    assert "toys_of_mine:Toy" in capsys.readouterr().out
    assert run(method="toys_of_mine:Lazy", out="lazy") == 1
    assert "UnspentError: it spent 0 of 20 evaluations" in capsys.readouterr().err


def test_the_name_of_the_held_network_and_files_are_part_of_a_method(place: Path) -> None:
    path = place / "groups-net.csv.json"
    method = Method(f"marl:groups={place}/groups-{{network}}.json")
    assert method.files("net.csv") == {}
    path.write_text("{}")
    assert list(method.files("net.csv")) == ["groups"]
    assert method.key == "marl"
    assert Method("a.b:Toy:x=1").key == "a.b:Toy"


def test_a_prior_that_has_seen_the_held_layers_is_refused(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = place / "mine.safetensors"
    path.write_bytes(random_file(data_card={"hold": "gpt2"}).to_bytes())
    held = held_problems("gpt2")
    goals = [(each.goal.problem, each.goal.objective) for each in held]
    for method, told in [(str(path), False), ("prior", True), ("marl:start=prior", True)]:
        warning = Method(method).mapper("gpt2", held).warning(goals)
        assert ("has seen" in (warning or "")) is told
    # The last layer of ResNet-18.
    Path("net.csv").write_text("K,C,Y,X,R,S,T\n1000,512,1,1,1,1,0\n")
    assert run("--seeds=1", method="prior") == 2
    error = capsys.readouterr().err
    assert "prior on net.csv: the prior has seen this layer" in error
    assert "none of its layers" in error


def first(entry: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(iter(entry["problems"].values()))
    return found


DAMAGES: list[tuple[Callable[[dict[str, Any]], object], bool, str]] = [
    (lambda entry: entry.update(versions={}), False, "does not fit its digest"),
    (lambda entry: entry.update(versions={"cost models": "0"}), True, "of version '0', not '1'"),
    (lambda entry: entry.update(seconds="1e3"), True, "seconds are '1e3', no number"),
    (lambda entry: entry.update(seconds=False), True, "seconds are False, no number"),
    (lambda entry: entry["searches"].update(seed=False), True, "its seed is False, not 0"),
    (lambda entry: first(entry).update(ended=True), True, "it ended after True of 20 samples"),
    (lambda entry: first(entry).update(vectors=[[0.5] * 13] * 3), True, "allowed: integers"),
    (lambda entry: entry.pop("problems"), True, "is not an evaluation: KeyError: 'problems'"),
    (lambda entry: first(entry)["values"].append(1.0), True, "4 values for 3 numbers of samples"),
    (lambda entry: first(entry).update(ended=20), True, "it ended after 20 of 20 samples"),
    (lambda entry: first(entry).update(trace="ab"), True, "the digest of its samples is 'ab'"),
    (lambda entry: first(entry)["valid"].__setitem__(-1, 21), True, "no numbers of valid ones"),
    (lambda entry: entry["searches"].update(samples=20_000), True, "3 values for 8 numbers"),
    (lambda entry: entry["searches"].update(method="ga"), True, "its method is 'ga', not 'random'"),
    (lambda entry: entry["searches"].update(seed=5), True, "its seed is 5, not 0"),
    (lambda entry: entry["problems"].update(mine={}), True, "not of the split: mine"),
    (lambda entry: first(entry)["vectors"].__setitem__(-1, [0] * 13), True, "best_point has"),
]


def test_records_that_do_not_fit_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--seeds=1") == 0
    (path,) = records()
    content = path.read_bytes()

    def refused() -> str:
        capsys.readouterr()
        assert score() == 2
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
    # A value that is better than that of its mapping.
    edit(path, lambda entry: first(entry)["values"].__setitem__(0, 1e-9), sealed=True)
    assert "but the best is 1e-09" in refused()
    path.write_bytes(content)


def test_seeds_of_several_numbers_of_samples_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("--seeds=1") == 0
    assert run("--seeds=2", samples=10, out="fewer") == 0
    shutil.copy("fewer/ood-network/net.csv/1.json", "out/ood-network/net.csv")
    capsys.readouterr()
    assert score() == 2
    error = capsys.readouterr().err
    assert "1.json has 10 samples, " in error
    assert "0.json 20" in error
    assert "use another --out" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["run", "gaa"], "unknown mapper 'gaa'"),
        (["run", "no_module:Mapper"], "mapper no_module:Mapper cannot be loaded"),
        (["run", "json:JSONDecoder"], "a subclass of maestro_env.mappers.base.Mapper"),
        (["run", "library:keep=all"], "unknown keep 'all'"),
        (["run", "random", "ga"], "run: 2 arguments; allowed: one METHOD"),
        (["run", "random", "--split=all"], "unknown split 'all'"),
        (["run", "random", "--split=hidden"], "--split hidden needs --seed N"),
        (["run", "random", "--seed=1"], "--seed: split tasks does not take it"),
        (["run", "random", "--samples=20001"], "allowed: integers from 1 to 20000"),
        (["run", "random", "--training=resnet51"], "unknown network 'resnet51'"),
        (["run", "random", "--split=ood-network", "--networks=resnet51"], "'resnet51'"),
        (["run", "library", "--labels=none"], "cannot read none"),
        (["run", "none.safetensors"], "cannot read the prior none"),
        (["run", "program:"], "program: no command"),
        (["score", "none"], "cannot read none/card.json"),
        (["score", ".", "--jobs=2"], "--jobs: score takes only"),
        (["list", "hiding"], "unknown split 'hiding'"),
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


# --- Programs -----------------------------------------------------------------------------------

OF_PROGRAM = ("--networks=net.csv", "--split=ood-network", "--seeds=1", "--samples=30")
TALKS = """
import json, sys
problem = json.loads(sys.stdin.readline())
assert problem["budget"] == 30 and problem["format"] == "maestro-env/ask/1"
zeros = [0] * len(problem["parameters"])
for question in {questions}:
    print(question if isinstance(question, str) else json.dumps(question), flush=True)
    answer = json.loads(sys.stdin.readline())
"""


def talk(questions: str) -> int:
    Path("talks.py").write_text(TALKS.format(questions=questions))
    return main(["run", f"program:{sys.executable} talks.py", *OF_PROGRAM, "--out=out"])


def test_a_program_without_this_package_enters(capsys: pytest.CaptureFixture[str]) -> None:
    program = Path(__file__).parents[1] / "examples" / "json_lines.py"
    assert len(program.read_text().splitlines()) <= 30
    # -I keeps the package out of its reach, even where it is installed for the user.
    method = f"program:{sys.executable} -I {program}"
    assert main(["run", method, *OF_PROGRAM, "--out=mine"]) == 0
    assert run("--seeds=1", samples=30) == 0
    assert score("mine", "out") == 0
    table = Path("scores/table.md").read_text()
    assert f"| {method} | 1 | 30 |" in table
    assert "## Standings (black box" in table
    assert "## Standings (white box" in table
    assert re.search(r"\| black box \|.*\n.*\| white box \|", table)
    assert "rank after" not in table  # each is alone
    (entry,) = records("mine").values()
    assert list(entry["searches"]["files"]) == [sys.executable, str(program)]
    before = records("mine")
    shutil.rmtree("mine")
    assert main(["run", method, *OF_PROGRAM, "--out=mine"]) == 0
    assert records("mine") == before


@pytest.mark.slow
def test_a_program_may_end_early() -> None:
    assert talk('[{"ask": [zeros, zeros]}, {"ask": [zeros]}]') == 0
    (entry,) = records().values()
    assert {each["ended"] for each in entry["problems"].values()} == {3}


@pytest.mark.parametrize(
    ("questions", "message"),
    [
        ('[{"ask": [zeros] * 31}]', "it asks for 31 vectors; allowed: 1 to 30"),
        ('[{"ask": [zeros] * 20}] * 2', "it asks for 20 vectors; allowed: 1 to 10"),
        ('[{"ask": []}]', "it asks for 0 vectors; allowed: 1 to 30"),
        ('[{"ask": [[0]]}]', "says '{\"ask\": [[0]]}'"),
        ('[{"ask": [[10**6, *zeros[1:]]]}]', "python"),
        ('[{"ask": 3}]', "says '{\"ask\": 3}'"),
        ('["good morning"]', "says 'good morning'"),
        ('["[" * 100_000]', "python"),
        ("[]", "it spent 0 of 30 evaluations"),
        ("sys.exit(3)", "ended with status 3"),
    ],
)
def test_a_program_that_says_what_it_must_not_is_told_in_one_line(
    questions: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert talk(questions) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not records()


def test_a_program_that_does_not_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "program:./nothing there", *OF_PROGRAM, "--out=out"]) == 1
    assert "cannot start ./nothing: No such file or directory" in capsys.readouterr().err


# --- Entries of others --------------------------------------------------------------------------


def report(lines: list[dict[str, Any]], **card: str) -> None:
    Path("theirs").mkdir(exist_ok=True)
    Path("theirs/card.json").write_text(json.dumps({"method": "theirs", **card}))
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    Path("theirs/ood-network.jsonl").write_text(text)


def lines_of(vectors: dict[str, list[int]]) -> list[dict[str, Any]]:
    return [
        {"problem": key, "seed": 0, "samples": 10, "vector": vector}
        for key, vector in vectors.items()
        if vector
    ]


def found_vectors() -> dict[str, list[int]]:
    assert run("--seeds=1") == 0
    (entry,) = records().values()
    return {key: each["vectors"][-1] for key, each in entry["problems"].items()}


def test_a_reported_entry_stands_in_a_table_of_its_own() -> None:
    report(lines_of(found_vectors()), authors="them")
    assert score("out", "theirs") == 0
    table = Path("scores/table.md").read_text()
    kinds = {
        "white box: mappers, which may call the cost model too": "random",
        "reported: samples are their authors' word": "theirs",
    }
    for section in table.split("## ")[1:]:
        for kind, method in kinds.items():
            if f"({kind})" in section:
                assert f"| {method} |" in section
                assert all(
                    f"| {other} |" not in section for other in kinds.values() if other != method
                )
    # Nothing after the first sample, the mappings of the other entry after 10 and all that follow.
    ratios = {
        (method, layer, hardware, objective, samples): ratio
        for (method, _, layer, hardware, objective, samples), (ratio, _) in rows().items()
    }
    for (method, *which, samples), ratio in ratios.items():
        if method == "theirs":
            last = ratios["random", *which, "20"]
            assert ratio == (WORST if samples == "1" else last)
    assert "| theirs | 1 | 500 |" in table
    assert "| theirs | reported | them |" in table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vector": [0]}, "line 2 is no mapping: MapSpaceError"),
        ({"vector": [10**6] * 13}, "line 2 is no mapping: MapSpaceError"),
        ({"vector": "0"}, "line 2 is no mapping"),
        ({"problem": "CONV K1 | edge | edp"}, "is none of the problems asked for"),
        ({"samples": 20}, "line 2 is no mapping: ValueError"),
        ({"samples": 20_000}, "line 2 is no mapping: ValueError"),
        ({"seed": 10}, "line 2 is no mapping: ValueError"),
        ({"seed": [0] * 10_000}, "line 2 has more than 10,000 bytes"),
        ({"seed": 10**400}, "line 2 is no mapping: ValueError: seed is 100"),
        ({"samples": 7}, "samples is 7; allowed: 1, 10, 100, 500"),
        ({"vector": json.loads("[" * 900 + "]" * 900)}, "line 2 is no mapping"),
    ],
)
def test_reported_lines_that_do_not_fit_are_refused(
    change: dict[str, Any], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *rest = lines_of(found_vectors())
    report([first, {**second, **change}, *rest])
    assert score("theirs") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_reported_mapping_counts_for_every_network_that_has_the_layer() -> None:
    Path("same.csv").write_text(NETWORK)
    report(lines_of(found_vectors()))
    shutil.rmtree("scores", ignore_errors=True)
    of_networks = [*OF_NETWORK[:1], "--networks=net.csv,same.csv", "--out=scores"]
    assert main(["score", "theirs", *of_networks]) == 0
    ratios: dict[str, list[str]] = {"net.csv": [], "same.csv": []}
    for line in Path("scores/problems.csv").read_text().splitlines()[1:]:
        ratios[line.split(",")[1]].append(line.split(",")[6])
    assert ratios["net.csv"] == ratios["same.csv"]
    assert set(ratios["same.csv"]) != {f"{WORST:.6f}"}


@pytest.mark.parametrize(
    ("card", "message"),
    [
        ({"method": ""}, "method is ''; allowed: the name of a method"),
        ({"authors": "a\nb"}, "authors is 'a\\nb'; allowed: a line of 1,000 characters"),
        ({"code": "\ud800"}, "allowed: a line of 1,000 characters"),
        ({"code": "a" * 1001}, "allowed: a line of 1,000 characters"),
    ],
)
def test_texts_of_a_card_are_lines(
    card: dict[str, str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    report([], **card)
    assert score("theirs") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_deep_line_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    report([])
    Path("theirs/ood-network.jsonl").write_text("[" * 9000)
    assert score("theirs") == 2
    assert "line 1 is no mapping: RecursionError" in capsys.readouterr().err


def test_a_reported_entry_has_a_limit_of_lines(capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = lines_of(found_vectors())
    report([first] * 300)
    assert score("theirs") == 2
    assert "theirs/ood-network.jsonl has more than 240 lines" in capsys.readouterr().err


def test_a_method_that_has_learnt_from_held_layers_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    # The last layer of ResNet-18.
    Path("net.csv").write_text("K,C,Y,X,R,S,T\n1000,512,1,1,1,1,0\n")
    lines = lines_of(found_vectors())
    for training, is_refused in [("gpt2", 0), ("{network}", 2), ("gpt2,resnet18", 2), ("zoo", 2)]:
        report(lines, training=training)
        capsys.readouterr()
        assert score("theirs") == is_refused
        told = f"theirs has learnt from {training}, with the layer GEMM M1 N1000 K512"
        assert (told in capsys.readouterr().err) is bool(is_refused)
    report(lines, training="resnet51")
    assert score("theirs") == 2
    assert "theirs has no card of an entry: unknown network 'resnet51'" in capsys.readouterr().err


def test_forged_traces_are_found_by_making_searches_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run() == 0
    assert main(["score", "out", *OF_NETWORK, "--again=20", "--out=scores"]) == 0
    assert capsys.readouterr().out.count("made again: out/") == 12
    path, *_ = records()
    honest = path.read_bytes()
    # Another trace, other numbers of valid ones, a better mapping from the first sample on.
    (best,) = {tuple(each["vectors"][-1]) for each in [first(load(path))]}
    value = first(load(path))["values"][-1]
    for change in (
        {"trace": "ab" * 32},
        {"valid": [0] * 3},
        {"vectors": [list(best)] * 3, "values": [value] * 3},
    ):
        edit(path, lambda entry, new=change: first(entry).update(new), sealed=True)
        assert score() == 0
        shutil.rmtree("scores")
        assert main(["score", "out", *OF_NETWORK, "--again=20", "--out=scores"]) == 2
        error = capsys.readouterr().err
        assert "finds something else when it is made again" in error
        path.write_bytes(honest)


def test_nobody_may_choose_seeds(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--seeds=3") == 0
    Path("out/ood-network/net.csv/1.json").unlink()
    assert score() == 0
    assert "| random | 1 | 20 |" in Path("scores/table.md").read_text()
    Path("out/ood-network/net.csv/0.json").unlink()
    assert score() == 2
    assert "has no 0.json: seeds count from 0" in capsys.readouterr().err


def test_what_flags_leave_open_is_as_the_entry_has_it() -> None:
    assert run("--seeds=1", "--authors=me", "--training=gpt2") == 0
    before = load(Path("out/config.json"))
    assert run("--seeds=2") == 0
    assert load(Path("out/config.json")) == before


def test_long_and_open_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert Method(f"program:python3 -c {'x' * 300}").files("") == {}
    assert main(["run", "program:'x", "--out=mine"]) == 2
    assert 'program "\'x": No closing quotation' in capsys.readouterr().err


def test_a_failed_search_names_its_problem(capsys: pytest.CaptureFixture[str]) -> None:
    Path("toys_of_mine.py").write_text(TOY)
    assert run("--seeds=1", method="toys_of_mine:Lazy") == 1
    told = "net.csv, seed 0: SearchError: net_l0 on unlimited, latency: UnspentError: it spent 0 of"
    assert told in capsys.readouterr().err
    run(out="good")
    assert score("out", "good") == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "not scored: toys_of_mine:Lazy; in every seed searches are missing or failed" in printed


def test_a_method_says_what_it_has_learnt_from(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "prior", "--samples=1", "--seeds=1", "--out=mine"]) == 2
    assert "--training says so, such as zoo" in capsys.readouterr().err
    assert not Path("mine").exists()


# --- The hidden split ---------------------------------------------------------------------------


def test_hidden_problems_follow_from_their_seed() -> None:
    held = hidden_problems(5)
    assert len(held) == 60
    assert [each.key for each in held] == [each.key for each in hidden_problems(5)]
    assert {each.key for each in held}.isdisjoint(each.key for each in hidden_problems(6))
    assert not distinct_layers().keys() & {each.shape for each in held}


def test_an_entry_keeps_its_code_until_it_was_scored_on_hidden_problems(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("toys_of_mine.py").write_text(TOY)
    assert run(method="toys_of_mine:Toy") == 0
    with Path("toys_of_mine.py").open("a") as file:
        file.write("# better\n")
    assert run(method="toys_of_mine:Toy") == 2
    assert "the run has card files" in capsys.readouterr().err


def test_hidden_problems_are_for_entries_that_the_scorer_makes() -> None:
    report([], authors="them")
    Path("theirs/hidden-5.jsonl").touch()
    entry = read_entry(Path("theirs"))
    entry.require_fit("hidden", 6, {})
    with pytest.raises(RecordError, match="benchmark run METHOD --split hidden --seed N --out"):
        entry.require_fit("hidden", 5, {})


# --- The archive --------------------------------------------------------------------------------


def figures(text: str, start: str) -> list[list[str]]:
    """The rows of the first table behind a text."""
    (lines,) = re.findall(rf"{re.escape(start)}[\s\S]*?\n((?:\|.*\n)+)", text)[:1]
    return [
        [cell.strip(" `") for cell in line.split("|")[1:-1]] for line in lines.split("\n")[2:-1]
    ]


@pytest.mark.slow
def test_the_archive_scores_as_the_page_says() -> None:
    archive = ROOT / "experiments" / "results" / "benchmark"
    assert sum(path.stat().st_size for path in archive.rglob("*")) < 10 * 2**20
    entries = {path.name: load(path / "config.json")["card"] for path in archive.iterdir()}
    for out in ("one", "two"):
        assert main(["score", *(str(archive / name) for name in entries), f"--out={out}"]) == 0
    for path in Path("one").iterdir():
        assert path.read_bytes() == Path("two", path.name).read_bytes()
    standings, kinds = Path("one/table.md").read_text(), ("black", "white")
    found = [row for kind in kinds for row in figures(standings, f"## Standings ({kind} box")]
    table = {row[0]: row for row in found}
    page = (ROOT / "docs" / "benchmark.md").read_text()
    told = [row for kind in kinds for row in figures(page, f"\n{kind.capitalize()} boxes: ")]
    assert len(told) == len(entries)
    for name, method, seeds, first, tenth, hundredth, thousandth, last, seconds in told:
        row = table[entries[name]["method"]]
        counts = [row[place] for place in (3, 4, 5, 7, 9)]
        assert [method, seeds, first, tenth, hundredth, thousandth, last or "-", seconds] == [
            *row[:2],
            *counts,
            row[-1],
        ]
