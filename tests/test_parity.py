"""Agreement with the MAESTRO binary, cell by cell, on rows measured with it."""

from __future__ import annotations

import json
import lzma
import math
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from directive_texts import directive

from maestro_env import _native
from maestro_env.compat.program import main

Row = dict[str, Any]

DATA = Path(__file__).parent / "data" / "maestro_rows.jsonl.xz"
DEATHS = {255: "exit", -8: "sigfpe", -6: "abort", -11: "segv"}

# What a batch's metrics are called in the CSV.
COUNTS = {
    "latency_cycles": "Runtime (Cycles)",
    "macs": "Num MACs",
    "l1_bytes": "L1 SRAM Size Req (Bytes)",
    "l2_bytes": "L2 SRAM Size Req (Bytes)",
    "noc_peak_words_per_cycle": "Peak BW Req",
    "offchip_words_per_cycle": "Offchip BW Req (Elements/cycle)",
    **{
        f"{tensor}_{level}_{verb}s": f"{tensor} {level} {verb}"
        for tensor in ("input", "filter", "output")
        for level in ("l1", "l2")
        for verb in ("read", "write")
    },
}
DELAYS = {
    f"{name.lower()}_{short.lower()}_cycles": f"{name} Delay ({short})"
    for name in ("Ingress", "Egress", "Compute")
    for short in ("Min", "Max", "Avg")
}
SIX_DIGITS = {
    "csv_energy_nj": "Activity count-based Energy (nJ)",
    "macs_per_cycle": "Throughput (MACs/Cycle)",
    "maestro_area_um2": "Area",
    "maestro_power_mw": "Power",
    "noc_avg_words_per_cycle": "Avg BW Req",
    "active_pes": "Avg number of utilized PEs",
    "arithmetic_intensity": "Arithmetic Intensity",
}


@cache
def rows() -> list[Row]:
    with lzma.open(DATA, "rt", encoding="utf-8") as file:
        header, *lines = map(json.loads, file)
    for row in lines:
        row["hw"] = dict(zip(header["hw"], row["hw"], strict=True))
        if "out" in row:
            row["out"] = dict(zip(header["out"], row["out"], strict=True))
    return lines


def levels(row: Row) -> int:
    return 1 + sum(line.startswith("Cluster") for line in row["dataflow"])


def inputs(row: Row) -> Row:
    return {key: row[key] for key in ("type", "stride", "dims", "dataflow", "hw")}


