"""Accelerators as Timeloop v4 writes them: ``architecture``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace

from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.memories import Chain, Link, Memory, chain_of, hardware_of
from maestro_env.base.errors import HardwareError
from maestro_env.base.yaml_file import Part, read_yaml

TAGS = ("Container", "Component", "Parallel", "Hierarchical", "Nothing", "Network")
"""Tags of nodes."""

_WORD = 8
_COMPUTE = re.compile(r"mac|intmac|fpmac|compute", re.IGNORECASE)
_READS = {"read_bandwidth": "reads", "write_bandwidth": "writes", "shared_bandwidth": "shared"}


def architecture_text(memories: list[Memory]) -> str:
    """Write an accelerator: main memory, L2, buffers of clusters, L1."""
    lines = ["architecture:", "  version: 0.4", "  nodes:"]
    for index, memory in enumerate(memories):
        kind = "DRAM" if index == 0 else "SRAM" if index < len(memories) - 1 else "regfile"
        attributes = [f"width: {_WORD}", f"datawidth: {_WORD}"]
        if memory.words is not None:
            attributes.insert(0, f"depth: {memory.words}")
        attributes += [
            f"{key}: {getattr(memory, field)}"
            for key, field in _READS.items()
            if getattr(memory, field) is not None
        ]
        if index > 1:
            name, fanout = fanout_name(index - 2), memories[index - 1].fanout
            lines.append(f"  - !Container {{name: {name}, spatial: {{meshX: {fanout}}}}}")
        listed = ", ".join(attributes)
        lines.append(
            f"  - !Component {{name: {memory.name}, class: {kind}, attributes: {{{listed}}}}}"
        )
    lines.append(f"  - !Component {{name: MAC, class: intmac, attributes: {{datawidth: {_WORD}}}}}")
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
    chain = chain_of(part, map(_link, _nodes(part)))
    # The depth of main memory is no limit.
    main = [replace(each, words=None) for each in chain.memories[:1]]
    return replace(chain, memories=[*main, *chain.memories[1:]])


def _nodes(part: Part) -> Iterator[Part]:
    for node in part["nodes"].items():
        if node.tag == "Parallel":
            node.fail("memories stand side by side; a chain of ours has one for all tensors")
        if node.tag == "Hierarchical":
            yield from _nodes(node)
        elif node.tag in ("Container", "Component"):
            yield node
        else:
            node.fail("has no tag !Container or !Component")


def _link(node: Part) -> Link:
    mesh = _mesh(node)
    is_container = node.tag == "Container"
    is_fanout = mesh > 1 or (is_container and "spatial" in node)
    fanouts = [((node["name"].text(),), mesh)] if is_fanout else []
    if not is_container and _COMPUTE.fullmatch(node["class"].text()):
        return Link(node, fanouts, lanes=1)
    if "constraints" in node and node["constraints"].value:
        node["constraints"].fail("a machine of ours has no constraints; take them out")
    return Link(node, fanouts, None if is_container else _memory(node))


def _mesh(node: Part) -> int:
    if "spatial" not in node:
        return 1
    node["spatial"].only("meshX", "meshY")
    return math.prod(each.integer() for each in node["spatial"].named().values())


def _memory(node: Part) -> Memory:
    name, attributes = node["name"].text(), node["attributes"]
    datawidth = attributes["datawidth"].integer()
    if datawidth != _WORD:
        attributes.fail(f"datawidth is {datawidth}; a word of ours has {_WORD} bits")
    words = None
    for key in ("entries", "sizeKB", "metadata_datawidth"):
        if key in attributes:
            attributes.fail(f"has {key}; say the capacity as depth and width")
    if "depth" in attributes:
        words = attributes["depth"].integer() * attributes["width"].integer() // _WORD
    rates = {field: attributes[key].integer() for key, field in _READS.items() if key in attributes}
    return Memory(name, words, **rates)
