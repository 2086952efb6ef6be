"""GAMMA: a genetic algorithm with operators for the parts of a mapping.

Kao and Krishna, *GAMMA: Automating the HW Mapping of DNN Models on Accelerators via Genetic
Algorithm*, ICCAD 2020. Where the paper leaves details open, the operators follow its program;
docs/mappers.md lists the differences. They are pure functions of a population, its space's genes
and a random stream.

Operators choose among all genes and skip those that a schema fixes. So a rate means the same chance
for a gene under every schema.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import require
from maestro_env.mappers.base import AskTellMapper, setting
from maestro_env.mappers.parts.arrays import Floats, Integers, orders_of, ranks_of, sizes_at
from maestro_env.mappers.parts.operators import unseen
from maestro_env.mapspace.space import Parameter, Points, Space, count_up_to
from maestro_env.mapspace.two_level_space import LEVELS, MapSpace


@dataclass(frozen=True)
class GammaConfig:
    """Parameters of GAMMA; the defaults are those of the ``run`` of its public program."""

    population: int = setting(100, "individuals of a generation", least=2, most=100_000)
    elite_ratio: float = setting(0.05, "share that survives without another evaluation", most=1)
    parent_ratio: float = setting(0.4, "share that breeds", most=1)
    crossover_rate: float = setting(0.57, "chance that a pair exchanges a dimension", most=1)
    order_rate: float = setting(0.47, "chance that two loops of a child are swapped", most=1)
    mutation_rate: float = setting(0.53, "chance of one mutation", most=1)
    mutations: int = setting(3, "most mutations of a child", most=1000)
    factor_rate: float = setting(0.0, "share of tile mutations that draw a factor", most=1)
    # The program's default of 0.1 has no effect: docs/mappers.md.
    parallel_rate: float = setting(0.0, "chance that the levels swap parallel dimensions", most=1)


class GammaMapper(AskTellMapper[GammaConfig]):
    """The best individuals breed; children change in tiles, orders and parallel dimensions."""

    DEFAULT = GammaConfig()

    def require_fit(self, problem: AnyProblem, objective: Objective) -> None:
        require(problem, "levels", "mapper gamma")

    def search(self, evaluator: Evaluator, budget: int, rng: np.random.Generator) -> None:
        self.require_fit(evaluator.problem, evaluator.objective)
        super().search(evaluator, budget, rng)

    def start(self, space: Space, rng: np.random.Generator) -> None:
        super().start(space, rng)
        assert isinstance(space, MapSpace)  # Others are refused.
        self._genes = Genes(space)
        self._parents: Points = np.empty((0, len(space.sizes)), dtype=np.int32)
        self._values = np.empty(0)

    def ask(self, n: int) -> Points:
        if len(self._parents):
            population = self._breed()
        else:
            population = first_population(self._genes, self.config.population, self._rng)
        known = set(self._space.identities(self._parents).tolist())
        return unseen(population, known, self._space)[:n]

    def tell(self, points: Points, values: Floats) -> None:
        config = self.config
        elites = int(config.population * config.elite_ratio)
        parents = max(1, int(config.population * config.parent_ratio))
        survivors = np.concatenate([self._parents[:elites], points])
        of_survivors = np.concatenate([self._values[:elites], values])
        best, of_best = best_distinct(survivors, of_survivors, self._space)
        self._parents, self._values = best[:parents], of_best[:parents]

    def _breed(self) -> Points:
        config, genes, rng = self.config, self._genes, self._rng
        children = cross_tiles(self._parents, genes, config.population, config.crossover_rate, rng)
        children = swap_orders(children, genes, config.order_rate, rng)
        for _ in range(config.mutations):
            children = mutate(children, genes, config.mutation_rate, config.factor_rate, rng)
        children = swap_parallel(children, genes, config.parallel_rate, rng)
        return self._space.clipped(children)


FIXED = -1
"""The column of a gene that the schema fixes."""


class Genes:
    """Columns of a space's points by their meaning; in pairs, the outer level comes first.

    Attributes:
        orders: columns of the loop orders.
        parallels: columns of the parallel dimensions, whose choices are the same.
        tiles: columns of the tiles of every dimension, intp[dims, 2].
        cluster: column of the cluster size.
    """

    def __init__(self, space: MapSpace) -> None:
        self.space = space

        def pair(name: str) -> list[int]:
            return [space.columns.get(f"{level}_{name}", FIXED) for level in LEVELS]

        self.orders, self.parallels = pair("order"), pair("parallel")
        # Y' and X' lose their mark in the name of a parameter.
        tiles = [pair("tile_" + dim.rstrip("'")) for dim in space.extents]
        self.tiles: NDArray[np.intp] = np.array(tiles, dtype=np.intp)
        self.cluster = space.columns.get("cluster_size", FIXED)

    def limits(self, points: Points) -> Points:
        """Return the largest choice of every entry, int32[N, D]: an inner tile's is the outer's."""
        limits = np.tile((self.space.sizes - 1).astype(np.int32), (len(points), 1))
        outer, inner = self.tiles[(self.tiles != FIXED).all(axis=1)].T
        limits[:, inner] = points[:, outer]
        return limits

    def cluster_limits(self, points: Points) -> Integers:
        """Return the largest useful cluster sizes, int64[N].

        A cluster splits one outer tile: PEs beyond its extent would idle.
        """
        tiles = np.stack(
            [self._outer_sizes(points, dim) for dim in self.space.parallel_dims_of("l1")], axis=1
        )
        of_inner = tiles[np.arange(len(points)), points[:, self.parallels[1]]]
        return np.minimum(of_inner, self.space.hardware.num_pes)

    def _outer_sizes(self, points: Points, dim: str) -> Integers:
        tile = self.space.tile("l2", dim)
        if isinstance(tile, int):
            return np.full(len(points), tile, dtype=np.int64)
        return sizes_at(tile, points[:, self.space.columns[tile.name]])


# Individuals of a first population with tiles of one element on both levels.
_UNIT = 2


def first_population(genes: Genes, n: int, rng: np.random.Generator) -> Points:
    """Draw ``n`` individuals with inner tiles of one element; two also have such outer tiles."""
    points = genes.space.sample(n, rng)
    outer, inner = (columns[columns != FIXED] for columns in genes.tiles.T)
    points[:, inner] = 0
    if genes.cluster != FIXED:
        counts = count_up_to(genes.space.parameters[genes.cluster], genes.cluster_limits(points))
        points[:, genes.cluster] = rng.integers(0, counts)
    points[:_UNIT, outer] = 0
    return points


def best_distinct(points: Points, values: Floats, space: Space) -> tuple[Points, Floats]:
    """Return the valid points without repeated mappings, and their values, best first."""
    ranked = np.argsort(values, kind="stable")[: np.count_nonzero(np.isfinite(values))]
    _, first = np.unique(space.identities(points[ranked]), return_index=True)
    best = ranked[np.sort(first)]
    return points[best], values[best]


def cross_tiles(
    parents: Points, genes: Genes, n: int, rate: float, rng: np.random.Generator
) -> Points:
    """Breed ``n`` children from pairs of different parents, two per pair.

    With chance ``rate`` a pair exchanges the tiles of one dimension, on both levels. A lone parent
    is copied.
    """
    pairs = -(-n // 2)
    first = rng.integers(0, len(parents), size=pairs)
    apart = rng.integers(1, max(2, len(parents)), size=pairs)
    mothers, fathers = parents[first], parents[(first + apart) % len(parents)]
    dims = rng.integers(0, len(genes.tiles), size=(pairs, 1))
    of_dim = np.zeros((len(genes.tiles), parents.shape[1]), dtype=np.bool_)
    for dim, columns in enumerate(genes.tiles):
        of_dim[dim, columns[columns != FIXED]] = True
    crossed = of_dim[dims[:, 0]] & (rng.random((pairs, 1)) < rate)
    one, other = np.where(crossed, fathers, mothers), np.where(crossed, mothers, fathers)
    return np.concatenate([one, other])[:n]


def swap_orders(points: Points, genes: Genes, rate: float, rng: np.random.Generator) -> Points:
    """Swap two loops of one level, with chance ``rate``; both may be the same loop."""
    rows = np.flatnonzero(rng.random(len(points)) < rate)
    columns = rng.choice(genes.orders, size=len(rows))
    dims = len(genes.space.extents)
    orders = orders_of(points[rows, columns], dims)
    each = np.arange(len(rows))
    one, other = rng.integers(0, dims, size=(2, len(rows)))
    orders[each, one], orders[each, other] = orders[each, other], orders[each, one]
    swapped = points.copy()
    swapped[rows, columns] = ranks_of(orders)
    return swapped


def mutate(
    points: Points, genes: Genes, rate: float, factor_rate: float, rng: np.random.Generator
) -> Points:
    """Change a tile or a parallel dimension of every individual, with chance ``rate``.

    A tile becomes any size up to its limit or, with chance ``factor_rate``, a factor of its limit.
    The limit of an outer tile is the extent, that of an inner tile the outer tile. If the inner
    parallel dimension changes, the cluster size becomes a factor of its own limit.
    """
    mutants = points.copy()
    columns = rng.choice(np.append(genes.tiles, genes.parallels), size=len(points))
    rows = np.flatnonzero((rng.random(len(points)) < rate) & (columns != FIXED))
    columns = columns[rows]
    limits = genes.limits(points)[rows, columns]
    mutants[rows, columns] = rng.integers(0, limits + 1)
    factored = np.isin(columns, genes.tiles) & (rng.random(len(rows)) < factor_rate)
    tiles = [genes.space.parameters[column] for column in columns[factored]]
    most = [int(tile.values[i]) for tile, i in zip(tiles, limits[factored], strict=True)]
    mutants[rows[factored], columns[factored]] = draw_factors(tiles, most, rng)
    if genes.cluster != FIXED:
        clustered = rows[columns == genes.parallels[1]]
        most = genes.cluster_limits(mutants[clustered]).tolist()
        clusters = [genes.space.parameters[genes.cluster]] * len(most)
        mutants[clustered, genes.cluster] = draw_factors(clusters, most, rng)
    return mutants


def swap_parallel(points: Points, genes: Genes, rate: float, rng: np.random.Generator) -> Points:
    """Swap the parallel dimensions of the two levels, with chance ``rate``."""
    rows = rng.random(len(points)) < rate
    outer, inner = genes.parallels
    swapped = points.copy()
    swapped[rows, outer], swapped[rows, inner] = points[rows, inner], points[rows, outer]
    return swapped


def draw_factors(
    parameters: Sequence[Parameter], limits: Sequence[int], rng: np.random.Generator
) -> Integers:
    """Draw, for each limit, a choice whose size divides it, all factors with equal chance."""
    factors = [factor_choices(*each) for each in zip(parameters, limits, strict=True)]
    drawn = rng.integers(0, np.array([len(each) for each in factors], dtype=np.int64))
    return np.array([each[i] for each, i in zip(factors, drawn, strict=True)], dtype=np.int64)


@lru_cache(maxsize=4096)
def factor_choices(parameter: Parameter, limit: int) -> tuple[int, ...]:
    """Return the choices whose sizes divide ``limit``, ascending."""
    if not isinstance(parameter.values, range):
        return tuple(np.flatnonzero(limit % np.array(parameter.values, dtype=int) == 0).tolist())
    candidates = np.arange(1, math.isqrt(limit) + 1)
    small = candidates[limit % candidates == 0]
    factors = np.unique(np.concatenate([small, limit // small]))
    return tuple((factors[factors <= parameter.choices] - 1).tolist())
