"""The benchmark's split of chips: values are compared with certified bounds of the table."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from commands import benchmark

from maestro_env.accelerators.hierarchy_file import read_hierarchy
from maestro_env.experiments.problems.labels import Held
from maestro_env.experiments.problems.splits import chip_problems
from maestro_env.optimum.known import KnownOptimum, known_optimum
from maestro_env.workloads.layer import Layer

SPLIT = "--split=chips"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def known(held: Held) -> KnownOptimum:
    found = known_optimum(held.goal.problem, held.goal.objective)
    assert found is not None
    return found


def test_values_are_compared_with_the_bounds_of_the_table(place: Path) -> None:
    problems = chip_problems()
    assert len({held.key for held in problems}) == 12
    # Somebody reports the best mappings of the table.
    (place / "best").mkdir()
    (place / "best/card.json").write_text(json.dumps({"method": "best"}))
    lines = [
        {"problem": held.key, "seed": 0, "samples": 1, "vector": known(held).point.tolist()}
        for held in problems
    ]
    (place / "best/chips.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    assert benchmark(["run", "random_log", SPLIT, "--seeds=1", "--samples=5", "--out=out"]) == 0
    assert benchmark(["score", "best", "out", SPLIT, "--again=2", "--out=scores"]) == 0
    with (place / "scores/problems.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    of_table = {(held.layer, held.machine, held.objective): known(held) for held in problems}
    assert {row["method"] for row in rows} == {"best", "random_log"}
    for row in rows:
        found = of_table[row["layer"], row["hardware"], row["objective"]]
        ratio = found.value / found.bound
        assert 1 <= ratio <= 1.01
        if row["method"] == "best":
            assert float(row["ratio"]) == pytest.approx(ratio, abs=1e-6)
        else:
            assert float(row["ratio"]) >= ratio
    # No search for bounds was needed.
    assert not (place / "cache/maestro-env/proofs").exists()


def test_a_program_gets_the_chip_with_all_its_memories(capsys: pytest.CaptureFixture[str]) -> None:
    assert benchmark(["list", "chips"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, held in zip(lines, chip_problems(), strict=True):
        told, problem = json.loads(line), held.goal.problem
        assert read_hierarchy(told["hardware"]["hierarchy"]) == problem.hardware
        layer = {**told["layer"], "stride": tuple(told["layer"]["stride"])}
        assert Layer(**layer).shape == problem.layer.shape
        choices = [len(each["values"]) for each in told["parameters"]]
        assert choices == problem.space.sizes.tolist()
