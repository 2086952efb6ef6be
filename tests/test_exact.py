"""The exact model on rows of a reference implementation, and its worked example (E11)."""

from __future__ import annotations

import json
import lzma
import math
from collections import Counter
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from differences import differences
from row_reader import static_status

from maestro_env.compat import main
from maestro_env.cost import ClusterBuffers, Cost
from maestro_env.exact_rows import evaluate
from maestro_env.hardware import PRESETS, Hardware
from maestro_env.layer import Layer
from maestro_env.map_space import SCHEMAS, TILES, MapSpace
from maestro_env.mapping import Level, Loop, Mapping
from maestro_env.problem import STATUSES, Problem
from maestro_env.workloads import find_layer

Row = dict[str, Any]

DATA = Path(__file__).parent / "data" / "exact_rows.jsonl.xz"
INPUTS = ("type", "stride", "dims", "dataflow", "hw")


@cache
def reference() -> list[Row]:
    with lzma.open(DATA, "rt", encoding="utf-8") as file:
        names, *rows = map(json.loads, file)
    for row in rows:
        row["hw"] = dict(zip(names["hw"], row["hw"], strict=True))
        if "out" in row:
            row["out"] = out = dict(zip(names["out"], row["out"], strict=True))
            out["mid"] = [dict(zip(names["mid"], each, strict=True)) for each in out["mid"]]
    return rows


def inputs(row: Row) -> Row:
    return {name: row[name] for name in INPUTS}


def outcome(row: Row) -> Row:
    return {name: row[name] for name in ("status", "out") if name in row}


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
        if found := differences(evaluate(inputs(row)), outcome(row)):
            wrong[json.dumps(inputs(row))] = found
    assert wrong == {}


