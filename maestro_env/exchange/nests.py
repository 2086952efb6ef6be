"""Mappings on any memories: what files of other tools say of them.

Files have the loops that cut, down to single MACs. What is left for the MACs is written at the last
memory, which changes no cost but with a latch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from maestro_env.accelerators.hierarchy import TENSORS, Element, Hierarchy, MemoryElement
from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.base.errors import MappingError, Refuse
from maestro_env.base.yaml_file import Part
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape, cuts_of
from maestro_env.workloads.affine import Workload, rank_of

Nest = list[dict[str, int]]
"""Tiles of the loops of each element by dimension of ``DIMS``, outermost first."""


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


def keeping(hierarchy: Hierarchy, kept: Mapping[str, set[str]], part: Part) -> Hierarchy:
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
