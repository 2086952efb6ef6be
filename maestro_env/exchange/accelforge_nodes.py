"""Nodes of mappings as AccelForge has them: loops, and from which of them on memories hold what."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import zip_longest

from maestro_env.accelerators.elements import MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import INDEXING
from maestro_env.base.errors import Refuse
from maestro_env.exchange.nests import Nest, names_of, unsayable
from maestro_env.hierarchy.shape import Shape

REFUSE = unsayable("AccelForge")

SLIDING = "PQRS"
"""Names of dimensions whose tiles have windows that overlap."""


@dataclass(frozen=True)
class Hold:
    """From here on a memory, by the number of its element, holds tiles of some tensors."""

    memory: int
    tensors: frozenset[str]


@dataclass(frozen=True)
class Step:
    """A loop over a dimension in tiles, along the fan-out of a number; None in time."""

    dim: str
    tile: int
    fanout: int | None = None


Nodes = list[Hold | Step]


def nodes_of(nest: Nest, shape: Shape, hierarchy: Hierarchy, refuse: Refuse | None = None) -> Nodes:
    """Return the nodes of a mapping.

    AccelForge loads a tile again in every step of the loops outside of its node. So a memory holds
    tensors outside of innermost loops of the memory above that do not index them, and loops in
    space stand outside of all these. Where that gives the units other tiles, they stand inside, or
    the mapping is refused if there is an error for it.

    Raises:
        MappingError: loops of a memory that keeps nothing; or of ``refuse``.
    """
    nodes: Nodes = []
    box, ragged, is_held = shape.sizes, set[str](), False
    memories = [
        (number, each)
        for number, each in enumerate(hierarchy.elements)
        if isinstance(each, MemoryElement)
    ]
    for (number, memory), following in zip_longest(memories, memories[1:]):
        after, inner = following or (len(nest), None)
        if nest[number] and not memory.keeps:
            raise REFUSE(f"{memory.name} keeps nothing, and has loops")
        if not is_held:
            nodes += _held(number, memory.keeps)
        time = [Step(*loop) for loop in nest[number].items()]
        below = range(number + 1, after)
        space = [Step(*loop, fanout) for fanout in below for loop in nest[fanout].items()]
        reason = _unlike(time, space, box, ragged, names_of(shape))
        if reason and refuse:
            raise refuse(reason)
        is_held = False
        if inner and inner.keeps and not reason:
            is_held = True
            rounds = {step.dim: -(-box[step.dim] // step.tile) for step in time}
            tiles = {step.dim: step.tile for step in space}
            time = [Step(step.dim, tiles.get(step.dim, step.tile)) for step in time]
            shares = [replace(each, tile=each.tile * rounds.get(each.dim, 1)) for each in space]
            found = [*shares, *_ahead(time, rounds, after, inner.keeps)]
        else:
            found = [*time, *space]
        for step in found:
            if isinstance(step, Step):
                step = replace(step, tile=min(step.tile, box[step.dim]))
                ragged |= {step.dim} if box[step.dim] % step.tile else set()
                box[step.dim] = step.tile
            nodes.append(step)
    return nodes


def _held(memory: int, tensors: Collection[str]) -> Nodes:
    return [Hold(memory, frozenset(tensors))] if tensors else []


def _unlike(
    time: list[Step],
    space: list[Step],
    box: dict[str, int],
    ragged: set[str],
    names: dict[str, str],
) -> str:
    """Say why loops in space outside of those in time give units other tiles, empty if not so.

    Args:
        time: loops of a memory.
        space: loops of the fan-outs below it.
        box: what they cut.
        ragged: dimensions of which the memory may also get less than that.
        names: of dimensions.
    """
    for step in time:
        dim, extent = step.dim, box[step.dim]
        tiles = [each.tile for each in space if each.dim == dim]
        rounds = -(-extent // step.tile)
        if not tiles or rounds == 1:
            continue
        chunks, units = -(-extent // tiles[-1]), -(-step.tile // tiles[-1])
        shown = f"{chunks} tiles of {names[dim]} on {units} units"
        if len(tiles) > 1 or step.tile % tiles[0] or chunks % units or dim in ragged:
            return (
                f"{shown} leave some idle in the last of {rounds} rounds; AccelForge leaves them "
                "out of the last unit"
            )
        if names[dim] in SLIDING:
            return (
                f"{shown}, where windows overlap: AccelForge gives neighbouring tiles to one "
                "unit, exact to neighbouring units"
            )
    return ""


def _ahead(time: list[Step], rounds: dict[str, int], memory: int, keeps: Collection[str]) -> Nodes:
    """Return the loops of a memory, and where among them the next one holds tensors.

    Some are held inside of all, where that memory stands.
    """
    moving = [number for number, step in enumerate(time) if rounds[step.dim] > 1]
    found: dict[int, set[str]] = {}
    for tensor in keeps:
        last = max((n for n in moving if time[n].dim in INDEXING[tensor]), default=-1)
        place = min((n for n in moving if n > last), default=len(time))
        found.setdefault(place, set()).add(tensor)
    found[len(time)] = found.pop(max(found))
    nodes: Nodes = []
    for number, step in enumerate(time):
        nodes += [*_held(memory, found.get(number, ())), step]
    return nodes + _held(memory, found[len(time)])


def moving_nodes(nodes: Nodes, shape: Shape) -> Nodes:
    """Return the nodes without loops of one step, and what is held at one place as one node."""
    tile, moving = shape.sizes, Nodes()
    for node in nodes:
        if isinstance(node, Step):
            if node.tile < tile[node.dim]:
                moving.append(node)
                tile[node.dim] = node.tile
        elif moving and isinstance(last := moving[-1], Hold) and last.memory == node.memory:
            moving[-1] = Hold(node.memory, last.tensors | node.tensors)
        else:
            moving.append(node)
    return moving
