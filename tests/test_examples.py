"""Every example runs, and is short."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from maestro_env import Evaluator, MapSpace, Problem, find_hardware, find_layer, find_objective
from maestro_env.experiments.commands.benchmark.methods import Method

ROOT = Path(__file__).parents[1]
# What enters the benchmark, by its command.
ENTRIES = {"baselines", "json_lines", "mappo"}
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if path.stem not in ENTRIES)
# What the project does not install.
NEEDED = {
    "cleanrl_ppo": ["torch"],
    "cma_es": ["cma"],
    "improve": ["stable_baselines3"],
    "learning_curve": ["stable_baselines3"],
    "llama": ["torch"],
    "maskable_ppo": ["sb3_contrib"],
    "maskable_transfer": ["sb3_contrib"],
    "minari_dataset": ["minari", "h5py"],
    "optuna_tpe": ["optuna"],
    "parallel": ["pettingzoo", "torchrl"],
    "rllib_ppo": ["ray", "torch"],
    "sb3": ["stable_baselines3"],
    "surrogates": ["pyarrow"],
    "train_construct": ["torch"],
    "train_transfer": ["torch"],
    "torchrl_ppo": ["torchrl"],
}
# They import torch, which takes seconds.
TORCH = {
    *(
        "cleanrl_ppo",
        "improve",
        "learning_curve",
        "llama",
        "maskable_ppo",
        "parallel",
        "rllib_ppo",
        "sb3",
    ),
    "torchrl_ppo",
    "train_construct",
    "train_transfer",
}
# A whole algorithm.
LONG = {"learning_curve", "train_construct", "train_transfer"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL:UserWarning")
@pytest.mark.parametrize(
    ("name", "samples"),
    [
        *(
            (f"baselines:{each}", 700)
            for each in ("CmaEs", "Ppo", "MaskedPpo", "Dqn", "CleanRlPpo")
        ),
        ("mappo:Mappo", 150),
    ],
)
def test_baselines_spend_their_budget(name: str, samples: int) -> None:
    for module in ("cma", "sb3_contrib", "torchrl", "pettingzoo"):
        pytest.importorskip(module, reason=f"the example needs {module}")
    mapper = Method(f"examples.{name}").mapper("", [])
    problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("unlimited")))
    found = []
    for _ in range(2):
        evaluator = Evaluator(problem, find_objective("edp"), samples)
        mapper.search(evaluator, samples, np.random.default_rng(3))
        assert evaluator.used == samples
        found.append(evaluator.trace[0])
    np.testing.assert_array_equal(*found)


# custom_layer loads pyplot to draw; custom_mapper stays.
SLOW = {*TORCH, "custom_layer"}


def parameters() -> list[object]:
    return [
        pytest.param(path, id=path.stem, marks=[pytest.mark.slow] * (path.stem in SLOW))
        for path in EXAMPLES
    ]


@pytest.mark.parametrize("path", parameters())
def test_it_runs(path: Path, tmp_path: Path) -> None:
    for module in NEEDED.get(path.stem, []):
        if find_spec(module) is None:
            pytest.skip(f"the example needs {module}")
    few = ["--samples", "32"] if "--samples" in path.read_text() else []
    ended = subprocess.run(
        [sys.executable, str(path), *few],
        cwd=tmp_path,
        # Minari and Ray write to the home directory; on a busy machine Ray starts slowly.
        env=os.environ
        | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}
        | {"RAY_raylet_start_wait_time_s": "300"},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_is_short_and_says_what_it_shows(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith('"""')
    assert len(text.splitlines()) < (180 if path.stem in LONG else 70)
