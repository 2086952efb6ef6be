"""Genes: the columns of a space's points by meaning, and their limits, for GAMMA's operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from maestro_env.map_space import MapSpace, Points
from mappers.sizes import Sizes, sizes_at, sizes_of

FIXED = -1
"""The column of a gene that the schema fixes."""

_OUTER, _INNER = "l2", "l1"


@dataclass(frozen=True)
class Genes:
    """Columns of a space's points by their meaning; in pairs, the outer level comes first."""

    space: MapSpace

    @cached_property
    def orders(self) -> tuple[int, int]:
        return self._column(f"{_OUTER}_order"), self._column(f"{_INNER}_order")

    @cached_property
    def parallels(self) -> tuple[int, int]:
        """Columns of the parallel dimensions, whose choices are the same."""
        return self._column(f"{_OUTER}_parallel"), self._column(f"{_INNER}_parallel")

    @cached_property
    def cluster(self) -> int:
        return self._column("cluster_size")

    @cached_property
    def tiles(self) -> NDArray[np.intp]:
        """Columns of the tiles of every dimension, intp[dims, 2]."""
        # Y' and X' lose their mark in the name of a parameter.
        dims = [dim.rstrip("'") for dim in self.space.extents]
        columns = [
            [self._column(f"{level}_tile_{dim}") for level in (_OUTER, _INNER)] for dim in dims
        ]
        return np.array(columns, dtype=np.intp)

    def sizes(self, column: int) -> Sizes:
        """Return the choices of a tile or of the cluster size."""
        return sizes_of(self.space.parameters[column])

    def limits(self, points: Points) -> Points:
        """Return the largest choice of every entry, int32[N, D]: an inner tile's is the outer's."""
        limits = np.tile((self.space.sizes - 1).astype(np.int32), (len(points), 1))
        outer, inner = self.tiles[(self.tiles != FIXED).all(axis=1)].T
        limits[:, inner] = points[:, outer]
        return limits

    def cluster_limits(self, points: Points) -> NDArray[np.int64]:
        """Return the largest useful cluster sizes, int64[N].

        A cluster splits one outer tile: PEs beyond its extent would idle.
        """
        tiles = np.stack(
            [self._outer_sizes(points, dim) for dim in self.space.parallel_dims], axis=1
        )
        of_inner = tiles[np.arange(len(points)), points[:, self.parallels[1]]]
        return np.minimum(of_inner, self.space.hardware.num_pes)

    @cached_property
    def _columns(self) -> dict[str, int]:
        return {parameter.name: i for i, parameter in enumerate(self.space.parameters)}

    def _column(self, name: str) -> int:
        return self._columns.get(name, FIXED)

    def _outer_sizes(self, points: Points, dim: str) -> NDArray[np.int64]:
        column, _ = self.tiles[list(self.space.extents).index(dim)]
        if column == FIXED:
            # Schemas only fix outer tiles of parallel dimensions to the whole extent.
            return np.full(len(points), self.space.extents[dim], dtype=np.int64)
        return sizes_at(self.sizes(column), points[:, column])


def draw_factors(
    sizes: Sequence[Sizes], limits: Sequence[int], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw, for each limit, a choice whose size divides it, all factors with equal chance."""
    factors = [factor_choices(*each) for each in zip(sizes, limits, strict=True)]
    drawn = rng.integers(0, np.array([len(each) for each in factors], dtype=np.int64))
    return np.array([each[i] for each, i in zip(factors, drawn, strict=True)], dtype=np.int64)


@lru_cache(maxsize=4096)
def factor_choices(sizes: Sizes, limit: int) -> tuple[int, ...]:
    """Return the choices whose sizes divide ``limit``, ascending."""
    if not isinstance(sizes, range):
        return tuple(choice for choice, size in enumerate(sizes) if limit % size == 0)
    candidates = np.arange(1, math.isqrt(limit) + 1)
    small = candidates[limit % candidates == 0]
    factors = np.unique(np.concatenate([small, limit // small]))
    return tuple((factors[factors <= len(sizes)] - 1).tolist())
