"""Accelerators as Timeloop v4 writes them: ``architecture``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import (
    TENSORS,
    FanoutElement,
    Hierarchy,
    MacElement,
    MemoryElement,
)
from maestro_env.accelerators.memories import WORD_BITS, Chain, Memory, chain_of, hardware_of
from maestro_env.accelerators.nodes import Node, Place, hierarchy_of_nodes
from maestro_env.base.errors import HardwareError, quoted
from maestro_env.base.texts.blocks import YamlBlock
from maestro_env.base.yaml_file import Part, read_yaml

TAGS = ("Container", "Component", "Parallel", "Hierarchical", "Nothing", "Network")
"""Tags of nodes."""

_COMPUTE = re.compile(r"mac|intmac|fpmac|compute", re.IGNORECASE)
_DUMMY = "dummy_storage"
_CYCLE = "global_cycle_seconds"
# Words a cycle, whatever the tool's sheet says (src/model/buffer.cpp of NVlabs/timeloop).
_RATES = {
    "read_bandwidth": ("reads", "read_bw"),
    "write_bandwidth": ("writes", "write_bw"),
    "shared_bandwidth": ("shared", "bw"),
}
DATASPACES = {"Inputs": "input", "Weights": "filter", "Outputs": "output"}
"""Tensors by the names that constraints have."""

_KEYS = (
    *("name", "class", "subclass", "attributes", "spatial", "constraints"),
    *("required_actions", "area_share"),
)
_OF_MAPPINGS = (
    *("factors", "factors_only", "permutation", "split", "maximize_dims"),
    *("maximize_dims_capacity", "no_iteration_over_dataspaces", "must_iterate_over_dataspaces"),
    *("default_max_factor", "default_min_factor", "remainders"),
)
# Attributes that Timeloop counts with, and that are said otherwise here or not at all.
_INSTEAD = {
    **dict.fromkeys(("entries", "sizeKB"), "say the capacity as depth and width"),
    **dict.fromkeys(
        ("bandwidth", "rw_bandwidth"),
        "say read_bandwidth and write_bandwidth, or shared_bandwidth",
    ),
    "per_dataspace_bandwidth_consumption_scale": "all words of a memory take the same of a port",
    **dict.fromkeys(
        ("network_fill_latency", "network_drain_latency"), "networks take no time of their own"
    ),
    **dict.fromkeys(
        ("metadata_datawidth", "metadata_storage_depth"), "sparse tensors are not modelled"
    ),
}


def architecture_text(memories: list[Memory]) -> str:
    """Write an accelerator: main memory, L2, buffers of clusters, L1."""
    lines = ["architecture:", "  version: 0.4", "  nodes:"]
    for index, memory in enumerate(memories):
        kind = "DRAM" if index == 0 else "SRAM" if index < len(memories) - 1 else "regfile"
        attributes = [f"width: {WORD_BITS}", f"datawidth: {WORD_BITS}"]
        if memory.words is not None:
            attributes.insert(0, f"depth: {memory.words}")
        attributes += [
            f"{key}: {getattr(memory, field)}"
            for key, (field, _) in _RATES.items()
            if getattr(memory, field) is not None
        ]
        if index > 1:
            name, fanout = fanout_name(index - 2), memories[index - 1].fanout
            lines.append(f"  - !Container {{name: {name}, spatial: {{meshX: {fanout}}}}}")
        listed = ", ".join(attributes)
        lines.append(
            f"  - !Component {{name: {memory.name}, class: {kind}, attributes: {{{listed}}}}}"
        )
    lines.append(
        f"  - !Component {{name: MAC, class: intmac, attributes: {{datawidth: {WORD_BITS}}}}}"
    )
    return "\n".join(lines) + "\n"


def fanout_name(level: int) -> str:
    """Return the name of the container that is repeated below a level of ours."""
    return f"Level{level}"


# --- In -----------------------------------------------------------------------------------------


def hardware_from_timeloop(text: str, source: str = "architecture", name: str = "") -> Hardware:
    """Read the ``architecture`` of a Timeloop v4 YAML text as an accelerator.

    Raises:
        HardwareError: it is none of ours: other levels, widths or limits; begins with ``source``.
    """
    root = read_yaml(text, source, HardwareError, TAGS)
    return hardware_of(read_architecture(root["architecture"]), name)


def read_architecture(part: Part) -> Chain:
    """Read the chain of memories of an ``architecture``."""
    leaves = _all_leaves(part)
    for leaf in leaves:
        if "constraints" in leaf.part and leaf.part["constraints"].value:
            leaf.part["constraints"].fail("a machine of ours has no constraints; take them out")
    return chain_of(part, _nodes(leaves))


def read_hierarchy(part: Part, name: str = "") -> Hierarchy:
    """Read an ``architecture`` of any memories.

    Constraints on loops are of mappings, and are not read; nor are what components are made of.

    Raises:
        HardwareError: it cannot be read, or says what no accelerator of ours can be.
    """
    leaves = _all_leaves(part)
    nodes = list(_nodes(leaves))
    widths = [node.memory.width_bits for node in nodes if node.memory and node.memory.keeps]
    seconds = [each.given[_CYCLE] for each in leaves if _CYCLE in each.given]
    clock = float(1 / (seconds[-1].positive() * 10**6)) if seconds else None
    word_bits = widths[0] if widths and isinstance(widths[0], int) else WORD_BITS
    return hierarchy_of_nodes(part, nodes, name, word_bits, clock)


@dataclass(frozen=True)
class _Leaf:
    """A container or component.

    Args:
        part: of the file.
        given: attributes, those of the containers around it included.
        beside: it stands beside others that keep other tensors.
    """

    part: Part
    given: Mapping[str, Part]
    beside: bool = False


def _all_leaves(part: Part) -> list[_Leaf]:
    if "nodes" not in part:
        part.fail("nodes is missing; allowed: version 0.4, which has them")
    return list(_leaves(part, {}))


def _leaves(part: Part, inherited: Mapping[str, Part], beside: bool = False) -> Iterator[_Leaf]:
    for node in part["nodes"].items():
        given = {**inherited, **node.get("attributes", YamlBlock()).named()}
        if node.tag == "Nothing":
            continue
        if beside and (node.tag != "Component" or "spatial" in node):
            node.fail("stands beside others; allowed: !Component without spatial, and !Nothing")
        if node.tag == "Hierarchical":
            yield from _leaves(node, inherited)
        elif node.tag == "Parallel":
            yield from _side_by_side(list(_leaves(node, inherited, beside=True)))
        elif node.tag in ("Container", "Component"):
            yield _Leaf(node, given, beside)
        else:
            node.fail("has no tag !Container or !Component")
        if node.tag == "Container":
            inherited = given


def _side_by_side(leaves: list[_Leaf]) -> list[_Leaf]:
    """Return memories side by side, or refuse them if two keep a tensor."""
    kept: set[str] = set()
    for leaf in leaves:
        memory = _node(leaf).memory
        for tensor in memory.keeps if memory else ():
            if tensor in kept:
                leaf.part.fail(f"{tensor} is kept by two memories side by side")
            kept.add(tensor)
    return leaves


def _nodes(leaves: list[_Leaf]) -> Iterator[Node]:
    """Yield the nodes; the depth of the first memory, main memory, is no limit."""
    has_main = False
    for node in map(_node, leaves):
        if node.memory and not has_main:
            has_main = True
            yield replace(node, memory=replace(node.memory, capacity_bits=None))
        else:
            yield node


def _node(leaf: _Leaf) -> Node:
    part = leaf.part
    part.only(*_KEYS)
    constraints = part.get("constraints", YamlBlock())
    constraints.only("dataspace", "temporal", "spatial")
    fanouts = list(_fanouts(part, constraints))
    if part.tag == "Container":
        return Node(part, fanouts)
    if _COMPUTE.fullmatch(part["class"].text()):
        return Node(part, fanouts, mac=MacElement())
    return Node(part, fanouts, _memory(leaf, constraints))


def _fanouts(part: Part, constraints: Part) -> Iterator[tuple[Place, FanoutElement]]:
    meshes = part.get("spatial", YamlBlock())
    meshes.only("meshX", "meshY")
    apart = _without_reuse(constraints.get("spatial", YamlBlock()), "no_multicast_no_reduction")
    name = part["name"].text()
    for key, each in meshes.named().items():
        axis: Literal["X", "Y"] = "X" if key == "meshX" else "Y"
        element = FanoutElement(name=f"{name}_{axis}", size=each.integer(), axis=axis, apart=apart)
        yield (name,), element


def _memory(leaf: _Leaf, constraints: Part) -> MemoryElement:
    part, given = leaf.part, leaf.given
    for key, instead in _INSTEAD.items():
        if key in given:
            given[key].fail(f"cannot be said; {instead}")
    name = part["name"].text()
    if part["class"].text() == _DUMMY:
        return MemoryElement(name=name, keeps=())
    if "datawidth" not in given:
        part.fail("datawidth is missing, of its attributes")
    width = given["datawidth"].integer()
    rates = {
        field: float(width * given[key].positive())
        for key, (_, field) in _RATES.items()
        if key in given
    }
    return MemoryElement(
        name=name,
        keeps=_kept(constraints.get("dataspace", YamlBlock()), leaf.beside),
        capacity_bits=_capacity(given, width),
        width_bits=width,
        buffers=given["multiple_buffering"].integer() if "multiple_buffering" in given else 1,
        forgets=_without_reuse(constraints.get("temporal", YamlBlock()), "no_temporal_reuse"),
        **rates,  # type: ignore[arg-type]
    )


def _capacity(given: Mapping[str, Part], width: int) -> int | None:
    """Return the bits of ``depth`` lines; a line is of all instances of a cluster."""
    if "depth" not in given:
        return None
    words = 1
    if "block_size" in given:
        words = given["block_size"].integer()
    elif "width" in given:
        line = given["width"].integer()
        cluster = given["cluster_size"].integer() if "cluster_size" in given else 1
        words, rest = divmod(line, cluster * width)
        if rest:
            given["width"].fail(f"is {line}; allowed: a multiple of {cluster} x {width} bits")
    return given["depth"].integer() * words * width


def _kept(part: Part, beside: bool) -> tuple[str, ...]:
    """Return the tensors that a memory may keep; beside others, those that it has to."""
    part.only("keep", "keep_only", "bypass")
    said = [part[key] for key in ("keep_only", "keep") if key in part]
    if beside and not said:
        part.fail("keep is missing; memories side by side keep a tensor each")
    if said and (beside or "keep_only" in part):
        return _tensors(said[0])
    bypassing = _tensors(part["bypass"]) if "bypass" in part else ()
    return tuple(tensor for tensor in TENSORS if tensor not in bypassing)


def _without_reuse(part: Part, long_name: str) -> tuple[str, ...]:
    part.only("no_reuse", long_name, *_OF_MAPPINGS)
    return next((_tensors(part[key]) for key in ("no_reuse", long_name) if key in part), ())


def _tensors(part: Part) -> tuple[str, ...]:
    names = part.texts()
    for name in names:
        if name not in DATASPACES:
            part.fail(f"{quoted(name)} is no tensor; allowed: {', '.join(DATASPACES)}")
    return tuple(DATASPACES[name] for name in names)
