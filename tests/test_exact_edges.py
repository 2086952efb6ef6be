"""The exact model where names, numbers and bytes are at their edges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from maestro_env.accelerators.hardware import Hardware
from maestro_env.compat.evaluation import evaluate_exact
from maestro_env.compat.program import main
from maestro_env.evaluation.objectives import latency_bound
from maestro_env.workloads.layer import Layer

HW = {
    "num_pes": 4,
    "noc_bw": 8,
    "hop_latency": 0,
    "offchip_bw": 8,
    "l1": None,
    "l2": None,
    "simd": 1,
}
CONV = {"K": 4, "C": 3, "Y": 7, "X": 7, "R": 3, "S": 3}


def row(operator: str, dims: dict[str, int], *dataflow: str, **hw: Any) -> dict[str, Any]:
    stride = None if operator == "GEMM" else [1, 1]
    return {
        "type": operator,
        "stride": stride,
        "dims": dims,
        "dataflow": list(dataflow),
        "hw": {**HW, **hw},
    }


@pytest.mark.parametrize(
    ("operator", "dims", "directive", "literal"),
    [
        ("CONV", CONV, "SpatialMap(Sz(P),1) P;", "SpatialMap(5,1) P;"),
        ("CONV", CONV, "SpatialMap(Sz(Q),Sz(Q)) Q;", "SpatialMap(5,5) Q;"),
        ("CONV", CONV, "SpatialMap(Sz(N),Sz(N)) K;", "SpatialMap(1,1) K;"),
        ("CONV", CONV, "SpatialMap(Sz(X'),Sz(X')) X';", "SpatialMap(5,5) X';"),
        ("FC", {"K": 4, "C": 3}, "SpatialMap(Sz(P),1) P;", "SpatialMap(1,1) P;"),
    ],
)
def test_sz_knows_every_name_of_a_dimension(
    operator: str, dims: dict[str, int], directive: str, literal: str
) -> None:
    result = evaluate_exact(row(operator, dims, directive))
    assert result["status"] == "ok"
    assert result == evaluate_exact(row(operator, dims, literal))


def test_sz_of_a_depthwise_layers_k_is_one() -> None:
    dims = {name: extent for name, extent in CONV.items() if name != "K"}
    loops = ("TemporalMap(Sz(K),Sz(K)) K;", "SpatialMap(1,1) C;")
    assert evaluate_exact(row("DSCONV", dims, *loops))["status"] == "ok"


@pytest.mark.parametrize(
    ("k", "status"),
    # With one level and no latency three times the MACs must stay below 2^60 = 3 x ... + 1.
    [(746_405, "ok"), (746_406, "overflow")],
)
def test_the_overflow_bound_is_exact(k: int, status: str) -> None:
    dims = {"M": 859_971, "K": k, "N": 598_715}
    assert 3 * 859_971 * 746_405 * 598_715 == 2**60 - 1
    assert evaluate_exact(row("GEMM", dims, "SpatialMap(1,1) M;"))["status"] == status


def test_capacities_below_zero_hold_nothing() -> None:
    for capacity in (-1, -5, 0):
        assert evaluate_exact(row("CONV", CONV, "SpatialMap(1,1) K;", l1=capacity))["status"] == (
            "l1_overflow"
        )


def test_the_roofline_is_the_integer_one() -> None:
    layer = Layer("GEMM", {"M": 862_911, "N": 803_590, "K": 733_746})
    macs = 862_911 * 803_590 * 733_746
    assert latency_bound(layer, Hardware(num_pes=7)) == (macs + 6) // 7


def test_bytes_that_are_no_text_are_named_with_their_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = json.dumps(row("CONV", CONV, "SpatialMap(1,1) K;")).encode()
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(good + b"\n\xff\xfe\n")
    assert main([f"--jsonl={source}", f"--out={target}", "--model=exact"]) == 2
    error = capfd.readouterr().err
    assert error.count("\n") == 1
    assert f"{source}, line 2" in error
    assert list(tmp_path.iterdir()) == [source]
