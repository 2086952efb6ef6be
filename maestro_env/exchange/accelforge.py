"""Mappings as AccelForge writes them, with the architecture and the workload they belong to.

A level of ours is a spatial loop, temporal loops, and between them, tensor by tensor, the point
from which on the next memory holds its tile: below the innermost loop of several steps that indexes
the tensor, so that the tile stays while nothing of it changes.
"""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass
from itertools import zip_longest

from maestro_env.accelerators.files.accelforge import (
    TAGS,
    arch_text,
    container_of,
    read_hierarchy,
)
from maestro_env.accelerators.two_buffers import memories_of, two_buffers
from maestro_env.base.errors import HardwareError, LayerError, MappingError, Refuse
from maestro_env.base.yaml_file import Part, read_yaml
from maestro_env.evaluation.problem import Problem
from maestro_env.exchange.levels import MappedLayer
from maestro_env.exchange.nest import (
    Chain,
    Cut,
    Nest,
    mapping_of,
    nest_of,
    parallel_of,
    units_of,
)
from maestro_env.exchange.nests import unsayable
from maestro_env.mapspace.mapping import Loop, Mapping
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.affine import Tensor, Workload, tensors_of
from maestro_env.workloads.files.accelforge import (
    TENSORS,
    layer_name,
    rank_variable,
    workload_layer,
    workload_text,
)
from maestro_env.workloads.layer import Layer

_REFUSE = unsayable("AccelForge")


@dataclass(frozen=True)
class Hold:
    """From here on a memory, counted from the outermost, holds tiles of tensors 0, 1 and 2."""

    memory: int
    tensors: frozenset[int]


@dataclass(frozen=True)
class Step:
    """A loop over a dimension in tiles; spatial below a memory, temporal if that is None."""

    dim: str
    tile: int
    below: int | None = None


LoopNode = Hold | Step
_ALL = frozenset(range(len(TENSORS)))


def to_accelforge(mapping: Mapping, problem: Problem) -> str:
    """Write architecture, workload and mapping as AccelForge YAML.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: an invalid mapping, or one that AccelForge cannot express.
    """
    nest, layer = nest_of(mapping, problem, _REFUSE), problem.layer
    hardware = problem.hardware
    memories = memories_of(hardware, units_of(mapping, hardware.num_pes))
    lines = ["mapping:", "  nodes:"]
    for node in _nodes(nest, layer, _REFUSE):
        if isinstance(node, Hold):
            held = ", ".join(TENSORS[index] for index in sorted(node.tensors))
            component = Chain(memories, container_of).names[node.memory]
            lines.append(f"  - !Storage {{tensors: [{held}], component: {component}}}")
            continue
        shape = f"rank_variable: {rank_variable(node.dim)}, tile_shape: {node.tile}"
        if node.below is None:
            lines.append(f"  - !Temporal {{{shape}}}")
        else:
            component = f"Level{node.below - 1}"
            lines.append(f"  - !Spatial {{{shape}, name: X, component: {component}}}")
    ranks = (rank_variable(dim) for dim in layer.loop_extents)
    lines += [f"  - !Temporal {{rank_variable: {rank}, tile_shape: 1}}" for rank in ranks]
    lines.append(f"  - !Compute {{einsum: {layer_name(layer)}, component: MAC}}")
    text = arch_text(memories) + workload_text(layer)
    return text + "\n".join(lines) + "\n"


def _nodes(nest: Nest, layer: Layer, refuse: Refuse) -> list[LoopNode]:
    """Return the mapping down to what a PE holds."""
    tensors = tensors_of(layer)
    nodes: list[LoopNode] = [Hold(0, _ALL), Hold(1, _ALL)]
    for memory, level in enumerate(nest, start=1):
        for cut in level:
            if cut.loop.spatial:
                _check(cut, tensors[0], refuse)
                share = min(cut.extent, cut.steps * cut.size)
                nodes.append(Step(cut.dim, share, below=memory))
        ends = [_held_from(level, tensor) for tensor in tensors]
        for index, cut in enumerate(level):
            nodes += _holds(memory + 1, ends, index)
            nodes.append(Step(cut.dim, cut.size))
        nodes += _holds(memory + 1, ends, len(level))
    return nodes


