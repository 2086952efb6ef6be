"""``maestro-env optimum``: its record, limits, resuming, and a space without a mapping."""

from __future__ import annotations

import gzip
import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import compare, optimum, run
from optimum_helpers import every_vector, problem
from run_helpers import load

from maestro_env._native import METRICS
from maestro_env.accelerators.finding import find_hardware
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.shell import cli
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.memories import MemoriesSearch
from maestro_env.workloads.finding import find_layer

LAYER = "resnet18_l2"
OPTIMUM = 160563952612.76294
FLAGS = ["--layer", LAYER, "--hardware", "edge"]


def found(directory: Path) -> dict[str, object]:
    return load(directory / "optimum.json")["found"]


def test_the_optimum_is_proven_kept_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rendered: None
) -> None:
    out = tmp_path / "out"
    assert optimum([*FLAGS, f"--out={out}", "--plot"]) == 0
    shown = capsys.readouterr().out
    assert "1.605640e11" in shown
    assert "0 (proven)" in shown
    record = load(out / "optimum.json")
    assert record["proven"]
    assert record["found"]["best"] == record["found"]["bound"] == pytest.approx(OPTIMUM, rel=1e-12)
    seconds, best, bound = zip(*record["found"]["curve"], strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(best) == sorted(best, reverse=True)
    assert list(bound) == sorted(bound)
    mapping = Mapping.from_json((out / "best_mapping.json").read_text(encoding="utf-8"))
    cost, _ = problem(LAYER).evaluate_mapping(mapping)
    assert find_objective("edp").of(cost.as_dict()) == record["found"]["best"]
    kept = load(out / "best_cost.json")
    assert kept["objective"] == record["found"]["best"]
    assert kept["cost"]["latency_cycles"] == cost.latency_cycles
    assert (out / "optimum.png").stat().st_size > 10_000
    proof = gzip.decompress((out / "certificate.gz").read_bytes())
    assert hashlib.sha256(proof).hexdigest() == record["found"]["certificate"]
    assert f"certificate: {out / 'certificate.gz'}" in shown


def test_an_interrupt_among_the_first_mappings_keeps_the_best(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--layer=gemm:M=8,N=12,K=10", "--hardware=gemmini", "--resume"]
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    stopped.mkdir()
    whole.mkdir()
    told, tell = itertools.count(1), MemoriesSearch.tell

    def interrupted(*arguments: Any) -> None:
        tell(*arguments)
        if next(told) in (1, 3):
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MemoriesSearch, "tell", interrupted)
        for _ in range(2):
            assert optimum([*flags, f"--out={stopped}"]) == cli.INTERRUPTED
            assert "at most" in capsys.readouterr().out
            assert found(stopped)["bound"] < found(stopped)["best"]
    for out in (stopped, whole):
        assert optimum([*flags, f"--out={out}"]) == 0
    for figure in ("best", "bound"):
        assert found(stopped)[figure] == pytest.approx(found(whole)[figure], rel=1e-9)


def test_a_search_ends_at_each_limit_and_goes_on_to_the_proof(tmp_path: Path) -> None:
    flags = [*FLAGS, f"--out={tmp_path}", "--resume"]
    # Of each limit the fewest and the most boxes.
    for limit, fewest, most in (
        ("--seconds=0", 0, 0),
        ("--gap=0.5", 0, 0),
        ("--samples=202", 1, 10_000),
        ("--nodes=12000", 12_000, 15_000),
    ):
        assert optimum([*flags, limit]) == 0
        now = found(tmp_path)
        assert fewest <= now["nodes"] <= most
        assert now["best"] > now["bound"]
        assert now["samples"] <= 202 or limit == "--nodes=12000"
        assert not (tmp_path / "certificate.gz").exists()
    assert optimum(flags) == 0
    last = found(tmp_path)
    assert last["best"] == last["bound"] == pytest.approx(OPTIMUM, rel=1e-12)
    assert last["samples"] >= now["samples"]
    assert last["nodes"] > now["nodes"]
    path = tmp_path / "certificate.gz"
    whole = path.read_bytes()
    path.write_bytes(whole[:40])
    assert optimum(flags) == 0
    assert path.read_bytes() == whole


def test_a_space_without_a_mapping_is_proven_to_have_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    machine = tmp_path / "tiny.yaml"
    out = tmp_path / "out"
    layer = "gemm:M=2,N=3,K=2"
    machine.write_text("num_pes: 4\nl1_bytes: 7\nl2_bytes: 5\n", encoding="utf-8")
    assert optimum(["--layer", layer, "--hardware", str(machine), f"--out={out}"]) == 0
    space = MapSpace(find_layer(layer), find_hardware(str(machine)))
    metrics = Problem(space).evaluate(every_vector(space)).metrics
    l1, l2 = (metrics[:, METRICS.index(name)].min() for name in ("l1_bytes", "l2_bytes"))
    told = " ".join(capsys.readouterr().out.split())
    assert f"no mapping fits: L1 must hold {l1:.0f} B per PE, tiny has 7" in told
    assert f"and L2 must hold {l2:.0f} B, tiny has 5" in told
    assert f"raise l1_bytes to {l1:.0f} and l2_bytes to {l2:.0f}" in told
    assert (found(out)["best"], found(out)["bound"]) == (None, None)


def test_a_model_without_bounds_is_refused(assert_refused: Callable[..., None]) -> None:
    assert_refused(optimum, ["--model=maestro"], "model maestro has no bounds; allowed: exact")


def test_the_mapper_stands_in_a_comparison_and_ends_early(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    flags = ["--hardware=edge", "--samples=5000", "--seeds=2", f"--out={out}"]
    assert run([*flags, f"--layer={LAYER}", "--mapper=optimum,random_log"]) == 0
    mappers = load(out / "summary.json")["mappers"]
    assert mappers["optimum"]["best"] == pytest.approx(OPTIMUM, rel=1e-12)
    assert mappers["optimum"]["evaluations"] < 5000 == mappers["random_log"]["evaluations"]
    again = ["--resume", f"--layers={LAYER}", "--objectives=edp", "--mappers=optimum,random_log"]
    assert compare([*flags, *again]) == 0
    elsewhere = [f"--layer={LAYER}", "--model=maestro", "--mapper=optimum", f"--out={out}-maestro"]
    capsys.readouterr()
    assert run(elsewhere) == 2
    assert capsys.readouterr().err == "error: model maestro has no bounds; allowed: exact\n"
    assert not Path(f"{out}-maestro").exists()
