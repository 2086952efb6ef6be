"""GAMMA's operators one by one, and the mapper on every kind of space."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import CONV, PES, spaces

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import gamma, make_mapper
from maestro_env.mappers.gamma import FIXED, Genes, factor_choices
from maestro_env.mappers.parts.arrays import orders_of, ranks_of
from maestro_env.mappers.parts.operators import unseen
from maestro_env.mapspace.space import Parameter, Points, lehmer_rank
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

seeds = st.integers(0, 2**32)
SPACE = MapSpace(CONV, PES)


def population(space: MapSpace, n: int, rng: np.random.Generator) -> Points:
    return space.clipped(space.sample(n, rng))


def columns(space: MapSpace) -> dict[str, int]:
    return {parameter.name: i for i, parameter in enumerate(space.parameters)}


def tile_columns(space: MapSpace, dim: str) -> list[int]:
    """Columns of a dimension's tiles, the outer level's first."""
    return [i for name, i in columns(space).items() if name.split("_tile_")[1:] == [dim.strip("'")]]


def value(space: MapSpace, point: Points, name: str) -> int | str:
    column = columns(space)[name]
    return space.parameters[column].values[point[column]]


def outer_tile(space: MapSpace, point: Points, dim: str) -> int:
    name = f"l2_tile_{dim.strip(chr(39))}"
    return value(space, point, name) if name in columns(space) else space.extents[dim]


def changed_names(space: MapSpace, before: Points, after: Points) -> set[str]:
    return {space.parameters[i].name for i in np.flatnonzero(before != after)}


# --- Orders and factors -------------------------------------------------------------------------


@pytest.mark.parametrize("n", range(1, 7))
def test_orders_have_their_lexicographic_ranks(n: int) -> None:
    expected = list(permutations(range(n)))
    orders = orders_of(np.arange(len(expected), dtype=np.int32), n)
    assert [tuple(order) for order in orders.tolist()] == expected
    assert ranks_of(orders).tolist() == [lehmer_rank(list(order)) for order in expected]


@given(limit=st.integers(1, 3000), choices=st.integers(1, 3000))
def test_factors_are_all_those_a_size_can_be(limit: int, choices: int) -> None:
    sizes = range(1, choices + 1)
    expected = [i for i, size in enumerate(sizes) if limit % size == 0]
    for values in (sizes, tuple(sizes)):
        assert list(factor_choices(Parameter("l2_tile_K", "tile", values), limit)) == expected


# --- Operators ----------------------------------------------------------------------------------


@given(space=spaces(), n=st.integers(1, 30), seed=seeds)
def test_the_first_population_has_inner_tiles_of_one_element(
    space: MapSpace, n: int, seed: int
) -> None:
    points = gamma.first_population(Genes(space), n, np.random.default_rng(seed))
    assert points.shape == (n, len(space.sizes))
    assert ((points >= 0) & (points < space.sizes)).all()
    inner = [i for name, i in columns(space).items() if name.startswith("l1_tile_")]
    outer = [i for name, i in columns(space).items() if name.startswith("l2_tile_")]
    assert not points[:, inner].any()
    assert not points[:2, outer].any()
    for point in points[2:] if "cluster_size" in columns(space) else ():
        most = outer_tile(space, point, value(space, point, "l1_parallel"))
        assert value(space, point, "cluster_size") <= min(most, space.hardware.num_pes)


def test_the_first_population_reaches_every_size_but_of_inner_tiles() -> None:
    points = gamma.first_population(Genes(SPACE), 20_000, np.random.default_rng(0))
    inner = [i for name, i in columns(SPACE).items() if name.startswith("l1_tile_")]
    reached = [len(np.unique(column)) for column in points.T]
    expected = SPACE.sizes.copy()
    expected[inner] = 1
    # No tile has more elements than the largest extent a level is parallel over.
    expected[columns(SPACE)["cluster_size"]] = max(
        SPACE.extents[dim] for dim in ("K", "C", "Y'", "X'")
    )
    assert reached == expected.tolist()


@given(space=spaces(), n=st.integers(1, 20), seed=seeds)
def test_crossover_exchanges_the_tiles_of_one_dimension(space: MapSpace, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    parents = space.sample(4, rng)
    children = gamma.cross_tiles(parents, Genes(space), n, 1.0, rng)
    assert children.shape == (n, len(space.sizes))
    pairs = -(-n // 2)
    possible = set()
    for dim in space.extents:
        moved = tile_columns(space, dim)
        for mother, father in permutations(parents, 2):
            one, other = mother.copy(), father.copy()
            one[moved], other[moved] = father[moved], mother[moved]
            possible.add((one.tobytes(), other.tobytes()))
    for one, other in zip(children[:pairs], children[pairs:], strict=False):
        assert (one.tobytes(), other.tobytes()) in possible


def test_crossover_chooses_every_dimension_and_every_pair() -> None:
    parents = np.repeat(np.arange(4, dtype=np.int32)[:, np.newaxis], len(SPACE.sizes), axis=1)
    children = gamma.cross_tiles(parents, Genes(SPACE), 4000, 1.0, np.random.default_rng(0))
    moved = {tuple(np.flatnonzero(child != child[0])) for child in children}
    # Nothing moves with R and S, which are whole.
    assert moved == {tuple(tile_columns(SPACE, dim)) for dim in SPACE.extents}
    assert () in moved
    column = tile_columns(SPACE, "K")[0]
    mixed = {(child[0], child[column]) for child in children if child[0] != child[column]}
    assert mixed == set(permutations(range(4), 2))


def test_crossover_leaves_the_parents_at_rate_0_and_copies_a_lone_one() -> None:
    rng = np.random.default_rng(0)
    parents, genes = SPACE.sample(5, rng), Genes(SPACE)
    children = gamma.cross_tiles(parents, genes, 41, 0.0, rng)
    assert {child.tobytes() for child in children} == {parent.tobytes() for parent in parents}
    alone = gamma.cross_tiles(parents[:1], genes, 3, 1.0, rng)
    np.testing.assert_array_equal(alone, parents[[0, 0, 0]])


@given(space=spaces(), seed=seeds)
def test_an_order_swap_is_one_transposition_of_one_level_or_none(
    space: MapSpace, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    points = population(space, 8, rng)
    before = points.copy()
    swapped = gamma.swap_orders(points, Genes(space), 1.0, rng)
    np.testing.assert_array_equal(points, before)
    for old, new in zip(points, swapped, strict=True):
        names = changed_names(space, old, new)
        assert names in (set(), {"l2_order"}, {"l1_order"})
        for level, name in enumerate(("l2_order", "l1_order")):
            dims = [
                [loop.dim for loop in space.decode(point).levels[level].loops]
                for point in (old, new)
            ]
            moved = [
                place for place, pair in enumerate(zip(*dims, strict=True)) if len({*pair}) > 1
            ]
            assert len(moved) == (2 if name in names else 0)


def test_order_swaps_reach_every_pair_of_both_levels_at_the_rate() -> None:
    points = np.zeros((20_000, len(SPACE.sizes)), dtype=np.int32)
    swapped = gamma.swap_orders(points, Genes(SPACE), 0.5, np.random.default_rng(0))
    orders = swapped[:, list(Genes(SPACE).orders)]
    assert [len(np.unique(column)) for column in orders.T] == [1 + 15, 1 + 15]
    # A sixth of the swaps puts a loop in its own place.
    assert np.mean(orders.any(axis=1)) == pytest.approx(0.5 * 5 / 6, abs=0.02)


@given(space=spaces(), factor_rate=st.sampled_from([0.0, 1.0]), seed=seeds)
def test_a_mutation_changes_one_gene_within_its_limit(
    space: MapSpace, factor_rate: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    points = population(space, 30, rng)
    before = points.copy()
    mutants = gamma.mutate(points, Genes(space), 1.0, factor_rate, rng)
    np.testing.assert_array_equal(points, before)
    assert ((mutants >= 0) & (mutants < space.sizes)).all()
    for old, new in zip(points, mutants, strict=True):
        names = changed_names(space, old, new)
        assert not {"l1_order", "l2_order"} & names
        assert len(names - {"cluster_size"}) <= 1
        if "cluster_size" in names:
            assert names <= {"cluster_size", "l1_parallel"}
            most = outer_tile(space, new, value(space, new, "l1_parallel"))
            assert min(most, space.hardware.num_pes) % value(space, new, "cluster_size") == 0
        for name in names:
            level, kind, *dim = name.split("_")
            if kind != "tile":
                continue
            extents = {each.strip("'"): extent for each, extent in space.extents.items()}
            outer = f"l2_tile_{dim[0]}"
            nested = level == "l1" and outer in columns(space)
            most = value(space, old, outer) if nested else extents[dim[0]]
            assert value(space, new, name) <= most
            if factor_rate:
                assert most % value(space, new, name) == 0


@pytest.mark.parametrize("factor_rate", [0.0, 1.0])
def test_mutations_reach_every_choice_at_the_same_rate_for_every_gene(factor_rate: float) -> None:
    rng, genes = np.random.default_rng(0), Genes(SPACE)
    # Whole outer tiles leave inner ones all their choices.
    whole = np.tile((SPACE.sizes - 1).astype(np.int32), (40_000, 1))
    mutants = gamma.mutate(whole, genes, 1.0, factor_rate, rng)
    extents = {dim.strip("'"): extent for dim, extent in SPACE.extents.items()}
    for name, column in columns(SPACE).items():
        _, kind, *dim = name.split("_")
        if kind == "tile":
            extent = extents[dim[0]]
            sizes = [each for each in range(1, extent + 1) if not (factor_rate and extent % each)]
            changed = 1 - 1 / len(sizes)
            assert {*mutants[:, column] + 1} == {*sizes}
        elif kind == "parallel":
            changed = 3 / 4
            assert {*mutants[:, column]} == {0, 1, 2, 3}
        else:
            continue
        # Twelve tiles, four of them fixed, and two parallel dimensions.
        share = np.mean(mutants[:, column] != whole[:, column])
        assert share == pytest.approx(changed / 14, abs=0.006), name
    cluster = mutants[:, columns(SPACE)["cluster_size"]] + 1
    factors = {
        f for dim in ("K", "C", "Y'", "X'") for f in range(1, 13) if SPACE.extents[dim] % f == 0
    }
    assert {*cluster} == factors | {12}


def test_a_cluster_has_a_factor_of_the_pes_where_they_are_fewer_than_the_tile() -> None:
    space = MapSpace(find_layer("gemm:M=100,N=100,K=100"), Hardware(num_pes=6))
    whole = np.tile((space.sizes - 1).astype(np.int32), (2000, 1))
    mutants = gamma.mutate(whole, Genes(space), 1.0, 0.0, np.random.default_rng(0))
    assert {*mutants[:, columns(space)["cluster_size"]] + 1} == {1, 2, 3, 6}


def test_nothing_mutates_at_rate_0() -> None:
    rng, genes = np.random.default_rng(0), Genes(SPACE)
    points = population(SPACE, 50, rng)
    for same in (
        gamma.mutate(points, genes, 0.0, 0.5, rng),
        gamma.swap_orders(points, genes, 0.0, rng),
        gamma.swap_parallel(points, genes, 0.0, rng),
    ):
        np.testing.assert_array_equal(same, points)


@given(space=spaces(), seed=seeds)
def test_a_parallel_swap_exchanges_the_parallel_dimensions(space: MapSpace, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = population(space, 5, rng)
    swapped = gamma.swap_parallel(points, Genes(space), 1.0, rng)
    for old, new in zip(points, swapped, strict=True):
        assert changed_names(space, old, new) <= {"l1_parallel", "l2_parallel"}
        for name, other in permutations(("l1_parallel", "l2_parallel")):
            assert value(space, new, name) == value(space, old, other)


@given(space=spaces(), seed=seeds)
def test_correction_clips_inner_tiles_and_keeps_the_mapping(space: MapSpace, seed: int) -> None:
    points = space.sample(10, np.random.default_rng(seed))
    corrected = space.clipped(points)
    assert corrected.dtype == np.int32
    for old, new in zip(points, corrected, strict=True):
        assert all(name.startswith("l1_tile_") for name in changed_names(space, old, new))
        assert space.decode(new) == space.decode(old)
        for dim in space.extents:
            tiles = tile_columns(space, dim)
            assert new[tiles].tolist() == sorted(new[tiles], reverse=True)


def test_the_best_of_equals_is_kept_and_the_invalid_are_not() -> None:
    points = population(SPACE, 5, np.random.default_rng(0))
    told = points[[0, 1, 2, 1, 3, 0, 4]]
    values = np.array([5.0, 4.0, np.inf, 2.0, 3.0, 6.0, 1.0])
    best, of_best = gamma.best_distinct(told, values, SPACE)
    np.testing.assert_array_equal(best, points[[4, 1, 3, 0]])
    assert of_best.tolist() == [1, 2, 3, 5]
    none, _ = gamma.best_distinct(told, np.full(7, np.inf), SPACE)
    assert none.shape == (0, len(SPACE.sizes))


def test_only_unseen_mappings_are_asked_for_unless_there_are_none() -> None:
    points = population(SPACE, 4, np.random.default_rng(0))
    told, known = points[[2, 0, 1, 2, 3, 1]], SPACE.identities(points).tolist()
    np.testing.assert_array_equal(unseen(told, {*known[:1]}, SPACE), points[[2, 1, 3]])
    np.testing.assert_array_equal(unseen(told, {*known}, SPACE), told)


def test_what_a_schema_fixes_has_no_column() -> None:
    genes = Genes(MapSpace(CONV, PES, "paper10"))
    assert genes.cluster == FIXED
    assert (genes.tiles[:, 1] == FIXED).all()
    assert (genes.tiles[:, 0] != FIXED).all()
    assert (Genes(SPACE).tiles[-2:] == FIXED).all()


# --- The mapper ---------------------------------------------------------------------------------

HUGE = "conv:K=1000000,C=3,Y=1000,X=1000,R=3,S=3"
SPACES = {
    "gemm": MapSpace(find_layer("gemm:M=12,N=30,K=7"), PES),
    "gemm divisors": MapSpace(find_layer("gemm:M=12,N=30,K=7"), PES, "full17", "divisors"),
    "depthwise": MapSpace(find_layer("dsconv:C=8,Y=9,X=9,R=3,S=3"), PES),
    "grouped batch": MapSpace(find_layer("ngconv:N=2,G=2,K=4,C=4,Y=6,X=6,R=3,S=3"), PES),
    "full17": MapSpace(CONV, PES, "full17"),
    "paper10": MapSpace(CONV, PES, "paper10"),
    "divisors": MapSpace(CONV, PES, tiles="divisors"),
    "huge": MapSpace(find_layer(HUGE), find_hardware("cloud")),
    "single point": MapSpace(find_layer("gemm:M=1,N=1,K=1"), Hardware(num_pes=1)),
}


@pytest.mark.parametrize("settings", ["", ":factor_rate=1", ":parallel_rate=1:population=2"])
@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_every_kind_of_space_is_searched(space: MapSpace, settings: str) -> None:
    evaluator = Evaluator(Problem(space), find_objective("latency"), 100)
    make_mapper(f"gamma{settings}").search(evaluator, 100, np.random.default_rng(0))
    assert evaluator.used == 100


def test_gamma_beats_the_plain_genetic_algorithm() -> None:
    problem = Problem(MapSpace(find_layer("mobilenetv2_l2"), find_hardware("paper")))
    medians = {}
    for name in ("gamma", "ga"):
        bests = []
        for seed in range(5):
            evaluator = Evaluator(problem, find_objective("edp"), 5000)
            make_mapper(name).search(evaluator, 5000, np.random.default_rng(seed))
            bests.append(evaluator.best.value)
        medians[name] = np.median(bests)
    assert medians["gamma"] < medians["ga"]


def test_the_best_40_breed_and_the_best_5_survive() -> None:
    # Without changes, children are their parents.
    mapper = make_mapper("gamma:crossover_rate=0:order_rate=0:mutation_rate=0")
    mapper.start(SPACE, np.random.default_rng(0))

    def parents() -> set[bytes]:
        return {child.tobytes() for _ in range(30) for child in mapper.ask(10**6)}

    first = mapper.ask(10**6)
    assert 90 < len(first) <= 100
    mapper.tell(first, np.arange(len(first), dtype=np.float64))
    assert parents() == {point.tobytes() for point in first[:40]}
    others = population(SPACE, 100, np.random.default_rng(1))
    mapper.tell(others, 1000.0 + np.arange(100))
    assert parents() == {point.tobytes() for point in (*first[:5], *others[:35])}
    assert len(mapper.ask(7)) == 7


@pytest.mark.parametrize("mutations", [0, 1, 2])
def test_a_child_mutates_as_often_as_the_settings_say(mutations: int) -> None:
    mapper = make_mapper(
        f"gamma:crossover_rate=0:order_rate=0:mutation_rate=1:mutations={mutations}:population=2000"
    )
    mapper.start(SPACE, np.random.default_rng(0))
    mapper.tell(lone := population(SPACE, 1, np.random.default_rng(1)), np.array([1.0]))
    # Others may change two at once: inner tiles are clipped, cluster sizes follow a dimension.
    free = [i for name, i in columns(SPACE).items() if name.startswith(("l2_tile", "l2_parallel"))]
    changed = (mapper.ask(2000)[:, free] != lone[0, free]).sum(axis=1)
    assert changed.max() == mutations


def test_what_is_asked_for_needs_no_correction() -> None:
    mapper = make_mapper("gamma")
    mapper.start(SPACE, np.random.default_rng(0))
    for _ in range(5):
        asked = mapper.ask(100)
        np.testing.assert_array_equal(asked, SPACE.clipped(asked))
        mapper.tell(asked, np.arange(len(asked), dtype=np.float64))


def test_without_a_valid_individual_a_first_population_follows() -> None:
    mapper = make_mapper("gamma")
    mapper.start(SPACE, np.random.default_rng(0))
    inner = [i for name, i in columns(SPACE).items() if name.startswith("l1_tile_")]
    asked = []
    for _ in range(3):
        asked.append(mapper.ask(100))
        assert not asked[-1][:, inner].any()
        mapper.tell(asked[-1], np.full(len(asked[-1]), np.inf))
    assert not np.array_equal(asked[0][:50], asked[1][:50])