def _held_from(level: tuple[Cut, ...], tensor: Tensor) -> int:
    """Return before which loop of a level the tile of a tensor is held."""
    moving = [index for index, cut in enumerate(level) if cut.steps > 1]
    indexing = [index for index in moving if level[index].dim in tensor.variables]
    last = indexing[-1] if indexing else -1
    return next((index for index in moving if index > last), len(level))


def _holds(memory: int, ends: list[int], place: int) -> list[LoopNode]:
    held = frozenset(index for index, end in enumerate(ends) if end == place)
    return [Hold(memory, held)] if held else []


def _check(cut: Cut, inputs: Tensor, refuse: Refuse) -> None:
    """Refuse groups of tiles that differ where a unit has neighbouring tiles."""
    if cut.steps == 1:
        return
    if cut.tiles % cut.units or not cut.whole:
        raise refuse(
            f"{cut.tiles} tiles of {cut.dim} on {cut.units} units leave some idle in the last of "
            f"{cut.steps} rounds; AccelForge leaves them out of the last unit"
        )
    if any(len(axis) > 1 and cut.dim in axis for axis in inputs.axes):
        raise refuse(
            f"{cut.tiles} tiles of {cut.dim} on {cut.units} units, where windows overlap: "
            "AccelForge gives neighbouring tiles to one unit, exact to neighbouring units"
        )


# --- In -----------------------------------------------------------------------------------------


def from_accelforge(text: str, source: str = "mapping") -> MappedLayer:
    """Read a mapping with the architecture and the workload it belongs to, from one YAML text.

    Raises:
        MappingError: no mapping, or one not expressible here; errors begin with ``source``.
        LayerError: a workload that is no layer of ours.
        HardwareError: an architecture that is no accelerator of ours.
    """
    root = read_yaml(text, source, MappingError, TAGS)
    hierarchy = read_hierarchy(root.refusing(HardwareError))
    hardware = two_buffers(hierarchy, root.refusing(HardwareError))
    chain = Chain(hierarchy, container_of)
    workload = workload_layer(root["workload"].refusing(LayerError))
    part, extents = root["mapping"]["nodes"], workload.layer.loop_extents
    given = _read_nodes(part, chain, workload)
    mapping = _mapping(given, chain, extents, part)
    nest = nest_of(mapping, Problem(MapSpace(workload.layer, hardware)), part.error)
    ours = _nodes(nest, workload.layer, part.error)
    there, here = _moving(given, extents), _moving(ours, extents)
    if there != here:
        pair = next(pair for pair in zip_longest(there, here) if pair[0] != pair[1])
        shown, expected = (_shown(node, chain) for node in pair)
        part.fail(f"{shown} where a mapping of ours that comes near has: {expected}")
    return MappedLayer(mapping, workload.layer, hardware)


def _read_nodes(part: Part, chain: Chain, workload: Workload) -> list[LoopNode]:
    """Return the nodes of a mapping down to what a PE holds."""
    memories = chain.names
    tensors = {tensor.name: index for index, tensor in enumerate(workload.tensors)}
    nodes: list[LoopNode] = []
    in_pe: set[int] = set()
    tile = dict(workload.layer.loop_extents)
    for each in part.items():
        if each.tag == "Storage":
            each.only("tensors", "component")
            component, names = each["component"].text(), each["tensors"].texts()
            if component not in memories or not {*names} <= tensors.keys():
                each.fail("names no memory or tensor of this file")
            held = frozenset(tensors[name] for name in names)
            nodes.append(Hold(memories.index(component), held))
            in_pe |= held if component == memories[-1] else set()
        elif each.tag in ("Temporal", "Spatial"):
            spatial = each.tag == "Spatial"
            each.only("rank_variable", "tile_shape", *(("name", "component") if spatial else ()))
            rank = each["rank_variable"].text()
            if rank not in workload.dims:
                each.fail(f"the workload has no rank {rank}")
            below = _fanout(each, chain) if spatial else None
            step = Step(workload.dims[rank], each["tile_shape"].integer(), below)
            tile[step.dim] = step.tile
            if in_pe < _ALL or spatial:
                nodes.append(step)
        elif each.tag == "Compute":
            each.only("einsum", "component")
        else:
            each.fail("is not supported; allowed: !Storage, !Temporal, !Spatial, !Compute")
    unfinished = [rank for rank, dim in workload.dims.items() if tile[dim] > 1]
    if unfinished:
        part.fail(f"no loop over {unfinished[0]} has the tile_shape 1, so MACs are missing")
    return nodes


