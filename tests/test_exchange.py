"""Mappings out to the formats of other tools, and in again: the same mapping, or a refusal."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from map_space_helpers import layers, machines

from maestro_env import Hardware, Layer, Level, Loop, Mapping, MapSpace, Problem
from maestro_env.errors import LayerError, MappingError
from maestro_env.exchange import FORMATS, Format
from maestro_env.hardware import UNLIMITED

EXACT = ("timeloop", "accelforge")
"""Formats that say layer and accelerator too."""


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
        loops = [_loop(draw, dim, extents[dim], dim == order[0]) for dim in order]
        extents |= {loop.dim: min(loop.size, extents[loop.dim]) for loop in loops}
        levels.append(Level(tuple(draw(st.permutations(loops))), cluster))
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
    except (MappingError, LayerError):
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
    check_many(form, 100)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_ten_thousand_mappings_come_back_as_they_were_written(form: Format) -> None:
    check_many(form, 10_000)
