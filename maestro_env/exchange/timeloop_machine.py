"""Accelerators and layers as Timeloop v4 writes them: ``architecture`` and ``problem``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from maestro_env.base.yaml_parts import Part
from maestro_env.exchange.machine import Chain, Memory, times
from maestro_env.exchange.tensors import (
    Axis,
    Tensor,
    Workload,
    rank_of,
    tensors_of,
    workload_of,
)
from maestro_env.workloads.layer import Layer

TAGS = ("Container", "Component", "Parallel", "Hierarchical", "Nothing", "Network")
"""Tags of nodes."""

_WORD = 8
_COMPUTE = re.compile(r"mac|intmac|fpmac|compute", re.IGNORECASE)
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.=,:-]+")
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


def problem_text(layer: Layer) -> str:
    """Write a layer."""
    tensors = tensors_of(layer)
    extents = {rank_of(dim): extent for dim, extent in layer.loop_extents.items()}
    lines = ["problem:", "  version: 0.4", "  shape:"]
    lines.append(f"    name: '{_NOT_IN_NAMES.sub('_', layer.name) or layer.operator}'")
    lines.append(f"    dimensions: [{', '.join(extents)}]")
    lines.append("    data_spaces:")
    for tensor in tensors:
        axes = ", ".join(
            "[" + ", ".join(f"[{rank_of(dim)}{_factor(step)}]" for dim, step in axis) + "]"
            for axis in tensor.axes
        )
        output = ", read_write: true" if tensor.is_output else ""
        lines.append(f"    - {{name: {tensor.name}, projection: [{axes}]{output}}}")
    strides = [step for axis in tensors[0].axes for _, step in axis if step > 1]
    if strides:
        named = ", ".join(f"{{name: stride{step}, default: {step}}}" for step in sorted({*strides}))
        lines.append(f"    coefficients: [{named}]")
    listed = ", ".join(f"{rank}: {extent}" for rank, extent in extents.items())
    lines.append(f"  instance: {{{listed}}}")
    return "\n".join(lines) + "\n"


def _factor(step: int) -> str:
    return "" if step == 1 else f", stride{step}"


# --- In -----------------------------------------------------------------------------------------


def read_problem(part: Part) -> Workload:
    """Recognise a layer of ours in a ``problem``."""
    shape, instance = part["shape"], part["instance"]
    ranks = shape["dimensions"].texts()
    if any(not re.fullmatch("[A-Za-z]", rank) for rank in ranks):
        shape.fail("a dimension's name has more than one letter")
    extents = {rank: instance[rank].integer() for rank in ranks}
    coefficients: dict[str, int] = {}
    for each in shape["coefficients"].items() if "coefficients" in shape else ():
        name = each["name"].text()
        given = instance[name] if name in instance else each["default"]
        coefficients[name] = given.integer()
    tensors = [
        Tensor(
            space["name"].text(),
            tuple(_axis(axis, coefficients) for axis in space["projection"].items()),
            "read_write" in space and space["read_write"].text().lower() == "true",
        )
        for space in shape["data_spaces"].items()
    ]
    name = shape["name"].text() if "name" in shape else ""
    return workload_of(name, extents, tensors, part.where)


def _axis(part: Part, coefficients: dict[str, int]) -> Axis:
    terms = []
    for term in part.items():
        names = term.texts()
        if len(names) not in (1, 2) or not {*names[1:]} <= coefficients.keys():
            term.fail("is no rank, nor a rank and a coefficient")
        terms.append((names[0], coefficients[names[1]] if names[1:] else 1))
    return tuple(terms)


def read_architecture(part: Part) -> Chain:
    """Read the chain of memories of an ``architecture``."""
    memories: list[Memory] = []
    places: list[list[tuple[str, ...]]] = []
    fanouts: list[tuple[str, ...]] = []
    fanout, compute = 1, False
    for node in _nodes(part):
        if compute:
            node.fail("stands after the compute unit; a chain ends there")
        mesh = _mesh(node)
        if mesh > 1 or (node.tag == "Container" and "spatial" in node):
            if not memories:
                node.fail(f"{mesh} main memories; allowed: one")
            fanouts.append((node["name"].text(),))
        fanout = times(fanout, mesh, node)
        if node.tag == "Container":
            _unconstrained(node)
            continue
        if memories:
            memories[-1] = replace(memories[-1], fanout=fanout)
            places.append(fanouts)
        compute = _COMPUTE.fullmatch(node["class"].text()) is not None
        if not compute:
            memories.append(_memory(node, main=not memories))
        fanout, fanouts = 1, []
    if not compute:
        part.fail("has no compute unit: the last component has another class than intmac")
    return Chain(memories, places, 1, part)


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


def _mesh(node: Part) -> int:
    if "spatial" not in node:
        return 1
    node["spatial"].only("meshX", "meshY")
    spatial = node["spatial"]
    found = [spatial[key].integer() for key in ("meshX", "meshY") if key in spatial]
    return found[0] * found[-1] if len(found) == 2 else sum(found) or 1


def _memory(node: Part, main: bool) -> Memory:
    _unconstrained(node)
    name, attributes = node["name"].text(), node["attributes"]
    datawidth = attributes["datawidth"].integer()
    if datawidth != _WORD:
        attributes.fail(f"datawidth is {datawidth}; a word of ours has {_WORD} bits")
    words = None
    for key in ("entries", "sizeKB", "metadata_datawidth"):
        if key in attributes:
            attributes.fail(f"has {key}; say the capacity as depth and width")
    if not main and "depth" in attributes:
        words = attributes["depth"].integer() * attributes["width"].integer() // _WORD
    rates = {field: attributes[key].integer() for key, field in _READS.items() if key in attributes}
    return Memory(name, words, **rates)


def _unconstrained(node: Part) -> None:
    if "constraints" in node and node["constraints"].value:
        node["constraints"].fail("a machine of ours has no constraints; take them out")
