"""The preset once called ``paper``: its older name still works, and so do searches and files."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments.compare.__main__ import main
from experiments.goals import ProblemConfig, make_goal
from experiments.searches import run_search
from maestro_env.evaluator import Evaluator
from maestro_env.hardware import ALIASES, DESCRIPTIONS, PRESETS, find_hardware
from maestro_env.workloads import find_layer

# Least latency of 200 random samples from seed 3, and the sample that had it, when the preset was
# called "paper".
FOUND = (3225764.0, 133)


def test_every_preset_is_described() -> None:
    assert list(DESCRIPTIONS) == list(PRESETS)


@pytest.mark.parametrize(("old", "new"), ALIASES.items())
def test_an_older_name_is_the_same_machine(old: str, new: str) -> None:
    assert find_hardware(old) is find_hardware(new)


@pytest.mark.parametrize("hardware", ["paper", "unlimited"])
def test_seeds_make_the_searches_they_always_made(hardware: str) -> None:
    config = ProblemConfig(hardware=hardware)
    goal = make_goal(config, find_layer("resnet18_l2"), find_hardware(hardware), "latency")
    search = run_search(Evaluator(goal.problem, goal.objective, 200), "random", seed=3)
    assert (search.best, search.samples_to_best) == FOUND


def test_a_comparison_begun_under_the_older_name_goes_on(tmp_path: Path) -> None:
    flags = [
        f"--out={tmp_path / 'out'}",
        "--layers=resnet18_l2",
        "--objectives=edp",
        "--mappers=random",
    ]
    assert main([*flags, "--samples=20", "--seeds=1"]) == 0
    records = [path for path in tmp_path.rglob("*.json") if '"unlimited"' in path.read_text()]
    assert records
    for path in records:
        path.write_text(path.read_text().replace('"unlimited"', '"paper"'))
    for hardware in ("paper", "unlimited"):
        again = [*flags, "--samples=20", "--seeds=2", f"--hardware={hardware}"]
        assert main([*again, "--resume"]) == 0
