"""The space of mappings of two levels, the schemas of its parameters, and what it adopts of others.

Parameters have names and ranges here; the C++ core decodes batches of vectors by these tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maestro_env import _native
from maestro_env.accelerators.constraints import TWO_LOOPS, read_constraints
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.loop_rules import ANY_LOOPS, LoopRules
from maestro_env.base.checks import by_name, look_up, require_type
from maestro_env.base.errors import MapSpaceError, UnknownNameError, quoted
from maestro_env.mapspace import mapping as nouns
from maestro_env.mapspace.space import (
    TILES,
    Parameter,
    Points,
    Resize,
    Space,
    lehmer_rank,
    nearest_choice,
    odd_factors,
    sizes_up_to,
    tile_name,
)
from maestro_env.workloads.layer import Layer, loop_of

LEVELS = ("l2", "l1")
"""Levels of a mapping, the outer one first."""

# The fan-outs below them.
_FANOUTS = ("clusters", "PEs")

_WINDOWS = ("R", "S")
# Dimensions a level may be parallel over, in the paper's order (Fig. 2): never a window.
_PARALLEL_FIRST = ("C", "K", "X'", "Y'")


@dataclass(frozen=True)
class Schema:
    """Which of the 17 parameters of Fig. 2 of Krishnan et al. (arXiv:2507.16249) vary.

    Args:
        name: what flags and tables call it.
        tile: (level, dimension, extent) to a fixed tile size, or None if it is a parameter.
        cluster: PEs to a fixed cluster size, or None if it is a parameter.
    """

    name: str
    tile: Callable[[str, str, int], int | None]
    cluster: Callable[[int], int | None]


SCHEMAS: Mapping[str, Schema] = by_name(
    Schema(
        "legal13",
        lambda level, dim, extent: extent if dim in _WINDOWS else None,
        lambda num_pes: None,
    ),
    Schema("full17", lambda level, dim, extent: None, lambda num_pes: None),
    Schema(
        "paper10",
        lambda level, dim, extent: 1 if level == "l1" else None,
        lambda num_pes: 1 << (int(math.log2(num_pes)) // 2),
    ),
)
"""The schemas by name.

