"""GAMMA's operators: pure functions of a population, its space's genes and a random stream.

Kao and Krishna, *GAMMA: Automating the HW Mapping of DNN Models on Accelerators via Genetic
Algorithm*, ICCAD 2020. Where the paper leaves details open, they follow its program;
docs/mappers.md lists the differences.

Operators choose among all genes and skip those that a schema fixes. So a rate means the same chance
for a gene under every schema.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Points
from mappers.genes import FIXED, Genes, draw_factors
from mappers.orders import orders_of, ranks_of
from mappers.sizes import count_up_to

# Individuals of a first population with tiles of one element on both levels.
_UNIT = 2


def first_population(genes: Genes, n: int, rng: np.random.Generator) -> Points:
    """Draw ``n`` individuals with inner tiles of one element; two also have such outer tiles."""
    points = genes.space.sample(n, rng)
    outer, inner = (columns[columns != FIXED] for columns in genes.tiles.T)
    points[:, inner] = 0
    if genes.cluster != FIXED:
        counts = count_up_to(genes.sizes(genes.cluster), genes.cluster_limits(points))
        points[:, genes.cluster] = rng.integers(0, counts)
    points[:_UNIT, outer] = 0
    return points


def unseen(points: Points, known: Points, space: MapSpace) -> Points:
    """Drop mappings that are in ``known`` or repeated; if none would be left, keep all."""
    identities = space.identities(points)
    fresh = ~np.isin(identities, space.identities(known))
    _, first = np.unique(identities, return_index=True)
    chosen = np.sort(first[fresh[first]])
    kept: Points = points[chosen] if len(chosen) else points
    return kept


def best_distinct(
    points: Points, values: NDArray[np.float64], space: MapSpace
) -> tuple[Points, NDArray[np.float64]]:
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
    children: Points = np.concatenate([one, other])[:n]
    return children


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
    mutants[rows[factored], columns[factored]] = _tile_factors(
        columns[factored], limits[factored], genes, rng
    )
    if genes.cluster != FIXED:
        clustered = rows[columns == genes.parallels[1]]
        mutants[clustered, genes.cluster] = _cluster_factors(mutants[clustered], genes, rng)
    return mutants


def swap_parallel(points: Points, genes: Genes, rate: float, rng: np.random.Generator) -> Points:
    """Swap the parallel dimensions of the two levels, with chance ``rate``."""
    rows = rng.random(len(points)) < rate
    outer, inner = genes.parallels
    swapped = points.copy()
    swapped[rows, outer], swapped[rows, inner] = points[rows, inner], points[rows, outer]
    return swapped


def correct(points: Points, genes: Genes) -> Points:
    """Clip inner tiles to the outer ones."""
    return np.minimum(points, genes.limits(points))


def _tile_factors(
    columns: NDArray[np.intp], limits: Points, genes: Genes, rng: np.random.Generator
) -> NDArray[np.int64]:
    sizes = [genes.sizes(column) for column in columns]
    return draw_factors(
        sizes, [each[limit] for each, limit in zip(sizes, limits, strict=True)], rng
    )


def _cluster_factors(points: Points, genes: Genes, rng: np.random.Generator) -> NDArray[np.int64]:
    limits = genes.cluster_limits(points).tolist()
    return draw_factors([genes.sizes(genes.cluster)] * len(limits), limits, rng)
