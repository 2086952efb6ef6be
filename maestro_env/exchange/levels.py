"""Mappings of levels as loops on memories: what files of other tools say of them.

A level is the temporal loops of a memory, the loop over groups of tiles among them, and
then the spatial loop of the fan-out below it. All that is left is at the memory of a PE.
"""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import TENSORS, Hierarchy, MemoryElement
from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.accelerators.two_buffers import memories_of, units_below
from maestro_env.base.checks import require_type
from maestro_env.base.errors import Refuse
from maestro_env.base.yaml_file import Part
from maestro_env.evaluation.problem import Problem
from maestro_env.exchange.nests import Nest, cutting, names_of
from maestro_env.hierarchy.shape import Shape
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.layer import Layer

_SAYABLE = ("ok", "l1_overflow", "l2_overflow")

_Loops = list[tuple[str, int]]


@dataclass(frozen=True)
class MappedLayer:
    """A mapping, and what it maps to what.

    Args:
        mapping: in the file.
        layer: in the file; None if it names none.
        hardware: in the file; None if it names none.
    """

    mapping: Mapping
    layer: Layer | None = None
    hardware: Hardware | None = None


# --- Out ----------------------------------------------------------------------------------------


def nest_of_levels(mapping: Mapping, problem: Problem, refuse: Refuse) -> tuple[Nest, Hierarchy]:
    """Return the loops of a mapping, those of one step included, and the memories they are on.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: of ``refuse``: an invalid mapping, or one that other tools cannot express.
        LayerError: a layer that they cannot.
    """
    require_type("mapping", mapping, Mapping, "such as MapSpace.decode returns")
    require_type("problem", problem, Problem, "of the layer and the hardware")
    exact = Problem(MapSpace(problem.layer, problem.hardware))
    _, status = exact.evaluate_mapping(mapping)
    if status not in _SAYABLE:
        raise refuse(exact.explain(mapping))
    shape, box = Shape.of(problem.layer), dict(problem.layer.loop_extents)
    number = {dim: DIMS[shape.dim(dim) or 0] for dim in box}
    inner = [level.cluster_size or 1 for level in mapping.levels[1:]]
    units = (problem.hardware.num_pes // mapping.pes, *inner)
    nest: Nest = [{}]
    for level, count in zip(mapping.levels, units, strict=True):
        time, space = {}, {}
        for loop in level.loops:
            _check(loop, box, refuse)
            group = loop.size * count if loop.spatial else loop.size
            time[number[loop.dim]] = min(group, box[loop.dim])
            if loop.spatial:
                space[number[loop.dim]] = loop.size
        nest += [time, space]
        box |= {loop.dim: loop.size for loop in level.loops}
    nest.append(dict.fromkeys(number.values(), 1))
    return nest, memories_of(problem.hardware, units)


def _check(loop: Loop, box: dict[str, int], refuse: Refuse) -> None:
    if loop.dim in ("Y", "X") and f"{loop.dim}'" in box:
        raise refuse(f"the loop '{loop}' counts input rows or columns; write it over {loop.dim}'")
    if loop.dim not in box:
        raise refuse(f"the layer has no dimension {loop.dim}")
    if loop.offset != loop.size:
        raise refuse(f"the tiles of '{loop}' overlap or leave gaps")
    if loop.size > box[loop.dim]:
        raise refuse(
            f"the loop '{loop}' receives {box[loop.dim]} only; make it tiles of {box[loop.dim]}"
        )


# --- In -----------------------------------------------------------------------------------------


def levels_of(
    nest: Nest, hierarchy: Hierarchy, layer: Layer, hardware: Hardware, part: Part
) -> MappedLayer:
    """Return the mapping of levels that has the loops of a file.

    Args:
        nest: those loops, those of one step included.
        hierarchy: the memories of the file.
        layer: that is mapped.
        hardware: what ``two_buffers`` makes of the memories.
        part: what errors name.

    Raises:
        MappingError: no mapping of two levels has these loops.
    """
    memories = [each for each in hierarchy.elements if isinstance(each, MemoryElement)]
    for memory in memories:
        if {*memory.keeps} < {*TENSORS}:
            part.fail(f"a tensor bypasses {memory.name}; with two buffers none does")
    shape, units = Shape.of(layer), units_below(hierarchy)
    box, levels = shape.sizes, []
    for group, count in [*zip(_groups(nest, hierarchy), units, strict=True)][1:-1]:
        dims, parallel = _order(group, count, box, part)
        levels.append(
            tuple(
                Loop(shape.name(DIMS.index(dim)), box[dim], box[dim], dim == parallel)
                for dim in dims
            )
        )
    sizes = (None, *units[2:-1])
    mapping = Mapping(tuple(Level(*each) for each in zip(levels, sizes, strict=True)))
    ours, own = nest_of_levels(mapping, Problem(MapSpace(layer, hardware)), part.error)
    there = _groups(cutting(nest, shape), hierarchy)
    here = _groups(cutting(ours, shape), own)
    # A mapping of two levels says nothing of the order within a PE.
    there[-1][0].sort()
    here[-1][0].sort()
    for memory, *pair in zip(memories, there, here, strict=True):
        for place, found, expected in zip(("at", "below"), *pair, strict=True):
            if found != expected:
                part.fail(
                    f"the loops {place} {memory.name} are {_shown(found, shape)}; in the mapping "
                    f"of two levels that comes nearest: {_shown(expected, shape)}"
                )
    return MappedLayer(mapping, layer, hardware)


def _groups(nest: Nest, hierarchy: Hierarchy) -> list[tuple[_Loops, _Loops]]:
    """Return the loops of each memory, and those of all fan-outs below it."""
    groups: list[tuple[_Loops, _Loops]] = []
    for element, loops in zip(hierarchy.elements, nest, strict=True):
        if isinstance(element, MemoryElement):
            groups.append(([*loops.items()], []))
        else:
            groups[-1][1].extend(loops.items())
    return groups


def _order(
    group: tuple[_Loops, _Loops], units: int, box: dict[str, int], part: Part
) -> tuple[list[str], str]:
    """Return the dimensions of a level in order, and the parallel one; shrink the box to a unit's.

    Any loop of one step may be the parallel one, and any at all where there is one unit.
    """
    time, space = group
    still = [dim for dim, tile in time if tile >= box[dim] or units == 1]
    box |= {dim: min(tile, box[dim]) for dim, tile in time}
    running = [(dim, tile) for dim, tile in space if tile < box[dim]]
    if len(running) > 1:
        part.fail(f"{len(running)} spatial loops in one level; a level of two buffers has one")
    box |= dict(running)
    candidates = [dim for dim, _ in (*running, *space)] + still
    if not candidates:
        part.fail(f"{units} units, and no spatial loop; a level of two buffers has one")
    dims, parallel = [dim for dim, _ in time], candidates[0]
    return dims if parallel in dims else [parallel, *dims], parallel


def _shown(loops: _Loops, shape: Shape) -> str:
    names = names_of(shape)
    return ", ".join(f"{names[dim]} in tiles of {tile}" for dim, tile in loops) or "none"
