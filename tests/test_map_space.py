"""The map space against its definition, enumeration and the paper's arithmetic."""

from __future__ import annotations

import contextlib
import csv
import math
import tempfile
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from maestro_env import _native
from maestro_env.compat import main
from maestro_env.errors import MappingError, MapSpaceError
from maestro_env.hardware import PRESETS, Hardware
from maestro_env.layer import Layer
from maestro_env.map_space import SCHEMAS, TILES, MapSpace, equation_1, lehmer_rank
from maestro_env.mapping import Level, Loop, Mapping
from maestro_env.models import MODELS
from maestro_env.problem import STATUSES, Problem

CONV = Layer("CONV", {"K": 6, "C": 5, "Y": 9, "X": 8, "R": 3, "S": 2}, name="conv")
DSCONV = Layer("DSCONV", {"C": 5, "Y": 9, "X": 8, "R": 3, "S": 2})
GEMM = Layer("GEMM", {"M": 4, "N": 6, "K": 8})
NGCONV = Layer("NGCONV", {"G": 2, "K": 3, "C": 5, "Y": 9, "X": 8, "R": 3, "S": 2})
BATCHED = Layer("CONV", {**CONV.extents, "N": 3})
TINY = Layer("GEMM", {"M": 2, "N": 1, "K": 3})
PES = Hardware(num_pes=12)

# Other work on the machine must not fail a test.
steady = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    operator = draw(st.sampled_from(["CONV", "TRCONV", "DSCONV", "NGCONV", "GEMM"]))
    size = st.integers(1, 12)
    if operator == "GEMM":
        return Layer("GEMM", {name: draw(size) for name in "MNK"})
    channels = {"DSCONV": "C", "NGCONV": "GKC"}.get(operator, "KC")
    extents = {name: draw(size) for name in channels}
    for axis, window in ("YR", "XS"):
        extents[window] = draw(st.integers(1, 4))
        extents[axis] = extents[window] + draw(st.integers(0, 12))
    if draw(st.booleans()):
        extents["N"] = draw(st.integers(1, 4))
    stride = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    return Layer(operator, extents, stride)


machines = st.builds(
    Hardware,
    num_pes=st.integers(1, 300),
    noc_bw=st.sampled_from([1, 7, 64, 2**30]),
    offchip_bw=st.sampled_from([1, 5, 2**30]),
    noc_hops=st.integers(0, 2),
    noc_hop_latency=st.integers(0, 2),
    simd_lanes=st.integers(1, 4),
)


@st.composite
def spaces(draw: st.DrawFn, schemas: tuple[str, ...] = tuple(SCHEMAS)) -> MapSpace:
    schema = draw(st.sampled_from(schemas))
    return MapSpace(draw(layers()), draw(machines), schema, draw(st.sampled_from(TILES)))


def points(space: MapSpace) -> st.SearchStrategy[np.ndarray]:
    entries = st.tuples(*(st.integers(0, int(size) - 1) for size in space.sizes))
    return entries.map(lambda entries: np.array(entries, dtype=np.int32))


spaces_and_points = spaces().flatmap(lambda space: st.tuples(st.just(space), points(space)))


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


# --- Decoding -----------------------------------------------------------------------------------


@steady
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


@settings(steady, max_examples=60)
@given(spaces(schemas=("legal13",)).flatmap(lambda s: st.tuples(st.just(s), points(s))))
def test_a_vector_means_what_its_parameters_say(case: tuple[MapSpace, np.ndarray]) -> None:
    space, point = case
    assert space.decode(point) == plain_decode(space, point)


@steady
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


@steady
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
    assert space.size() == len(vectors) == (6 * 3 * 2 * 1 * 3) ** 2 * 2


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
    pairs = math.prod(extent * (extent + 1) // 2 for extent in (2, 1, 3))
    assert len(mappings) == (6 * 3) ** 2 * pairs * 2
    codes = {tuple(space.encode(mapping).tolist()) for mapping in mappings}
    assert len(codes) == len(mappings)


@pytest.mark.parametrize(
    ("levels", "size"), [(2, 25_401_600), (3, 128_024_064_000)], ids=["25 M", "128 B"]
)
def test_equation_1_gives_the_papers_numbers(levels: int, size: int) -> None:
    assert equation_1(n=1, d=7, k=0, levels=levels) == size


@steady
@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 4), st.integers(1, 2))
def test_equation_1_counts_tiles_orders_and_parallel_choices(
    n: int, d: int, k: int, levels: int
) -> None:
    assume(k <= d)
    tiles = sum(1 for _ in product(range(n), repeat=d))
    orders = sum(1 for _ in permutations(range(d)))
    parallel = sum(1 for _ in permutations(range(d), k))
    assert equation_1(n, d, k, levels) == (tiles * orders * parallel) ** levels


