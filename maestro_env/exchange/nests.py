"""Mappings as loops on memories, also those of two levels: what files of other tools say of them.

Files have the loops that cut, down to single MACs. What is left for the MACs is written at the last
memory, which changes no cost but with a latch.

A level of two is the temporal loops of a memory, the loop over groups of tiles among them, and then
the spatial loop of the fan-out below it. All that is left is at the memory of a PE.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from maestro_env.accelerators.elements import TENSORS, Element, MemoryElement
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.accelerators.two_buffers import memories_of, units_below
from maestro_env.base.checks import require_type
from maestro_env.base.errors import MappingError, Refuse
from maestro_env.base.yaml_file import Part
from maestro_env.evaluation.problem import Problem
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape, cuts_of
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.affine import Workload, rank_of
from maestro_env.workloads.layer import Layer

Nest = list[dict[str, int]]
"""Tiles of the loops of each element by dimension of ``DIMS``, outermost first."""

_Loops = list[tuple[str, int]]
_SAYABLE = ("ok", "l1_overflow", "l2_overflow")


@dataclass(frozen=True)
class MappedNest:
    """A mapping that is read.

    Args:
        mapping: loops of each element.
        hierarchy: the accelerator, whose memories keep what they do in the file.
    """

    mapping: NestMapping
    hierarchy: Hierarchy


def unsayable(tool: str) -> Refuse:
    """Return what makes the error that a format cannot express a mapping."""
    return lambda reason: MappingError(f"{tool} cannot express this mapping: {reason}")


def cutting(nest: Nest, shape: Shape) -> Nest:
    """Return the loops of several steps."""
    box, found = shape.sizes, []
    for loops in nest:
        found.append({dim: tile for dim, tile in loops.items() if tile < box[dim]})
        box |= found[-1]
    return found


def names_of(shape: Shape) -> dict[str, str]:
    """Return what files call each of ``DIMS``: as the layer does, without primes."""
    names = {dim: rank_of(shape.name(number)) for number, dim in enumerate(DIMS)}
    used = [names[dim] for dim, extent in shape.sizes.items() if extent > 1]
    if len({*used}) < len(used):
        raise MappingError(f"dimensions are called {', '.join(used)}; allowed: a name for each")
    return names


def looping(shape: Shape) -> list[str]:
    """Return the dimensions that loops can cut, whose rules files can say."""
    return [dim for dim, extent in shape.sizes.items() if extent > 1]


def words_of(
    shape: Shape, workload: Workload | None, tensors: Iterable[str], part: Part
) -> tuple[dict[str, str], dict[str, str]]:
    """Return the dimension, and the tensor, of each name in a file.

    Args:
        shape: of the layer.
        workload: in the file, which has to be the layer; None if the names are those written here.
        tensors: how input, filter and output are written here.
        part: what errors name.
    """
    if workload is None:
        names = {name: dim for dim, name in names_of(shape).items()}
        # The N of a product is no batch.
        names |= {rank_of(name): DIMS[shape.dim(name) or 0] for name in shape.names}
        return names, dict(zip(tensors, TENSORS, strict=True))
    there = Shape.of(workload.layer)
    if (there.sizes, there.stride) != (shape.sizes, shape.stride):
        part.fail(f"maps the layer {workload.layer.shape}; give that layer")
    dims = {name: DIMS[there.dim(dim) or 0] for name, dim in workload.dims.items()}
    return dims, dict(zip((each.name for each in workload.tensors), TENSORS, strict=True))


def last_memory(hierarchy: Hierarchy) -> int:
    """Return the number of the innermost memory."""
    memories = [isinstance(element, MemoryElement) for element in hierarchy.elements]
    return len(memories) - 1 - memories[::-1].index(True)


def nest_of(evaluator: HierarchyEvaluator, mapping: NestMapping, refuse: Refuse) -> Nest:
    """Return the loops of a mapping that cut, as files have them.

    Raises:
        MappingError: of ``refuse``: a mapping without cost, or one that costs otherwise as read.
    """
    cost, status = evaluator.evaluate(mapping)
    if cost is None:
        raise refuse(f"it has the status {status}")
    cuts, hierarchy = cuts_of(evaluator.shape, mapping), evaluator.hierarchy
    nest = [{cut.dim: cut.tile for cut in each if cut.chunks > 1} for each in cuts]
    left = evaluator.shape.sizes | {dim: tile for loops in nest for dim, tile in loops.items()}
    last, names = last_memory(hierarchy), names_of(evaluator.shape)
    below = {dim for loops in nest[last + 1 :] for dim in loops}
    for dim in DIMS:
        if left[dim] > 1 and dim in below:
            raise refuse(
                f"{left[dim]} of {names[dim]} are left to a MAC unit below the last memory; "
                "cut them to 1"
            )
        if left[dim] > 1:
            nest[last][dim] = 1
    again, _ = evaluator.evaluate(mapping_of(nest, evaluator))
    if again != cost:
        raise refuse(
            "without loops that cut nothing, and with loops down to 1 at the last memory, it "
            "costs otherwise; take the former out, and write the latter"
        )
    return nest


def mapping_of(nest: Nest, evaluator: HierarchyEvaluator) -> NestMapping:
    """Return a mapping with the loops of a file.

    A unit of several MACs a cycle gets those at the last memory at once, as far as it can.
    """
    names, last = names_of(evaluator.shape), last_memory(evaluator.hierarchy)
    below = {dim for loops in nest[last + 1 :] for dim in loops}
    left = evaluator.hierarchy.mac.simd > 1
    return [
        [
            (names[dim], tile)
            for dim, tile in loops.items()
            if not left or number != last or dim in below
        ]
        for number, loops in enumerate(nest)
    ]


def keeping(hierarchy: Hierarchy, kept: dict[str, set[str]], part: Part) -> Hierarchy:
    """Return an accelerator whose memories keep what a file says, by their names."""
    first = hierarchy.names[0]
    if kept.get(first, {*TENSORS}) < {*TENSORS}:
        part.fail(f"{first}, the first memory, does not hold all tensors; allowed: all")

    def kept_by(element: Element) -> Element:
        tensors = kept.get(element.name)
        if not isinstance(element, MemoryElement) or tensors in (None, {*element.keeps}):
            return element
        return replace(element, keeps=tuple(each for each in TENSORS if each in (tensors or ())))

    return replace(hierarchy, elements=[kept_by(each) for each in hierarchy.elements])


def check_kept(element: MemoryElement, tensors: Sequence[str], part: Part) -> None:
    """Refuse tensors that a memory cannot keep."""
    for tensor in tensors:
        if tensor not in element.keeps:
            allowed = ", ".join(element.keeps) or "none"
            part.fail(f"{element.name} keeps no {tensor}; allowed there: {allowed}")


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
