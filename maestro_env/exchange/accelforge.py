"""Mappings as AccelForge writes them, of levels with the architecture and the workload in front.

Here every memory stands at one place among the loops, there each of its tensors does. Read are
tensors that it holds further outside too, where no loop between changes what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Mapping as Table
from itertools import zip_longest

from maestro_env.accelerators.elements import TENSORS, FanoutElement, MemoryElement
from maestro_env.accelerators.files.accelforge import TAGS, arch_text, container_of, read_hierarchy
from maestro_env.accelerators.files.nodes import MAC
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS, INDEXING
from maestro_env.accelerators.two_buffers import two_buffers
from maestro_env.base.errors import HardwareError, LayerError, MappingError, quoted
from maestro_env.base.yaml_file import Part, read_yaml
from maestro_env.evaluation.problem import Problem
from maestro_env.exchange.accelforge_nodes import (
    REFUSE,
    SLIDING,
    Hold,
    Nodes,
    Step,
    moving_nodes,
    nodes_of,
)
from maestro_env.exchange.nests import (
    MappedLayer,
    MappedNest,
    Nest,
    check_kept,
    cutting,
    keeping,
    last_memory,
    levels_of,
    mapping_of,
    names_of,
    nest_of,
    nest_of_levels,
    words_of,
)
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape
from maestro_env.mapspace.mapping import Mapping
from maestro_env.workloads.affine import Workload
from maestro_env.workloads.files import accelforge as workloads
from maestro_env.workloads.layer import Layer

_TENSORS = dict(zip(TENSORS, workloads.TENSORS, strict=True))


def nest_to_accelforge(mapping: NestMapping, layer: Layer | Shape, hierarchy: Hierarchy) -> str:
    """Write architecture, workload and mapping, on any memories, as AccelForge YAML.

    Of a ``Shape`` the workload is left out.

    Raises:
        MappingError: an invalid mapping, or one that AccelForge cannot express.
    """
    evaluator = HierarchyEvaluator(layer, hierarchy)
    nest, shape = nest_of(evaluator, mapping, REFUSE), evaluator.shape
    return _text(nodes_of(nest, shape, hierarchy), layer, shape, hierarchy)


def to_accelforge(mapping: Mapping, problem: Problem) -> str:
    """Write architecture, workload and mapping as AccelForge YAML.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        MappingError: an invalid mapping, or one that AccelForge cannot express.
    """
    nest, hierarchy = nest_of_levels(mapping, problem, REFUSE)
    layer, shape = problem.layer, Shape.of(problem.layer)
    return _text(nodes_of(nest, shape, hierarchy, REFUSE), layer, shape, hierarchy)


def _text(nodes: Nodes, layer: Layer | Shape, shape: Shape, hierarchy: Hierarchy) -> str:
    text, einsum = arch_text(hierarchy, REFUSE), "layer"
    if isinstance(layer, Layer):
        text += workloads.workload_text(layer, hierarchy.word_bits)
        einsum = workloads.layer_name(layer)
    listed = [*_lines(nodes, shape, hierarchy), f"!Compute {{einsum: {einsum}, component: {MAC}}}"]
    return text + "mapping:\n  nodes:\n" + "".join(f"  - {line}\n" for line in listed)


def _lines(nodes: Nodes, shape: Shape, hierarchy: Hierarchy) -> Iterator[str]:
    """Yield nodes as AccelForge writes them."""
    names, elements = names_of(shape), hierarchy.elements
    for node in nodes:
        if isinstance(node, Hold):
            held = ", ".join(name for tensor, name in _TENSORS.items() if tensor in node.tensors)
            yield f"!Storage {{tensors: [{held}], component: {elements[node.memory].name}}}"
            continue
        kind, place = "Temporal", ""
        if node.fanout is not None and isinstance(fanout := elements[node.fanout], FanoutElement):
            component, along = container_of(fanout)
            kind, place = "Spatial", f", name: {along}, component: {component}"
        rank = workloads.rank_variable(names[node.dim])
        yield f"!{kind} {{rank_variable: {rank}, tile_shape: {node.tile}{place}}}"


# --- In -----------------------------------------------------------------------------------------


def nest_from_accelforge(
    text: str, layer: Layer | Shape, hierarchy: Hierarchy, source: str = "mapping"
) -> MappedNest:
    """Read the ``mapping`` of an AccelForge YAML text, on any memories.

    Args:
        text: with ``workload`` if its tensors and ranks have other names than those written here.
        layer: that is mapped.
        hierarchy: as ``find_hierarchy`` reads it, of a file with the same names.
        source: what errors begin with.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping of this layer on this accelerator.
        LayerError: a workload that is no ``Layer``.
    """
    root = read_yaml(text, source, MappingError, TAGS)
    evaluator = HierarchyEvaluator(layer, hierarchy)
    given = root.get("workload", "").refusing(LayerError)
    workload = workloads.workload_layer(given) if "workload" in root else None
    words = hierarchy.word_bits
    if workload and (bits := workloads.value_bits(given, words)) != words:
        given.fail(f"values of {bits} bits; words of the accelerator have {words}")
    reader = _Reader(root["mapping"]["nodes"], evaluator.shape, workload, hierarchy)
    nest, kept = reader.nest(reader.nodes)
    return MappedNest(mapping_of(cutting(nest, evaluator.shape), evaluator), kept)


def from_accelforge(text: str, source: str = "mapping") -> MappedLayer:
    """Read a mapping with the architecture and the workload it belongs to, from one YAML text.

    Raises:
        ArgumentTypeError: no text.
        MappingError: no mapping, or one not expressible here; errors begin with ``source``.
        LayerError: a workload that is no ``Layer``.
        HardwareError: an architecture that is no ``Hierarchy``.
    """
    root = read_yaml(text, source, MappingError, TAGS)
    machine = root.refusing(HardwareError)
    hierarchy = read_hierarchy(machine)
    hardware = two_buffers(hierarchy, machine)
    workload = workloads.workload_layer(root["workload"].refusing(LayerError))
    part, shape = root["mapping"]["nodes"], Shape.of(workload.layer)
    reader = _Reader(part, shape, workload, hierarchy)
    nodes = _without_order_in_pe(reader.nodes, last_memory(hierarchy))
    nest, kept = reader.nest(nodes)
    found = levels_of(nest, kept, workload.layer, hardware, part)
    ours = nodes_of(cutting(nest, shape), shape, kept, part.error)
    pair = (_lines(moving_nodes(each, shape), shape, hierarchy) for each in (nodes, ours))
    for given, expected in zip_longest(*pair):
        if given != expected:
            part.fail(f"{given} where the nearest mapping here has {expected}")
    return found


def _without_order_in_pe(nodes: Nodes, memory: int) -> Nodes:
    """Leave out how loops in time cut the tiles that the last memory holds, down to 1."""
    holds = [n for n, node in enumerate(nodes) if isinstance(node, Hold) and node.memory == memory]
    inside = max(holds, default=len(nodes))
    return [
        node
        for number, node in enumerate(nodes)
        if isinstance(node, Hold) or node.fanout is not None or number < inside or node.tile == 1
    ]


class _Reader:
    """Reads nodes, and finds the element of each loop."""

    def __init__(
        self, part: Part, shape: Shape, workload: Workload | None, hierarchy: Hierarchy
    ) -> None:
        dims, self._tensors = words_of(shape, workload, workloads.TENSORS, part)
        if workload is None:
            dims = {name.lower(): dim for name, dim in dims.items()}
        self._part, self._shape, self._hierarchy, self._dims = part, shape, hierarchy, dims
        self._names = {dim: name for name, dim in dims.items()}
        self._numbers = {name: number for number, name in enumerate(hierarchy.names)}
        # Of each memory, the node from which on it holds each of its tensors.
        self._held: dict[int, dict[str, int]] = {}
        self.nodes = self._read()

    def _read(self) -> Nodes:
        nodes: Nodes = []
        tile = self._shape.sizes
        for part in self._part.items():
            if part.tag == "Storage":
                nodes.append(self._hold(part, len(nodes)))
            elif part.tag in ("Temporal", "Spatial"):
                step = self._step(part)
                tile[step.dim] = min(tile[step.dim], step.tile)
                nodes.append(step)
            elif part.tag == "Compute":
                part.only("einsum", "component")
            else:
                part.fail("is not supported; allowed: !Storage, !Temporal, !Spatial, !Compute")
        for dim, left in tile.items():
            if left > 1:
                rank = self._names[dim]
                self._part.fail(f"no loop over {rank} has the tile_shape 1, so MACs are missing")
        return nodes

    def _hold(self, part: Part, number: int) -> Hold:
        part.only("tensors", "component")
        component = part["component"].text()
        memory = self._numbers.get(component, 0)
        element = self._hierarchy.elements[memory]
        if element.name != component or not isinstance(element, MemoryElement):
            part.fail(f"{quoted(component)} is no memory; allowed: those of the accelerator")
        names = part["tensors"].texts()
        if unknown := [name for name in names if name not in self._tensors]:
            part.fail(f"{quoted(unknown[0])} is no tensor; allowed: {', '.join(self._tensors)}")
        tensors = [self._tensors[name] for name in names]
        check_kept(element, tensors, part)
        places = self._held.setdefault(memory, {})
        for tensor in tensors:
            if tensor in places:
                part.fail(f"{component} holds {tensor} twice; allowed: once")
            places[tensor] = number
        return Hold(memory, frozenset(tensors))

    def _step(self, part: Part) -> Step:
        spatial = part.tag == "Spatial"
        part.only("rank_variable", "tile_shape", *(("name", "component") if spatial else ()))
        rank = part["rank_variable"].text()
        if rank not in self._dims:
            part.fail(f"the layer has no rank {quoted(rank)}; allowed: {', '.join(self._dims)}")
        fanout = self._fanout(part) if spatial else None
        return Step(self._dims[rank], part["tile_shape"].integer(), fanout)

    def _fanout(self, part: Part) -> int:
        component, along = part["component"].text(), part["name"].text()
        elements = self._hierarchy.elements
        for name in (f"{component}_{along}", component):
            number = self._numbers.get(name)
            if number is not None and isinstance(elements[number], FanoutElement):
                return number
        names = [each.name for each in elements if isinstance(each, FanoutElement)]
        raise part.error(
            f"names no fan-out; allowed, as component_name: {', '.join(names) or 'none'}"
        )

    def nest(self, nodes: Nodes) -> tuple[Nest, Hierarchy]:
        """Return the loops of each element, and the memories with what they hold.

        Raises:
            MappingError: a mapping that no list of elements has.
        """
        part, names, ranks = self._part, self._hierarchy.names, names_of(self._shape)
        # Memories that hold something, and the node from which on they hold all of it.
        begins = {each: max(held.values()) for each, held in sorted(self._held.items()) if held}
        if sorted(begins.values()) != list(begins.values()):
            part.fail("memories do not stand in the order of the accelerator, outermost first")
        nest: Nest = [{} for _ in names]
        box, ragged = self._shape.sizes, set[str]()
        # Of each loop that cuts what it cuts, 0 if that is not always as much.
        outside: dict[tuple[int, str], int] = {}
        for number, step in enumerate(nodes):
            if isinstance(step, Hold):
                continue
            dim, is_cut = step.dim, step.tile < box[step.dim]
            owner = max((each for each in begins if begins[each] < number), default=-1)
            inner = min((each for each in begins if begins[each] > number), default=len(nest))
            place = owner if step.fanout is None else step.fanout
            is_placed = 0 <= owner <= place < inner
            if is_cut and not is_placed:
                part.fail(f"node {number + 1} stands outside of its memory, or inside the next")
            if is_cut and (place, dim) in outside:
                part.fail(f"{names[place]} has two loops over {self._names[dim]}")
            if is_cut:
                nest[place].pop(dim, None)
                nest[place][dim] = step.tile
                outside[place, dim] = 0 if dim in ragged else box[dim]
                around = [n for n in range(place + 1, inner) if (n, dim) in outside]
                if len(around) == 1 and step.fanout is None and ranks[dim] not in SLIDING:
                    _exchange(nest, place, around[0], dim, outside[around[0], dim])
                self._check_held(number, step, begins)
                ragged |= {dim} if box[dim] % step.tile else set()
                box[dim] = step.tile
            elif is_placed:
                nest[place].setdefault(dim, self._shape.sizes[dim])
        for dim in DIMS:
            tiles = [loops[dim] for n, loops in enumerate(nest) if (n, dim) in outside]
            if tiles != sorted(tiles, reverse=True):
                part.fail(
                    f"a loop over {self._names[dim]} in time is inside one in space below the same "
                    "memory; here those in time are outside"
                )
        kept = {name: {*self._held.get(number, ())} for number, name in enumerate(names)}
        return nest, keeping(self._hierarchy, kept, part)

    def _check_held(self, number: int, step: Step, begins: Table[int, int]) -> None:
        """Refuse a tensor that is held outside of a loop that changes its tile."""
        for memory, begin in begins.items():
            name = self._hierarchy.names[memory]
            for tensor, place in self._held[memory].items():
                changes = step.dim in INDEXING[tensor] or step.fanout is not None
                if place < number < begin and changes:
                    self._part.fail(
                        f"{name} holds {tensor} outside of node {number + 1}, and other tensors "
                        "inside; allowed: all at one place. A second memory that is a part of it "
                        "(pool) can hold some elsewhere"
                    )


def _exchange(nest: Nest, memory: int, fanout: int, dim: str, extent: int) -> None:
    """Put a loop in time outside of the one in space around it, if units get the same tiles."""
    tile, share = nest[memory][dim], nest[fanout][dim]
    units = -(-extent // share)
    if extent and share % tile == 0 and share // tile * units == -(-extent // tile):
        nest[memory][dim], nest[fanout][dim] = tile * units, tile
