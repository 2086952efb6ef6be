"""Spaces of integer vectors: parameters and their choices, and what a space adopts of another."""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env.accelerators.accelerator import Accelerator
from maestro_env.base.checks import look_up, require_integer, require_type
from maestro_env.base.errors import MapSpaceError, quoted
from maestro_env.base.pickling import Recomputed
from maestro_env.workloads.layer import Layer

Points = NDArray[np.int32]

TILES = ("integers", "divisors")
"""Choices of a tile size: every integer up to the extent, or the divisors of the extent."""

Resize = Callable[[int, int, int], int]
"""Returns the size of a tile in an extent, given its size and the whole that it is a tile of."""


@dataclass(frozen=True)
class Parameter:
    """One entry of a vector.

    Args:
        name: such as ``l2_order``, ``l1_parallel``, ``l2_tile_K`` or ``cluster_size``.
        kind: ``order`` (Lehmer rank of a loop order), ``parallel`` (a dimension), ``tile`` or
            ``cluster`` (a size; that of a cluster is a number of units).
        values: what each choice stands for; the rank itself for an order.
    """

    name: str
    kind: str
    values: tuple[int, ...] | tuple[str, ...] | range

    @property
    def choices(self) -> int:
        """Number of choices."""
        return len(self.values)

    @property
    def is_size(self) -> bool:
        """Whether the choices are sizes, in ascending order."""
        return self.kind in ("tile", "cluster")

    @property
    def log(self) -> bool:
        """Whether to search the values on a logarithmic scale: those of sizes."""
        return self.is_size

    @property
    def bounds(self) -> tuple[int, int]:
        """Least and largest value; of a parallel dimension, first and last choice.

        With ``tiles="divisors"`` not every integer between them is a value.
        """
        if self.kind == "parallel":
            return 0, self.choices - 1
        return int(self.values[0]), int(self.values[-1])

    def choice(self, value: object) -> int:
        """Return the choice that stands for a value, or raise a ``MapSpaceError``."""
        try:
            if hasattr(value, "__index__"):
                # Of other integers than its own, Python looks through a whole range.
                value = operator.index(value)
            return self.values.index(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            listed = f"{self.bounds[0]} to {self.bounds[1]}"
            if not isinstance(self.values, range):
                listed = ", ".join(map(str, self.values))
            raise MapSpaceError(
                f"{self.name} = {quoted(value)} is not in this space; allowed: {listed}"
            ) from None


def choices_at(parameter: Parameter, shares: ArrayLike) -> NDArray[np.int64]:
    """Return the choices at these shares of a parameter's range, from 0 to 1; int64 of their shape.

    A size is the largest choice that is at most the real number at this share of the logarithmic
    range from 1 to the largest size + 1. For uniform shares, size v among the integers 1..m has the
    probability log(1 + 1 / v) / log(1 + m).
    """
    shares = np.asarray(shares, dtype=np.float64)
    if not parameter.is_size:
        return (shares * parameter.choices).astype(np.int64).clip(0, parameter.choices - 1)
    reals = np.exp(shares * np.log1p(int(parameter.values[-1])))
    # Rounding in exp may exceed either end.
    return (count_up_to(parameter, reals) - 1).clip(0, parameter.choices - 1)


def share_at(parameter: Parameter, choice: int) -> float:
    """Return the middle of the shares at which ``choices_at`` returns a choice."""
    if not parameter.is_size:
        return (choice + 0.5) / parameter.choices
    last = int(parameter.values[-1])
    following = last + 1 if choice + 1 == parameter.choices else int(parameter.values[choice + 1])
    return (math.log(int(parameter.values[choice])) + math.log(following)) / 2 / math.log1p(last)


def count_up_to(parameter: Parameter, limits: NDArray[np.number]) -> NDArray[np.int64]:
    """Return how many of a parameter's sizes are at most each limit, int64 of the same shape."""
    if isinstance(parameter.values, range):
        return np.minimum(limits.astype(np.int64), parameter.choices)
    return np.searchsorted(np.array(parameter.values), limits, side="right").astype(np.int64)


def nearest_choice(parameter: Parameter, value: int | str) -> int:
    """Return the choice of a value, of a size the largest one that is not above it."""
    if not parameter.is_size:
        return parameter.choice(value)
    return max(int(count_up_to(parameter, np.array(value))) - 1, 0)


@dataclass(frozen=True)
class Space(Recomputed, ABC):
    """What mappers know of a space of mappings: its vectors, of one choice a parameter.

    Every vector in range is one well-formed mapping, which a cost model may still reject. Methods
    refuse what is not a vector or mapping of the space with a ``MapSpaceError``.

    Args:
        layer: to be mapped.
        hardware: to map it to.
    """

    layer: Layer
    hardware: Accelerator

    @property
    @abstractmethod
    def native(self) -> Any:
        """The space as the C++ core decodes it."""

    @cached_property
    def extents(self) -> dict[str, int]:
        """Extent of each dimension that the space orders and tiles."""
        extents = self.layer.loop_extents
        if self.layer.is_convolution and extents.get("N") == 1:
            del extents["N"]
        return extents

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """The entries of a vector, in order."""
        return tuple(self._make_parameters())

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of choices of every parameter, shape [D]."""
        return np.array([parameter.choices for parameter in self.parameters], dtype=np.int64)

    def size(self) -> int:
        """Exact number of vectors."""
        return math.prod(parameter.choices for parameter in self.parameters)

    def sample(self, n: int, rng: np.random.Generator) -> Points:
        """Draw ``n`` vectors uniformly, shape int32[n, D]."""
        n = require_integer("n", n, MapSpaceError, least=0)
        require_type("rng", rng, np.random.Generator, "such as numpy.random.default_rng(0)")
        return rng.integers(0, self.sizes, size=(n, len(self.sizes))).astype(np.int32)

    @abstractmethod
    def json_of(self, mapping: Any) -> str:
        """Return what a file holds of a mapping."""

    @property
    @abstractmethod
    def clipped_columns(self) -> list[tuple[int, int]]:
        """Columns of tiles of one dimension inside and outside: the outer tile is what is cut."""

    @abstractmethod
    def clipped(self, points: Points) -> Points:
        """Return int32[N, D] vectors, the same for the same mappings but for orders."""

    def identities(self, points: Points) -> NDArray[np.uint64]:
        """Return a number for each of int32[N, D] vectors, equal if the mappings are equal.

        Two mappings share a 64-bit number by accident once in 10^19 pairs.
        """
        factors = odd_factors(len(self.parameters))
        identities: NDArray[np.uint64] = self.clipped(points).astype(np.uint64) @ factors
        return identities

    @abstractmethod
    def decode(self, point: ArrayLike) -> Any:
        """Return the mapping of a vector of shape [D]."""

    @abstractmethod
    def encode(self, mapping: Any) -> Points:
        """Return the vector of a mapping: ``decode(encode(m)) == m``."""

    def ordered(self, name: str) -> list[str]:
        """Return the dimensions whose permutation an order, by its name, is the rank of."""
        return list(self.extents)

    @abstractmethod
    def loops(self, mapping: Any) -> dict[str, list[str]]:
        """Return the dimensions of the loops of each level or memory, outermost first."""

    def as_points(self, values: ArrayLike, n: int) -> Points:
        """Return ``n`` vectors as int32[n, D]; their range is left to the core to check."""
        try:
            points: Points = self.native.to_points(values, n)
        except ValueError as error:
            raise MapSpaceError(str(error)) from None
        return points

    def from_values(self, values: Mapping[str, int | str]) -> Points:
        """Return the vector, shape [D], of the value of every parameter by name.

        The value of a tile or cluster is its size, of a parallel loop its dimension, of an order
        its rank.

        Raises:
            ArgumentTypeError: no mapping of names to values.
            MapSpaceError: a parameter without a value, or a value it does not have.
            UnknownNameError: no such parameter.
        """
        require_type("values", values, Mapping, "of every parameter by name")
        for name in values:
            look_up("parameter", name, self.columns)
        if missing := [name for name in self.columns if name not in values]:
            raise MapSpaceError(f"no value of {', '.join(missing)}; give one of every parameter")
        choices = [parameter.choice(values[parameter.name]) for parameter in self.parameters]
        return np.array(choices, dtype=np.int32)

    def parameter(self, name: str) -> Parameter:
        """Return a parameter by name, or raise an ``UnknownNameError``."""
        return self.parameters[look_up("parameter", name, self.columns)]

    @cached_property
    def columns(self) -> dict[str, int]:
        """The parameters' columns by name."""
        return {parameter.name: column for column, parameter in enumerate(self.parameters)}

    @abstractmethod
    def _make_parameters(self) -> Iterator[Parameter]: ...


def adopted(vector: Any, source: Space, target: Space, resize: Resize) -> Points:
    """Return the vector, int32[D], with the values of one of a space of the same dimensions."""
    (point,) = source.clipped(source.as_points([vector], 1))
    pairs = zip(source.parameters, point, strict=True)
    values = {each.name: each.values[at] for each, at in pairs}
    dims = {tile_name("", dim): dim for dim in target.extents}
    for name in (each.name for each in source.parameters if each.kind == "tile"):
        dim = dims[name[name.rindex("_tile_") :]]
        values[name] = resize(int(values[name]), source.extents[dim], target.extents[dim])
    chosen = [nearest_choice(each, values[each.name]) for each in target.parameters]
    return np.array(chosen, dtype=np.int32)


def sizes_up_to(most: int, tiles: str) -> range | tuple[int, ...]:
    """Return the sizes up to a number, or the divisors of it, in ascending order (``TILES``)."""
    if tiles == "integers":
        return range(1, most + 1)
    small = [size for size in range(1, math.isqrt(most) + 1) if most % size == 0]
    return tuple(sorted({*small, *(most // size for size in small)}))


@cache
def odd_factors(n: int) -> NDArray[np.uint64]:
    """Return random odd factors whose weighted sum, modulo 2^64, tells vectors apart."""
    return np.random.default_rng(0).integers(0, 2**63, size=n, dtype=np.uint64) * 2 + 1


def tile_name(level: str, dim: str) -> str:
    """Return the name of the tile of a dimension in ``l2`` or ``l1``."""
    return f"{level}_tile_{dim.rstrip(chr(39))}"


def lehmer_rank(order: list[int]) -> int:
    """Lexicographic rank of a permutation of 0..n-1."""
    rank = 0
    for index, item in enumerate(order):
        rank = rank * (len(order) - index) + sum(later < item for later in order[index:])
    return rank
