"""Mappings of the model ``hierarchy`` as Timeloop v4 writes them: ``mapping``.

A target is a memory, or what architectures call a fan-out: ``PE`` has the loops of ``PE_X`` and
``PE_Y``, of which ``split`` says where those along Y begin.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby

from maestro_env.accelerators.files.timeloop import DATASPACES, TAGS, container_of
from maestro_env.accelerators.hierarchy import FanoutElement, Hierarchy, MemoryElement
from maestro_env.base.errors import LayerError, MappingError, quoted
from maestro_env.base.yaml_file import Part, read_yaml
from maestro_env.exchange.hierarchy import (
    MappedNest,
    Nest,
    check_kept,
    dims_of,
    keeping,
    mapping_of,
    names_of,
    nest_of,
    scalar,
)
from maestro_env.exchange.nest import unsayable
from maestro_env.exchange.timeloop import BETWEEN, KEPT, Bounds, Rests, read_bounds
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape
from maestro_env.workloads.files.timeloop import problem_layer
from maestro_env.workloads.layer import Layer

_REFUSE = unsayable("Timeloop")

_Places = dict[tuple[str, str], dict[str, int]]
"""Elements by target and type of a directive, and by axis; a memory has none, ``""``."""


def nest_to_timeloop(mapping: NestMapping, layer: Layer | Shape, hierarchy: Hierarchy) -> str:
    """Write a mapping as Timeloop v4 YAML.

    Raises:
        MappingError: an invalid mapping, or one that Timeloop cannot express.
    """
    evaluator = HierarchyEvaluator(layer, hierarchy)
    nest, names = nest_of(evaluator, mapping, _REFUSE), names_of(evaluator.shape)
    bounds = _bounds(
        [{names[dim]: tile for dim, tile in loops.items()} for loops in nest],
        {names[dim]: extent for dim, extent in evaluator.shape.sizes.items() if extent > 1},
    )
    memories = (each for each in hierarchy.elements if isinstance(each, MemoryElement))
    lines = ["mapping:", *map(_keeping, memories)]
    for (target, kind), axes in _places(hierarchy).items():
        # From the innermost; those along X first.
        listed = [bound for axis in axes for bound in reversed(bounds[axes[axis]])]
        ranks = [bound.dim for bound in listed]
        if len({*ranks}) < len(ranks):
            raise _REFUSE(f"{target} has loops over one dimension along X and Y")
        if listed:
            factors = ", ".join(f"'{bound}'" for bound in listed)
            split = f", split: {len(bounds[axes['X']]) if 'X' in axes else 0}"
            lines.append(
                f"- {{target: {scalar(target)}, type: {kind}, factors: [{factors}], "
                f"permutation: [{', '.join(ranks)}]{split if kind == 'spatial' else ''}}}"
            )
    return "\n".join(lines) + "\n"


def _keeping(memory: MemoryElement) -> str:
    """Write what a memory keeps."""
    keep = [name for name, tensor in DATASPACES.items() if tensor in memory.keeps]
    bypass = [name for name in DATASPACES if name not in keep]
    return (
        f"- {{target: {scalar(memory.name)}, type: datatype, keep: [{', '.join(keep)}], "
        f"bypass: [{', '.join(bypass)}]}}"
    )


def _bounds(nest: Nest, extents: dict[str, int]) -> list[Bounds]:
    """Return how often the loops of each element run."""
    rests, tile = Rests(extents), dict(extents)
    bounds = []
    for loops in nest:
        for dim, size in loops.items():
            if tile[dim] % size and tile[dim] < extents[dim]:
                raise _REFUSE(
                    f"{tile[dim]} of {dim} in tiles of {size} leave a remainder in every round; "
                    f"only the last tile of all {extents[dim]} may be shorter, so each tile has "
                    "to divide the one around it"
                )
        runs = {dim: -(-tile[dim] // size) for dim, size in loops.items()}
        bounds.append(tuple(rests.bound(dim, runs[dim], size) for dim, size in loops.items()))
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
    """Read the ``mapping`` of a Timeloop v4 YAML text.

    Args:
        text: with ``problem`` if its dimensions have other names than those of the layer.
        layer: that is mapped.
        hierarchy: as ``find_hierarchy`` reads it, of a file with the same names.
        source: what errors begin with.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping of this layer on this accelerator.
        LayerError: a problem that is no layer of ours.
    """
    root = read_yaml(text, source, MappingError, TAGS)
    evaluator = HierarchyEvaluator(layer, hierarchy)
    shape, part = evaluator.shape, root["mapping"]
    problem = problem_layer(root["problem"].refusing(LayerError)) if "problem" in root else None
    dims = dims_of(shape, problem, part)
    spaces = dict(DATASPACES)
    if problem is not None:
        spaces = dict(
            zip((each.name for each in problem.tensors), DATASPACES.values(), strict=True)
        )
    extents = shape.sizes
    places, memories = _places(hierarchy), {each.name: each for each in hierarchy.elements}
    bounds: list[Bounds] = [()] * len(hierarchy.elements)
    kept: dict[str, set[str]] = {}
    for each in part.items():
        kind, target = each["type"].text(), each["target"].text()
        between = BETWEEN.fullmatch(target)
        if kind in KEPT and not between:
            memory = memories.get(target)
            if not isinstance(memory, MemoryElement):
                each.fail(f"{quoted(target)} is no memory; allowed: those of the accelerator")
            kept[target] = _kept(each, memory, spaces)
        elif kind not in KEPT:
            each.only("target", "type", "factors", "permutation", "split")
            found = read_bounds(each, dims, extents)
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
    nest = _nest(bounds, extents, {dim: name for name, dim in dims.items()}, part)
    return MappedNest(mapping_of(nest, evaluator), keeping(hierarchy, kept, part))


def _kept(part: Part, memory: MemoryElement, spaces: Mapping[str, str]) -> set[str]:
    part.only("target", "type", "keep", "bypass")
    found: dict[str, list[str]] = {}
    for key in ("keep", "bypass"):
        named = part.get(key, []).texts()
        if unknown := [name for name in named if name not in spaces]:
            part.fail(f"{quoted(unknown[0])} is no tensor; allowed: {', '.join(spaces)}")
        found[key] = [spaces[name] for name in named]
    check_kept(memory, found["keep"], part)
    return {*memory.keeps} - {*found["bypass"]}


def _by_axis(part: Part, bounds: Bounds, axes: Mapping[str, int]) -> dict[str, Bounds]:
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
    bounds: list[Bounds], extents: Mapping[str, int], names: Mapping[str, str], part: Part
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
    return _cutting(nest, extents)


def _cutting(nest: Nest, extents: Mapping[str, int]) -> Nest:
    """Return the loops of several steps."""
    box, found = dict(extents), []
    for loops in nest:
        found.append({dim: tile for dim, tile in loops.items() if tile < box[dim]})
        box |= found[-1]
    return found