def _fanout(part: Part, chain: Chain) -> int:
    """Return the memory below which a spatial loop is."""
    place = (part["component"].text(), part["name"].text())
    found = [index for index, places in enumerate(chain.places) if place in places]
    if not found:
        part.fail("names no fan-out of this file")
    return found[0]


def _mapping(
    nodes: list[LoopNode], chain: Chain, extents: abc.Mapping[str, int], part: Part
) -> Mapping:
    """Make the mapping that has the loops of the file, if there is one."""
    fanouts = [memory.fanout for memory in chain.memories[1:-1]]
    levels: list[list[Step]] = [[] for _ in fanouts]
    held: set[tuple[int, int]] = set()
    for node in nodes:
        if isinstance(node, Hold):
            held |= {(node.memory, tensor) for tensor in node.tensors}
            continue
        # A level ends where the next memory holds all tensors.
        level = next(
            i for i in range(len(levels) + 1) if not {(i + 2, each) for each in _ALL} <= held
        )
        if level == len(levels) or node.below not in (None, level + 1):
            part.fail(f"the loop over {node.dim} is spatial at another level than it stands in")
        levels[level].append(node)
    tile = dict(extents)
    loops = [
        _level(steps, fanout, tile, part) for steps, fanout in zip(levels, fanouts, strict=True)
    ]
    return mapping_of(loops, fanouts[1:])


def _level(steps: list[Step], fanout: int, tile: dict[str, int], part: Part) -> list[Loop]:
    """Return the loops of a level, and shrink the tile to what it gives to a unit."""
    spatial = [step for step in steps if step.below is not None]
    temporal = [step for step in steps if step.below is None]
    still = [s.dim for s in temporal if fanout == 1 or s.tile >= tile[s.dim]]
    parallel = parallel_of([step.dim for step in spatial], still, fanout, part)
    if parallel not in [step.dim for step in temporal]:
        temporal.insert(0, spatial[0])
    for step in temporal:
        tile[step.dim] = min(tile[step.dim], step.tile)
    return [
        Loop(step.dim, tile[step.dim], tile[step.dim], step.dim == parallel) for step in temporal
    ]


def _moving(nodes: list[LoopNode], extents: abc.Mapping[str, int]) -> list[LoopNode]:
    """Return the nodes without loops of one step, and what is held at one place as one node."""
    tile = dict(extents)
    moving: list[LoopNode] = []
    for node in nodes:
        if isinstance(node, Step):
            if node.tile < tile[node.dim]:
                moving.append(node)
                tile[node.dim] = node.tile
        elif moving and isinstance(moving[-1], Hold) and moving[-1].memory == node.memory:
            moving[-1] = Hold(node.memory, moving[-1].tensors | node.tensors)
        else:
            moving.append(node)
    return moving


def _shown(node: LoopNode | None, chain: Chain) -> str:
    if node is None:
        return "nothing"
    if isinstance(node, Hold):
        held = ", ".join(("input", "filter", "output")[index] for index in sorted(node.tensors))
        return f"{chain.names[node.memory]} holds {held}"
    kind = "temporal" if node.below is None else "spatial"
    return f"a {kind} loop over {node.dim} in tiles of {node.tile}"
