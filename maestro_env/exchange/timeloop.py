"""Mappings as Timeloop v4 writes them, of levels with the architecture and the problem in front.

Timeloop says how often a loop runs, not the size of a tile; of an extent that is no multiple, how
often it runs at the end (``K=4,2``). A target is a memory, or what architectures call a fan-out:
``PE`` has the loops of ``PE_X`` and ``PE_Y``, of which ``split`` says where those along Y begin.
"""

from __future__ import annotations

import re
from collections import abc
from dataclasses import dataclass
from itertools import groupby

from maestro_env.accelerators.elements import FanoutElement, MemoryElement
from maestro_env.accelerators.files.timeloop import TAGS, container_of, read_hierarchy
from maestro_env.accelerators.files.timeloop_constraints import DATASPACES
from maestro_env.accelerators.files.timeloop_text import architecture_text
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.two_buffers import two_buffers
from maestro_env.base.errors import HardwareError, LayerError, MappingError, quoted
from maestro_env.base.yaml_file import Part, read_yaml
from maestro_env.evaluation.problem import Problem
from maestro_env.exchange.nests import (
    MappedLayer,
    MappedNest,
    Nest,
    check_kept,
    cutting,
    keeping,
    levels_of,
    looping,
    mapping_of,
    names_of,
    nest_of,
    nest_of_levels,
    unsayable,
    words_of,
)
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape
from maestro_env.mapspace.mapping import Mapping
from maestro_env.workloads.affine import Workload
from maestro_env.workloads.files.timeloop import problem_layer, problem_text
from maestro_env.workloads.layer import Layer

_REFUSE = unsayable("Timeloop")

_KEPT = ("datatype", "dataspace", "bypass")
"""Types of directives about what memories keep."""

_BETWEEN = re.compile("inter_(.+)_spatial")
"""What Timeloop's mapper calls the fan-out of a container."""

_FACTOR = re.compile(r"([A-Za-z])\s*=?\s*([0-9]{1,10})(?:,([0-9]{1,10}))?")


@dataclass(frozen=True)
class Bound:
    """How often a loop runs, and how often in the last round of the loops outside of it."""

    dim: str
    runs: int
    rest: int

    def __str__(self) -> str:
        return f"{self.runs}" if self.rest == self.runs else f"{self.runs},{self.rest}"


Bounds = tuple[Bound, ...]

_Places = dict[tuple[str, str], dict[str, int]]
"""Elements by target and type of a directive, and by axis; a memory has none, ``""``."""


def nest_to_timeloop(mapping: NestMapping, layer: Layer | Shape, hierarchy: Hierarchy) -> str:
    """Write architecture, problem and mapping, on any memories, as Timeloop v4 YAML.

    Of a ``Shape`` the problem is left out.

    Raises:
        MappingError: an invalid mapping, or one that Timeloop cannot express.
    """
    evaluator = HierarchyEvaluator(layer, hierarchy)
    return _text(nest_of(evaluator, mapping, _REFUSE), layer, evaluator.shape, hierarchy)


def to_timeloop(mapping: Mapping, problem: Problem) -> str:
    """Write architecture, problem and mapping as Timeloop v4 YAML.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: an invalid mapping, or one that Timeloop cannot express.
    """
    nest, hierarchy = nest_of_levels(mapping, problem, _REFUSE)
    return _text(nest, problem.layer, Shape.of(problem.layer), hierarchy)


def _text(nest: Nest, layer: Layer | Shape, shape: Shape, hierarchy: Hierarchy) -> str:
    bounds, names, dims = _bounds(nest, shape), names_of(shape), looping(shape)
    if any(names[dim] != dim for dim in dims):
        dims = []  # Constraints name dimensions as a convolution does.
    text = architecture_text(hierarchy, _REFUSE, dims)
    if isinstance(layer, Layer):
        text += problem_text(layer)
    memories = (each for each in hierarchy.elements if isinstance(each, MemoryElement))
    lines = ["mapping:", *map(_keeping, memories)]
    for (target, kind), axes in _places(hierarchy).items():
        # From the innermost; those along X first.
        listed = [bound for axis in axes for bound in reversed(bounds[axes[axis]])]
        ranks = [names[bound.dim] for bound in listed]
        if len({*ranks}) < len(ranks):
            raise _REFUSE(f"{target} has loops over one dimension along X and Y")
        if listed:
            factors = ", ".join(
                f"'{rank}={each}'" for rank, each in zip(ranks, listed, strict=True)
            )
            split = f", split: {len(bounds[axes['X']]) if 'X' in axes else 0}"
            # What constraints add to the loops comes behind them, where it shifts no split.
            if any(hierarchy.elements[number].rules.dims is not None for number in axes.values()):
                ranks += [dim for dim in dims if dim not in ranks]
            lines.append(
                f"- {{target: {target}, type: {kind}, factors: [{factors}], "
                f"permutation: [{', '.join(ranks)}]{split if kind == 'spatial' else ''}}}"
            )
    return text + "\n".join(lines) + "\n"


