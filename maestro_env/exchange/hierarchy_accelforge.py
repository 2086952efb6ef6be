"""Mappings of the model ``hierarchy`` as AccelForge writes them: ``mapping``, a list of nodes.

Here every memory stands at one place among the loops, there each of its tensors does. Read are
tensors that it holds further outside too, where no loop between changes what it holds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from maestro_env.accelerators.files.accelforge import TAGS, container_of
from maestro_env.accelerators.hierarchy import (
    TENSORS,
    Element,
    FanoutElement,
    Hierarchy,
    MemoryElement,
)
from maestro_env.base.errors import LayerError, MappingError, quoted
from maestro_env.base.yaml_file import Part, read_yaml
from maestro_env.exchange.nests import (
    MappedNest,
    Nest,
    check_kept,
    dims_of,
    keeping,
    mapping_of,
    names_of,
    nest_of,
    scalar,
    unsayable,
)
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import DIMS, INDEXING, Shape
from maestro_env.workloads.files import accelforge as workloads
from maestro_env.workloads.layer import Layer

_REFUSE = unsayable("AccelForge")
_TENSORS = dict(zip(TENSORS, workloads.TENSORS, strict=True))


@dataclass(frozen=True)
class _Step:
    """A loop: the number of its node, and the fan-out, None in time."""

    node: int
    dim: str
    tile: int
    fanout: int | None


def nest_to_accelforge(mapping: NestMapping, layer: Layer | Shape, hierarchy: Hierarchy) -> str:
    """Write a mapping as AccelForge YAML.

    Raises:
        MappingError: an invalid mapping, or one that AccelForge cannot express.
    """
    evaluator = HierarchyEvaluator(layer, hierarchy)
    nest, names = nest_of(evaluator, mapping, _REFUSE), names_of(evaluator.shape)
    lines = ["mapping:", "  nodes:"]
    # What the next memory holds, by the number of loops of this one that are outside of it.
    ahead: dict[int, list[str]] = {}
    following = [*hierarchy.elements[1:], None]
    for element, after, loops in zip(hierarchy.elements, following, nest, strict=True):
        kind, place = "Temporal", ""
        if isinstance(element, FanoutElement):
            kind, place = "Spatial", _fanout_of(element)
        elif loops and not element.keeps:
            raise _REFUSE(f"{element.name} keeps nothing, and has loops")
        elif not ahead:
            lines += _storage(element, element.keeps)
        ahead = {}
        if isinstance(element, MemoryElement) and isinstance(after, MemoryElement):
            ahead = _ahead(after, list(loops))
        for number, (dim, tile) in enumerate(loops.items()):
            lines += _storage(after, ahead.get(number, ()))
            rank = workloads.rank_variable(names[dim])
            lines.append(f"  - !{kind} {{rank_variable: {rank}, tile_shape: {tile}{place}}}")
        lines += _storage(after, ahead.get(len(loops), ()))
    einsum = workloads.layer_name(layer) if isinstance(layer, Layer) else "layer"
    lines.append(f"  - !Compute {{einsum: {einsum}, component: MAC}}")
    return "\n".join(lines) + "\n"


def _fanout_of(element: FanoutElement) -> str:
    """Write a fan-out, whose name as it is read is NODE_ALONG."""
    component, along = container_of(element)
    return f", name: {scalar(along)}, component: {scalar(component)}"


def _storage(memory: Element | None, tensors: Collection[str]) -> list[str]:
    """Write that a memory holds some tensors."""
    held = [name for tensor, name in _TENSORS.items() if tensor in tensors]
    if memory is None or not held:
        return []
    return [f"  - !Storage {{tensors: [{', '.join(held)}], component: {scalar(memory.name)}}}"]


def _ahead(memory: MemoryElement, loops: list[str]) -> dict[int, list[str]]:
    """Return what a memory holds from each loop on of the memory before.

    AccelForge loads a tile again in every step of the loops outside of it. So tensors are held
    outside of innermost loops that do not index them; some are held where the memory stands.
    """
    found: dict[int, list[str]] = {}
    for tensor in memory.keeps:
        indexing = [number for number, dim in enumerate(loops, 1) if dim in INDEXING[tensor]]
        found.setdefault(max(indexing, default=0), []).append(tensor)
    if found:
        found[len(loops)] = found.pop(max(found))
    return found


# --- In -----------------------------------------------------------------------------------------


def nest_from_accelforge(
    text: str, layer: Layer | Shape, hierarchy: Hierarchy, source: str = "mapping"
) -> MappedNest:
    """Read the ``mapping`` of an AccelForge YAML text.

    Args:
        text: with ``workload`` if its tensors and ranks have other names than those written here.
        layer: that is mapped.
        hierarchy: as ``find_hierarchy`` reads it, of a file with the same names.
        source: what errors begin with.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping of this layer on this accelerator.
        LayerError: a workload that is no layer of ours.
    """
    root = read_yaml(text, source, MappingError, TAGS)
    evaluator = HierarchyEvaluator(layer, hierarchy)
    part, shape = root["mapping"]["nodes"], evaluator.shape
    given = root.get("workload", "").refusing(LayerError)
    workload = workloads.workload_layer(given) if "workload" in root else None
    dims = dims_of(shape, workload, part)
    if workload is None:
        dims = {name.lower(): dim for name, dim in dims.items()}
    tensors = workloads.TENSORS if workload is None else [each.name for each in workload.tensors]
    nodes = _Nodes(hierarchy, dims, dict(zip(tensors, TENSORS, strict=True)))
    nodes.read(part, shape.sizes)
    nest, kept = nodes.nest(part), {name: {*places} for name, places in nodes.held.items()}
    return MappedNest(mapping_of(nest, evaluator), keeping(hierarchy, kept, part))


class _Nodes:
    """Reads the nodes, and finds the element of each loop."""

    def __init__(
        self, hierarchy: Hierarchy, dims: Mapping[str, str], tensors: Mapping[str, str]
    ) -> None:
        self._elements = hierarchy.elements
        self._numbers = {name: number for number, name in enumerate(hierarchy.names)}
        self._dims, self._tensors = dims, tensors
        self._names = {dim: name for name, dim in dims.items()}
        # For each memory the number of the node from which on it holds a tensor.
        self.held: dict[str, dict[str, int]] = {
            each.name: {} for each in self._elements if isinstance(each, MemoryElement)
        }
        self._steps: list[_Step] = []

    def read(self, part: Part, extents: dict[str, int]) -> None:
        """Read all nodes, and leave out loops that cut nothing."""
        tile = dict(extents)
        for number, node in enumerate(part.items()):
            if node.tag == "Storage":
                self._hold(node, number)
            elif node.tag in ("Temporal", "Spatial"):
                step = self._step(node, number)
                if step.tile < tile[step.dim]:
                    tile[step.dim] = step.tile
                    self._steps.append(step)
            elif node.tag == "Compute":
                node.only("einsum", "component")
            else:
                node.fail("is not supported; allowed: !Storage, !Temporal, !Spatial, !Compute")
        for dim, left in tile.items():
            if left > 1:
                rank = self._names[dim]
                part.fail(f"no loop over {rank} has the tile_shape 1, so MACs are missing")

    def _hold(self, node: Part, number: int) -> None:
        node.only("tensors", "component")
        component = node["component"].text()
        if component not in self.held:
            node.fail(f"{quoted(component)} is no memory; allowed: {', '.join(self.held)}")
        names = node["tensors"].texts()
        if unknown := [name for name in names if name not in self._tensors]:
            node.fail(f"{quoted(unknown[0])} is no tensor; allowed: {', '.join(self._tensors)}")
        memory = self._elements[self._numbers[component]]
        assert isinstance(memory, MemoryElement)
        tensors = [self._tensors[name] for name in names]
        check_kept(memory, tensors, node)
        for tensor in tensors:
            if tensor in self.held[component]:
                node.fail(f"{component} holds {tensor} twice; allowed: once")
            self.held[component][tensor] = number

    def _step(self, node: Part, number: int) -> _Step:
        spatial = node.tag == "Spatial"
        node.only("rank_variable", "tile_shape", *(("name", "component") if spatial else ()))
        rank = node["rank_variable"].text()
        if rank not in self._dims:
            node.fail(f"the layer has no rank {quoted(rank)}; allowed: {', '.join(self._dims)}")
        fanout = self._fanout(node) if spatial else None
        return _Step(number, self._dims[rank], node["tile_shape"].integer(), fanout)

    def _fanout(self, node: Part) -> int:
        component, along = node["component"].text(), node["name"].text()
        for name in (f"{component}_{along}", component):
            number = self._numbers.get(name)
            if number is not None and isinstance(self._elements[number], FanoutElement):
                return number
        names = [each.name for each in self._elements if isinstance(each, FanoutElement)]
        raise node.error(
            f"names no fan-out; allowed, as component_name: {', '.join(names) or 'none'}"
        )

    def nest(self, part: Part) -> Nest:
        """Return the loops of each element, if they are in its order.

        Raises:
            MappingError: a mapping that no list of elements has.
        """
        # Memories that hold something, and the node from which on they hold all of it.
        begins = {
            self._numbers[name]: max(places.values())
            for name, places in self.held.items()
            if places
        }
        if sorted(begins.values()) != list(begins.values()):
            part.fail("memories do not stand in the order of the accelerator, outermost first")
        self._check_held(begins, part)
        nest: Nest = [{} for _ in self._elements]
        for step in self._steps:
            owner = max((each for each in begins if begins[each] < step.node), default=None)
            inner = min((each for each in begins if begins[each] > step.node), default=len(nest))
            place = owner if step.fanout is None else step.fanout
            if owner is None or place is None or not owner <= place < inner:
                part.fail(f"node {step.node + 1} stands outside of its memory, or inside the next")
            if step.dim in nest[place]:
                part.fail(
                    f"{self._elements[place].name} has two loops over {self._names[step.dim]}"
                )
            nest[place][step.dim] = step.tile
        for dim in DIMS:
            tiles = [loops[dim] for loops in nest if dim in loops]
            if tiles != sorted(tiles, reverse=True):
                part.fail(
                    f"a loop over {self._names[dim]} in time is inside one in space below the same "
                    "memory; here those in time are outside"
                )
        return nest

    def _check_held(self, begins: Mapping[int, int], part: Part) -> None:
        """Refuse a tensor that is held outside of loops that change its tile."""
        for memory, begin in begins.items():
            name = self._elements[memory].name
            for tensor, place in self.held[name].items():
                for step in self._steps:
                    changes = step.dim in INDEXING[tensor] or step.fanout is not None
                    if place < step.node < begin and changes:
                        part.fail(
                            f"{name} holds {tensor} outside of node {step.node + 1}, and other "
                            "tensors inside; allowed: all at one place. A second memory that is "
                            "a part of it (pool) can hold some elsewhere"
                        )
