"""What formats say: a mapping of a layer, and what each of its loops cuts, in factors or tiles."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from maestro_env.accelerators.hierarchy import FanoutElement, Hierarchy
from maestro_env.accelerators.two_buffers import units_below
from maestro_env.base.checks import require_type
from maestro_env.base.errors import Refuse
from maestro_env.base.yaml_file import Part
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.space import MapSpace

_SAYABLE = ("ok", "l1_overflow", "l2_overflow")


@dataclass(frozen=True)
class Cut:
    """A loop, and what it cuts.

    Args:
        loop: of a level.
        extent: of its dimension, the largest that the level receives.
        units: that share the tiles of the loop, 1 if it is temporal.
        whole: whether the level always receives this extent, never a shorter rest.
    """

    loop: Loop
    extent: int
    units: int
    whole: bool

    @property
    def dim(self) -> str:
        """The dimension."""
        return self.loop.dim

    @property
    def size(self) -> int:
        """Size of a tile."""
        return self.loop.size

    @property
    def tiles(self) -> int:
        """Tiles that the extent is cut into."""
        return -(-self.extent // self.size)

    @property
    def used(self) -> int:
        """Units that have a tile in the first step."""
        return min(self.units, self.tiles)

    @property
    def steps(self) -> int:
        """Steps of the loop: the units take a group of tiles in each."""
        return -(-self.tiles // self.units)


@dataclass(frozen=True)
class Memory:
    """A memory, and the units of the next below one of it."""

    name: str
    fanout: int


class Chain:
    """Memories of an accelerator, and what files call the fan-outs below each."""

    def __init__(self, hierarchy: Hierarchy, place: Callable[[FanoutElement], Any]) -> None:
        self.places: list[list[Any]] = []
        self.names: list[str] = []
        for each in hierarchy.elements:
            if isinstance(each, FanoutElement):
                # Two axes of an array may have one name.
                self.places[-1] = [*dict.fromkeys([*self.places[-1], place(each)])]
            else:
                self.names.append(each.name)
                self.places.append([])
        units = units_below(hierarchy)
        self.memories = [Memory(*each) for each in zip(self.names, units, strict=True)]


Nest = tuple[tuple[Cut, ...], ...]
"""The loops of each level, outermost first."""


def units_of(mapping: Mapping, num_pes: int) -> tuple[int, ...]:
    """Return the units of each level of a mapping that fits the PEs."""
    return (num_pes // mapping.pes, *(level.cluster_size or 1 for level in mapping.levels[1:]))


def nest_of(mapping: Mapping, problem: Problem, refuse: Refuse) -> Nest:
    """Return the loops of a mapping and what they cut.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: of ``refuse``: an invalid mapping, or one that other tools cannot express.
    """
    require_type("mapping", mapping, Mapping, "such as MapSpace.decode returns")
    require_type("problem", problem, Problem, "of the layer and the hardware")
    exact = Problem(MapSpace(problem.layer, problem.hardware))
    _, status = exact.evaluate_mapping(mapping)
    if status not in _SAYABLE:
        raise refuse(exact.explain(mapping))
    extents, ragged = dict(problem.layer.loop_extents), set[str]()
    nest = []
    units = units_of(mapping, problem.hardware.num_pes)
    for level, count in zip(mapping.levels, units, strict=True):
        cuts = tuple(_cut(loop, extents, ragged, count, refuse) for loop in level.loops)
        nest.append(cuts)
        extents |= {cut.dim: cut.size for cut in cuts}
        ragged |= {cut.dim for cut in cuts if cut.extent % cut.size}
    return tuple(nest)


def _cut(loop: Loop, extents: dict[str, int], ragged: set[str], units: int, refuse: Refuse) -> Cut:
    if loop.dim in ("Y", "X") and f"{loop.dim}'" in extents:
        raise refuse(f"the loop '{loop}' counts input rows or columns; write it over {loop.dim}'")
    if loop.dim not in extents:
        raise refuse(f"the layer has no dimension {loop.dim}")
    if loop.offset != loop.size:
        raise refuse(f"the tiles of '{loop}' overlap or leave gaps")
    extent = extents[loop.dim]
    if loop.size > extent:
        raise refuse(f"the loop '{loop}' receives {extent} only; make it tiles of {extent}")
    return Cut(loop, extent, units if loop.spatial else 1, loop.dim not in ragged)


def innermost(nest: Nest, extents: dict[str, int]) -> dict[str, int]:
    """Return the tile of a PE by dimension."""
    return extents | {cut.dim: cut.size for level in nest for cut in level}


def parallel_of(spatial: Collection[str], still: Iterable[str], fanout: int, part: Part) -> str:
    """Return the dimension of the spatial loop of a level, or one that stands still and may be."""
    if len(spatial) > 1:
        part.fail(f"{len(spatial)} spatial loops in one level; a level of ours has one")
    candidates = [*spatial, *still]
    if not candidates:
        part.fail(f"{fanout} units, and no spatial loop; a level of ours has one")
    return candidates[0]


def mapping_of(levels: list[list[Loop]], clusters: list[int]) -> Mapping:
    """Make a mapping of the loops of each level and the units of each but the outermost."""
    sizes = (None, *clusters)
    return Mapping(
        tuple(Level(tuple(loops), size) for loops, size in zip(levels, sizes, strict=True))
    )
