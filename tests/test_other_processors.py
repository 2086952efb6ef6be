"""Builds without the 80-bit ``long double`` of x86: the same ``exact``, no ``maestro``."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import audit, evaluate, run
from cpp import PRODUCT_FLAGS, program

from maestro_env import MapSpace, Problem, _native, find_hardware, find_layer
from maestro_env.base.errors import ModelError
from maestro_env.compat import program as compat

REFUSED = "model maestro computes in the 80-bit long double of x86, which this build for "


def rows_of_exact(*emulator: str, **build: object) -> list[str]:
    """Mappings, those left to the general path, and the digest of rows, on two lanes."""
    binary = program("wide", **build).path()
    ended = subprocess.run([*emulator, str(binary)], capture_output=True, text=True, check=True)
    lines = [line.split() for line in ended.stdout.splitlines()]
    (found,) = [rest for model, target, *rest in lines if (model, target) == ("exact", "baseline")]
    return found


@pytest.mark.slow
def test_aarch64_has_the_same_rows() -> None:
    compiler, emulator = "aarch64-linux-gnu-g++", "qemu-aarch64"
    for tool in (compiler, emulator):
        if shutil.which(tool) is None:
            pytest.skip(f"needs {tool}")
    flags = (*PRODUCT_FLAGS, "-static")
    assert rows_of_exact(emulator, compiler=compiler, flags=flags) == rows_of_exact()


@pytest.mark.slow
def test_a_short_long_double_changes_no_row() -> None:
    assert rows_of_exact(flags=(*PRODUCT_FLAGS, "-mlong-double-64")) == rows_of_exact()


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build without the 80-bit long double."""
    monkeypatch.setattr(_native, "HAS_EXTENDED_PRECISION", False)


@pytest.mark.usefixtures("elsewhere")
def test_maestro_is_refused_with_the_reason() -> None:
    space = MapSpace(find_layer("mobilenetv2_l2"), find_hardware("edge"))
    with pytest.raises(ModelError, match=f"^{REFUSED}.* lacks; allowed: exact, hierarchy"):
        Problem(space, "maestro")
    rows = Problem(space, "exact").evaluate(space.sample(10, np.random.default_rng(0)))
    assert len(rows.status) == 10


@pytest.mark.usefixtures("elsewhere")
def test_a_search_is_refused_before_it_writes(assert_refused: object) -> None:
    assert_refused(run, ["--model=maestro"], REFUSED)


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    "arguments", [["--Mapping_file=in.m"], ["--jsonl=in.jsonl", "--out=out.jsonl"]]
)
def test_the_drop_in_is_refused_and_writes_nothing(
    arguments: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert compat.main(arguments) == 2
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n")) == ("", 1)
    assert shown.err.startswith(f"maestro-compat: {REFUSED}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("elsewhere")
def test_a_mapping_is_scored_under_exact_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    space = MapSpace(find_layer("mobilenetv2_l2"), find_hardware("edge"))
    path = tmp_path / "mapping.json"
    path.write_text(space.decode(np.zeros(13, dtype=np.int32)).to_json())
    assert json.loads(path.read_text())
    assert evaluate([str(path), "--layer=mobilenetv2_l2"]) == 0
    shown = capsys.readouterr()
    assert shown.err.startswith(f"note: {REFUSED}")
    assert [line for line in shown.out.splitlines() if line.startswith("maestro:")] == []
    assert [line for line in shown.out.splitlines() if line.startswith("exact:")] != []


def test_an_audit_needs_both_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run([f"--out={out}", "--samples=20", "--mapper=random"]) == 0
    capsys.readouterr()
    monkeypatch.setattr(_native, "HAS_EXTENDED_PRECISION", False)
    assert audit([str(out)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {REFUSED}")
