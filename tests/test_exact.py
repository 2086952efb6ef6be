"""The exact model on rows of a reference implementation and on ill-formed rows."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path

import pytest
from differences import differences
from exact_reference import Row, inputs, outcome, reference
from row_reader import static_status

from maestro_env.compat.evaluation import evaluate_exact
from maestro_env.compat.program import main
from maestro_env.evaluation.cost_and_status import STATUSES

# --- Reference rows -----------------------------------------------------------------------------


def test_the_sample_holds_every_kind_of_row() -> None:
    rows = reference()
    assert len(rows) == 2000
    assert len({json.dumps(inputs(row)) for row in rows}) == 2000
    with_results = [row for row in rows if "out" in row]
    statuses = Counter(row["status"] for row in rows)
    assert statuses.keys() == {
        *("ok", "l1_overflow", "l2_overflow", "coverage", "cluster_exceeds_pes")
    }
    assert min(statuses.values()) > 50
    assert {row["type"] for row in with_results} == {"CONV", "DSCONV", "GEMM"}
    assert {len(row["out"]["mid"]) for row in with_results} == {0, 1, 2}
    assert {tuple(row["stride"]) for row in with_results if row["stride"]} == {
        *((1, 1), (1, 2), (2, 2), (3, 3), (4, 4))
    }
    resident = Counter(row["out"]["l2_resident"] for row in with_results)
    assert resident.keys() == set(range(8))
    assert min(resident.values()) > 50


def test_every_reference_row_agrees() -> None:
    wrong = {}
    for row in reference():
        if found := differences(evaluate_exact(inputs(row)), outcome(row)):
            wrong[json.dumps(inputs(row))] = found
    assert wrong == {}


def test_reference_rows_agree_on_the_command_line(tmp_path: Path) -> None:
    source, target, rows = tmp_path / "in.jsonl", tmp_path / "out.jsonl", reference()[::5]
    source.write_text("".join(json.dumps(inputs(row)) + "\n" for row in rows))
    assert main(["--jsonl", str(source), "--out", str(target), "--model", "exact"]) == 0
    written = [json.loads(line) for line in target.read_text().splitlines()]
    assert [
        found for pair in zip(written, rows, strict=True) if (found := differences(*pair))
    ] == []


def test_the_comparison_finds_every_kind_of_difference() -> None:
    row = outcome(next(row for row in reference() if row.get("out", {}).get("mid")))
    assert differences(row, row) == []
    for name, value in row["out"].items():
        changed = {
            int: lambda value: value + 1,
            float: lambda value: value * (1 + 1e-11),
            list: lambda value: [{**value[0], "size": value[0]["size"] + 1}, *value[1:]],
        }[type(value)](value)
        assert len(differences({**row, "out": {**row["out"], name: changed}}, row)) == 1
        if isinstance(value, int):
            assert differences({**row, "out": {**row["out"], name: float(value)}}, row) != []
        missing = {key: each for key, each in row["out"].items() if key != name}
        assert differences({**row, "out": missing}, row) != []
        assert differences(row, {**row, "out": missing}) != []


# --- Statuses -----------------------------------------------------------------------------------

CONV: Row = {
    "type": "CONV",
    "stride": [1, 1],
    "dims": {"K": 4, "C": 6, "Y": 8, "X": 8, "R": 3, "S": 3},
    "dataflow": ["TemporalMap(2,2) K;", "SpatialMap(2,2) C;"],
    "hw": {
        "num_pes": 8,
        "noc_bw": 4,
        "hop_latency": 1,
        "offchip_bw": 4,
        "l1": None,
        "l2": None,
        "simd": 1,
    },
}
GEMM: Row = {
    **CONV,
    "type": "GEMM",
    "stride": None,
    "dims": {"M": 5, "N": 6, "K": 7},
    "dataflow": ["SpatialMap(1,1) M;"],
}
LEVEL = ["Cluster(1,P);", "SpatialMap(1,1) C;"]


def dataflow(*texts: str) -> Row:
    return {**CONV, "dataflow": list(texts)}


def machine(**values: float | None) -> Row:
    return {**CONV, "hw": {**CONV["hw"], **values}}


def layer(**values: int | None) -> Row:
    """The layer with other extents; None leaves one out."""
    dims = {**CONV["dims"], **values}
    return {**CONV, "dims": {name: each for name, each in dims.items() if each is not None}}


def deep_and_slow(extent: int) -> Row:
    """A row whose bound of E7 is extent^2 x 2^30 x (1 + 2 x 2)."""
    dims = {"M": extent, "N": extent, "K": 2**30}
    return {**GEMM, "dims": dims, "hw": {**GEMM["hw"], "hop_latency": 1}}


STATUS_ROWS: list[tuple[str, Row]] = [
    ("ok", CONV),
    ("ok", GEMM),
    ("ok", {**CONV, "type": "NGCONV", "dims": {**CONV["dims"], "G": 3, "N": 2}}),
    ("ok", {**CONV, "type": "FC", "dims": {"K": 4, "C": 6}}),
    *(("bad_hw", machine(**{name: 0})) for name in ("num_pes", "noc_bw", "offchip_bw", "simd")),
    ("bad_hw", machine(hops=0)),
    ("bad_hw", machine(hop_latency=-1)),
    ("bad_hw", machine(offchip_cost=-1.0)),
    ("bad_hw", machine(offchip_cost=math.inf)),
    ("bad_hw", machine(offchip_cost=math.nan)),
    ("ok", machine(hop_latency=0, hops=3, offchip_cost=200)),
    *(("bad_layer", {**CONV, "type": name}) for name in ("TRCONV", "POOL", "LSTM", "conv")),
    ("bad_layer", layer(C=None)),
    ("bad_layer", layer(R=None)),
    ("bad_layer", layer(Y=None)),
    ("bad_layer", layer(K=0)),
    ("bad_layer", layer(R=9)),
    ("bad_layer", {**CONV, "stride": [0, 1]}),
    ("bad_layer", {**CONV, "type": "NGCONV"}),
    ("bad_layer", {**CONV, "type": "DSCONV"}),
    ("ok", {**CONV, "type": "DSCONV", "dims": {**CONV["dims"], "K": 1}}),
    ("bad_layer", {**GEMM, "dims": {"M": 5, "N": 6}}),
    ("bad_tile", dataflow()),
    ("bad_tile", dataflow("TemporalMap(1,1) Z;", "SpatialMap(2,2) C;")),
    ("bad_tile", dataflow("TemporalMap(1,1) G;", "SpatialMap(2,2) C;")),
    ("bad_tile", dataflow("TemporalMap(0,1) K;", "SpatialMap(2,2) C;")),
    ("bad_tile", dataflow("TemporalMap(1,0) K;", "SpatialMap(2,2) C;")),
    ("bad_tile", dataflow("TemporalMap(x,1) K;", "SpatialMap(2,2) C;")),
    ("bad_tile", dataflow("TemporalMap(1.5,1) K;", "SpatialMap(2,2) C;")),
    ("bad_tile", dataflow("TemporalMap(1) K;", "SpatialMap(2,2) C;")),
    ("bad_tile", dataflow("Sideways(1,1) K;", "SpatialMap(2,2) C;")),
    ("bad_tile", dataflow("SpatialMap(2,2) C;", "Cluster(0,P);", "SpatialMap(1,1) C;")),
    ("bad_tile", dataflow("SpatialMap(2,2) C;", "Cluster(2,Q);", "SpatialMap(1,1) C;")),
    ("bad_tile", dataflow("TemporalMap(2,2) K;", "SpatialMap(1,1) K;")),
    ("bad_tile", dataflow("TemporalMap(2,2) Y';", "SpatialMap(3,1) Y;")),
    ("ok", dataflow("TemporalMap(Sz(R),Sz(R)) R;", "SpatialMap(2,2) C;")),
    ("ok", dataflow("TemporalMap(2,2) P;", "SpatialMap(3,1) X;")),
    ("too_many_levels", dataflow("SpatialMap(1,1) C;", *LEVEL * 4)),
    ("ok", dataflow("SpatialMap(1,1) C;", *LEVEL * 3)),
    ("cluster_exceeds_pes", dataflow("SpatialMap(1,1) C;", "Cluster(9,P);", "SpatialMap(1,1) K;")),
    ("ok", dataflow("SpatialMap(1,1) C;", "Cluster(8,P);", "SpatialMap(1,1) K;")),
    ("coverage", dataflow("TemporalMap(2,1) K;", "SpatialMap(2,2) C;")),
    ("coverage", dataflow("TemporalMap(1,2) K;", "SpatialMap(2,2) C;")),
    ("coverage", dataflow("TemporalMap(2,2) Y;", "SpatialMap(2,2) C;")),
    ("coverage", dataflow("TemporalMap(4,4) Y;", "SpatialMap(2,2) C;")),
    ("ok", dataflow("TemporalMap(4,1) K;", "SpatialMap(2,2) C;")),
    ("ok", dataflow("TemporalMap(4,2) Y;", "SpatialMap(2,2) C;")),
    ("bad_spatial", dataflow("TemporalMap(2,2) K;")),
    ("bad_spatial", dataflow("SpatialMap(2,2) K;", "SpatialMap(2,2) C;")),
    ("bad_spatial", dataflow("SpatialMap(2,2) K;", "Cluster(2,P);", "TemporalMap(2,2) C;")),
    ("bad_spatial", dataflow("SpatialMap(2,2) K;", "Cluster(2,P);")),
    ("overflow", deep_and_slow(2**14)),
    ("ok", deep_and_slow(2**13)),
    ("overflow", machine(hops=2**31 - 1, hop_latency=2**31 - 1)),
    # What is wrong first decides.
    ("bad_hw", {**machine(simd=0), "type": "POOL", "dataflow": []}),
    ("bad_layer", {**layer(K=0), "dataflow": []}),
    ("bad_tile", dataflow("SpatialMap(1,1) C;", *LEVEL * 4, "Cluster(0,P);")),
    ("too_many_levels", dataflow("SpatialMap(1,1) C;", *["Cluster(9,P);"] * 4)),
    ("cluster_exceeds_pes", dataflow("TemporalMap(2,1) K;", "Cluster(9,P);")),
    ("coverage", dataflow("TemporalMap(2,1) K;", "Cluster(2,P);", "SpatialMap(1,1) K;")),
    ("bad_spatial", dataflow("TemporalMap(2,2) K;", "Cluster(2,P);", "SpatialMap(1,3) K;")),
    ("overflow", {**deep_and_slow(2**14), "hw": {**GEMM["hw"], "l1": 1, "l2": 1}}),
]


@pytest.mark.parametrize(("status", "row"), STATUS_ROWS)
def test_ill_formed_rows_have_their_status(status: str, row: Row) -> None:
    assert (static_status(row) or "ok") == status
    got = evaluate_exact(row)
    assert got["status"] == status
    assert ("out" in got) == (status == "ok")


@pytest.mark.parametrize("number", [2**31, 2**32 + 1, 2**63])
def test_numbers_are_not_wrapped(number: int) -> None:
    """A tile larger than the extent is clipped to it, however large (E2.2)."""
    large = dataflow(f"TemporalMap({number},{number}) K;", "SpatialMap(2,2) C;")
    assert evaluate_exact(large) == evaluate_exact(
        dataflow("TemporalMap(4,4) K;", "SpatialMap(2,2) C;")
    )
    clusters = dataflow("SpatialMap(2,2) C;", f"Cluster({number},P);", "SpatialMap(1,1) K;")
    assert evaluate_exact(clusters) == {"status": "cluster_exceeds_pes"}


def test_every_status_of_the_model_has_a_row() -> None:
    found = {status for status, _ in STATUS_ROWS} | {row["status"] for row in reference()}
    exact = STATUSES[: STATUSES.index("l2_overflow") + 1]
    assert found == set(exact)


def test_a_layer_without_rows_but_a_window_is_none() -> None:
    row = {**CONV, "type": "FC", "dims": {"K": 4, "C": 6, "R": 3, "S": 3}}
    assert (static_status(row), evaluate_exact(row)) == ("bad_layer", {"status": "bad_layer"})
