"""What every box of a space shares: its loops by their names in the model, sizes, capacities."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maestro_env.mapspace.space import MapSpace

Array = NDArray[np.float64]
Tile = dict[str, Array | float]
"""Sizes along each of the eight loops of spec/exact.md, E1."""

LOOPS = "NGKCPQRS"
INPUT, FILTER, OUTPUT = "NGC", "GKCRS", "NGKPQ"
"""Loops that are axes of a tensor without a window; the input has two more, (P, R) and (Q, S)."""
WINDOWS = {"P": "R", "Q": "S"}

_OWN_NAMES = {
    "GEMM": {"M": "P", "K": "C", "N": "K"},
    "DSCONV": {"C": "G", "Y'": "P", "X'": "Q"},
}
_NAMES = {"Y'": "P", "X'": "Q"}


def ceil_div(a: Array | float, b: Array | float) -> Array:
    """Return ceil(a / b) of whole numbers below 2^52, which doubles divide exactly enough."""
    return np.ceil(np.divide(a, b))


class Facts:
    """A space as the bounds see it.

    Attributes:
        names: of all loops of the space, in its order.
        sizes, inner_sizes: of each, the outer and the inner tile sizes to choose from, ascending.
        clusters: the cluster sizes to choose from.
        extent: of all eight loops; 1 where the layer lacks one.
        l1_words, l2_words: capacities.
        cut: positions of the loops that some mapping cuts.
    """

    def __init__(self, space: MapSpace) -> None:
        self.space, self.layer, self.hardware = space, space.layer, space.hardware
        own = _OWN_NAMES.get(self.layer.operator, _NAMES)
        self.dims = list(space.extents)
        self.names = [own.get(dim, dim) for dim in self.dims]
        self.extent = dict.fromkeys(LOOPS, 1.0)
        self.extent |= {own.get(dim, dim): float(e) for dim, e in space.extents.items()}
        self.sizes = [_values(space.tile("l2", dim)) for dim in self.dims]
        self.inner_sizes = [_values(space.tile("l1", dim)) for dim in self.dims]
        self.clusters = _values(space.cluster)
        self.cut = [d for d, sizes in enumerate(self.sizes) if len(sizes) > 1]
        of = self.hardware
        self.l1_words, self.l2_words = of.l1_bytes // of.word_bytes, of.l2_bytes // of.word_bytes
        rows, columns = self.layer.stride
        self.stride = {"P": float(rows), "Q": float(columns)}
        # Of a window of R rows that slides by s: x outputs touch x m + h rows.
        self.step = {p: min(self.stride[p], self.extent[r]) for p, r in WINDOWS.items()}
        self.halo = {p: self.extent[r] - self.step[p] for p, r in WINDOWS.items()}

    @cached_property
    def macs(self) -> float:
        return math.prod(self.extent.values())

    @cached_property
    def words(self) -> tuple[float, float, float]:
        """Words of input, filter and output."""
        return self.tile_words(dict(self.extent))  # type: ignore[return-value]

    @cached_property
    def whole_names(self) -> str:
        """Loops that no mapping cuts."""
        return "".join(name for name in LOOPS if name not in self.cut_names)

    @cached_property
    def cut_names(self) -> str:
        return "".join(self.names[d] for d in self.cut)

    def sizes_above(self, sizes: Array) -> Array:
        """Return the next outer choice above each of some sizes, float64[L, N] of the loops cut."""
        if self.space.tiles == "integers":
            return sizes + 1
        found = np.empty_like(sizes)
        for row, d in enumerate(self.cut):
            above = np.searchsorted(self.sizes[d], sizes[row], side="right")
            found[row] = self.sizes[d][np.minimum(above, len(self.sizes[d]) - 1)]
        return found

    def tile_words(self, tile: Tile) -> tuple[Array | float, Array | float, Array | float]:
        """Return the words of input, filter and output that a tile touches (E1)."""
        inputs = product(tile, INPUT)
        for p, r in WINDOWS.items():
            inputs = inputs * ((tile[p] - 1) * np.minimum(self.stride[p], tile[r]) + tile[r])
        return inputs, product(tile, FILTER), product(tile, OUTPUT)


def product(tile: Tile, names: str) -> Array | float:
    """Return the product of a tile's sizes along some loops."""
    result: Array | float = 1.0
    for name in names:
        size = tile[name]
        if not isinstance(size, float) or size != 1:
            result = result * size
    return result


def _values(sizes: object) -> Array:
    values = [sizes] if isinstance(sizes, int) else sizes.values  # type: ignore[attr-defined]
    return np.array(values, dtype=np.float64)
