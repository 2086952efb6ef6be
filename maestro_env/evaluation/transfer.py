"""Mappings of one layer as a start for another: which layers are near, and what fits of them.

Layers are compared by the loops that their dimensions stand for (``maestro_env.workloads.layer``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.checks import require_type
from maestro_env.base.errors import ModelError
from maestro_env.base.registry import look_up
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.problem import AnyProblem, Problem, require_two_levels
from maestro_env.mapspace import mapping as nouns
from maestro_env.mapspace.parameter import Parameter
from maestro_env.mapspace.space import LEVELS, MapSpace, Points, lehmer_rank, tile_name
from maestro_env.mapspace.unit_cube import count_up_to
from maestro_env.workloads.layer import Layer, loop_of, nest

NEAREST = 4
"""How many near layers a search starts from."""

_WINDOWS = ("R", "S")
OTHER_OPERATOR = 2.0
"""Octaves that another operator counts as."""

# What decides no cost, or only through the energies.
_NO_FIGURES = ("name", "clock_mhz", "technology", "offchip_cost_macs")

Resize = Callable[[int, int, int], int]
"""Returns the size of a tile in an extent, given its size and the whole that it is a tile of."""

KEEPS: Mapping[str, Resize] = {
    "sizes": lambda size, whole, extent: min(size, extent),
    "tiles": lambda size, whole, extent: -(-extent // min(extent, -(-whole // size))),
}
"""Ways to keep a tile of some size of a whole in another extent: its size, or their number."""


@dataclass(frozen=True, eq=False)
class Mapped:
    """A mapping that was found for a problem.

    Args:
        problem: of the vector.
        vector: int32[D].
    """

    problem: AnyProblem
    vector: Points


def layer_distance(one: Layer, other: Layer) -> float:
    """Return how far two layers are apart, in octaves; 0 if they are mapped alike.

    It is the Euclidean distance of the logarithms of their loops and strides, and 2 more if the
    operators differ.
    """
    return math.dist(layer_octaves(one), layer_octaves(other)) + OTHER_OPERATOR * (
        one.operator != other.operator
    )


def hardware_distance(one: Hardware, other: Hardware) -> float:
    """Return how far two accelerators are apart: the Euclidean distance of log2(1 + figure)."""
    return math.dist(hardware_octaves(one), hardware_octaves(other))


def hardware_octaves(hardware: Hardware) -> list[float]:
    """Return log2(1 + figure) of all figures that decide what a mapping costs."""
    names = (field.name for field in fields(Hardware) if field.name not in _NO_FIGURES)
    figures = [*(getattr(hardware, name) for name in names), *asdict(hardware.energies).values()]
    return [math.log2(1 + figure) for figure in figures]


def distance(one: AnyProblem, other: AnyProblem) -> float:
    """Return how far two problems are apart: their layers and their accelerators, in octaves.

    It is infinite if nothing can be transferred, as between accelerators of other memories.
    """
    if isinstance(one, Problem) and isinstance(other, Problem):
        hardware = hardware_distance(one.hardware, other.hardware)
    else:
        hardware = 0.0 if _same_parameters(one, other) else math.inf
    return layer_distance(one.layer, other.layer) + hardware


def _same_parameters(one: AnyProblem, other: AnyProblem) -> bool:
    """Say whether vectors of two problems have the same parameters, whatever the extents."""
    return one.hardware == other.hardware and [*one.space.extents] == [*other.space.extents]


def nearest(problem: AnyProblem, mapped: Sequence[Mapped], most: int = NEAREST) -> list[Mapped]:
    """Return the mappings of the nearest problems, the nearest first, of equals the first."""
    apart = [distance(problem, each.problem) for each in mapped]
    order = sorted(range(len(mapped)), key=apart.__getitem__)[:most]
    return [mapped[index] for index in order if math.isfinite(apart[index])]


def spread(layers: Sequence[Layer]) -> list[list[int]]:
    """Sort layers into waves, by index, so that most have a near one in an earlier wave.

    The first is the one with most MACs, each next one the farthest from all before it, of equals
    the first. A wave is as large as all waves before it, so that its layers can be searched at the
    same time.
    """
    places = np.array([layer_octaves(each) for each in layers])
    operators = np.array([each.operator for each in layers])
    order = [max(range(len(layers)), key=lambda each: layers[each].macs)]
    nearest_before = np.full(len(layers), np.inf)
    while len(order) < len(layers):
        last = order[-1]
        apart = np.linalg.norm(places - places[last], axis=1)
        apart += OTHER_OPERATOR * (operators != operators[last])
        nearest_before = np.minimum(nearest_before, apart)
        nearest_before[last] = -1.0
        order.append(int(nearest_before.argmax()))
    starts = [0, *(2**power for power in range(len(order).bit_length() + 1))]
    return [wave for one, end in pairwise(starts) if (wave := order[one:end])]


def start_from(problem: AnyProblem, mapped: Sequence[Mapped], most: int = NEAREST) -> Points:
    """Return vectors to start a search with, int32[N, D]: what the nearest problems transfer.

    There are two of each, one for every way to keep sizes; equal mappings are given once.
    """
    space, near = problem.space, nearest(problem, mapped, most)
    found = [transfer(each.vector, each.problem, problem, keep) for keep in KEEPS for each in near]
    points = np.array(found, dtype=np.int32).reshape(len(found), len(space.parameters))
    _, first = np.unique(space.identities(points), return_index=True)
    return points[np.sort(first)]


def transfer(
    mapping: ArrayLike | nouns.Mapping, source: AnyProblem, target: AnyProblem, keep: str = "sizes"
) -> Points:
    """Return the vector, int32[D], of a problem that is most like a mapping of another one.

    Orders and parallel loops are kept where the target has the dimension, and the cluster size is
    scaled with the number of PEs. A dimension that the source lacks is outermost and in tiles of
    one element, a window whole. On an accelerator with any memories orders and units are kept, and
    the layers have the same dimensions.

    Args:
        mapping: of two levels; or a vector in the source's space, D integers.
        source: the problem mapped before.
        target: the problem to map.
        keep: ``sizes`` of tiles, cut to the extents, or the number of ``tiles``.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MapSpaceError: no mapping of the source.
        ModelError: nothing can be transferred between these problems.
        UnknownNameError: another ``keep``.
    """
    for problem in (source, target):
        require_type("problem", problem, AnyProblem, "such as a Problem")
    resize = look_up("keep", keep, KEEPS)
    if isinstance(source, HierarchyProblem) and isinstance(target, HierarchyProblem):
        return _transfer_nest(mapping, source, target, resize)
    source, target = (require_two_levels(each, "this transfer") for each in (source, target))
    if isinstance(mapping, nouns.Mapping):
        mapping = source.space.encode(mapping)
    listed: Any = [mapping]
    levels = source.space.decode(source.space.as_points(listed, 1)[0]).levels
    space = target.space
    values: dict[str, int | str] = {}
    # What a level cuts: the extents, then the tiles of the level around it.
    whole = {loop_of(source.layer, dim): size for dim, size in source.space.extents.items()}
    parts = {loop_of(space.layer, dim): size for dim, size in space.extents.items()}
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
        values |= _tile_values(name, space, parts)
        values[f"{name}_order"] = _order(loops, list(parts))
        values[f"{name}_parallel"] = _parallel(loops, space, name)
    pes, others = target.hardware.num_pes, source.hardware.num_pes
    values["cluster_size"] = round((levels[1].cluster_size or 1) * pes / others)
    return np.array([_choice(each, values[each.name]) for each in space.parameters], dtype=np.int32)


def _transfer_nest(
    vector: Any, source: HierarchyProblem, target: HierarchyProblem, resize: Resize
) -> Points:
    """Do the same on an accelerator with any memories, parameter by parameter."""
    if not _same_parameters(source, target):
        raise ModelError(
            f"nothing can be transferred from {source.layer} on {source.hardware.name} to "
            f"{target.layer} on {target.hardware.name}; allowed: layers of the same dimensions, on "
            "the same accelerator"
        )
    whole, extents = source.space.extents, target.space.extents
    (point,) = source.space.clipped(source.space.as_points([vector], 1))
    parameters = source.space.parameters
    values = {each.name: each.values[at] for each, at in zip(parameters, point, strict=True)}
    for name, dim in product(target.hardware.names, extents):
        if (tile := tile_name(name, dim)) in values:
            values[tile] = resize(int(values[tile]), whole[dim], extents[dim])
    chosen = [_choice(each, values[each.name]) for each in target.space.parameters]
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


def layer_octaves(layer: Layer) -> list[float]:
    """Return the logarithms of a layer's loops and strides."""
    return [math.log2(size) for size in (*nest(layer).values(), *layer.stride)]