def _keeping(memory: MemoryElement) -> str:
    """Write what a memory keeps."""
    keep = [name for name, tensor in DATASPACES.items() if tensor in memory.keeps]
    bypass = [name for name in DATASPACES if name not in keep]
    return (
        f"- {{target: {memory.name}, type: dataspace, keep: [{', '.join(keep)}], "
        f"bypass: [{', '.join(bypass)}]}}"
    )


def _bounds(nest: Nest, shape: Shape) -> list[Bounds]:
    """Return how often the loops of each element run.

    The last rounds are the digits of the last index, in the base of the runs.
    """
    extents, names = shape.sizes, names_of(shape)
    tile, left = dict(extents), {dim: extent - 1 for dim, extent in extents.items()}
    bounds = []
    for loops in nest:
        found = []
        for dim, size in loops.items():
            if tile[dim] % size and tile[dim] < extents[dim]:
                raise _REFUSE(
                    f"{tile[dim]} of {names[dim]} in tiles of {size} leave a remainder in every "
                    f"round; only the last tile of all {extents[dim]} may be shorter, so each "
                    "tile has to divide the one around it"
                )
            rest, left[dim] = divmod(left[dim], size)
            found.append(Bound(dim, -(-tile[dim] // size), rest + 1))
        bounds.append(tuple(found))
        tile |= loops
    return bounds


def _places(hierarchy: Hierarchy) -> _Places:
    """Return the targets, outermost first; axes of a fan-out as X, Y."""
    places: _Places = {}

    def target(numbered: tuple[int, MemoryElement | FanoutElement]) -> tuple[str, str]:
        _, element = numbered
        if isinstance(element, MemoryElement):
            return element.name, "temporal"
        return container_of(element), "spatial"

    for place, group in groupby(enumerate(hierarchy.elements), target):
        axes = [(getattr(element, "axis", ""), number) for number, element in group]
        if place in places or len(dict(axes)) < len(axes):
            raise _REFUSE(f"two fan-outs are called {quoted(place[0])}; give each its name")
        places[place] = dict(sorted(axes))
    return places


# --- In -----------------------------------------------------------------------------------------


def nest_from_timeloop(
    text: str, layer: Layer | Shape, hierarchy: Hierarchy, source: str = "mapping"
) -> MappedNest:
    """Read the ``mapping`` of a Timeloop v4 YAML text, on any memories.

    Args:
        text: with ``problem`` if its dimensions have other names than those of the layer.
        layer: that is mapped.
        hierarchy: as ``find_hierarchy`` reads it, of a file with the same names.
        source: what errors begin with.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping of this layer on this accelerator.
        LayerError: a problem that is no ``Layer``.
    """
    root = read_yaml(text, source, MappingError, TAGS)
    evaluator = HierarchyEvaluator(layer, hierarchy)
    problem = problem_layer(root["problem"].refusing(LayerError)) if "problem" in root else None
    nest, kept = _read(root["mapping"], evaluator.shape, problem, hierarchy)
    return MappedNest(mapping_of(cutting(nest, evaluator.shape), evaluator), kept)


def from_timeloop(text: str, source: str = "mapping") -> MappedLayer:
    """Read a mapping with the architecture and the problem it belongs to, from one YAML text.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping, or one not expressible here; errors begin with ``source``.
        LayerError: a problem that is no ``Layer``.
        HardwareError: an architecture that is no ``Hierarchy``.
    """
    root = read_yaml(text, source, MappingError, TAGS)
    machine = root.refusing(HardwareError)
    hierarchy = read_hierarchy(machine)
    hardware = two_buffers(hierarchy, machine)
    problem, part = problem_layer(root["problem"].refusing(LayerError)), root["mapping"]
    nest, kept = _read(part, Shape.of(problem.layer), problem, hierarchy)
    return levels_of(nest, kept, problem.layer, hardware, part)


def _read(
    part: Part, shape: Shape, problem: Workload | None, hierarchy: Hierarchy
) -> tuple[Nest, Hierarchy]:
    """Return the loops of a mapping, and the memories with what they keep in it."""
    dims, spaces = words_of(shape, problem, DATASPACES, part)
    places, memories = _places(hierarchy), {each.name: each for each in hierarchy.elements}
    bounds: list[Bounds] = [()] * len(hierarchy.elements)
    kept: dict[str, set[str]] = {}
    for each in part.items():
        kind, target = each["type"].text(), each["target"].text()
        between = _BETWEEN.fullmatch(target)
        if kind in _KEPT and not between:
            memory = memories.get(target)
            if not isinstance(memory, MemoryElement):
                each.fail(f"{quoted(target)} is no memory; allowed: those of the accelerator")
            kept[target] = _kept(each, memory, spaces)
        elif kind not in _KEPT:
            each.only("target", "type", "factors", "permutation", "split")
            found = _read_bounds(each, dims, shape.sizes)
            if between and kind == "temporal" and all(bound.runs == 1 for bound in found):
                continue
            if between and (target, kind) not in places:
                target = between[1]
            axes = places.pop((target, kind), None)
            if axes is None:
                each.fail(
                    f"{kind} loops of {quoted(target)} are given twice, or the accelerator has "
                    "no such place"
                )
            for axis, listed in _by_axis(each, found, axes).items():
                bounds[axes[axis]] = listed
    nest = _nest(bounds, shape.sizes, {dim: name for name, dim in dims.items()}, part)
    return nest, keeping(hierarchy, kept, part)


def _kept(part: Part, memory: MemoryElement, spaces: abc.Mapping[str, str]) -> set[str]:
    part.only("target", "type", "keep", "bypass")
    found: dict[str, list[str]] = {}
    for key in ("keep", "bypass"):
        named = part.get(key, []).texts()
        if unknown := [name for name in named if name not in spaces]:
            part.fail(f"{quoted(unknown[0])} is no tensor; allowed: {', '.join(spaces)}")
        found[key] = [spaces[name] for name in named]
    check_kept(memory, found["keep"], part)
    return {*memory.keeps} - {*found["bypass"]}


def _by_axis(part: Part, bounds: Bounds, axes: abc.Mapping[str, int]) -> dict[str, Bounds]:
    """Return the loops of a directive that run, by axis."""
    if "" in axes:
        return {"": bounds}
    inner_first = bounds[::-1]
    split = len(bounds)
    if "split" in part:
        text = part["split"].text()
        split = 0 if text == "0" else part["split"].integer()
    found = {"X": inner_first[:split][::-1], "Y": inner_first[split:][::-1]}
    for axis in found.keys() - axes.keys():
        if any(bound.runs > 1 for bound in found[axis]):
            part.fail(f"has loops along {axis}, where it has no units; change split")
    return {axis: found[axis] for axis in axes}


def _nest(
    bounds: list[Bounds], extents: abc.Mapping[str, int], names: abc.Mapping[str, str], part: Part
) -> Nest:
    """Return tiles: what all loops further inside run."""
    tile, last = dict.fromkeys(extents, 1), dict.fromkeys(extents, 0)
    nest: Nest = []
    for bound in (each for loops in bounds for each in loops):
        # Digits of the last index, in the base of the runs.
        last[bound.dim] = last[bound.dim] * bound.runs + bound.rest - 1
    for dim, extent in extents.items():
        if last[dim] + 1 != extent:
            part.fail(f"the factors of {names[dim]} make {last[dim] + 1} of {extent}")
    for loops in reversed(bounds):
        sizes = {}
        for bound in reversed(loops):
            sizes[bound.dim] = tile[bound.dim]
            tile[bound.dim] *= bound.runs
        nest.insert(0, dict(reversed(sizes.items())))
    return nest


def _read_bounds(part: Part, dims: abc.Mapping[str, str], extents: dict[str, int]) -> Bounds:
    """Return the loops of a directive, outermost first."""
    found: dict[str, Bound] = {}
    for text in _listed(part["factors"], _FACTOR):
        match = _FACTOR.fullmatch(text)
        if match is None or match[1] not in dims:
            part.fail(f"{quoted(text)} is not a factor of a dimension, such as K=4 or K=4,2")
        rank = match[1]
        runs = int(match[2]) or extents[dims[rank]]
        if rank in found:
            part.fail(f"{rank} has two factors")
        found[rank] = Bound(dims[rank], runs, int(match[3] or runs))
        if not 1 <= found[rank].rest <= runs:
            part.fail(f"{quoted(text)} runs longer at its end than before")
    order = _listed(part["permutation"], re.compile("[A-Za-z]")) if "permutation" in part else []
    if len({*order}) < len(order) or {*order} - dims.keys():
        part.fail("the permutation lists a dimension twice, or one that does not exist")
    left = [rank for rank in found if rank not in order]
    if any(found[rank].runs > 1 for rank in left) and len(found) > 1:
        part.fail(f"the permutation lacks {left[0]}")
    innermost_first = [found.get(rank, Bound(dims[rank], 1, 1)) for rank in (*order, *left)]
    return tuple(reversed(innermost_first))


def _listed(part: Part, pattern: re.Pattern[str]) -> list[str]:
    """Return a list of texts, which Timeloop also takes as one text."""
    if isinstance(part.value, list):
        return [each.strip() for each in part.texts()]
    text = part.text()
    if pattern.sub("", text).strip(" ,"):
        part.fail(f"{quoted(text)} cannot be read")
    return [match[0] for match in pattern.finditer(text)]
