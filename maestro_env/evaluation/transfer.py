"""Mappings of one layer as a start for another: which layers are near, and what fits of them.

Layers are compared by the loops that their dimensions stand for (``maestro_env.workloads.layer``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from maestro_env.base.checks import look_up, require_type
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.mapspace import mapping as nouns
from maestro_env.mapspace.space import Points, Resize
from maestro_env.workloads.layer import Layer, nest

NEAREST = 4
"""How many near layers a search starts from."""

OTHER_OPERATOR = 2.0
"""Octaves that another operator counts as."""

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


def distance(one: AnyProblem, other: AnyProblem) -> float:
    """Return how far two problems are apart: their layers and their accelerators, in octaves.

    It is infinite if nothing can be transferred, as between accelerators of other memories.
    """
    return layer_distance(one.layer, other.layer) + one.hardware_distance(other)


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
    found = [
        problem.adopt(each.vector, each.problem, resize)
        for resize in KEEPS.values()
        for each in near
    ]
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
    return target.adopt(mapping, source, resize)


def layer_octaves(layer: Layer) -> list[float]:
    """Return the logarithms of a layer's loops and strides."""
    return [math.log2(size) for size in (*nest(layer).values(), *layer.stride)]
