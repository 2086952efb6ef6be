"""What of a mapping another problem can adopt: vectors of one space in another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np

from maestro_env.accelerators.hardware import Hardware
from maestro_env.mapspace import mapping as nouns
from maestro_env.mapspace.parameter import Parameter, count_up_to
from maestro_env.mapspace.space import LEVELS, MapSpace, Points, Space, lehmer_rank, tile_name
from maestro_env.workloads.layer import loop_of

_WINDOWS = ("R", "S")
# What decides no cost, or only through the energies.
_NO_FIGURES = ("name", "clock_mhz", "technology", "offchip_cost_macs")

Resize = Callable[[int, int, int], int]
"""Returns the size of a tile in an extent, given its size and the whole that it is a tile of."""


def hardware_distance(one: Hardware, other: Hardware) -> float:
    """Return how far two accelerators are apart: the Euclidean distance of log2(1 + figure)."""
    return math.dist(hardware_octaves(one), hardware_octaves(other))


def hardware_octaves(hardware: Hardware) -> list[float]:
    """Return log2(1 + figure) of all figures that decide what a mapping costs."""
    names = (field.name for field in fields(Hardware) if field.name not in _NO_FIGURES)
    figures = [*(getattr(hardware, name) for name in names), *asdict(hardware.energies).values()]
    return [math.log2(1 + figure) for figure in figures]


def adopted(vector: Any, source: Space, target: Space, resize: Resize) -> Points:
    """Return the vector, int32[D], with the values of one of a space of the same dimensions."""
    (point,) = source.clipped(source.as_points([vector], 1))
    pairs = zip(source.parameters, point, strict=True)
    values = {each.name: each.values[at] for each, at in pairs}
    dims = {tile_name("", dim): dim for dim in target.extents}
    for name in (each.name for each in source.parameters if each.kind == "tile"):
        dim = dims[name[name.rindex("_tile_") :]]
        values[name] = resize(int(values[name]), source.extents[dim], target.extents[dim])
    chosen = [_choice(each, values[each.name]) for each in target.parameters]
    return np.array(chosen, dtype=np.int32)


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
    chosen = [_choice(each, values[each.name]) for each in target.parameters]
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


def _choice(parameter: Parameter, value: int | str) -> int:
    """Return the choice of a value, of a size the largest one that is not above it."""
    if not parameter.is_size:
        return parameter.choice(value)
    return max(int(count_up_to(parameter, np.array(value))) - 1, 0)
