"""Mappings of one layer as a start for another: which layers are near, and what fits of them.

Layers are compared by the loops that their dimensions stand for: the rows, outputs and inputs of a
matrix product are those of a convolution with a window of one element.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from maestro_env import mapping as nouns
from maestro_env.checks import require_type
from maestro_env.hardware import Hardware
from maestro_env.layer import Layer
from maestro_env.map_space import MapSpace, Points, lehmer_rank
from maestro_env.parameter import Parameter
from maestro_env.problem import Problem
from maestro_env.unit_cube import count_up_to

NEAREST = 4
"""How many near layers a search starts from."""

# The loop that a dimension stands for, where it has another name.
_ROLES: Mapping[str, Mapping[str, str]] = {
    "GEMM": {"M": "Y'", "N": "K", "K": "C"},
    "DSCONV": {"C": "G"},
}
# Octaves that another operator counts as.
_OTHER_OPERATOR = 2.0


@dataclass(frozen=True, eq=False)
class Mapped:
    """A mapping that was found for a problem.

    Args:
        problem: of the vector.
        vector: int32[D].
    """

    problem: Problem
    vector: Points


def layer_distance(one: Layer, other: Layer) -> float:
    """Return how far two layers are apart, in octaves; 0 if they are mapped alike.

    It is the Euclidean distance of the logarithms of their loops and strides, and 2 more if the
    operators differ.
    """
    sizes, others = _sizes(one), _sizes(other)
    octaves = [math.log2(sizes.get(name, 1) / others.get(name, 1)) for name in {**sizes, **others}]
    return math.hypot(*octaves) + _OTHER_OPERATOR * (one.operator != other.operator)


def hardware_distance(one: Hardware, other: Hardware) -> float:
    """Return how far two accelerators are apart: the Euclidean distance of log2(1 + figure)."""
    names = (field.name for field in fields(Hardware) if field.name != "name")
    pairs = ((getattr(one, name), getattr(other, name)) for name in names)
    return math.hypot(*(math.log2((1 + figure) / (1 + another)) for figure, another in pairs))


def nearest(problem: Problem, mapped: Sequence[Mapped], most: int = NEAREST) -> list[Mapped]:
    """Return the mappings of the nearest problems, the nearest first, of equals the first."""

    def distance(each: Mapped) -> float:
        apart = hardware_distance(problem.hardware, each.problem.hardware)
        return apart + layer_distance(problem.layer, each.problem.layer)

    return sorted(mapped, key=distance)[:most]


def start_from(problem: Problem, mapped: Sequence[Mapped], most: int = NEAREST) -> Points:
    """Return vectors to start a search with, int32[N, D]: what the nearest problems transfer.

    Equal mappings are given once.
    """
    space = problem.space
    found = [transfer(each.vector, each.problem, problem) for each in nearest(problem, mapped, most)]
    points = np.array(found, dtype=np.int32).reshape(len(found), len(space.parameters))
    _, first = np.unique(space.identities(points), return_index=True)
    return points[np.sort(first)]


def transfer(mapping: Points | nouns.Mapping, source: Problem, target: Problem) -> Points:
    """Return the vector, int32[D], of a problem that is most like a mapping of another one.

    Orders and parallel loops are kept where the target has the dimension, sizes are cut to its
    extents, and the cluster size is scaled with the number of PEs. A dimension that the source
    lacks is outermost and in tiles of one element, a window whole.

    Args:
        mapping: or its vector in the source's space, D integers.
        source: what was mapped.
        target: what is to be mapped.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MapSpaceError: no mapping of the source.
    """
    for problem in (source, target):
        require_type("problem", problem, Problem, "of a MapSpace")
    if isinstance(mapping, nouns.Mapping):
        mapping = source.space.encode(mapping)
    (point,) = source.space.as_points([mapping], 1)
    levels = source.space.decode(point).levels
    space, values = target.space, {}
    for name, level in zip(("l2", "l1"), levels, strict=True):
        values |= _level(name, level, source.layer, space)
    pes = target.hardware.num_pes
    values["cluster_size"] = round((levels[1].cluster_size or 1) * pes / source.hardware.num_pes)
    return np.array([_choice(each, values[each.name]) for each in space.parameters], dtype=np.int32)


def _level(
    name: str, level: nouns.Level, layer: Layer, space: MapSpace
) -> dict[str, int | str]:
    """Return the values of a level's parameters for the space of another layer."""
    loops = {_role(layer, loop.dim): loop for loop in level.loops}
    dims = {_role(space.layer, dim): dim for dim in space.extents}
    order = [*(role for role in dims if role not in loops), *(role for role in loops if role in dims)]
    known = list(dims)
    parallel = next(dims.get(role) for role, loop in loops.items() if loop.spatial)
    if parallel not in space.parallel_dims:
        parallel = max(space.parallel_dims, key=lambda dim: space.extents[dim])
    sizes = {
        f"{name}_tile_{dim.rstrip(chr(39))}": loops[role].size
        if role in loops
        else (space.extents[dim] if role in ("R", "S") else 1)
        for role, dim in dims.items()
    }
    return {
        f"{name}_order": lehmer_rank([known.index(role) for role in order]),
        f"{name}_parallel": parallel,
        **sizes,
    }


def _choice(parameter: Parameter, value: int | str) -> int:
    """Return the choice of a value, of a size the largest one that is not above it."""
    if not parameter.is_size:
        return parameter.choice(value)
    return max(int(count_up_to(parameter, np.array(value))) - 1, 0)


def _role(layer: Layer, dim: str) -> str:
    return _ROLES.get(layer.operator, {}).get(dim, dim)


def _sizes(layer: Layer) -> dict[str, int]:
    """Return extents by the loops they stand for, and the strides."""
    strides = zip(("stride of Y", "stride of X"), layer.stride, strict=True)
    extents = {_role(layer, dim): extent for dim, extent in layer.loop_extents.items()}
    return {**extents, **dict(strides)}
