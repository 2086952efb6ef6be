"""Searches from similar layers against searches from none, and libraries as starts of studies."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from commands import compare, map_network
from commands import run as run_command
from commands import warm as main

from experiments.search.library import read_library

HARDWARE = "--hardware=num_pes=16,l1_bytes=512,l2_bytes=8192,noc_bw=8,offchip_bw=4,name=small"
NETWORK = """K,C,Y,X,R,S,T
8,3,18,18,3,3,1
16,8,16,16,1,1,1
32,16,8,8,1,1,1
10,32,1,1,1,1,0
"""


@pytest.fixture
def network(tmp_path: Path) -> str:
    path = tmp_path / "net.csv"
    path.write_text(NETWORK)
    return str(path)


def run(network: str, out: Path, *flags: str) -> int:
    defaults = ["--samples=30,60", "--library=90", "--seeds=2"]
    return main([f"--networks={network}", HARDWARE, f"--out={out}", *defaults, *flags])


def rows(out: Path) -> list[dict[str, str]]:
    with (out / "table.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_table_is_made_of_the_searches(network: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(network, out) == 0
    found = {(row["mapper"], row["samples"], row["start"]): row for row in rows(out)}
    assert len(found) == 2 * 2 * 3
    for mapper in ("ga_log", "marl"):
        records = [json.loads(path.read_text()) for path in out.glob(f"cells/*/{mapper}/*.json")]
        assert len(records) == 2
        layers = [layer for record in records for layer in record["layers"]]
        assert [layer["start"] == 0 for layer in layers] == [True, False, False, False] * 2
        for layer in layers:
            # More samples find no less, and a start that is valid counts.
            assert layer["charged"][1] <= layer["cold"][1] <= layer["cold"][0]
            assert layer["library"][1] <= layer["library"][0]
        kept = [layer for record in records for layer in record["layers"][1:]]
        for index, samples in enumerate(("30", "60")):
            logs = [math.log(each["under_way"][index] / each["cold"][index]) for each in kept]
            row = found[mapper, samples, "network under way"]
            assert float(row["ratio"]) == pytest.approx(math.exp(np.mean(logs)))
            assert float(row["low"]) <= float(row["ratio"]) <= float(row["high"])
            assert int(row["pairs"]) == 6
    assert "network under way" in (out / "table.md").read_text()


def test_jobs_change_no_byte_and_what_is_there_is_not_searched_again(
    network: str, tmp_path: Path
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert run(network, one) == 0
    assert run(network, two, "--jobs=2", "--seeds=1") == 0
    paths = {path: path.stat().st_mtime_ns for path in two.glob("cells/*/*/*.json")}
    assert run(network, two, "--resume") == 0
    assert (one / "table.csv").read_bytes() == (two / "table.csv").read_bytes()
    assert {path: path.stat().st_mtime_ns for path in paths} == paths
    assert run(network, two, "--resume", "--library=91") == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--networks=nowhere"], "unknown network"),
        (["--samples=10,x"], "--samples: 'x'; allowed: integers"),
        (["--samples=0"], "--samples"),
        (["--mappers=gaa"], "unknown mapper"),
        (["--objective=speed"], "unknown objective"),
    ],
)
def test_what_cannot_be_searched_is_refused(
    assert_refused: Callable[..., None], flags: list[str], message: str
) -> None:
    assert_refused(main, flags, message)


def test_a_study_starts_from_a_library_if_it_is_named(network: str, tmp_path: Path) -> None:
    library = tmp_path / "library.json"
    quick = ["--samples=200", "--nodes=0", "--front=0", "--mapper=marl", f"--library={library}"]
    assert map_network([network, HARDWARE, f"--out={tmp_path / 'net'}", *quick]) == 0
    entries = read_library(library)
    layer = "conv:K=16,C=8,Y=16,X=16,R=1,S=1"
    common = [HARDWARE, "--samples=10", "--seeds=1"]
    warm = [f"--warm={library}"]
    flags = [f"--layer={layer}", "--objective=edp", "--mapper=ga_log,random", *common]
    for out, more in (("cold", []), ("warm", warm)):
        assert run_command([*flags, f"--out={tmp_path / out}", *more]) == 0
    (known,) = (each.value for each in entries if each.mapped.problem.layer.extents.get("C") == 8)
    for mapper in ("ga_log", "random"):
        cold, warmed = (
            json.loads((tmp_path / out / "summary.json").read_text())["mappers"][mapper]
            for out in ("cold", "warm")
        )
        # The library has the very layer.
        assert warmed["best"] <= known < cold["best"]
        assert warmed["evaluations"] == 10
    # Both commands record with which library they were begun.
    flags = [f"--layers={layer}", "--objectives=edp", "--mappers=ga_log,random", *common]
    out = f"--out={tmp_path / 'warm'}"
    assert compare([*flags, out, "--resume", *warm]) == 0
    assert compare([*flags, out, "--resume"]) == 2
    assert compare([*flags, f"--out={tmp_path / 'new'}", f"--warm={tmp_path / 'none.json'}"]) == 2
    assert not (tmp_path / "new").exists()
