"""Vectors, batches, mappings and schemas that a map space refuses."""

from __future__ import annotations

import numpy as np
import pytest
from map_space_helpers import CONV, PES

from maestro_env.base.errors import MapSpaceError
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import MapSpace

SPACE = MapSpace(CONV, PES)
MIDDLE = np.array([size // 2 for size in SPACE.sizes], dtype=np.int32)


@pytest.mark.parametrize("column", range(13))
@pytest.mark.parametrize("beyond", ["below", "above"])
def test_an_entry_out_of_range_is_named_with_its_range(column: int, beyond: str) -> None:
    parameter = SPACE.parameters[column]
    point = MIDDLE.copy()
    point[column] = -1 if beyond == "below" else parameter.choices
    expected = f"{parameter.name} = {point[column]} .*0\\.\\.{parameter.choices - 1}$"
    with pytest.raises(MapSpaceError, match=expected):
        SPACE.decode(point)
    batch = np.stack([MIDDLE, point])
    with pytest.raises(MapSpaceError, match=f"point 1: {expected}"):
        Problem(SPACE).evaluate(batch)


@pytest.mark.parametrize(
    "bad",
    [
        MIDDLE,
        MIDDLE[np.newaxis, np.newaxis],
        MIDDLE[np.newaxis, :12],
        MIDDLE[np.newaxis].astype(np.int64),
        MIDDLE[np.newaxis].astype(np.uint32),
        MIDDLE[np.newaxis].astype(np.float64),
        np.asfortranarray(np.stack([MIDDLE] * 3)),
        np.stack([MIDDLE] * 4)[::2],
    ],
    ids=["1-D", "3-D", "narrow", "int64", "uint32", "float64", "Fortran order", "strided"],
)
def test_a_batch_of_another_kind_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(MapSpaceError, match=rf"int32 .*\[N, 13\], got {bad.dtype} of shape \("):
        Problem(SPACE).evaluate(bad)


@pytest.mark.parametrize(
    "bad",
    [MIDDLE[:12], MIDDLE[np.newaxis], MIDDLE.astype(np.float64), MIDDLE.astype(bool)],
    ids=["narrow", "2-D", "float64", "bool"],
)
def test_a_point_of_another_kind_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(MapSpaceError, match=rf"13 integers, got {bad.dtype} of shape \("):
        SPACE.decode(bad)


def test_an_entry_is_not_cut_to_32_bits() -> None:
    with pytest.raises(MapSpaceError):
        SPACE.decode(MIDDLE.astype(np.int64) + 2**32)


def nest(outer: dict[str, int], inner: dict[str, int], cluster: int = 4) -> Mapping:
    """Loops in the order given, parallel over K outside and over C inside."""
    levels = []
    for sizes, parallel, size in ((outer, "K", None), (inner, "C", cluster)):
        loops = tuple(Loop(dim, tile, tile, dim == parallel) for dim, tile in sizes.items())
        levels.append(Level(loops, size))
    return Mapping(tuple(levels))


TILES_OF_CONV = {"K": 2, "C": 4, "Y'": 3, "X'": 3, "R": 3, "S": 2}


@pytest.mark.parametrize(
    "mapping",
    [
        nest(TILES_OF_CONV, {**TILES_OF_CONV, "K": 3}),
        nest({**TILES_OF_CONV, "K": 7}, TILES_OF_CONV),
        nest({**TILES_OF_CONV, "R": 1}, {**TILES_OF_CONV, "R": 1}),
        nest(TILES_OF_CONV, TILES_OF_CONV, cluster=13),
        nest({"K": 2, "C": 4}, TILES_OF_CONV),
        nest({**TILES_OF_CONV, "G": 1}, TILES_OF_CONV),
        Mapping(nest(TILES_OF_CONV, TILES_OF_CONV).levels[:1]),
        Mapping((*nest(TILES_OF_CONV, TILES_OF_CONV).levels, Level((Loop("K", 1, 1, True),), 2))),
        Mapping((Level((Loop("K", 2, 1, True),)), nest({}, TILES_OF_CONV).levels[1])),
    ],
    ids=[
        *("inner above outer", "tile above extent", "window cut", "cluster above PEs"),
        *("loops missing", "unknown loop", "one level", "three levels", "overlap"),
    ],
)
def test_a_mapping_from_elsewhere_is_refused(mapping: Mapping) -> None:
    assert SPACE.decode(SPACE.encode(nest(TILES_OF_CONV, TILES_OF_CONV))) == nest(
        TILES_OF_CONV, TILES_OF_CONV
    )
    with pytest.raises(MapSpaceError):
        SPACE.encode(mapping)


@pytest.mark.parametrize("schema", ["full17", "paper10"])
def test_maestro_refuses_schemas_that_cut_windows_and_says_why(schema: str) -> None:
    with pytest.raises(MapSpaceError, match=f"'{schema}' tiles R or S.*maestro.*: legal13"):
        Problem(MapSpace(CONV, PES, schema), model="maestro")
