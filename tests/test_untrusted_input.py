"""Numbers, names and files of any kind end in a result or in one line that a terminal can show."""

from __future__ import annotations

import gzip
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from maestro_env import _native
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technology import Energies
from maestro_env.base.errors import (
    ArgumentTypeError,
    BudgetError,
    HardwareError,
    LayerError,
    MaestroEnvError,
    quoted,
)
from maestro_env.compat.program import main
from maestro_env.evaluation.cost_and_status import STATUSES
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import OBJECTIVES, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

GEMM = Layer("GEMM", {"M": 2**18, "N": 2**18, "K": 2**18})
ENDLESS = Path("/dev/zero")


def refused(action: Callable[[], object], error: type[Exception], *mentions: str) -> None:
    with pytest.raises((error, ArgumentTypeError)) as caught:
        action()
    message = str(caught.value)
    assert message.isprintable()
    assert len(message) < 600
    for mention in mentions:
        assert mention in message


# --- Numbers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "cost", [1e305, 10**400, 10**5000, 1.1e9, -1, math.inf, math.nan, "1"], ids=quoted
)
def test_an_offchip_cost_out_of_range_is_refused(cost: object) -> None:
    refused(lambda: Hardware(4, offchip_cost_macs=cost), HardwareError, "from 0 to 1e+09")


def test_figures_are_finite_with_the_dearest_words_and_the_largest_layer() -> None:
    problem = Problem(MapSpace(GEMM, Hardware(16, offchip_cost_macs=1e9)))
    rows = problem.evaluate(problem.space.sample(200, np.random.default_rng(0)))
    for objective in OBJECTIVES.values():
        assert np.isfinite(objective.function(rows.metrics)).all()


@pytest.mark.parametrize("name", [field.name for field in fields(Energies)])
def test_the_core_has_a_status_for_impossible_costs(name: str) -> None:
    machine = {"num_pes": 4, "simd_lanes": 1, "noc_bw": 1, "noc_latency": 1, "offchip_bw": 1}
    space = MapSpace(GEMM, Hardware(4))
    points = space.sample(4, np.random.default_rng(0))
    for cost in (1e305, math.inf, math.nan, -1.0):
        hardware = _native.Hardware(**machine, l1_bytes=None, l2_bytes=None, **{name: cost})
        evaluator = _native.BatchEvaluator("exact", GEMM.native, hardware, guarded=False)
        metrics, status = evaluator.evaluate(space.native, points, 1)
        assert [STATUSES[code] for code in status] == ["bad_hw"] * 4
        assert np.isnan(metrics).all()


@pytest.mark.parametrize("budget", [math.nan, 1.5, "5", 2**63, 0, -1, True, 10**5000], ids=quoted)
def test_a_budget_is_a_positive_integer(budget: object) -> None:
    problem = Problem(MapSpace(GEMM, Hardware(4)))
    refused(
        lambda: Evaluator(problem, find_objective("edp"), budget),
        BudgetError,
        "budget",
        "integers from 1 to",
    )


# --- Names --------------------------------------------------------------------------------------

NAMES = ["a$b$", "\x1b[31mred", "two\nlines", "x" * 5_000_000, "\udcff", "\u202etxt", "tab\t"]


def test_a_long_name_is_refused() -> None:
    assert Hardware(4, name="層" * 200).name == "層" * 200
    allowed = "allowed: at most 200 characters"
    refused(lambda: Hardware(4, name="x" * 201), HardwareError, allowed)
    refused(lambda: Layer("GEMM", GEMM.extents, name="x" * 201), LayerError, allowed)


@pytest.mark.parametrize("name", NAMES, ids=quoted)
def test_unknown_names_are_shown_in_one_short_line(name: str) -> None:
    for find in (find_layer, find_hardware, find_objective):
        refused(lambda find=find: find(name), MaestroEnvError, "unknown")