``full17`` has all parameters of Fig. 2, ``legal13`` all but the tiles of R and S.
``paper10`` is our reading of the ten parameters of that paper's Figs. 4 and 6, which it does not
list: the six tile sizes of L2, the two orders and the two parallel dimensions. The other parameters
of Fig. 2 are fixed so that these ten all matter: L1 tiles are single elements, and the cluster size
is the largest power of two up to the square root of the number of PEs. The counts (10, 13, 17) are
those of a ``CONV``; operators with other dimensions have others.
"""


@dataclass(frozen=True)
class MapSpace(Space):
    """All two-level mappings of a layer on an accelerator under a schema.

    A vector decodes to: the loops of L2 in one order, one of them parallel over clusters; the loops
    of L1 in another order, one of them parallel over the PEs of a cluster. Every vector in range is
    one well-formed mapping: an L1 tile is clipped to the L2 tile. Tiles of Y' and X' count outputs.
    A batch dimension of 1 is left out. A cost model may still reject the mapping.

    Methods refuse what is not a vector or mapping of the space with a ``MapSpaceError``.

    Args:
        layer: to be mapped.
        hardware: to map it to.
        schema: a name of ``SCHEMAS``; behind a colon what leaves fewer mappings: rules of
            ``clusters`` and ``PEs``, as in ``clusters: {dims: [K]}``, and of ``L1``, as in
            ``L1: {whole: [C]}`` (docs/spec/hierarchy.md, H2.1), or ``parallel=K,C``, which deals
            K to clusters and C to the PEs of a cluster (Y and X are outputs).
        tiles: a name of ``TILES``.

    Raises:
        ArgumentTypeError: an argument of a wrong type; the methods raise it too.
        UnknownNameError: no such schema or kind of tiles.
        MapSpaceError: parallel loops that the layer does not have.
    """

    hardware: Hardware
    schema: str = "legal13"
    tiles: str = "integers"

    def __post_init__(self) -> None:
        require_type("layer", self.layer, Layer, "see find_layer")
        require_type("hardware", self.hardware, Hardware, "see find_hardware")
        require_type("schema", self.schema, str, f"one of {', '.join(SCHEMAS)}")
        look_up("schema", self.schema.partition(":")[0], SCHEMAS)
        if ":" in self.schema:
            self._check_rules()
        require_type("tiles", self.tiles, str, f"one of {', '.join(TILES)}")
        if self.tiles not in TILES:
            raise UnknownNameError("tiles", self.tiles, TILES)

    @cached_property
    def parallel_dims(self) -> tuple[str, ...]:
        """Dimensions that a level may compute in parallel."""
        windows = _WINDOWS if self.layer.is_convolution else ()
        candidates = [name for name in self.extents if name not in windows]
        first = [name for name in _PARALLEL_FIRST if name in candidates]
        return (*first, *(name for name in candidates if name not in first))

    def parallel_dims_of(self, level: str) -> tuple[str, ...]:
        """Return the dimensions that ``l2`` or ``l1`` may compute in parallel."""
        if not self._rules:
            return self.parallel_dims
        rules = self._rules.get(_FANOUTS[LEVELS.index(level)], ANY_LOOPS)
        return tuple(dim for dim in self.parallel_dims if rules.allows(self._letter(dim)))

    def json_of(self, mapping: nouns.Mapping) -> str:
        return mapping.to_json()

    def clipped(self, points: Points) -> Points:
        """Return int32[N, D] vectors of the same mappings whose L1 tiles fit their L2 tiles."""
        clipped = points.copy()
        for inner, outer in self.clipped_columns:
            np.minimum(clipped[:, inner], clipped[:, outer], out=clipped[:, inner])
        return clipped

    def identities(self, points: Points) -> NDArray[np.uint64]:
        # As of any space, without arrays of clipped points.
        return self.native.identities(points, odd_factors(len(self.parameters)))

    def decode(self, point: ArrayLike) -> nouns.Mapping:
        try:
            directives = self.native.decode(point)
        except ValueError as error:
            raise MapSpaceError(str(error)) from None
        return nouns.Mapping.from_directives(directives)

    def encode(self, mapping: nouns.Mapping) -> Points:
        require_type("mapping", mapping, nouns.Mapping, "such as decode returns")
        if len(mapping.levels) != len(LEVELS):
            raise MapSpaceError(f"this space has 2 levels, the mapping {len(mapping.levels)}")
        values: dict[str, int | str] = {"cluster_size": mapping.levels[1].cluster_size or 0}
        for name, level in zip(LEVELS, mapping.levels, strict=True):
            values |= self._level_values(name, level)
        point = self.from_values({name: values[name] for name in self.columns})
        if self.decode(point) != mapping:
            raise MapSpaceError(f"the {self.schema} space of {self.layer} has no such mapping")
        return point

    def loops(self, mapping: nouns.Mapping) -> dict[str, list[str]]:
        levels = zip(LEVELS, mapping.levels, strict=True)
        return {name: [loop.dim for loop in level.loops] for name, level in levels}

    def holding(self, mapping: nouns.Mapping) -> MapSpace:
        """Return the space, or that of another schema, that has a mapping.

        Raises:
            MapSpaceError: none has it.
        """
        first: MapSpaceError | None = None
        for schema in dict.fromkeys([self.schema, *SCHEMAS]):
            found = replace(self, schema=schema)
            try:
                found.encode(mapping)
            except MapSpaceError as error:
                first = first or error
            else:
                return found
        assert first is not None
        raise first

    @cached_property
    def clipped_columns(self) -> list[tuple[int, int]]:
        """Columns of L1 and L2 tiles of one dimension, whose choices are the same.

        An inner tile is clipped to the outer one: a larger choice means the outer one's.
        """
        pairs = ((tile_name("l1", dim), tile_name("l2", dim)) for dim in self.extents)
        return [
            (self.columns[inner], self.columns[outer])
            for inner, outer in pairs
            if inner in self.columns
        ]

    def tile(self, level: str, dim: str) -> Parameter | int:
        """Return the parameter of a tile of ``l2`` or ``l1``, or its size if that is fixed."""
        fixed = self._fixed_tile(level, dim)
        return self.parameter(tile_name(level, dim)) if fixed is None else fixed

    @property
    def cluster(self) -> Parameter | int:
        """The parameter of the cluster size, or the size if that is fixed."""
        fixed = self._schema.cluster(self.hardware.num_pes)
        return self.parameter("cluster_size") if fixed is None else fixed

    @property
    def cuts_windows(self) -> bool:
        """Whether the schema tiles R or S of a convolution, which MAESTRO refuses."""
        return self.layer.is_convolution and any(
            self._schema.tile(level, window, 2) != 2 for level in LEVELS for window in _WINDOWS
        )

    @cached_property
    def native(self) -> _native.MapSpace:
        names = list(self.extents)

        def parallel(level: str) -> list[int]:
            return [names.index(dim) for dim in self.parallel_dims_of(level)]

        def choice(size: Parameter | int) -> tuple[int, list[int]]:
            if isinstance(size, int):
                return -1, [size]
            # The core takes no values for index + 1: extents may be too large to list.
            listed = [] if isinstance(size.values, range) else [int(v) for v in size.values]
            return self.columns[size.name], listed

        levels = [
            (
                self.columns[f"{level}_order"],
                (self.columns[f"{level}_parallel"], parallel(level)),
                [choice(self.tile(level, dim)) for dim in names],
            )
            for level in LEVELS
        ]
        parameters = [(parameter.name, parameter.choices) for parameter in self.parameters]
        return _native.MapSpace(self.layer.native, parameters, names, levels, choice(self.cluster))

    @property
    def _schema(self) -> Schema:
        return SCHEMAS[self.schema.partition(":")[0]]

    def _fixed_tile(self, level: str, dim: str) -> int | None:
        """Return the size of a tile that is not a parameter."""
        whole = bool(self._rules) and self._letter(dim) in self._rules.get("L1", ANY_LOOPS).whole
        extent = self.extents[dim]
        return extent if whole else self._schema.tile(level, dim, extent)

    def _letter(self, dim: str) -> str:
        """Return the dimension of the nest that one of the layer is."""
        loop = loop_of(self.layer, dim)
        return {"Y'": "P", "X'": "Q"}.get(loop, loop)

    @cached_property
    def _rules(self) -> dict[str, LoopRules]:
        """What leaves fewer mappings, by ``clusters``, ``PEs`` and ``L1``."""
        text = self.schema.partition(":")[2]
        if not text.startswith(TWO_LOOPS):
            return read_constraints(text) if text else {}
        names = {dim.rstrip("'"): self._letter(dim) for dim in self.parallel_dims}
        kept = [names.get(name, "") for name in text.removeprefix(TWO_LOOPS).split(",")]
        if len(kept) != len(_FANOUTS) or not all(kept):
            raise MapSpaceError(
                f"schema {quoted(self.schema)} of {self.layer}: allowed behind a colon: "
                f"parallel=OUTER,INNER, two of {', '.join(names)}"
            )
        return {name: LoopRules(dims=[dim]) for name, dim in zip(_FANOUTS, kept, strict=True)}

    def _check_rules(self) -> None:
        allowed = {**dict.fromkeys(_FANOUTS, "dims"), "L1": "whole"}
        for name, rules in self._rules.items():
            rules.check(name, memory=name == "L1")
            for rule in rules.record():
                if rule != allowed.get(name):
                    raise MapSpaceError(
                        f"{name} has the rule {rule}; allowed with two buffers: dims of clusters "
                        "and of PEs, whole of L1; others by model hierarchy"
                    )
        for level, name in zip(LEVELS, _FANOUTS, strict=True):
            if not self.parallel_dims_of(level):
                letters = ", ".join(map(self._letter, self.parallel_dims))
                raise MapSpaceError(
                    f"{name} may have no loop of {self.layer}; allowed: one or more of {letters}"
                )

    def _make_parameters(self) -> Iterator[Parameter]:
        orders = range(math.factorial(len(self.extents)))
        for level in LEVELS:
            yield Parameter(f"{level}_order", "order", orders)
            yield Parameter(f"{level}_parallel", "parallel", self.parallel_dims_of(level))
            for dim, extent in self.extents.items():
                if self._fixed_tile(level, dim) is None:
                    yield Parameter(tile_name(level, dim), "tile", sizes_up_to(extent, self.tiles))
        if self._schema.cluster(self.hardware.num_pes) is None:
            sizes = sizes_up_to(self.hardware.num_pes, self.tiles)
            yield Parameter("cluster_size", "cluster", sizes)

    def _level_values(self, name: str, level: nouns.Level) -> dict[str, int | str]:
        dims = [loop.dim for loop in level.loops]
        parallel = [loop.dim for loop in level.loops if loop.spatial]
        if sorted(dims) != sorted(self.extents) or len(parallel) != 1:
            raise MapSpaceError(
                f"{name}: a level of this space has one loop each over {', '.join(self.extents)}, "
                "one of them parallel"
            )
        names = list(self.extents)
        return {
            f"{name}_order": lehmer_rank([names.index(dim) for dim in dims]),
            f"{name}_parallel": parallel[0],
            **{tile_name(name, loop.dim): loop.size for loop in level.loops},
        }


def adopted_levels(vector: Any, source: MapSpace, target: MapSpace, resize: Resize) -> Points:
    """Return the vector, int32[D], of two levels that is most like one of another layer.

    Orders and parallel loops are kept where the target has the dimension, and the cluster size is
    scaled with the number of PEs. A dimension that the source lacks is outermost and in tiles of
    one element, a window whole.
    """
    levels = source.decode(source.as_points([vector], 1)[0]).levels
    values: dict[str, int | str] = {}
    # What a level cuts: the extents, then the tiles of the level around it.
    whole = {loop_of(source.layer, dim): size for dim, size in source.extents.items()}
    parts = {loop_of(target.layer, dim): size for dim, size in target.extents.items()}
    for name, level in zip(LEVELS, levels, strict=True):
        loops = {loop_of(source.layer, loop.dim): loop for loop in level.loops}
        tiles = {role: loop.size for role, loop in loops.items()}
        parts = {
            role: resize(tiles[role], whole[role], extent)
            if role in tiles
            else (extent if role in _WINDOWS else 1)
            for role, extent in parts.items()
        }
        whole = tiles
        values |= _tile_values(name, target, parts)
        values[f"{name}_order"] = _order(loops, list(parts))
        values[f"{name}_parallel"] = _parallel(loops, target, name)
    pes, others = target.hardware.num_pes, source.hardware.num_pes
    values["cluster_size"] = round((levels[1].cluster_size or 1) * pes / others)
    chosen = [nearest_choice(each, values[each.name]) for each in target.parameters]
    return np.array(chosen, dtype=np.int32)


def _tile_values(level: str, space: MapSpace, parts: Mapping[str, int]) -> dict[str, int | str]:
    sizes = zip(space.extents, parts.values(), strict=True)
    return {tile_name(level, dim): size for dim, size in sizes}


def _order(loops: Iterable[str], roles: Sequence[str]) -> int:
    """Return the rank of the order of roles that is the loops' own; what they lack is outermost."""
    own = [role for role in loops if role in roles]
    order = [*(role for role in roles if role not in own), *own]
    return lehmer_rank([roles.index(role) for role in order])


def _parallel(loops: Mapping[str, nouns.Loop], space: MapSpace, level: str) -> str:
    """Return the dimension that is parallel, or the longest that may be where it is missing."""
    (wanted,) = (role for role, loop in loops.items() if loop.spatial)
    dims = space.parallel_dims_of(level)
    same = [dim for dim in dims if loop_of(space.layer, dim) == wanted]
    return same[0] if same else max(dims, key=lambda dim: space.extents[dim])
