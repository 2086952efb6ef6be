"""A mapping: a tiled, ordered, parallelised loop nest over clusters of PEs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from maestro_env.base.checks import require_integer, require_type, tuple_of
from maestro_env.base.errors import MappingError, quoted
from maestro_env.base.m_file import Directive, LayerText, ReferenceDeath, parse
from maestro_env.workloads.layer import Layer

_SCHEMA = "maestro-env/mapping/1"
# What would end or split a name in a MAESTRO file.
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.+=']+")


@dataclass(frozen=True)
class Loop:
    """One loop of a level.

    Args:
        dim: a dimension of the layer. Y' and X' count outputs, Y and X input rows and columns.
        size: of a tile.
        offset: from one tile to the next; ``size`` unless tiles overlap or leave gaps.
        spatial: whether the tiles go to the level's units in parallel.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: a dimension without a name, or a size or offset below 1.
    """

    dim: str
    size: int
    offset: int
    spatial: bool = False

    def __post_init__(self) -> None:
        require_type("a loop's dimension", self.dim, str, "such as K")
        if not self.dim or not self.dim.isprintable():
            raise MappingError(f"a loop's dimension is {quoted(self.dim)}; give a name such as K")
        for name in ("size", "offset"):
            what = f"{name} of loop {self.dim}"
            number = require_integer(what, getattr(self, name), MappingError)
            object.__setattr__(self, name, number)
        require_type(f"spatial of loop {self.dim}", self.spatial, bool, "True or False")

    def __str__(self) -> str:
        kind = "parallel-for" if self.spatial else "for"
        step = "" if self.offset == self.size else f" every {self.offset}"
        return f"{kind} {self.dim} in tiles of {self.size}{step}"


@dataclass(frozen=True)
class Level:
    """The loops that distribute work to one kind of unit, outermost first.

    Args:
        loops: of the level.
        cluster_size: units (PEs or clusters) in a cluster of this level; None for the outermost
            level, which has as many units as the PEs allow.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: a cluster size below 1.
    """

    loops: tuple[Loop, ...]
    cluster_size: int | None = None

    def __post_init__(self) -> None:
        loops = tuple_of("a level's loops", self.loops, Loop, "outermost first")
        object.__setattr__(self, "loops", loops)
        if self.cluster_size is not None:
            number = require_integer("cluster size", self.cluster_size, MappingError)
            object.__setattr__(self, "cluster_size", number)


@dataclass(frozen=True)
class Mapping:
    """A loop nest, cut into levels: ``print(mapping)`` shows it.

    Args:
        levels: from the outermost (L2 to clusters) to the innermost (cluster to PEs).

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: an impossible mapping; by the readers, a text that is no mapping.
    """

    levels: tuple[Level, ...]

    def __post_init__(self) -> None:
        levels = tuple_of("a mapping's levels", self.levels, Level, "outermost first")
        object.__setattr__(self, "levels", levels)
        for index, size in enumerate(level.cluster_size for level in self.levels):
            if (size is None) != (index == 0):
                raise MappingError(
                    f"level {index} has cluster size {size}; the outermost level has none, every "
                    "other level needs one"
                )
        if not self.levels:
            raise MappingError("a mapping needs at least one level")

    def __str__(self) -> str:
        lines: list[str] = []
        for level in self.levels:
            if level.cluster_size is not None:
                lines.append(f"cluster of {level.cluster_size}:")
            lines += [f"{loop}:" for loop in level.loops]
        lines.append("multiply-accumulate")
        return "\n".join(f"{'  ' * depth}{line}" for depth, line in enumerate(lines))

    @property
    def pes(self) -> int:
        """PEs that one cluster of the outermost level needs."""
        return math.prod(level.cluster_size or 1 for level in self.levels)

    @property
    def directives(self) -> list[Directive]:
        """The mapping as MAESTRO directives: kind, dimension, size, offset."""
        directives: list[Directive] = []
        for level in self.levels:
            if level.cluster_size is not None:
                directives.append(("Cluster", "", level.cluster_size, level.cluster_size))
            for loop in level.loops:
                kind = "SpatialMap" if loop.spatial else "TemporalMap"
                directives.append((kind, loop.dim, loop.size, loop.offset))
        return directives

    @classmethod
    def from_directives(cls, directives: Iterable[Directive]) -> Mapping:
        """Make a mapping of what ``directives`` returns."""
        cluster: int | None = None
        loops: list[Loop] = []
        levels: list[Level] = []
        for kind, dim, size, offset in directives:
            if kind == "Cluster":
                levels.append(Level(tuple(loops), cluster))
                cluster, loops = size, []
            else:
                loops.append(Loop(dim, size, offset, kind == "SpatialMap"))
        return cls((*levels, Level(tuple(loops), cluster)))

    def to_m(self, layer: Layer) -> str:
        """Write a MAESTRO mapping file of this one layer."""
        return to_m(layer, [self])

    @classmethod
    def from_m(cls, text: str, source: str = "mapping") -> Mapping:
        """Read a MAESTRO mapping file with one layer; errors begin with ``source``."""
        found = mapped_in_m(text, source)
        if len(found) != 1:
            raise MappingError(f"{source}: has {len(found)} layers; give a file with one")
        return found[0][1]

    def to_json(self) -> str:
        """Write JSON, which ``from_json`` reads: the form of ``best_mapping.json`` of a run."""
        levels = [
            {"cluster_size": level.cluster_size, "loops": [vars(loop) for loop in level.loops]}
            for level in self.levels
        ]
        return json.dumps({"schema": _SCHEMA, "levels": levels}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str, source: str = "mapping") -> Mapping:
        """Read what ``to_json`` wrote; errors begin with ``source``."""
        require_type("text", text, str, "as to_json writes it")
        try:
            value: Any = json.loads(text)
            if value["schema"] != _SCHEMA:
                raise MappingError(f"schema '{value['schema']}'; allowed: {_SCHEMA}")
            return cls(
                tuple(
                    Level(tuple(Loop(**loop) for loop in level["loops"]), level["cluster_size"])
                    for level in value["levels"]
                )
            )
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            problem = str(error)
            if isinstance(error, KeyError):
                problem = f"key {error} is missing"
            elif isinstance(error, json.JSONDecodeError):
                problem = f"no JSON: {error}"
            elif isinstance(error, TypeError | RecursionError):
                # Python's own words would say nothing of the file.
                problem = "its form is not that of a run's best_mapping.json"
            raise MappingError(f"{source}: not a mapping: {problem}") from None


def mapped_in_m(text: str, source: str) -> list[tuple[LayerText, Mapping]]:
    """Return the layers of a MAESTRO mapping file, and the mapping of each.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no such file; errors begin with ``source``.
    """
    require_type("text", text, str, "of a MAESTRO mapping file")
    try:
        layers = parse(text).layers
    except ReferenceDeath as death:
        raise MappingError(f"{source}: {death}") from None
    if any(kind == "malformed" for layer in layers for kind, *_ in layer.directives):
        raise MappingError(f"{source}: a Cluster is neither P nor L")
    return [(layer, Mapping.from_directives(layer.directives)) for layer in layers]


def to_m(layer: Layer, mappings: Iterable[Mapping]) -> str:
    """Write a MAESTRO mapping file that repeats a layer for each mapping."""
    require_type("layer", layer, Layer, "see find_layer")
    return f"Network maestro_env {{\n{''.join(_layer_text(layer, each) for each in mappings)}}}\n"


def _layer_text(layer: Layer, mapping: Mapping) -> str:
    stride = ""
    if layer.is_convolution:
        stride = "    Stride {{ Y: {}, X: {} }}\n".format(*layer.stride)
    dims = ", ".join(f"{name}: {extent}" for name, extent in layer.extents.items())
    flow = "".join(
        f"      Cluster({size}, P);\n"
        if kind == "Cluster"
        else f"      {kind}({size},{offset}) {dim};\n"
        for kind, dim, size, offset in mapping.directives
    )
    return (
        f"  Layer {_NOT_IN_NAMES.sub('_', layer.name) or 'layer'} {{\n"
        f"    Type: {layer.operator}\n{stride}"
        f"    Dimensions {{ {dims} }}\n"
        f"    Dataflow {{\n{flow}    }}\n  }}\n"
    )
