"""Variants of good mappings: small changes that often lead to a better one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.mappers.parts.choices import orders_of, ranks_of
from maestro_env.mappers.parts.genes import FIXED, Genes
from maestro_env.mapspace.parameter import Parameter
from maestro_env.mapspace.space import MapSpace, Points
from maestro_env.mapspace.unit_cube import count_up_to

# A size is scaled by a factor of 2 to the power of 2^-5 at least, and of 1 at most.
_LEAST_LOG, _MOST_LOG = -5.0, 0.0
# By how much the number of pieces changes that a size makes.
_MORE_PIECES = (-2, -1, 0, 0, 1, 2)


class Variants:
    """Makes variants of vectors of a space.

    A variant differs from its vector by one of these changes: a size is scaled; two sizes are
    scaled by the same factor, in the same or in opposite directions, as where a buffer is full one
    tile can grow only if another shrinks; a size makes a few pieces more or less, all as even as
    they can be; a loop moves to another place; a level is parallel over another dimension.
    """

    def __init__(self, space: MapSpace) -> None:
        self._space, self._genes = space, Genes(space)
        tiles = self._genes.tiles
        self._whole = {
            int(inner): int(outer) for outer, inner in tiles if FIXED not in (outer, inner)
        }
        self._extents = {
            int(column): extent
            for columns, extent in zip(tiles, space.extents.values(), strict=True)
            for column in columns
        }
        self._sizes = [i for i, each in enumerate(space.parameters) if each.is_size]
        # What pays more often is there more often.
        often = [*[self._trade] * 3, *[self._recut] * 3]
        turns = [] if 1 in space.sizes[self._genes.parallels] else [self._turn]
        self._changes = [*often, self._scale, self._reorder, *turns]

    def draw(self, best: NDArray[np.integer], n: int, rng: np.random.Generator) -> Points:
        """Return ``n`` variants of int[E, D] vectors, the best first, int32[n, D].

        The better a vector the more variants it has.
        """
        ranks = rng.integers(len(best), size=(2, n)).min(axis=0)
        variants = [best[rank].tolist() for rank in ranks]
        for variant, change in zip(variants, rng.integers(len(self._changes), size=n), strict=True):
            self._changes[change](variant, rng)
        return np.array(variants, dtype=np.int32).reshape(n, len(self._space.sizes))

    def _scale(self, vector: list[int], rng: np.random.Generator) -> None:
        self._resize(vector, int(rng.choice(self._sizes)), _octaves(rng))

    def _trade(self, vector: list[int], rng: np.random.Generator) -> None:
        octaves = _octaves(rng)
        for column in rng.permutation(self._sizes)[:2]:
            self._resize(vector, int(column), octaves)
            octaves *= rng.choice((-1, 1))

    def _resize(self, vector: list[int], column: int, octaves: float) -> None:
        """Scale a size to the choice that is nearest, at least one away."""
        parameter = self._space.parameters[column]
        choice = vector[column]
        size = int(parameter.values[choice])
        scaled = _choice(parameter, round(size * 2**octaves))
        least = choice + 1 if octaves > 0 else choice - 1
        moved = max(scaled, least) if octaves > 0 else min(scaled, least)
        vector[column] = min(max(moved, 0), parameter.choices - 1)

    def _recut(self, vector: list[int], rng: np.random.Generator) -> None:
        column = int(rng.choice(self._sizes))
        parameter = self._space.parameters[column]
        whole = self._whole_of(vector, column)
        size = min(int(parameter.values[vector[column]]), whole)
        pieces = -(-whole // size) + int(rng.choice(_MORE_PIECES))
        vector[column] = _choice(parameter, -(-whole // min(max(pieces, 1), whole)))

    def _whole_of(self, vector: list[int], column: int) -> int:
        """Return what a size cuts: an extent, an outer tile, or all PEs."""
        if column == self._genes.cluster:
            return self._space.hardware.num_pes
        if column in self._whole:
            outer = self._whole[column]
            return int(self._space.parameters[outer].values[vector[outer]])
        return self._extents[column]

    def _reorder(self, vector: list[int], rng: np.random.Generator) -> None:
        column, n = int(rng.choice(self._genes.orders)), len(self._space.extents)
        order = orders_of(np.array([vector[column]]), n)[0].tolist()
        order.insert(int(rng.integers(n)), order.pop(int(rng.integers(n))))
        vector[column] = int(ranks_of(np.array([order]))[0])

    def _turn(self, vector: list[int], rng: np.random.Generator) -> None:
        column = int(rng.choice(self._genes.parallels))
        others = self._space.parameters[column].choices
        vector[column] = (vector[column] + int(rng.integers(1, others))) % others


def _octaves(rng: np.random.Generator) -> float:
    """Draw by how much a size is scaled: up or down, the length log-uniform."""
    length = 2 ** rng.uniform(_LEAST_LOG, _MOST_LOG)
    return float(length * rng.choice((-1, 1)))


def _choice(parameter: Parameter, size: int) -> int:
    """Return the choice of a size, or of the largest one below it."""
    return max(int(count_up_to(parameter, np.array(size))) - 1, 0)
