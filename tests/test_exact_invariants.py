"""What holds for every mapping under the exact model (E8), on large mappings over the zoo.

What test_exact_sweep.py checks of thousands of points is checked here of deeper mappings alone.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from invariant_helpers import DISTINCT, MACHINES, cost_of, deep, moved, points, words_of
from test_exact_sweep import broken

from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer


@given(deep(), st.integers(0, 9), st.integers(1, 100), st.integers(1, 100))
def test_deep_mappings_break_no_invariant(
    drawn: tuple[Problem, Mapping], latency: int, noc_bw: int, offchip_bw: int
) -> None:
    problem, mapping = drawn
    network = {"noc_hop_latency": latency, "noc_bw": noc_bw, "offchip_bw": offchip_bw}
    figures = cost_of(problem, mapping, **network).figures()
    clusters = math.prod(level.cluster_size or 1 for level in mapping.levels)
    m = {name: np.array([figure]) for name, figure in figures.items()}
    found = broken(problem.layer, replace(problem.hardware, **network), np.array([clusters]), m)
    # One thing that is checked holds of two levels alone.
    assert found <= {"6 sizes"}


@given(deep())
def test_inputs_and_filters_fan_out(drawn: tuple[Problem, Mapping]) -> None:  # 4
    cost, words = cost_of(*drawn), words_of(drawn[0].layer)
    for tensor in ("input", "filter"):
        chain = [getattr(words, tensor), getattr(cost, f"{tensor}_l2_reads")]
        chain.append(getattr(cost, f"{tensor}_unit_writes"))
        for number, each in enumerate(cost.clusters):
            written = getattr(each, f"{tensor}_writes")
            assert number > 0 or written == chain[-1]
            chain += [written, getattr(each, f"{tensor}_reads")]
        chain += [getattr(cost, f"{tensor}_l1_writes"), words.macs]
        assert chain == sorted(chain)
        brought = getattr(cost, f"{tensor}_l2_writes")
        assert chain[0] <= brought <= chain[1]


@given(deep())
def test_outputs_are_reduced_on_the_way_up(drawn: tuple[Problem, Mapping]) -> None:  # 5
    cost, words = cost_of(*drawn), words_of(drawn[0].layer)
    chain = [words.output, cost.output_leaving_words]
    chain += [each.output_writes for each in cost.clusters]
    assert [*chain, words.macs] == sorted([*chain, words.macs])
    assert all(each.output_writes == each.output_reads for each in cost.clusters)


@given(deep())
def test_buffers_shrink_on_the_way_down(drawn: tuple[Problem, Mapping]) -> None:  # 6
    cost, words = cost_of(*drawn), words_of(drawn[0].layer)
    sizes = [2 * cost.l2_bytes, *(each.bytes for each in cost.clusters), cost.pe_l1_bytes]
    assert sizes == sorted(sizes, reverse=True)
    assert cost.l2_bytes <= cost.l2_used_bytes <= cost.l2_hold_bytes <= words.all


TIMES = {
    *("latency_cycles", "onchip_cycles", "macs_per_cycle", "utilization", "active_pes"),
    *("noc_peak_words_per_cycle", "noc_avg_words_per_cycle", "offchip_words_per_cycle"),
    *(f"{d}_{f}_cycles" for d in ("ingress", "egress", "compute") for f in ("min", "max", "avg")),
    *(f"{delay}_sum_cycles" for delay in ("ingress", "egress", "compute")),
    "power_mw",
}
SILICON = {"maestro_area_um2", "maestro_power_mw"}


def counts(cost: Cost) -> dict[str, Any]:
    """What neither bandwidth nor latency may change."""
    return {
        name: figure
        for name, figure in cost.as_dict().items()
        if name not in TIMES and name not in SILICON
    }


@given(
    st.one_of(points(), deep()),
    st.sampled_from(["noc_bw", "offchip_bw", "noc_hop_latency", "simd_lanes"]),
    st.integers(0, 40),
    st.integers(0, 40),
)
def test_better_hardware_is_never_slower(
    drawn: tuple[Problem, Mapping], name: str, one: int, other: int
) -> None:  # 7
    worse, better = sorted((one, other), reverse=name == "noc_hop_latency")
    # So that all of them matter, and 0 only as a latency.
    base = {"noc_bw": 8, "offchip_bw": 4, "noc_hop_latency": 2}
    least = 0 if name == "noc_hop_latency" else 1
    slow = cost_of(*drawn, **{**base, name: worse + least})
    fast = cost_of(*drawn, **{**base, name: better + least})
    assert fast.latency_cycles <= slow.latency_cycles
    assert fast.onchip_cycles <= slow.onchip_cycles
    if name == "simd_lanes":
        assert fast.busy_pe_cycles <= slow.busy_pe_cycles
        assert {**counts(fast), "busy_pe_cycles": 0} == {**counts(slow), "busy_pe_cycles": 0}
    else:
        assert counts(fast) == counts(slow)


@given(st.one_of(points(), deep()), st.floats(0, 1.2), st.floats(0, 1.2), st.booleans())
def test_more_l2_is_never_worse(
    drawn: tuple[Problem, Mapping], one: float, other: float, dear: bool
) -> None:  # 7
    base = {"offchip_bw": 2, "offchip_cost_macs": 200.0 if dear else 0.0}
    free = cost_of(*drawn, **base, l2_bytes=2**31 - 1)
    span = free.l2_hold_bytes - free.l2_bytes
    less, more = (max(1, int(free.l2_bytes + at * span)) for at in sorted((one, other)))
    costs = [cost_of(*drawn, **base, l2_bytes=l2) for l2 in (less, more)]
    for small, large in zip(costs, [*costs[1:], free], strict=True):
        assert large.latency_cycles <= small.latency_cycles
        assert large.energy_nj <= small.energy_nj
        assert moved(large) <= moved(small)
        assert large.l2_bytes == small.l2_bytes


@given(
    st.sampled_from(DISTINCT),
    st.sampled_from(MACHINES),
    st.integers(0, 5),
    st.integers(1, 8),
    st.data(),
)
def test_one_tile_on_one_level_costs_what_the_layer_has(
    layer: Layer, hardware: Hardware, latency: int, simd: int, data: st.DataObject
) -> None:  # 10
    order = data.draw(st.permutations(list(layer.loop_extents)))
    loops = tuple(Loop(dim, layer.loop_extents[dim], 1, dim == order[-1]) for dim in order)
    hardware = replace(hardware, noc_hop_latency=latency, simd_lanes=simd, l2_bytes=2**31 - 1)
    problem = Problem(MapSpace(layer, hardware), "exact")
    cost, words = cost_of(problem, Mapping((Level(loops),))), words_of(layer)

    def noc(volume: int) -> int:
        return latency + math.ceil(volume / hardware.noc_bw) - 1

    there, back = noc(words.input + words.filter), noc(words.output)
    assert cost.onchip_cycles == there + math.ceil(words.macs / simd) + back
    assert cost.steps == 1
    assert cost.l2_resident_tensors == 0
    assert (cost.offchip_read_words, cost.offchip_write_words) == (
        words.input + words.filter,
        words.output,
    )
    for tensor in ("input", "filter"):
        for count in ("l2_reads", "l2_writes", "unit_writes", "l1_writes"):
            assert getattr(cost, f"{tensor}_{count}") == getattr(words, tensor)
    assert cost.output_leaving_words == cost.output_l2_writes == cost.output_l2_reads
    assert (cost.output_leaving_words, cost.output_psum_reads) == (words.output, 0)
    assert (cost.l2_bytes, cost.pe_l1_bytes) == (words.all, 2 * words.all)


@given(st.one_of(points(), deep()), st.floats(0, 1.2))
def test_traffic_off_chip_is_compulsory_just_if_l2_holds_what_is_read_again(
    drawn: tuple[Problem, Mapping], at: float
) -> None:  # 11
    words = words_of(drawn[0].layer)
    free = cost_of(*drawn, l2_bytes=2**31 - 1)
    hold = int(free.l2_hold_bytes)
    between = int(free.l2_bytes + at * (hold - free.l2_bytes))
    streams = (free.input_l2_reads, free.filter_l2_reads, free.output_leaving_words)
    again = streams != (words.input, words.filter, words.output)
    for l2 in {hold, hold - 1, between} - {0}:
        offchip = moved(cost_of(*drawn, l2_bytes=l2))
        assert offchip >= words.all
        assert (offchip == words.all) == (l2 >= hold or not again)
