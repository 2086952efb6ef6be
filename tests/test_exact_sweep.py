"""Invariants of the exact model (E8) on batches of random mappings of the whole zoo."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from invariant_helpers import MACHINES, words_of

from maestro_env import _native
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.cost_and_status import OK, STATUSES
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import all_layers
from maestro_env.workloads.layer import Layer

WITH_RESULTS = [STATUSES.index(name) for name in ("ok", "l1_overflow", "l2_overflow")]

Columns = dict[str, np.ndarray]


def cluster_sizes(space: MapSpace, points: Points) -> np.ndarray:
    """PEs in a cluster, of every point."""
    for column, parameter in enumerate(space.parameters):
        if parameter.name == "cluster_size":
            return np.array([parameter.values[choice] for choice in points[:, column]])
    return np.full(len(points), space.decode(points[0]).levels[1].cluster_size)


def broken(layer: Layer, hardware: Hardware, clusters: np.ndarray, m: Columns) -> set[str]:
    """Which invariants some of the rows break; two levels, one column per metric."""
    words, simd = words_of(layer), hardware.simd_lanes
    pes = hardware.num_pes // clusters * clusters
    offchip = m["offchip_read_words"] + m["offchip_write_words"]
    again = (
        (m["input_l2_reads"] > words.input)
        | (m["filter_l2_reads"] > words.filter)
        | (m["output_leaving_words"] > words.output)
    )
    moved = m["onchip_cycles"] * hardware.noc_bw
    fetched = m["input_l2_reads"] + m["filter_l2_reads"]
    l2 = [m[f"{tensor}_l2_{verb}s"] for tensor in TENSORS for verb in ("read", "write")]
    holds = {
        "2 roofline": m["latency_cycles"] >= np.ceil(words.macs / (pes * simd)),
        "2 utilization": m["utilization"] <= 1,
        "2 active PEs": m["active_pes"] <= hardware.num_pes,
        "2 busy PEs": m["busy_pe_cycles"] * simd >= words.macs,
        "2 MACs": m["macs"] == words.macs,
        "3 on chip": m["latency_cycles"] >= m["onchip_cycles"],
        "3 compute": m["onchip_cycles"] >= m["compute_sum_cycles"],
        "3 NoC in": (moved >= fetched) | (hardware.noc_latency < 1),
        "3 NoC out": (moved >= m["output_leaving_words"]) | (hardware.noc_latency < 1),
        "3 off-chip": m["latency_cycles"] * hardware.offchip_bw >= offchip,
        "5 output": rising(words.output, m["output_leaving_words"], words.macs),
        # The share of a cluster buffer that each PE below holds, times the PEs.
        "6 sizes": (2 * m["l2_bytes"] > (m["cluster_l1_bytes"] - 1) * clusters)
        & (m["cluster_l1_bytes"] * clusters >= m["pe_l1_bytes"]),
        "6 largest": 2 * m["l2_bytes"] >= m["pe_l1_bytes"],
        "6 L1": m["l1_bytes"] == m["pe_l1_bytes"] + m["cluster_l1_bytes"],
        "6 L2": rising(m["l2_bytes"], m["l2_used_bytes"], m["l2_hold_bytes"], words.all),
        "11 off-chip": offchip >= words.all,
        "11 compulsory": (offchip == words.all)
        == ((hardware.l2_bytes >= m["l2_hold_bytes"]) | ~again),
        "12 L2 accesses": m["l2_accesses"]
        == fetched + m["output_leaving_words"] + m["output_psum_reads"] + offchip,
        "12 L2 terms": m["l2_accesses"] == sum(l2),
        "12 partial sums": m["output_psum_reads"] == m["output_leaving_words"] - words.output,
    }
    for tensor, least in (("input", words.input), ("filter", words.filter)):
        holds[f"4 {tensor}"] = rising(
            least,
            m[f"{tensor}_l2_reads"],
            m[f"{tensor}_unit_writes"],
            m[f"{tensor}_l1_writes"],
            words.macs,
        )
        holds[f"4 {tensor} from off-chip"] = rising(
            least, m[f"{tensor}_l2_writes"], m[f"{tensor}_l2_reads"]
        )
    return {name for name, kept in holds.items() if not np.all(kept)}


TENSORS = ("input", "filter", "output")


def rising(*values: Any) -> Any:
    return np.all([a <= b for a, b in pairwise(values)], axis=0)


def below_bounds(layer: Layer, hardware: Hardware, metrics: np.ndarray) -> set[str]:
    """Objectives that some row has less of than any mapping can have."""
    return {
        each.name
        for each in OBJECTIVES.values()
        if (each.function(metrics) < each.bound(layer, hardware) * (1 - 1e-12)).any()
    }


def columns_of(metrics: np.ndarray) -> Columns:
    return dict(zip(_native.METRICS, metrics.T, strict=True))


@dataclass
class Tally:
    """What a sweep saw."""

    evaluated: int = 0
    ok: int = 0
    kept_in_l2: int = 0
    read_again: int = 0
    near_peak: int = 0


def sweep(total: int, seed: int) -> Tally:
    """Check random mappings of all layers, machines and schemas alike."""
    combinations = list(product(all_layers(), MACHINES, SCHEMAS))
    each = -(-total // len(combinations))
    tally = Tally()
    for number, (layer, hardware, schema) in enumerate(combinations):
        problem = Problem(MapSpace(layer, hardware, schema), "exact")
        points = problem.space.sample(each, np.random.default_rng([seed, number]))
        rows = problem.evaluate(points)
        what = f"{layer.name} on {hardware.name}, {schema}, [{seed}, {number}]"
        assert np.isin(rows.status, WITH_RESULTS).all(), what
        m = columns_of(rows.metrics)
        assert broken(layer, hardware, cluster_sizes(problem.space, points), m) == set(), what
        assert below_bounds(layer, hardware, rows.metrics) == set(), what
        tally.evaluated += len(points)
        tally.ok += int((rows.status == OK).sum())
        tally.kept_in_l2 += int((m["l2_resident_tensors"] > 0).sum())
        tally.read_again += int((m["l2_used_bytes"] < m["l2_hold_bytes"]).sum())
        tally.near_peak += int((m["utilization"] > 0.5).sum())
    return tally


@pytest.mark.slow
def test_a_million_random_mappings_break_no_invariant() -> None:
    tally = sweep(1_000_000, seed=1)
    print(tally)  # noqa: T201 - the figures of the note
    assert tally.evaluated >= 1_000_000
    assert tally.ok > 300_000
    assert min(tally.kept_in_l2, tally.read_again) > 30_000
    assert tally.near_peak > 300


CHECKED = (
    *("latency_cycles", "onchip_cycles", "utilization", "active_pes", "busy_pe_cycles", "macs"),
    *("offchip_read_words", "offchip_write_words", "output_leaving_words", "output_psum_reads"),
    *(f"{tensor}_{count}" for tensor in TENSORS[:2] for count in ("l2_reads", "l2_writes")),
    *("input_unit_writes", "filter_unit_writes", "input_l1_writes", "filter_l1_writes"),
    *("pe_l1_bytes", "cluster_l1_bytes", "l2_bytes", "l2_used_bytes", "l2_hold_bytes"),
    "l2_accesses",
)


def test_a_wrong_figure_breaks_an_invariant() -> None:
    """Of a mapping that computes all on one PE, where every bound is met."""
    layer = Layer("CONV", {"K": 8, "C": 8, "Y": 10, "X": 10, "R": 3, "S": 3})
    hardware = replace(PRESETS["edge"], num_pes=1)
    level = tuple(Loop(dim, size, size, dim == "K") for dim, size in layer.loop_extents.items())
    mapping = Mapping((Level(level), Level(level, 1)))
    cost, _ = Problem(MapSpace(layer, hardware), "exact").evaluate_mapping(mapping)
    m = {name: np.array([figure]) for name, figure in cost.figures().items()}
    assert broken(layer, hardware, np.array([1]), m) == set()
    for name in CHECKED:
        wrong = ({**m, name: each} for each in (0.4 * m[name], 3e3 * m[name] + 1))
        assert any(broken(layer, hardware, np.array([1]), each) for each in wrong), name
