"""Mappings as text and pictures."""

from __future__ import annotations

import time

import numpy as np
import pytest
from exact_reference import row_of
from hypothesis import assume, given
from map_space_helpers import spaces_and_points
from row_reader import DIMS, Box, prepare
from simulator import steps

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.base.errors import MappingError
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation.rendering import first_step, picture, text
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

GEMM = Layer("GEMM", {"M": 4, "N": 6, "K": 8})
# Four clusters of four PEs; M has two tiles and N three.
SMALL = Mapping(
    (
        Level((Loop("M", 2, 2, spatial=True), Loop("N", 6, 6), Loop("K", 8, 8))),
        Level((Loop("M", 1, 1), Loop("N", 2, 2, spatial=True), Loop("K", 1, 1)), 4),
    )
)


def simulated(space: MapSpace, mapping: Mapping) -> list[tuple[int, int, dict[str, range]]]:
    """Return cluster, place and tile of every PE that works in the simulator's first step."""
    row = row_of(space.layer, mapping, space.hardware)
    layer, levels = prepare(row)

    def first(level: int, box: Box) -> tuple[Box, ...]:
        return next(steps(levels[level], box, layer.strides)).boxes

    return [
        (cluster, place, {dim: tile[DIMS.index(layer.names[dim])] for dim in space.extents})
        for cluster, box in enumerate(first(0, layer.box))
        for place, tile in enumerate(first(1, box))
    ]


@given(spaces_and_points)
def test_the_first_step_is_the_simulators(drawn: tuple[MapSpace, np.ndarray]) -> None:
    space, point = drawn
    assume(space.layer.operator != "TRCONV")
    mapping = space.decode(point)
    step = first_step(mapping, space.hardware, space.layer)
    working = simulated(space, mapping)
    assert len(step.active) == step.clusters * step.cluster_size <= space.hardware.num_pes
    pes = [cluster * step.cluster_size + place for cluster, place, _ in working]
    assert np.flatnonzero(step.active).tolist() == sorted(pes)
    assert set(step.tiles) == {
        loop.dim for level in mapping.levels for loop in level.loops if loop.spatial
    }
    for pe, (_, _, tiles) in zip(pes, working, strict=True):
        for dim, tile in step.tiles.items():
            assert range(*tile[:, pe].tolist()) == tiles[dim]


def test_of_a_large_machine_the_first_pes_are_dealt_tiles() -> None:
    for pes, cluster in ((2**31 - 1, 21), (2**31 - 1, 2**30), (100_000, 1)):
        mapping = Mapping((SMALL.levels[0], Level(SMALL.levels[1].loops, cluster)))
        step = first_step(mapping, Hardware(pes), GEMM)
        assert 65_536 - cluster < len(step.active) <= 65_536
        assert step.active.sum() == (2 if cluster == 1 else 6 if cluster == 21 else 3)


def test_tiles_of_input_rows_that_overlap_have_work_of_their_own() -> None:
    layer = Layer("CONV", {"K": 1, "C": 1, "Y": 6, "X": 3, "R": 3, "S": 3})
    mapping = Mapping((Level((Loop("Y", 3, 1, spatial=True),)),))
    step = first_step(mapping, Hardware(8), layer)
    assert step.active.tolist() == [True] * 4 + [False] * 4
    assert step.tiles["Y"][:, :4].T.tolist() == [[0, 3], [1, 4], [2, 5], [3, 6]]


def test_a_text_is_the_loop_nest_and_the_figures() -> None:
    assert text(SMALL) == str(SMALL)
    task = Problem(MapSpace(GEMM, Hardware(16)))
    cost, status = task.evaluate_mapping(SMALL)
    assert cost is not None
    assert status == "ok"
    nest, _, figures = text(SMALL, cost).partition("\n\n")
    assert nest.splitlines()[0] == "parallel-for M in tiles of 2:"
    assert nest.splitlines()[3].strip() == "cluster of 4:"
    lines = [line.split(maxsplit=2) for line in figures.splitlines()]
    names = ["latency_cycles", "energy_nj", "area_um2", "utilization", "l1_bytes", "l2_bytes"]
    assert [line[0] for line in lines] == names
    for name, figure, _ in lines:
        assert float(figure.replace(",", "")) == pytest.approx(getattr(cost, name), rel=1e-5)


def test_every_pe_with_work_has_a_colour_of_its_own() -> None:
    image = picture(SMALL, Hardware(16), GEMM)
    assert (image.dtype, image.shape) == (np.uint8, (480, 480, 3))
    assert first_step(SMALL, Hardware(16), GEMM).active.sum() == 6
    codes, pixels = np.unique(image @ np.array([1, 256, 65536]), return_counts=True)
    areas = codes[pixels > 300].tolist()
    # Those of six PEs, of PEs without work, and of the paper.
    assert len(areas) == 6 + 2
    assert {0xFFFFFF, 0xD8D8D8} < set(areas)
    assert (picture(SMALL, Hardware(16), GEMM) == image).all()


@pytest.mark.parametrize("hardware", PRESETS)
def test_pictures_of_presets_are_drawn_soon(hardware: str) -> None:
    space = MapSpace(find_layer("resnet18_l2"), find_hardware(hardware))
    pictures, seconds = [], []
    for point in space.sample(3, np.random.default_rng(0)):
        began = time.process_time()
        pictures.append(picture(space.decode(point), space.hardware, space.layer))
        seconds.append(time.process_time() - began)
    assert {each.shape for each in pictures} == {(480, 480, 3)}
    # The fastest, some 0.04: the first imports matplotlib, and any may meet a garbage collection.
    assert min(seconds) < 0.2


def test_mappings_of_another_machine_or_layer_are_refused() -> None:
    with pytest.raises(MappingError, match="clusters have 4 PEs; allowed: at most 3"):
        picture(SMALL, Hardware(3), GEMM)
    with pytest.raises(MappingError, match="resnet18_l2 has no dimension M"):
        picture(SMALL, Hardware(16), find_layer("resnet18_l2"))