def test_the_sample_holds_every_kind_of_row() -> None:
    assert len(rows()) == 2704
    assert {row["type"] for row in rows()} == {"CONV", "TRCONV", "DSCONV", "NGCONV", "GEMM"}
    assert {levels(row) for row in rows() if "out" in row} == {1, 2, 3, 4}
    strides = {tuple(row["stride"]) for row in rows() if row["stride"]}
    assert {(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (4, 4)} <= strides
    deaths = Counter(row["exit"] for row in rows() if "exit" in row)
    assert deaths.keys() == DEATHS.keys()
    assert deaths.total() >= 150
    for name in ("N", "G", "X'", "Y'"):
        assert sum("out" in row and name in row["dims"] for row in rows()) > 50


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    """The sample as the drop-in evaluates it."""
    folder = tmp_path_factory.mktemp("parity")
    source, target = folder / "in.jsonl", folder / "out.jsonl"
    source.write_text("".join(json.dumps(inputs(row)) + "\n" for row in rows()))
    assert main([f"--jsonl={source}", f"--out={target}"]) == 0
    return [json.loads(line) for line in target.read_text().splitlines()]


def outcome(row: Row) -> Row | int:
    """Cells of a result, exit status of a death."""
    if "error" in row:
        return int(row["error"]["exit"])
    return row["exit"] if "exit" in row else row["out"]


def test_every_row_ends_as_it_does_in_the_binary(evaluated: list[Row]) -> None:
    pairs = list(zip(evaluated, rows(), strict=True))
    assert [got for got, row in pairs if outcome(got) != outcome(row)] == []
    assert [got for got, row in pairs if inputs(got) != inputs(row)] == []


# --- The batch path -----------------------------------------------------------------------------


def is_layer(row: Row) -> bool:
    """Whether the batch interface takes the layer: all dimensions, one form of an axis."""
    dims, operator = row["dims"], row["type"]
    if operator == "GEMM":
        return {"M", "N", "K"} <= dims.keys()
    channels = {"NGCONV": {"G", "K", "C"}, "DSCONV": {"C"}}.get(operator, {"K", "C"})
    if not channels | {"R", "S"} <= dims.keys():
        return False
    one_form = all((axis in dims) != (f"{axis}'" in dims) for axis in "YX")
    return one_form and all(dims.get(a, dims[w]) >= dims[w] for a, w in ("YR", "XS"))


def evaluate(row: Row) -> tuple[dict[str, float], str]:
    """Metrics and status of the row by the batch interface, capacities of its hardware on."""
    strides = list(zip("YX", row["stride"], strict=True)) if row["stride"] else []
    layer = _native.Layer(row["type"], list(row["dims"].items()), strides)
    hw = row["hw"]
    hardware = _native.Hardware(
        num_pes=hw["num_pes"],
        simd_lanes=hw["simd"],
        noc_bw=hw["noc_bw"],
        noc_latency=hw["hop_latency"],
        offchip_bw=hw["offchip_bw"],
        l1_bytes=hw["l1"],
        l2_bytes=hw["l2"],
    )
    evaluator = _native.BatchEvaluator("maestro", layer, hardware, guarded=False)
    directives = [directive(line, row["dims"]) for line in row["dataflow"]]
    figures, status, *_ = evaluator.evaluate_mapping(directives)
    return dict(zip(_native.METRICS, figures, strict=True)), status


def accesses(out: dict[str, str], level: str) -> int:
    tensors = ("input", "filter", "output")
    return sum(int(out[f"{each} {level} {verb}"]) for each in tensors for verb in ("read", "write"))


def total_energy_nj(out: dict[str, str]) -> float:
    l1, l2 = accesses(out, "l1"), accesses(out, "l2")
    return 0.00023 * (int(out["Num MACs"]) + 1.68 * l1 + 18.61 * l2)


def block_area_um2(out: dict[str, str]) -> float:
    l1, l2 = (int(out[f"{level} SRAM Size Req (Bytes)"]) for level in ("L1", "L2"))
    per_pe = 4470 + math.ceil(l1 / 64) * 4505.1889
    return int(out["NumPEs"]) * per_pe + math.ceil(l2 / 32768) * 4161.536


def expected_status(row: Row) -> str:
    out, hw = row["out"], row["hw"]
    if int(out["Runtime (Cycles)"]) <= 0:
        return "above_peak"
    energies = (float(out["Activity count-based Energy (nJ)"]), total_energy_nj(out))
    if min(*energies, block_area_um2(out)) <= 0:
        return "below_compulsory"
    if int(out["L1 SRAM Size Req (Bytes)"]) > hw["l1"]:
        return "l1_overflow"
    return "l2_overflow" if int(out["L2 SRAM Size Req (Bytes)"]) > hw["l2"] else "ok"


def agrees(name: str, figure: float, cell: str) -> bool:
    """Counts exactly, averages cut to integers as the CSV does, the rest to its six digits."""
    if name in SIX_DIGITS:
        return figure == pytest.approx(float(cell), rel=6e-6, nan_ok=True)
    return (math.trunc(figure) if name.endswith("avg_cycles") else figure) == float(cell)


def differences(row: Row) -> list[tuple[str, float, str]]:
    """Metrics that are not the CSV's."""
    metrics, _ = evaluate(row)
    # Without a single step, shortest and average delay are leftovers in the binary.
    ran = int(row["out"]["Runtime (Cycles)"]) > 0
    columns = COUNTS | ((DELAYS | SIX_DIGITS) if ran else {})
    cells = {name: (metrics[name], row["out"][header]) for name, header in columns.items()}
    return [(name, *pair) for name, pair in cells.items() if not agrees(name, *pair)]


def buffer_cells(row: Row) -> tuple[int, int]:
    out = row["out"]
    return int(out["L1 SRAM Size Req (Bytes)"]), int(out["L2 SRAM Size Req (Bytes)"])


def batch_rows(wrapped: bool = False) -> list[Row]:
    """Results the batch interface takes; ``wrapped``: whose buffer sizes overflowed a C int."""
    found = [row for row in rows() if "out" in row and is_layer(row)]
    return [row for row in found if (min(buffer_cells(row)) < 0) == wrapped]


def test_buffer_sizes_do_not_wrap_as_the_binarys_do() -> None:
    assert len(batch_rows(wrapped=True)) > 0
    for row in batch_rows(wrapped=True):
        metrics, status = evaluate(row)
        sizes = metrics["l1_bytes"], metrics["l2_bytes"]
        for size, cell in zip(sizes, buffer_cells(row), strict=True):
            assert (size - cell) % 2**32 == 0
        # What is negative without any wrap (quirk Q42) is no result.
        assert status != "ok" or min(sizes) > 0
    assert any(
        min(evaluate(row)[0][n] for n in ("l1_bytes", "l2_bytes")) > 0
        for row in batch_rows(wrapped=True)
    )


def test_the_batch_path_gives_the_binarys_figures() -> None:
    assert len(batch_rows()) > 2350
    assert [wrong for row in batch_rows() if (wrong := differences(row))] == []


def test_the_batch_path_enforces_the_capacities_of_the_row() -> None:
    expected = Counter(map(expected_status, batch_rows()))
    assert min(expected[status] for status in ("ok", "l1_overflow", "l2_overflow")) > 50
    assert [row for row in batch_rows() if evaluate(row)[1] != expected_status(row)] == []


def test_the_batch_path_dies_where_the_binary_dies() -> None:
    dead = [row for row in rows() if "exit" in row and is_layer(row)]
    assert {row["exit"] for row in dead} == DEATHS.keys()
    assert [row for row in dead if evaluate(row)[1] != f"reference_{DEATHS[row['exit']]}"] == []


def test_energy_power_and_area_are_closed_forms_of_the_binarys_counts() -> None:
    for row in batch_rows():
        metrics, status = evaluate(row)
        if status in ("above_peak", "below_compulsory"):
            continue
        assert metrics["energy_nj"] == pytest.approx(total_energy_nj(row["out"]), rel=1e-12)
        assert metrics["area_um2"] == pytest.approx(block_area_um2(row["out"]), rel=1e-12)
        cycles = int(row["out"]["Runtime (Cycles)"])
        power_mw = 1e3 * total_energy_nj(row["out"]) / cycles
        assert metrics["power_mw"] == pytest.approx(power_mw, rel=1e-12)
