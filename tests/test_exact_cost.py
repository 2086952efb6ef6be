"""The exact model's figures as a `Cost`: of mappings, of batches and of rows."""

from __future__ import annotations

import math
from dataclasses import fields, replace

import numpy as np
import pytest
from exact_reference import Row, reference, row_of

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.compat.evaluation import evaluate_exact
from maestro_env.evaluation.cost_and_status import STATUSES, ClusterBuffers, Cost
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.space import TILES
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

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
        want = evaluate_exact(row_of(problem.layer, mapping, hardware))
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
        want = evaluate_exact(row_of(layer, mapping, PRESETS["edge"]))
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
    problem = Problem(MapSpace(find_layer("vgg16_l2"), PRESETS["unlimited"]), "exact")
    cost, _ = problem.evaluate_mapping(Mapping((nest(("K", 1, True)),)))
    assert (cost.clusters, cost.cluster_accesses, cost.cluster_l1_bytes) == ((), 0, 0)