# --- Refusals -----------------------------------------------------------------------------------

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


def test_no_points_are_a_batch_too() -> None:
    rows = Problem(SPACE).evaluate(np.empty((0, 13), dtype=np.int32))
    assert rows.metrics.shape[0] == rows.status.shape[0] == 0


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


# --- Files --------------------------------------------------------------------------------------


@steady
@given(spaces_and_points)
def test_a_mapping_survives_its_files(case: tuple[MapSpace, np.ndarray]) -> None:
    space, point = case
    mapping = space.decode(point)
    assert Mapping.from_json(mapping.to_json()) == mapping
    cut = any(loop.size != space.extents[loop.dim] for loop in windows(mapping))
    if cut:
        with pytest.raises(MappingError):
            Mapping.from_m(mapping.to_m(space.layer))
    else:
        assert Mapping.from_m(mapping.to_m(space.layer)) == mapping


def windows(mapping: Mapping) -> list[Loop]:
    return [loop for level in mapping.levels for loop in level.loops if loop.dim in ("R", "S")]


def run_compat(text: str, hardware: Hardware) -> tuple[int, dict[str, str]]:
    """Exit status and the CSV's only row of a mapping file."""
    options = [
        f"--num_pes={hardware.num_pes}",
        f"--noc_bw_cstr={hardware.noc_bw}",
        f"--noc_hops={hardware.noc_hops}",
        f"--noc_hop_latency={hardware.noc_hop_latency}",
        f"--offchip_bw_cstr={hardware.offchip_bw}",
        f"--num_simd_lanes={hardware.simd_lanes}",
    ]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("mapping.m").write_text(text)
        status = main(["--Mapping_file=mapping.m", *options])
        if status:
            return status, {}
        header, row = csv.reader(Path("mapping.csv").read_text().splitlines())
    return status, {name.strip(): cell.strip() for name, cell in zip(header, row, strict=True)}


EXITS = {"exit": 255, "sigfpe": 136, "abort": 134, "segv": 139}


@steady
@given(spaces(schemas=("legal13",)).flatmap(lambda s: st.tuples(st.just(s), points(s))))
def test_the_m_file_costs_what_the_mapping_costs(case: tuple[MapSpace, np.ndarray]) -> None:
    space, point = case
    mapping = space.decode(point)
    cost, status = Problem(space, "maestro", guard=False).evaluate_mapping(mapping)
    exit_status, row = run_compat(mapping.to_m(space.layer), space.hardware)
    if cost is None:
        assert exit_status == EXITS[status.removeprefix("reference_")]
        return
    assert exit_status == 0
    assert cost.latency_cycles == float(row["Runtime (Cycles)"])
    assert cost.macs == float(row["Num MACs"])
    energy = float(row["Activity count-based Energy (nJ)"])
    assert cost.csv_energy_nj == pytest.approx(energy, rel=6e-6)


@settings(steady, max_examples=40)
@given(spaces(schemas=("legal13",)), st.integers(0, 2**32 - 1), st.sampled_from(list(MODELS)))
def test_a_batch_costs_what_its_mappings_cost(space: MapSpace, seed: int, model: str) -> None:
    batch = space.sample(8, np.random.default_rng(seed))
    problem = Problem(space, model)
    rows = problem.evaluate(batch)
    for point, figures, code in zip(batch, rows.metrics, rows.status, strict=True):
        cost, status = problem.evaluate_mapping(space.decode(point))
        assert status == STATUSES[code]
        single = {} if cost is None else cost.as_dict()
        expected = [single.get(name) for name in _native.METRICS]
        np.testing.assert_array_equal(figures, np.array(expected, dtype=float))


@pytest.mark.parametrize("preset", PRESETS)
def test_samples_are_points_of_the_space_and_reach_its_ends(preset: str) -> None:
    space = MapSpace(CONV, PRESETS[preset])
    batch = space.sample(20_000, np.random.default_rng(0))
    small = space.sizes <= 100
    assert batch.min() == 0
    assert (batch < space.sizes).all()
    np.testing.assert_array_equal(batch.max(axis=0)[small], space.sizes[small] - 1)