def test_every_reference_row_agrees_on_the_command_line(tmp_path: Path) -> None:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(inputs(row)) + "\n" for row in reference()))
    assert main(["--jsonl", str(source), "--out", str(target), "--model", "exact"]) == 0
    written = [json.loads(line) for line in target.read_text().splitlines()]
    assert len(written) == len(reference())
    assert [
        found for pair in zip(written, reference(), strict=True) if (found := differences(*pair))
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
    got = evaluate(row)
    assert got["status"] == status
    assert ("out" in got) == (status == "ok")


@pytest.mark.parametrize("number", [2**31, 2**32 + 1, 2**63])
def test_numbers_are_not_wrapped(number: int) -> None:
    """A tile larger than the extent is clipped to it, however large (E2.2)."""
    large = dataflow(f"TemporalMap({number},{number}) K;", "SpatialMap(2,2) C;")
    assert evaluate(large) == evaluate(dataflow("TemporalMap(4,4) K;", "SpatialMap(2,2) C;"))
    clusters = dataflow("SpatialMap(2,2) C;", f"Cluster({number},P);", "SpatialMap(1,1) K;")
    assert evaluate(clusters) == {"status": "cluster_exceeds_pes"}


def test_every_status_of_the_model_has_a_row() -> None:
    found = {status for status, _ in STATUS_ROWS} | {row["status"] for row in reference()}
    exact = STATUSES[: STATUSES.index("l2_overflow") + 1]
    assert found == set(exact)


def test_a_layer_without_rows_but_a_window_is_none() -> None:
    row = {**CONV, "type": "FC", "dims": {"K": 4, "C": 6, "R": 3, "S": 3}}
    assert (static_status(row), evaluate(row)) == ("bad_layer", {"status": "bad_layer"})


# --- The worked example (E11) -------------------------------------------------------------------

EXAMPLE: Row = {
    "type": "CONV",
    "stride": [1, 1],
    "dims": {"K": 3, "C": 2, "Y": 7, "X": 3, "R": 3, "S": 3},
    "dataflow": ["TemporalMap(1,1) C;", "SpatialMap(1,1) Y';", "TemporalMap(3,3) K;"],
    "hw": {
        "num_pes": 2,
        "noc_bw": 4,
        "hop_latency": 1,
        "offchip_bw": 8,
        "l1": None,
        "l2": None,
        "simd": 1,
    },
}
IN, COMPUTE, OUT = [10, 2, 1] * 2, [27] * 6, [2, 2, 1] * 2
ANY_CAPACITY = {
    "macs": 270,
    "steps": 6,
    "first_in": 12 + 27,
    "last_out": 3,
    "onchip_cycles": 173,
    "cycles": 179,
    "busy_pe_cycles": 270,
    "l2_read_input": 42,
    "l2_read_filter": 54,
    "l2_write_input": 42,
    "l2_write_filter": 54,
    "unit_write_input": 72,
    "unit_write_filter": 108,
    "l1_write_input": 36 * 2,
    "l1_write_filter": 54 * 2,
    "l1_read_input": 270,
    "l1_read_filter": 270,
    "l1_read_output": 270,
    "l1_write_output": 270,
    "leaving_output": 30,
    "l2_psum_read_output": 15,
    "mid": [],
    "l1_size": 2 * (9 + 27 + 3),
    "l1_share": 0,
    "l1_total": 78,
    "l2_size": 90,
    "l2_hold": 93,
    "ingress_min": 1,
    "ingress_max": 10,
    "ingress_sum": sum(IN),
    "ingress_avg": sum(IN) / 6,
    "compute_min": 27,
    "compute_max": 27,
    "compute_sum": sum(COMPUTE),
    "compute_avg": 27.0,
    "egress_min": 1,
    "egress_max": 2,
    "egress_sum": sum(OUT),
    "egress_avg": sum(OUT) / 6,
    # Beside step 2 the 39 words of step 3 come in.
    "peak_bw": math.ceil(39 / 27),
    "avg_bw": (96 + 30) / 173,
    "throughput": 270 / 179,
    "utilization": 270 / 179 / 2,
    "avg_active_pes": 270 / 179,
    "arithmetic_intensity": 270 / 96,
    "l1_accesses": 1260,
    "mid_accesses": 0,
    "multicast_input": 72 / 42,
    "multicast_filter": 2.0,
    "reuse_input": 270 / 72,
    "reuse_filter": 2.5,
}
RESIDENT = {
    "l2_resident": 4,
    "l2_used": 93,
    "offchip_read": 96,
    "offchip_write": 15,
    "l2_write_output": 30,
    "l2_read_output": 30,
    "l2_accesses": 252,
    "offchip_bw_req": 111 / 179,
    "energy": 1.6275996,
}
STREAMED = {
    "l2_resident": 0,
    "l2_used": 90,
    "offchip_read": 111,
    "offchip_write": 30,
    "l2_write_output": 45,
    "l2_read_output": 45,
    "l2_accesses": 282,
    "offchip_bw_req": 141 / 179,
    "energy": 1.7560086,
}
# MAESTRO S9 for two PEs, a network of 4 words and buffers of 78 and 93 bytes.
SILICON = {
    "gamma_area": 2 * 4470 + 4161.536 + 2 * 4505.1889 * 2,
    "area": 2 * (283 + 0.104 * 78)
    + 0.104 * 93
    + 101.7938 * (14.662 * 2 + 28.895) * 4
    + max(395.473 * (1.2886 * 4 + 5.5814 * 2 - 23.711), 395.473),
    "power": 2 * (1.2223 + 0.00345 * 78)
    + 0.00345 * 93
    + 0.8 * (14.662 * 2 + 28.895) / 1000 * 4
    + 0.34,
}


def example(l2: int | None, **hw: float) -> Row:
    return evaluate({**EXAMPLE, "hw": {**EXAMPLE["hw"], "l2": l2, **hw}})


@pytest.mark.parametrize("l2", [None, 10**6, 94, 93])
def test_the_worked_example_with_room_for_the_outputs(l2: int | None) -> None:
    out = {**ANY_CAPACITY, **RESIDENT, **SILICON}
    assert differences(example(l2), {"status": "ok", "out": out}) == []


@pytest.mark.parametrize("l2", [92, 91, 90, 89])
def test_the_worked_example_without(l2: int) -> None:
    got = example(l2)
    area = {**SILICON, "area": SILICON["area"] - 0.104 * 3, "power": SILICON["power"] - 0.00345 * 3}
    want = {"status": "ok" if l2 >= 90 else "l2_overflow"}
    assert differences(got, {**want, "out": {**ANY_CAPACITY, **STREAMED, **area}}) == []


def test_the_time_of_the_worked_example_is_that_of_its_steps() -> None:
    beside = zip(COMPUTE, [*IN[1:], 0], [0, *OUT[:-1]], strict=True)
    assert IN[0] + sum(map(max, beside)) + OUT[-1] == 173
    assert max(math.ceil(39 / 8) + 173 + math.ceil(3 / 8), math.ceil(111 / 8)) == 179


def test_capacities_of_l1_come_before_those_of_l2() -> None:
    assert example(90, l1=78)["status"] == "ok"
    assert example(90, l1=77)["status"] == "l1_overflow"
    assert example(89, l1=77) == {**example(89, l1=78), "status": "l1_overflow"}


def test_words_off_chip_cost_what_the_hardware_says() -> None:
    free, paid = example(None), example(None, offchip_cost=200)
    assert paid["out"].pop("energy") == pytest.approx(
        free["out"].pop("energy") + 0.00023 * 200 * 111, rel=1e-12
    )
    assert paid == free


def test_hops_and_their_latency_multiply() -> None:
    assert example(None, hops=3, hop_latency=2) == example(None, hop_latency=6)
    assert example(None, hops=3, hop_latency=0) == example(None, hop_latency=0)


# --- Cost ---------------------------------------------------------------------------------------

# Results of E5 and E6 by their names, and the fields of `Cost` that hold them.
FIELDS = {
    "macs": "macs",
    "cycles": "latency_cycles",
    "onchip_cycles": "onchip_cycles",
    "steps": "steps",
    "first_in": "first_in_words",
    "last_out": "last_out_words",
    "leaving_output": "output_leaving_words",
    "l2_psum_read_output": "output_psum_reads",
    "offchip_read": "offchip_read_words",
    "offchip_write": "offchip_write_words",
    "l2_resident": "l2_resident_tensors",
    "l1_size": "pe_l1_bytes",
    "l1_share": "cluster_l1_bytes",
    "l1_total": "l1_bytes",
    "l2_size": "l2_bytes",
    "l2_used": "l2_used_bytes",
    "l2_hold": "l2_hold_bytes",
    "peak_bw": "noc_peak_words_per_cycle",
    "avg_bw": "noc_avg_words_per_cycle",
    "offchip_bw_req": "offchip_words_per_cycle",
    "busy_pe_cycles": "busy_pe_cycles",
    "avg_active_pes": "active_pes",
    "throughput": "macs_per_cycle",
    "utilization": "utilization",
    "arithmetic_intensity": "arithmetic_intensity",
    "l1_accesses": "l1_accesses",
    "mid_accesses": "cluster_accesses",
    "l2_accesses": "l2_accesses",
    "energy": "energy_nj",
    "area": "maestro_area_um2",
    "power": "maestro_power_mw",
    "gamma_area": "area_um2",
    **{
        f"{level}_{verb}_{tensor}": f"{tensor}_{level}_{verb}s"
        for tensor in ("input", "filter", "output")
        for level in ("l1", "l2")
        for verb in ("read", "write")
    },
    **{
        f"{delay}_{figure}": f"{delay}_{figure}_cycles"
        for delay in ("ingress", "compute", "egress")
        for figure in ("min", "max", "avg", "sum")
    },
    **{f"unit_write_{tensor}": f"{tensor}_unit_writes" for tensor in ("input", "filter")},
    **{f"multicast_{tensor}": f"{tensor}_multicast" for tensor in ("input", "filter")},
    **{f"reuse_{tensor}": f"{tensor}_reuse" for tensor in ("input", "filter")},
}
CLUSTER_FIELDS = {
    "write_input": "input_writes",
    "write_filter": "filter_writes",
    "read_input": "input_reads",
    "read_filter": "filter_reads",
    "write_output": "output_writes",
    "read_output": "output_reads",
    "size": "bytes",
}


def as_row(layer: Layer, mapping: Mapping, hardware: Hardware) -> Row:
    texts = [
        f"Cluster({size},P);" if kind == "Cluster" else f"{kind}({size},{offset}) {dim};"
        for kind, dim, size, offset in mapping.directives
    ]
    hw = {
        "num_pes": hardware.num_pes,
        "noc_bw": hardware.noc_bw,
        "simd": hardware.simd_lanes,
        "hop_latency": hardware.noc_hop_latency,
        "hops": hardware.noc_hops,
        "l1": hardware.l1_bytes,
        "l2": hardware.l2_bytes,
        "offchip_bw": hardware.offchip_bw,
        "offchip_cost": hardware.offchip_cost_macs,
    }
    return {
        "type": layer.operator,
        "dims": dict(layer.extents),
        "dataflow": texts,
        "hw": hw,
        "stride": list(layer.stride) if layer.is_convolution else None,
    }


def as_out(cost: Cost) -> Row:
    """The cost by the names of E5 and E6."""
    mid = [
        {name: getattr(each, field) for name, field in CLUSTER_FIELDS.items()}
        for each in cost.clusters
    ]
    return {**{name: getattr(cost, field) for name, field in FIELDS.items()}, "mid": mid}


def test_the_table_covers_every_result_and_every_field() -> None:
    row = next(row for row in reference() if row.get("out", {}).get("mid"))
    assert FIELDS.keys() | {"mid"} == row["out"].keys()
    assert CLUSTER_FIELDS.keys() == row["out"]["mid"][0].keys()
    assert set(CLUSTER_FIELDS.values()) == {field.name for field in fields(ClusterBuffers)}
    rest = {field.name for field in fields(Cost)} - set(FIELDS.values())
    assert rest == {"csv_energy_nj", "power_mw", "clusters"}


COST_LAYERS = ("mobilenetv2_l2", "resnet18_l0", "mobilenetv2_l1", "gpt2_l3", "vgg16_l13")
TIGHT = replace(
    PRESETS["edge"],
    l1_bytes=2000,
    l2_bytes=60_000,
    simd_lanes=3,
    noc_hops=2,
    noc_hop_latency=3,
    offchip_cost_macs=200.0,
    name="tight",
)


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("hardware", [*PRESETS.values(), TIGHT], ids=lambda each: each.name)
@pytest.mark.parametrize("name", COST_LAYERS)
def test_batches_mappings_and_rows_give_the_same_figures(
    name: str, hardware: Hardware, schema: str
) -> None:
    tiles = TILES[len(name) % 2]
    problem = Problem(MapSpace(find_layer(name), hardware, schema, tiles), "exact")
    points = problem.space.sample(12, np.random.default_rng(3))
    rows = problem.evaluate(points)
    for point, figures, code in zip(points, rows.metrics, rows.status, strict=True):
        mapping = problem.space.decode(point)
        cost, status = problem.evaluate_mapping(mapping)
        assert cost is not None
        assert STATUSES[code] == status
        assert replace(cost, clusters=()) == Cost.from_row(figures)
        want = evaluate(as_row(problem.layer, mapping, hardware))
        assert want["status"] == status
        assert as_out(cost) == want["out"]
        assert len(cost.clusters) == 1
        assert cost.csv_energy_nj is None
        power = 1000 * want["out"]["energy"] / want["out"]["cycles"]
        assert cost.power_mw == pytest.approx(power, rel=1e-12)


def test_overflows_keep_their_figures_in_a_batch() -> None:
    problem = Problem(MapSpace(find_layer("resnet18_l0"), TIGHT), "exact")
    rows = problem.evaluate(problem.space.sample(2000, np.random.default_rng(0)))
    names = np.array(STATUSES)[rows.status]
    assert {"ok", "l1_overflow", "l2_overflow"} == set(names)
    csv = Cost.from_row(range(len(rows.metrics[0]))).csv_energy_nj
    filled = np.delete(rows.metrics, int(csv), axis=1)
    assert (np.isfinite(filled)).all()
    assert np.isnan(rows.metrics[:, int(csv)]).all()


def nest(*sizes: tuple[str, int, bool], cluster: int | None = None) -> Level:
    return Level(tuple(Loop(dim, size, size, spatial) for dim, size, spatial in sizes), cluster)


def test_clusters_are_listed_from_the_outermost() -> None:
    layer = Layer("CONV", {"K": 16, "C": 12, "Y": 12, "X": 12, "R": 3, "S": 3})
    problem = Problem(MapSpace(layer, PRESETS["edge"]), "exact")
    levels = (
        nest(("K", 8, True), ("C", 6, False)),
        nest(("Y'", 5, True), ("K", 2, False), cluster=2),
        nest(("C", 2, True), ("X'", 2, False), cluster=4),
        nest(("Y'", 2, False), ("K", 1, True), cluster=2),
    )
    for depth in range(1, 5):
        mapping = Mapping(levels[:depth])
        cost, status = problem.evaluate_mapping(mapping)
        assert cost is not None
        want = evaluate(as_row(layer, mapping, PRESETS["edge"]))
        assert (status, as_out(cost)) == (want["status"], want["out"])
        # Words of the largest tile of a cluster of each level, twice.
        sizes = [
            2 * (6 * 12 * 12 + 8 * 6 * 9 + 8 * 10 * 10),
            2 * (6 * 7 * 12 + 2 * 6 * 9 + 2 * 5 * 10),
            2 * (2 * 7 * 4 + 2 * 2 * 9 + 2 * 5 * 2),
        ]
        assert [each.bytes for each in cost.clusters] == sizes[: depth - 1]
        below = [math.prod((2, 4, 2)[j : depth - 1]) for j in range(depth - 1)]
        shares = sum(-(-size // pes) for size, pes in zip(sizes, below, strict=False))
        assert cost.cluster_l1_bytes == shares


def test_a_single_level_has_no_clusters() -> None:
    problem = Problem(MapSpace(find_layer("vgg16_l2"), PRESETS["paper"]), "exact")
    cost, _ = problem.evaluate_mapping(Mapping((nest(("K", 1, True)),)))
    assert (cost.clusters, cost.cluster_accesses, cost.cluster_l1_bytes) == ((), 0, 0)
