"""What ``quantise speed`` and ``quantise parts`` measure, print and refuse."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from commands import quantise as main

pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.experiments.papers.quantise.speed import _steps
from maestro_env.mappers.papers.quantised.quantiser import Layers


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_all_methods_compute_the_same_step() -> None:
    rng = np.random.default_rng(0)
    shapes = [(16, 64), (64, 64), (64, 10)]
    layers = Layers(
        [rng.normal(0, 0.1, (3, *shape)).astype(np.float32) for shape in shapes],
        [rng.normal(0, 0.1, (3, after)).astype(np.float32) for _, after in shapes],
        "tanh",
    )
    inputs = rng.standard_normal((3, 5, 16), np.float32)
    found = {name: np.array(step(inputs)) for name, step in _steps(layers, False, True).items()}
    for name, outputs in found.items():
        off = 0.1 if "int8" in name else 1e-5
        np.testing.assert_allclose(outputs.reshape(3, 5, 10), found["numpy"], atol=off)


def test_onnx_runtime_computes_the_same_step() -> None:
    pytest.importorskip("onnxruntime", reason="needs the extra runtimes")
    from maestro_env.experiments.papers.quantise.speed import _in_numpy, _in_onnx_runtime

    rng = np.random.default_rng(0)
    layers = Layers(
        [rng.normal(0, 0.1, (3, *shape)).astype(np.float32) for shape in [(16, 8), (8, 10)]],
        [rng.normal(0, 0.1, (3, after)).astype(np.float32) for after in (8, 10)],
        "tanh",
    )
    inputs = rng.standard_normal((3, 5, 16), np.float32)
    found = np.array(_in_onnx_runtime(layers)(inputs))
    np.testing.assert_allclose(found, np.array(_in_numpy(layers, inputs)), atol=1e-6)


def test_a_step_is_timed_by_method(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "speed.csv"
    asked = ["speed", "--networks=2x64", "--agents=2", "--copies=1,3", "--repeats=1"]
    assert main([*asked, f"--csv={file}"]) == 0
    rows = read(file)
    assert [(row["copies"], row["method"]) for row in rows] == [
        (copies, method)
        for copies in "13"
        for method in (
            *("torch, each", "torch, stacked", "numpy", "fused", "fused int8"),
            *(("fused, kernel", "fused int8, kernel") if copies == "1" else ()),
        )
    ]
    assert all(float(row["us"]) > 0 for row in rows)
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())


@pytest.mark.slow
def test_the_parts_of_a_search_sum_to_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, evaluate = tmp_path / "parts.csv", Evaluator.evaluate
    ppo = "ppo:n_steps=8"
    mappers = f"--mappers=marl_mlp,{ppo},masac,prior_adapted"
    asked = ["parts", mappers, "--layers=gemm:M=8,N=8,K=8", "--samples=100", "--seeds=1"]
    assert main([*asked, f"--csv={file}"]) == 0
    rows = read(file)
    kinds = [("marl_mlp", "torch"), ("marl_mlp", "fused")]
    kinds += [(ppo, "torch"), (ppo, "fused"), ("masac", "-"), ("prior_adapted", "-")]
    assert [(row["mapper"], row["backend"]) for row in rows] == kinds
    for row in rows:
        parts = [float(row[part]) for part in ("draw", "learn", "evaluate", "rest")]
        assert min(parts) > 0
        assert sum(parts) == pytest.approx(float(row["whole"]))
    # What was watched is as before.
    assert Evaluator.evaluate is evaluate
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["speed", "--copies=0"], "--copies: '0'; allowed: integers from 1 to 1000000"),
        (["speed", "--networks=9x9"], "unknown network '9x9'"),
        pytest.param(
            ["speed", "--others"],
            "pip install -e '.[runtimes]'",
            marks=pytest.mark.skipif(
                importlib.util.find_spec("onnxruntime") is not None, reason="it is installed"
            ),
        ),
        (["speed", "--samples=3"], "--samples: speed takes only --networks"),
        (["parts", "--networks=2x64"], "--networks: parts takes only --mappers"),
        (["parts", "--mappers=ga"], "unknown mapper 'ga'"),
        (["parts", "--mappers=ppo:backend=fused"], "ppo:backend=fused: all backends are measured"),
        (["parts", "--layers=resnet18_l2,nothing"], "unknown layer 'nothing'"),
        (["parts", "--hardware=nothing"], "unknown hardware 'nothing'"),
    ],
)
def test_what_no_action_takes_is_refused(
    flags: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(flags) == 2
    assert message in capsys.readouterr().err
