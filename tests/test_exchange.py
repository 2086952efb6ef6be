"""Mappings out to the formats of other tools, and in again: the same mapping, or a refusal."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from map_space_helpers import layers, machines

from maestro_env import Hardware, Layer, Level, Loop, Mapping, MapSpace, Problem
from maestro_env.accelerators.hardware import UNLIMITED
from maestro_env.base.errors import MappingError
from maestro_env.exchange import FORMATS, Format, to_timeloop

# --- Round trips --------------------------------------------------------------------------------


@st.composite
def mappings(draw: st.DrawFn, layer: Layer, hardware: Hardware) -> Mapping:
    """Draw a mapping, most often one whose tiles divide those around them."""
    extents, units = dict(layer.loop_extents), hardware.num_pes
    dims = list(extents)
    levels: list[Level] = []
    for index in range(draw(st.sampled_from((1, 2, 2, 3)))):
        cluster = None if index == 0 else draw(st.integers(1, max(1, min(units, 12))))
        units //= cluster or 1
        order = draw(st.permutations(dims))[: draw(st.integers(1, len(dims)))]
        parallel = draw(st.sampled_from(order))
        loops = [_loop(draw, dim, extents[dim], dim == parallel) for dim in order]
        extents |= {loop.dim: min(loop.size, extents[loop.dim]) for loop in loops}
        levels.append(Level(tuple(loops), cluster))
    return Mapping(tuple(levels))


def _loop(draw: st.DrawFn, dim: str, extent: int, spatial: bool) -> Loop:
    divisors = [size for size in range(1, extent + 1) if extent % size == 0]
    odd = draw(st.integers(0, 19)) == 0
    size = draw(st.integers(1, extent + 1) if odd else st.sampled_from(divisors))
    offset = draw(st.integers(1, extent)) if odd and draw(st.booleans()) else size
    return Loop(dim, size, offset, spatial)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Mapping, Problem]:
    layer, hardware = draw(layers()), draw(machines)
    limits = {
        "l1_bytes": draw(st.sampled_from((64, 512, UNLIMITED))),
        "l2_bytes": draw(st.sampled_from((4000, 108_000, UNLIMITED))),
        "simd_lanes": draw(st.sampled_from((1, 1, 1, 4))),
    }
    hardware = replace(hardware, **limits)
    return draw(mappings(layer, hardware)), Problem(MapSpace(layer, hardware))


def check_round_trip(form: Format, mapping: Mapping, problem: Problem) -> bool:
    """Write a mapping, read it, compare; say whether it was written at all."""
    try:
        text = form.write(mapping, problem)
    except MappingError:
        return False
    found = form.read(text, "file")
    assert found.mapping == mapping
    layer = found.layer or problem.layer
    again = Problem(MapSpace(layer, problem.hardware))
    before = problem.evaluate_mapping(mapping)
    assert again.evaluate_mapping(found.mapping) == before
    if found.hardware is not None:
        _check_hardware(found.hardware, again, mapping)
    return True


def _check_hardware(found: Hardware, problem: Problem, mapping: Mapping) -> None:
    """Compare what a file says of an accelerator: PEs in no cluster and latencies are not said."""
    given = problem.hardware
    assert found.num_pes == given.num_pes // mapping.pes * mapping.pes
    said = ("l1_bytes", "l2_bytes", "noc_bw", "offchip_bw", "simd_lanes")
    assert [getattr(found, name) for name in said] == [getattr(given, name) for name in said]
    unsaid = {name: getattr(given, name) for name in ("noc_hops", "noc_hop_latency")}
    cost, _ = problem.evaluate_mapping(mapping)
    again, _ = Problem(MapSpace(problem.layer, replace(found, **unsaid))).evaluate_mapping(mapping)
    assert cost is not None
    assert again is not None
    assert (again.latency_cycles, again.energy_nj) == (cost.latency_cycles, cost.energy_nj)


def check_many(form: Format, examples: int) -> None:
    """Check round trips of drawn mappings, a fair part of which is written."""
    written: list[bool] = []

    @settings(max_examples=examples, database=None, derandomize=True)
    @given(cases())
    def check(case: tuple[Mapping, Problem]) -> None:
        written.append(check_round_trip(form, *case))

    check()
    assert len(written) >= examples
    assert sum(written) > len(written) / 5


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_mapping_comes_back_as_it_was_written(form: Format) -> None:
    check_many(form, 20)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_ten_thousand_mappings_come_back_as_they_were_written(form: Format) -> None:
    check_many(form, 10_000)


# --- What Timeloop does with the factors, loop by loop ------------------------------------------

Box = tuple[tuple[int, int], ...]
"""First index and number of indices of each dimension."""


class _Tags(yaml.SafeLoader):
    """Reads tagged blocks as plain ones."""


_Tags.add_multi_constructor("!", lambda loader, _, node: loader.construct_mapping(node, deep=True))


def executed(mapping: Mapping, layer: Layer, num_pes: int) -> dict[tuple[int, ...], Box]:
    """Return what a PE computes, by place in every loop and unit of every level (E3.1)."""
    found: dict[tuple[int, ...], Box] = {}

    def level(index: int, place: tuple[int, ...], box: dict[str, tuple[int, int]]) -> None:
        if index == len(mapping.levels):
            found[place] = tuple(box[dim] for dim in layer.loop_extents)
            return
        loops = mapping.levels[index].loops
        units = mapping.levels[index].cluster_size or num_pes // mapping.pes
        rounds = [
            -(-box[loop.dim][1] // (loop.size * (units if loop.spatial else 1))) for loop in loops
        ]
        for steps in itertools.product(*map(range, rounds)):
            for unit in range(units):
                inner = dict(box)
                for loop, step in zip(loops, steps, strict=True):
                    first, count = box[loop.dim]
                    tile = step * units + unit if loop.spatial else step
                    inner[loop.dim] = (
                        first + tile * loop.size,
                        min(loop.size, count - tile * loop.size),
                    )
                if all(count > 0 for _, count in inner.values()):
                    level(index + 1, (*place, *steps, unit), inner)

    level(0, (), {dim: (0, extent) for dim, extent in layer.loop_extents.items()})
    return found


def executed_by_timeloop(text: str, layer: Layer) -> dict[tuple[int, ...], Box]:
    """Return the same from a file: a loop ends at its rest where those outside are at their end."""
    directives = yaml.load(text, Loader=_Tags)["mapping"]
    *levels, tile = (each for each in directives if "factors" in each)
    names = {"P": "Y'", "Q": "X'"} if layer.is_convolution else {}

    def bounds(directive: dict[str, list[str]]) -> list[tuple[str, int, int]]:
        factors = dict(factor.split("=") for factor in directive["factors"])
        pairs = ((dim, factors[dim].split(",")) for dim in reversed(directive["permutation"]))
        return [(names.get(dim, dim), int(runs[0]), int(runs[-1])) for dim, runs in pairs]

    loops = [bound for directive in levels for bound in bounds(directive)]
    in_pe = {dim: (runs, rest) for dim, runs, rest in bounds(tile)}
    found: dict[tuple[int, ...], Box] = {}

    def nest(place: tuple[int, ...], indices: dict[str, int], ended: dict[str, bool]) -> None:
        if len(place) == len(loops):
            boxes = ((indices[dim], in_pe[dim], ended[dim]) for dim in layer.loop_extents)
            found[place] = tuple(
                (index * runs, rest if at_end else runs) for index, (runs, rest), at_end in boxes
            )
            return
        dim, runs, rest = loops[len(place)]
        end = rest if ended[dim] else runs
        for index in range(end):
            now = {dim: indices[dim] * runs + index}
            last = {dim: ended[dim] and index == end - 1}
            nest((*place, index), indices | now, ended | last)

    nest((), dict.fromkeys(layer.loop_extents, 0), dict.fromkeys(layer.loop_extents, True))
    return found


@given(cases())
def test_timeloop_executes_the_factors_as_the_mapping_says(case: tuple[Mapping, Problem]) -> None:
    mapping, problem = case
    try:
        text = to_timeloop(mapping, problem)
    except MappingError:
        return
    tile = dict.fromkeys(problem.layer.loop_extents, 10**9)
    tile |= {loop.dim: loop.size for level in mapping.levels for loop in level.loops}
    extents = problem.layer.loop_extents.items()
    if math.prod(-(-extent // min(extent, tile[dim])) for dim, extent in extents) > 2000:
        return
    ours = executed(mapping, problem.layer, problem.hardware.num_pes)
    assert executed_by_timeloop(text, problem.layer) == ours
    assert sum(math.prod(n for _, n in box) for box in ours.values()) == problem.layer.macs
