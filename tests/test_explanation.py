"""Why a valid mapping costs what it does: parts add up, and bottlenecks are what more relieves."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from exact_reference import row_of
from gate import few
from hypothesis import assume, given
from hypothesis import strategies as st
from invariant_helpers import cost_of, deep, words_of
from map_space_helpers import spaces_and_points
from row_reader import prepare
from simulator import Machine, simulate
from technology_helpers import drawn_technologies

from maestro_env import (
    Cost,
    Hardware,
    Layer,
    Level,
    Loop,
    Mapping,
    MappingError,
    MapSpace,
    ModelError,
    Problem,
    UnknownNameError,
    find_hardware,
    find_layer,
    find_objective,
    known_optimum,
)
from maestro_env.accelerators.technology import Technology
from maestro_env.explanation import (
    RESOURCES,
    TENSORS,
    better,
    better_with_room,
    count_cycles,
    count_energy,
    count_reuse,
    count_traffic,
    explain_mapping,
    fill_buffers,
    find_bottleneck,
    find_neighbours,
    textbook_dataflows,
    time_steps,
)
from maestro_env.explanation.rendering import time_figure, traffic_figure

Drawn = tuple[Problem, Mapping]


@st.composite
def mappings(draw: st.DrawFn) -> Drawn:
    """Mappings of random layers on random machines whose L2 is small."""
    space, point = draw(spaces_and_points)
    assume(space.layer.operator != "TRCONV")
    problem, mapping = Problem(space), space.decode(point)
    free = cost_of(problem, mapping).figures()
    l2_bytes = draw(st.integers(int(free["l2_bytes"]), int(free["l2_hold_bytes"])))
    offchip_cost_macs = draw(st.sampled_from([0, 200]))
    return on(problem, l2_bytes=l2_bytes, offchip_cost_macs=offchip_cost_macs), mapping


def on(problem: Problem, **changes: Any) -> Problem:
    """The same layer on a machine with other fields."""
    hardware = replace(problem.hardware, **changes)
    return replace(problem, space=replace(problem.space, hardware=hardware))


DRAWN = st.one_of(mappings(), deep())


def valid(drawn: Drawn) -> Drawn:
    """The same mapping on a machine whose buffers are large enough for it."""
    problem, mapping = drawn
    cost, status = problem.evaluate_mapping(mapping)
    assert cost is not None
    if status == "ok":
        return drawn
    assert status in ("l1_overflow", "l2_overflow")
    needs = {name: int(cost.figures()[name]) for name in ("l1_bytes", "l2_bytes")}
    limits = {name: max(need, getattr(problem.hardware, name)) for name, need in needs.items()}
    return on(problem, **limits), mapping


def latency(problem: Problem, mapping: Mapping, changes: dict[str, Any]) -> float:
    cost, status = on(problem, **changes).evaluate_mapping(mapping)
    assert cost is not None
    assert status == "ok"
    return cost.latency_cycles


def more_of(names: tuple[str, ...], problem: Problem, cost: Cost) -> dict[str, int]:
    """Twice a bandwidth, a cycle of latency less, the L2 that holds what is read again."""
    hardware = problem.hardware
    changes = {
        "compute": {"simd_lanes": 2 * hardware.simd_lanes},
        "network bandwidth": {"noc_bw": min(2 * hardware.noc_bw, 2**31 - 1)},
        "network latency": {"noc_hops": 1, "noc_hop_latency": max(hardware.noc_latency - 1, 0)},
        "off-chip bandwidth": {"offchip_bw": min(2 * hardware.offchip_bw, 2**31 - 1)},
        "L2 size": {"l2_bytes": max(int(cost.l2_hold_bytes or 0), hardware.l2_bytes)},
    }
    assert changes.keys() == RESOURCES.keys()
    return {field: value for name in names for field, value in changes[name].items()}


@given(DRAWN, st.integers(1, 1000))
def test_more_of_a_bottleneck_is_faster_and_more_of_anything_else_is_not(
    drawn: Drawn, times: int
) -> None:
    problem, mapping = valid(drawn)
    found = find_bottleneck(problem, mapping)
    cost = cost_of(problem, mapping)
    before = cost.latency_cycles
    assert found.latency_cycles == before
    if found.tied:
        assert len(found.names) > 1
        assert latency(problem, mapping, more_of(found.names, problem, cost)) < before
        for left_out in found.names:
            fewer = tuple(name for name in found.names if name != left_out)
            assert latency(problem, mapping, more_of(fewer, problem, cost)) == before
    for name in RESOURCES:
        if name in found.names and not found.tied:
            assert latency(problem, mapping, more_of((name,), problem, cost)) < before
            continue
        resource = RESOURCES[name]
        value = getattr(problem.hardware, resource.field)
        more = min(value * times, 2**31 - 1) if resource.unlimited else value // times
        assert latency(problem, mapping, {resource.field: more}) == before


@given(DRAWN)
def test_the_first_bottleneck_saves_most_and_no_machine_saves_more(drawn: Drawn) -> None:
    problem, mapping = valid(drawn)
    found = find_bottleneck(problem, mapping)
    saved = found.saved_cycles
    assert min(saved.values()) >= 0
    assert found.saved_together >= max(saved.values())
    if found.names and not found.tied:
        assert saved[found.names[0]] == max(saved.values())
        assert {name for name in saved if saved[name]} == set(found.names)
    if not found.names:
        everything = {each.field: each.unlimited for each in RESOURCES.values()}
        assert latency(problem, mapping, everything) == found.latency_cycles


@given(DRAWN)
def test_the_parts_of_the_latency_add_up_to_it(drawn: Drawn) -> None:
    problem, mapping = valid(drawn)
    cycles, cost = count_cycles(problem, mapping), cost_of(problem, mapping)
    assert sum(cycles.parts.values()) == cycles.latency == cost.latency_cycles
    assert min(cycles.parts.values()) >= 0
    # No PE computes more than the share of the layer that the busiest has.
    assert cycles.compute >= math.ceil((cost.busy_pe_cycles or 0) / problem.hardware.num_pes)
    assert cycles.utilization == pytest.approx(cost.utilization)
    assert max(cycles.time_busy, cycles.pes_busy, cycles.lanes_busy) <= 1 + 1e-12
    if cycles.offchip_wait:
        words = (cost.offchip_read_words or 0) + (cost.offchip_write_words or 0)
        assert cycles.latency == math.ceil(words / problem.hardware.offchip_bw)


@given(DRAWN, drawn_technologies)
def test_the_parts_of_the_energy_add_up_to_it(drawn: Drawn, technology: Technology) -> None:
    problem, mapping = valid(drawn)
    cost_macs = 0 if technology.offchip_macs else problem.hardware.offchip_cost_macs
    problem = on(problem, technology=technology, offchip_cost_macs=cost_macs)
    cost = cost_of(problem, mapping)
    energy = count_energy(cost, problem.hardware)
    assert energy.total == pytest.approx(cost.energy_nj, rel=1e-12)
    assert (energy.accesses >= 0).all()
    traffic = count_traffic(cost)
    sums = dict(zip(traffic.memories, traffic.words.sum(axis=1).tolist(), strict=True))
    assert ("clusters" in sums) == (len(mapping.levels) > 1)
    assert sums["L1"] == cost.l1_accesses
    assert sums.get("clusters", 0) == cost.cluster_accesses
    assert sums["L2"] == cost.l2_accesses
    assert traffic.reads[-1].sum() == cost.offchip_read_words
    assert traffic.writes[-1].sum() == cost.offchip_write_words


@given(DRAWN)
def test_every_access_is_avoided_or_made(drawn: Drawn) -> None:
    problem, mapping = valid(drawn)
    cost, words = cost_of(problem, mapping), words_of(problem.layer)
    for tensor, stages in count_reuse(cost).items():
        assert stages[0].wanted == words.macs
        for stage, following in pairwise(stages):
            assert stage.moved == following.wanted
        assert all(stage.avoided >= 0 and stage.factor >= 1 for stage in stages)
        last = stages[-1].moved
        assert last >= getattr(words, tensor)
        assert sum(stage.avoided for stage in stages) + last == words.macs
        traffic = count_traffic(cost)
        offchip = traffic.writes if tensor == "output" else traffic.reads
        assert last == offchip[-1, TENSORS.index(tensor)]


SMALL = st.integers(1, 4)


@st.composite
def small(draw: st.DrawFn) -> tuple[Problem, Mapping, dict[str, Any]]:
    """A mapping that the simulator executes quickly, and its row."""
    extents = {name: draw(SMALL) for name in "KCRS"}
    extents |= {axis: extents[window] + draw(SMALL) for axis, window in ("YR", "XS")}
    stride = (draw(st.integers(1, 2)), 1)
    pes, bw, offchip, hop, simd = (draw(st.integers(1, most)) for most in (9, 6, 6, 3, 3))
    layer = Layer("CONV", extents, stride)
    hardware = Hardware(
        pes, noc_bw=bw, offchip_bw=offchip, noc_hop_latency=hop, simd_lanes=simd, l2_bytes=2**20
    )
    space = MapSpace(layer, hardware, "full17")
    mapping = space.decode([draw(st.integers(0, int(size) - 1)) for size in space.sizes])
    row = row_of(layer, mapping, hardware)
    return Problem(space), mapping, row


@given(small())
def test_cycles_and_words_are_those_of_the_simulator(
    drawn: tuple[Problem, Mapping, dict[str, Any]],
) -> None:
    problem, mapping, row = drawn
    layer, levels = prepare(row)
    machine = Machine(layer, levels, row["hw"], memo=True)
    run = machine.execute(0, layer.box)
    # With networks that take no time, computation is all there is on the chip.
    still = Machine(layer, levels, {**row["hw"], "noc_bw": 2**30, "hop_latency": 0}, memo=True)
    cycles = count_cycles(problem, mapping)
    assert cycles.compute == still.execute(0, layer.box).time
    assert cycles.network_fill == machine.noc(run.into[0])
    assert cycles.network_drain == machine.noc(run.left[-1])
    assert cycles.compute + cycles.cluster_networks == sum(run.compute)
    ends = cycles.network_fill + cycles.network_drain
    assert cycles.network_wait == run.time - sum(run.compute) - ends
    steps = time_steps(cost_of(problem, mapping))
    assert steps.steps == len(run.compute)
    assert (steps.compute.least, steps.compute.most) == (min(run.compute), max(run.compute))
    out = simulate(row, memo=True)["out"]
    traffic = count_traffic(cost_of(problem, mapping))
    for memory, way, words in [("L1", "l1", 0), ("L2", "l2", 2)]:
        for column, tensor in enumerate(TENSORS):
            reads = out[f"{way}_read_{tensor}"]
            writes = out[f"{way}_write_{tensor}"]
            place = traffic.memories.index(memory)
            assert place == words
            assert (traffic.reads[place, column], traffic.writes[place, column]) == (reads, writes)
    for column, tensor in enumerate(TENSORS):
        assert traffic.reads[1, column] == sum(mid[f"read_{tensor}"] for mid in out["mid"])
        assert traffic.writes[1, column] == sum(mid[f"write_{tensor}"] for mid in out["mid"])


def best(layer: str, hardware: str) -> Drawn:
    problem = Problem(MapSpace(find_layer(layer), find_hardware(hardware)))
    known = known_optimum(problem, find_objective("edp"))
    assert known is not None
    return problem, problem.space.decode(known.point)


def test_buffers_are_filled_by_what_the_mapping_holds() -> None:
    problem, mapping = best("resnet18_l2", "edge")
    cost = cost_of(problem, mapping)
    buffers = fill_buffers(cost, problem.hardware)
    assert buffers.l1.used_bytes == (cost.pe_l1_bytes or 0) + buffers.cluster_bytes
    assert buffers.l1.filled == 1
    assert buffers.resident == ("filter",)
    # A step of all clusters: 3 x 10 x 30 inputs, 64 x 3 x 3 x 3 filters, 64 x 8 x 28 outputs.
    streamed = 2 * (900 + 14_336)
    assert buffers.l2.needed_bytes == streamed + 2 * 1728
    assert buffers.l2.used_bytes == streamed + 64 * 64 * 9
    assert buffers.l2.capacity_bytes == problem.hardware.l2_bytes


@given(spaces_and_points)
def test_neighbours_differ_in_one_parameter(drawn: tuple[MapSpace, np.ndarray]) -> None:
    space, point = drawn
    assume(space.layer.operator != "TRCONV")
    mapping = space.decode(point)
    needs = cost_of(Problem(space), mapping).figures()
    limits = {name: int(needs[name]) for name in ("l1_bytes", "l2_bytes")}
    problem = on(Problem(space), **limits)
    cost = cost_of(problem, mapping)
    own = space.encode(mapping)
    found = find_neighbours(problem, mapping)
    changed = [np.flatnonzero(each.point != own).tolist() for each in found]
    assert all(len(columns) == 1 for columns in changed)
    decoded = [str(space.decode(each.point)) for each in found]
    assert len({*decoded, str(mapping)}) == len(found) + 1
    for each, (column,) in zip(found, changed, strict=True):
        assert space.parameters[column].name == each.parameter
        other, status = problem.evaluate_mapping(space.decode(each.point))
        assert other is not None
        assert status == each.status
        change = other.latency_cycles * other.energy_nj / cost.latency_cycles / cost.energy_nj - 1
        assert each.changes["edp"] == pytest.approx(change, abs=1e-9)
        needs = {name: other.figures()[name] - limit for name, limit in limits.items()}
        over = {name[:2].upper(): need for name, need in needs.items() if need > 0}
        assert each.over == over
        assert each.valid == (not over)
    for parameter, choice in zip(space.parameters, own.tolist(), strict=True):
        if parameter.is_size and not parameter.name.startswith("l1"):
            size = int(parameter.values[choice])
            tried = {each.after for each in found if each.parameter == parameter.name}
            wanted = {size // 2, 2 * size} & set(parameter.values)
            assert {str(each) for each in wanted} <= tried


def test_better_neighbours_are_better_and_blocked_ones_lack_room() -> None:
    problem, _ = best("resnet18_l2", "edge")
    points = problem.space.sample(20_000, np.random.default_rng(0))
    edp = find_objective("edp")
    values, _ = problem.score(points, edp)
    mapping = problem.space.decode(points[values.argmin()])
    found = find_neighbours(problem, mapping)
    improving = better(found, "edp")
    assert improving
    assert len({each.parameter for each in improving}) == len(improving)
    assert [each.changes["edp"] for each in improving] == sorted(
        each.changes["edp"] for each in improving
    )
    again, _ = problem.score(np.array([each.point for each in improving]), edp)
    assert (again < values.min()).all()
    changes = [each.changes["edp"] for each in improving]
    np.testing.assert_allclose(again / values.min() - 1, changes)
    for each in better_with_room(found, "edp"):
        there = problem.hardware
        roomy = on(
            problem,
            l1_bytes=there.l1_bytes + each.over.get("L1", 0),
            l2_bytes=there.l2_bytes + each.over.get("L2", 0),
        )
        value, status = roomy.score(each.point[np.newaxis], edp)
        assert status[0] == 0
        assert value[0] < values.min()


def test_an_optimum_has_no_better_neighbour() -> None:
    for layer, hardware in (("resnet18_l2", "edge"), ("bert_base_l4", "cloud")):
        assert better(find_neighbours(*best(layer, hardware)), "edp") == []


LAYERS = (
    "resnet18_l0",
    "resnet18_l2",
    "mobilenetv2_l4",
    "bert_base_l4",
    "ngconv:G=4,K=8,C=8,Y=9,X=9,R=3,S=3",
)


@pytest.mark.parametrize("hardware", ["edge", "unlimited"])
@pytest.mark.parametrize("text", few(LAYERS, 2))
def test_the_stationary_tensor_of_a_textbook_dataflow_passes_l2_once(
    text: str, hardware: str
) -> None:
    layer = find_layer(text)
    problem = Problem(MapSpace(layer, find_hardware(hardware)))
    found = {each.name: each for each in textbook_dataflows(problem)}
    assert list(found) == ["weight-stationary", "output-stationary", "row-stationary"]
    weights, outputs, rows = found.values()
    assert weights.cost is not None
    assert outputs.cost is not None
    assert weights.cost.filter_l2_reads == layer.filter_words
    assert outputs.cost.output_leaving_words == layer.output_words
    assert outputs.cost.output_psum_reads == 0
    assert rows.expressible == layer.is_convolution
    for each in found.values():
        assert (each.mapping is None) == (each.cost is None)
        if each.mapping:
            assert problem.evaluate_mapping(each.mapping) == (each.cost, "ok")
    if rows.mapping:
        outer, inner = rows.mapping.levels
        window, length = layer.extents["R"], layer.extents["S"]
        assert inner.cluster_size == window
        assert [loop.dim for loop in outer.loops if loop.spatial] == ["Y'"]
        assert [(loop.dim, loop.size) for loop in inner.loops if loop.spatial] == [("R", 1)]
        sizes = {loop.dim: loop.size for loop in inner.loops}
        assert (sizes["S"], sizes["Y'"]) == (length, 1)


def test_a_dataflow_that_fits_no_buffer_is_named_without_a_mapping() -> None:
    tiny = Hardware(16, l1_bytes=8, l2_bytes=64)
    problem = Problem(MapSpace(find_layer("resnet18_l2"), tiny))
    for each in textbook_dataflows(problem):
        assert each.expressible
        assert (each.mapping, each.cost) == (None, None)


def test_a_text_tells_what_fits_in_lines_for_a_terminal() -> None:
    layer = Layer("GEMM", {"M": 30, "N": 20, "K": 20})
    roomy = Hardware(4, l1_bytes=6, l2_bytes=10**7, offchip_bw=1, name="roomy")
    level = Level((Loop("M", 1, 1, spatial=True), Loop("N", 1, 1), Loop("K", 1, 1)))
    text = str(explain_mapping(Problem(MapSpace(layer, roomy)), Mapping((level,))))
    assert "keeps input, filter whole; no word is fetched twice" in text
    assert "  output-stationary  none fits  " in text
    assert max(map(len, text.splitlines())) <= 100


def test_an_explanation_has_one_text_with_all_parts() -> None:
    problem, mapping = best("resnet18_l2", "edge")
    explanation = explain_mapping(problem, mapping)
    text = str(explanation)
    assert str(mapping) in text
    assert "Bound by compute: saved without a limit to" in text
    assert "doubling l2_tile_Y 8 -> 16" in text
    assert "overflows L1 by 227 B" in text
    assert "Changes of one parameter that lower edp: none" in text
    lines = {line.split("  ")[1]: line for line in text.splitlines() if line.startswith("  ")}
    for name in ("compute", "L1", "L2", "off-chip", "MACs", "row-stationary", "this mapping"):
        assert name in lines
    assert all(len(line) < 230 and line == line.rstrip() for line in text.splitlines())
    assert explanation.energy.total == pytest.approx(explanation.cost.energy_nj)


def one_pe(**tiles: tuple[int, int]) -> Mapping:
    """Two levels with clusters of a PE: of each dimension, outermost first, the tiles."""
    levels = []
    for level, parallel in enumerate(("M", "N")):
        loops = (
            Loop(dim, size[level], size[level], dim == parallel) for dim, size in tiles.items()
        )
        levels.append(Level(tuple(loops), 1 if level else None))
    return Mapping(tuple(levels))


def test_a_tie_is_told_as_one() -> None:
    # 144 MACs, between the fill and the drain, take as long as 438 words off-chip: 146 cycles.
    layer = Layer("GEMM", {"M": 3, "N": 6, "K": 8})
    hardware = Hardware(1, l2_bytes=22, noc_hop_latency=0, offchip_bw=3)
    problem, mapping = Problem(MapSpace(layer, hardware)), one_pe(K=(1, 1), M=(1, 1), N=(2, 2))
    cost = cost_of(problem, mapping)
    assert (cost.onchip_cycles, cost.latency_cycles) == (144, 146)
    assert math.ceil(((cost.offchip_read_words or 0) + (cost.offchip_write_words or 0)) / 3) == 146
    found = find_bottleneck(problem, mapping)
    assert found.tied
    assert found.names == ("compute", "off-chip bandwidth")
    assert not any(found.saved_cycles.values())
    assert latency(problem, mapping, more_of(found.names, problem, cost)) < 146
    assert (
        "Bound by compute and off-chip bandwidth: without a limit to one of them nothing is saved, "
        f"to all {found.saved_together:.0f} of 146 cycles" in str(explain_mapping(problem, mapping))
    )


def test_a_mapping_that_nothing_makes_faster_is_bound_by_its_steps() -> None:
    layer = Layer("GEMM", {"M": 64, "N": 1, "K": 1})
    problem = Problem(MapSpace(layer, Hardware(1, noc_hop_latency=0)))
    loops = (Loop("M", 1, 1, spatial=True), Loop("N", 1, 1), Loop("K", 1, 1))
    mapping = Mapping((Level(loops),))
    assert find_bottleneck(problem, mapping).names == ()
    text = str(explain_mapping(problem, mapping))
    assert "Bound by the number of steps" in text
    assert "Neighbours: none: this space has 2 levels, the mapping 1" in text


def test_pictures_have_a_bar_for_every_part() -> None:
    explanation = explain_mapping(*best("resnet18_l2", "edge"))
    words, energy = traffic_figure(explanation).axes
    assert len(words.patches) == 4 * 3
    assert sum(each.get_width() for each in energy.patches) == pytest.approx(
        explanation.cost.energy_nj
    )
    parts, steps = time_figure(explanation).axes
    assert sum(each.get_width() for each in parts.patches) == explanation.cycles.latency
    assert len(steps.patches) == 3


def test_only_the_exact_model_is_explained() -> None:
    problem, mapping = best("resnet18_l2", "edge")
    with pytest.raises(ModelError, match=r"model maestro has no figures .* allowed: exact"):
        explain_mapping(replace(problem, model="maestro"), mapping)
    with pytest.raises(UnknownNameError, match="unknown objective 'epd'"):
        explain_mapping(problem, mapping, "epd")
    largest = problem.space.decode(problem.space.sizes - 1)
    with pytest.raises(MappingError, match="l1_overflow: the tiles do not fit L1") as refused:
        explain_mapping(problem, largest)
    assert str(refused.value) == problem.explain(largest)


def test_a_product_of_metrics_is_an_objective() -> None:
    problem, mapping = best("resnet18_l2", "edge")
    explanation = explain_mapping(problem, mapping, "latency_cycles*area_um2")
    assert "latency_cycles*area_um2" in explanation.neighbours[0].changes