@pytest.mark.parametrize("name", [name for name in NAMES if len(name) < 200], ids=quoted)
def test_files_of_any_name_are_read_and_named_in_one_line(name: str, tmp_path: Path) -> None:
    machine, table = tmp_path / f"{name}.yaml", tmp_path / f"{name}.csv"
    machine.write_text("num_pes: 4\n")
    assert find_hardware(str(machine)) == Hardware(4, name=name)
    machine.write_text("num_pes: 0\n")
    refused(lambda: find_hardware(str(machine)), HardwareError, "num_pes is 0")
    table.write_text("M,N,K,0,0,0,T\n1,2,3,1,1,1,3\n")
    assert find_layer(str(table)).name == f"{name}_l0"
    table.write_text("M,N,K,0,0,0,T\n1,2,0,1,1,1,3\n")
    refused(lambda: find_layer(str(table)), LayerError, "K is 0")


# --- Files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["yaml", "m", "csv"])
def test_no_file_is_read_without_limit(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"endless.{suffix}"
    path.symlink_to(ENDLESS)
    find, error = (find_layer, LayerError) if suffix == "csv" else (find_hardware, HardwareError)
    refused(lambda: find(str(path)), error, path.name, "characters, which is the limit")


@pytest.mark.parametrize("path", ["/dev/zero", "a\nb.json", "\udcff.json"])
def test_a_file_of_groups_is_read_within_a_limit(path: str) -> None:
    mapper = make_mapper(f"marl:groups={path}")
    evaluator = Evaluator(Problem(MapSpace(GEMM, Hardware(4))), find_objective("edp"), 10)
    refused(lambda: mapper.search(evaluator, 10, np.random.default_rng(0)), MaestroEnvError)


@pytest.mark.parametrize(
    "flags", [[f"--Mapping_file={ENDLESS}"], ["--Mapping_file=empty.m", f"--HW_file={ENDLESS}"]]
)
def test_no_file_of_the_drop_in_is_read_without_limit(
    flags: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty.m").touch()
    assert main(flags) == 134
    shown = capsys.readouterr().err
    assert "'/dev/zero': it has more than 16,777,216 characters, which is the limit" in shown


def test_no_line_of_rows_is_read_without_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "in.jsonl.gz"
    with gzip.open(source, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(bytes(2**20))
    assert main([f"--jsonl={source}", f"--out={tmp_path}/out"]) == 2
    shown = capsys.readouterr().err
    assert shown.endswith("in.jsonl.gz: line 1 has more than 1,048,576 bytes, which is the limit\n")
    assert os.listdir(tmp_path) == ["in.jsonl.gz"]


# --- Terminals ----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["/dev/full", "/dev/null"])
def test_rows_replace_no_device(target: str, tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.touch()
    before = os.stat(target).st_rdev
    assert main([f"--jsonl={source}", f"--out={target}"]) == 2
    assert os.stat(target).st_rdev == before


ENDED = [
    (["--Mapping_file=none.m"], 134, ""),
    ([b"--Mapping_file=\xff\x1b[31m\n.m"], 134, ""),
    (["--jsonl=none", "--out=out"], 2, ""),
    ([b"--jsonl=\xff\x1b[31m\n", "--out=out"], 2, ">&-"),
    (["--Mapping_file=none.m"], 134, "2>&-"),
    (["--jsonl=none", "--out=out"], 2, ">/dev/full 2>&1"),
]


@pytest.mark.parametrize(("arguments", "status", "ending"), ENDED)
def test_the_drop_in_ends_with_one_line_and_its_status(
    arguments: list[str | bytes], status: int, ending: str, tmp_path: Path
) -> None:
    shell = ["sh", "-c", f'"$@" {ending}', "sh", sys.executable, "-m", "maestro_env.compat.program"]
    ended = subprocess.run([*shell, *arguments], cwd=tmp_path, capture_output=True)
    assert (ended.returncode, ended.stdout) == (status, b"")
    shown = ended.stderr.decode()
    if ending in ("", ">&-"):
        assert shown.startswith("maestro-compat: ")
        assert shown.removesuffix("\n").isprintable()
    else:
        assert shown == ""
