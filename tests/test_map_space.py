"""The map space against its definition, enumeration and the paper's arithmetic."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import CONV, PES, points, spaces, spaces_and_points

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.space import Space, lehmer_rank
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.layer import Layer

DSCONV = Layer("DSCONV", {"C": 5, "Y": 9, "X": 8, "R": 3, "S": 2})
GEMM = Layer("GEMM", {"M": 4, "N": 6, "K": 8})
NGCONV = Layer("NGCONV", {"G": 2, "K": 3, "C": 5, "Y": 9, "X": 8, "R": 3, "S": 2})
BATCHED = Layer("CONV", {**CONV.extents, "N": 3})
TINY = Layer("GEMM", {"M": 1, "N": 2, "K": 2})


def outputs(layer: Layer, axis: str) -> int:
    window, stride = ("R", layer.stride[0]) if axis == "Y" else ("S", layer.stride[1])
    return (layer.extents[axis] - layer.extents[window]) // stride + 1


def loop_extents(layer: Layer) -> dict[str, int]:
    """What a mapping cuts, by definition: outputs along Y and X, no batch of one."""
    if layer.operator == "GEMM":
        return dict(layer.extents)
    return {
        f"{name}'" if name in "YX" else name: outputs(layer, name) if name in "YX" else value
        for name, value in layer.extents.items()
        if (name, value) != ("N", 1)
    }


def divisors(extent: int) -> list[int]:
    return [size for size in range(1, extent + 1) if extent % size == 0]


# --- Identities -----------------------------------------------------------------------------------


@given(spaces(), st.integers(0, 2**32))
def test_identities_are_equal_where_mappings_are(space: MapSpace, seed: int) -> None:
    drawn = space.sample(30, np.random.default_rng(seed))
    identities = space.identities(drawn).tolist()
    assert identities == Space.identities(space, drawn).tolist()
    mappings = [space.decode(point) for point in drawn]
    pairs = set(zip(identities, mappings, strict=True))
    assert len(pairs) == len(set(identities)) == len(set(mappings))


# --- Decoding -----------------------------------------------------------------------------------


@given(spaces_and_points)
def test_every_vector_is_one_well_formed_mapping(case: tuple[MapSpace, np.ndarray]) -> None:
    space, point = case
    mapping = space.decode(point)
    extents = loop_extents(space.layer)
    assert [level.cluster_size is None for level in mapping.levels] == [True, False]
    assert 1 <= mapping.levels[1].cluster_size <= space.hardware.num_pes
    outer = extents
    for level in mapping.levels:
        assert sorted(loop.dim for loop in level.loops) == sorted(extents)
        assert sum(loop.spatial for loop in level.loops) == 1
        assert all(1 <= loop.size == loop.offset <= outer[loop.dim] for loop in level.loops)
        outer = {loop.dim: loop.size for loop in level.loops}


def plain_decode(space: MapSpace, point: np.ndarray) -> Mapping:
    """The definition of a vector, parameter by parameter."""
    extents = loop_extents(space.layer)
    value = {
        parameter.name: int(entry) for parameter, entry in zip(space.parameters, point, strict=True)
    }
    choices = {
        dim: divisors(e) if space.tiles == "divisors" else None for dim, e in extents.items()
    }
    clusters = divisors(space.hardware.num_pes) if space.tiles == "divisors" else None
    levels, outer = [], extents
    for name in ("l2", "l1"):
        parallel = space.parallel_dims[value[f"{name}_parallel"]]
        order = list(permutations(extents))[value[f"{name}_order"]]
        sizes = {}
        for dim, extent in extents.items():
            index = value.get(f"{name}_tile_{dim.rstrip(chr(39))}")
            listed = choices[dim] or range(1, extent + 1)
            sizes[dim] = min(extent if index is None else listed[index], outer[dim])
        loops = tuple(Loop(dim, sizes[dim], sizes[dim], dim == parallel) for dim in order)
        size = value["cluster_size"]
        cluster = clusters[size] if clusters else size + 1
        levels.append(Level(loops, None if name == "l2" else cluster))
        outer = sizes
    return Mapping(tuple(levels))


@given(spaces(schemas=("legal13",)).flatmap(lambda s: st.tuples(st.just(s), points(s))))
def test_a_vector_means_what_its_parameters_say(case: tuple[MapSpace, np.ndarray]) -> None:
    space, point = case
    assert space.decode(point) == plain_decode(space, point)


@given(spaces_and_points)
def test_encoding_a_mapping_gives_a_vector_of_it(case: tuple[MapSpace, np.ndarray]) -> None:
    space, point = case
    mapping = space.decode(point)
    encoded = space.encode(mapping)
    assert space.decode(encoded) == mapping
    assert encoded.dtype == np.int32
    # Only inner tiles that were clipped may come back as other entries.
    changed = {space.parameters[i].name for i in np.flatnonzero(encoded != point)}
    assert all(name.startswith("l1_tile_") for name in changed)


def test_orders_are_counted_in_lexicographic_order() -> None:
    space = MapSpace(CONV, PES)
    names = [parameter.name for parameter in space.parameters]
    for rank, order in enumerate(permutations(("K", "C", "Y'", "X'", "R", "S"))):
        point = np.zeros(len(names), dtype=np.int32)
        point[names.index("l2_order")] = rank
        point[names.index("l1_order")] = 719 - rank
        outer, inner = space.decode(point).levels
        assert tuple(loop.dim for loop in outer.loops) == order
        # The lexicographic order read backwards is that of the reversed alphabet.
        swapped = dict(zip("KCYXRS", "SRXYCK", strict=True))
        mirrored = [swapped[loop.dim[0]] for loop in inner.loops]
        assert mirrored == [dim[0] for dim in order]


@given(st.permutations(range(7)))
def test_the_rank_of_an_order_is_its_place_among_all(order: list[int]) -> None:
    smaller = sum(1 for other in permutations(range(7)) if list(other) < order)
    assert lehmer_rank(order) == smaller


def test_the_parallel_dimensions_are_the_papers() -> None:
    assert MapSpace(CONV, PES).parallel_dims == ("C", "K", "X'", "Y'")
    assert set(MapSpace(GEMM, PES).parallel_dims) == {"M", "N", "K"}
    assert set(MapSpace(DSCONV, PES).parallel_dims) == {"C", "X'", "Y'"}


# --- Sizes --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layer", "legal13", "full17", "paper10"),
    [
        (CONV, 13, 17, 10),
        # Orders and parallel dimensions of two levels, cluster size: 5 (4 in paper10), and tiles.
        (GEMM, 5 + 2 * 3, 5 + 2 * 3, 4 + 3),
        (DSCONV, 5 + 2 * 3, 5 + 2 * 5, 4 + 5),
        (NGCONV, 5 + 2 * 5, 5 + 2 * 7, 4 + 7),
        (BATCHED, 5 + 2 * 5, 5 + 2 * 7, 4 + 7),
    ],
    ids=["CONV", "GEMM", "DSCONV", "NGCONV", "batch"],
)
def test_the_schemas_have_as_many_parameters_as_their_names(
    layer: Layer, legal13: int, full17: int, paper10: int
) -> None:
    counts = {name: len(MapSpace(layer, PES, name).parameters) for name in SCHEMAS}
    assert counts == {"legal13": legal13, "full17": full17, "paper10": paper10}


def test_the_parameters_of_fig_2_have_their_names() -> None:
    tiles = [f"{level}_tile_{dim}" for level in ("l2", "l1") for dim in "RSCKXY"]
    others = [f"{level}_{what}" for level in ("l2", "l1") for what in ("order", "parallel")]
    names = {parameter.name for parameter in MapSpace(CONV, PES, "full17").parameters}
    assert names == {*tiles, *others, "cluster_size"}


def test_the_size_is_the_number_of_vectors() -> None:
    space = MapSpace(TINY, Hardware(num_pes=2))
    vectors = {tuple(vector) for vector in product(*map(range, space.sizes.tolist()))}
    assert space.size() == len(vectors) == (6 * 3 * 1 * 2 * 2) ** 2 * 2


@pytest.mark.parametrize(
    ("schema", "tiles", "size"),
    [
        ("legal13", "integers", (720 * 4 * 6 * 5 * 7 * 7) ** 2 * 12),
        ("legal13", "divisors", (720 * 4 * 4 * 2 * 2 * 2) ** 2 * 6),
        ("full17", "integers", (720 * 4 * 6 * 5 * 7 * 7 * 3 * 2) ** 2 * 12),
        ("paper10", "integers", (720 * 4) ** 2 * 6 * 5 * 7 * 7 * 3 * 2),
    ],
)
def test_the_size_is_exact_beyond_64_bits(schema: str, tiles: str, size: int) -> None:
    assert MapSpace(CONV, PES, schema, tiles).size() == size


def test_the_vectors_of_a_tiny_layer_are_all_its_mappings_and_no_other() -> None:
    space = MapSpace(TINY, Hardware(num_pes=2))
    vectors = product(*map(range, space.sizes.tolist()))
    mappings = {space.decode(np.array(vector, dtype=np.int32)) for vector in vectors}
    # An inner tile is at most its outer one: 1 + 2 + ... + extent pairs of a dimension.
    pairs = math.prod(extent * (extent + 1) // 2 for extent in (1, 2, 2))
    assert len(mappings) == (6 * 3) ** 2 * pairs * 2
    codes = {tuple(space.encode(mapping).tolist()) for mapping in mappings}
    assert len(codes) == len(mappings)


@pytest.mark.parametrize("preset", PRESETS)
def test_samples_are_points_of_the_space_and_reach_its_ends(preset: str) -> None:
    space = MapSpace(CONV, PRESETS[preset])
    batch = space.sample(20_000, np.random.default_rng(0))
    small = space.sizes <= 100
    assert batch.min() == 0
    assert (batch < space.sizes).all()
    np.testing.assert_array_equal(batch.max(axis=0)[small], space.sizes[small] - 1)
