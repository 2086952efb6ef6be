"""Accelerators and layers as AccelForge writes them: ``arch`` and ``workload``.

One cycle is written as one second, and an action moves one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from maestro_env.base.errors import quoted
from maestro_env.base.yaml_parts import Part
from maestro_env.exchange.machine import Chain, Memory, times
from maestro_env.exchange.tensors import Axis, Tensor, Workload, rank_of, tensors_of, workload_of
from maestro_env.workloads.layer import Layer

TENSORS = ("I", "W", "O")
"""Names of input, filter and output in the files written here."""

_WORD = 8
# More MACs in a cycle than any PE has.
_MOST_LANES = 4096
_SEPARATE = "max(a.n_calls / a.throughput for a in actions)"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")
_RANGE = re.compile(r"\s*0\s*<=\s*(\w+)\s*<\s*([0-9]{1,10})\s*")
_TERM = re.compile(r"\s*(?:([0-9]{1,9})\s*\*)?\s*([A-Za-z]\w*)\s*(?:\*\s*([0-9]{1,9}))?\s*")


def rank_variable(dim: str) -> str:
    """Return what a dimension of a layer is called."""
    return rank_of(dim).lower()


def layer_name(layer: Layer) -> str:
    """Return the name of a layer, or what is left of it in letters and digits."""
    return f"layer_{_NOT_IN_NAMES.sub('_', layer.name)}".rstrip("_")


def arch_text(memories: list[Memory], lanes: int) -> str:
    """Write an accelerator: main memory, L2, buffers of clusters, L1, and MACs with some lanes."""
    lines = ["arch:", "  nodes:"]
    for index, memory in enumerate(memories):
        if index > 1:
            fanout = memories[index - 1].fanout
            spatial = f"spatial: [{{name: X, fanout: {fanout}}}]"
            lines.append(f"  - !Container {{name: Level{index - 2}, {spatial}}}")
        size = "inf" if memory.words is None else memory.words * _WORD
        lines.append(f"  - !Memory\n    name: {memory.name}\n    size: {size}")
        lines.append("    leak_power: 0\n    area: 0\n    tensors: {keep: All}")
        if memory.shared is None:
            lines.append(f"    total_latency: {_SEPARATE}")
        lines.append("    actions:")
        for action, limit in (("read", memory.reads), ("write", memory.writes)):
            throughput = memory.shared or limit or "inf"
            lines.append(
                f"    - {{name: {action}, energy: 0, throughput: {throughput}, "
                f"bits_per_action: {_WORD}}}"
            )
    lines.append("  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:")
    lines.append(f"    - {{name: compute, energy: 0, throughput: {lanes}}}")
    return "\n".join(lines) + "\n"


def workload_text(layer: Layer) -> str:
    """Write a layer."""
    lines = ["workload:", "  iteration_space_shape:"]
    for dim, extent in layer.loop_extents.items():
        lines.append(f"    {rank_variable(dim)}: 0 <= {rank_variable(dim)} < {extent}")
    lines.append(f"  bits_per_value: {{All: {_WORD}}}")
    lines.append(f"  einsums:\n  - name: {layer_name(layer)}\n    tensor_accesses:")
    for name, tensor in zip(TENSORS, tensors_of(layer), strict=True):
        axes = ", ".join(f"{_rank(axis)}: {_sum(axis)}" for axis in tensor.axes)
        output = ", output: true" if tensor.is_output else ""
        lines.append(f"    - {{name: {name}, projection: {{{axes}}}{output}}}")
    lines.append("    renames: {input: I, weight: W, output: O}")
    return "\n".join(lines) + "\n"


def _rank(axis: Axis) -> str:
    """Return the name of an axis: of rows and columns of the input, H and W."""
    if len(axis) == 1:
        return rank_of(axis[0][0])
    return {"P": "H", "Q": "W"}[rank_of(axis[0][0])]


def _sum(axis: Axis) -> str:
    return " + ".join(
        rank_variable(dim) if step == 1 else f"{step} * {rank_variable(dim)}" for dim, step in axis
    )


# --- In -----------------------------------------------------------------------------------------


def read_workload(part: Part) -> Workload:
    """Recognise a layer of ours in a ``workload``."""
    einsums = list(part["einsums"].items())
    if len(einsums) != 1:
        part.fail(f"has {len(einsums)} einsums; allowed: one")
    einsum = einsums[0]
    if "bits_per_value" in part:
        part["bits_per_value"].only("All")
        if part["bits_per_value"]["All"].integer() != _WORD:
            part.fail(f"values of other than {_WORD} bits; a word of ours has {_WORD}")
    tensors = [
        Tensor(
            access["name"].text(),
            tuple(_axes(access["projection"])),
            "output" in access and access["output"].text().lower() == "true",
        )
        for access in einsum["tensor_accesses"].items()
    ]
    extents = dict(_extents(part, einsum))
    for tensor in tensors:
        for rank in sorted(tensor.ranks - extents.keys()):
            if "rank_sizes" in part and rank.upper() in part["rank_sizes"]:
                extents[rank] = part["rank_sizes"][rank.upper()].integer()
    name = einsum["name"].text().removeprefix("layer").removeprefix("_")
    return workload_of(name, extents, tensors, part.where)


def _extents(part: Part, einsum: Part) -> Iterator[tuple[str, int]]:
    ranges: list[Part] = []
    if "iteration_space_shape" in part:
        shape = part["iteration_space_shape"]
        ranges += [shape[key] for key in shape.names()]
    if "iteration_space_shape" in einsum:
        ranges += einsum["iteration_space_shape"].items()
    for each in ranges:
        match = _RANGE.fullmatch(each.text())
        if match is None or int(match[2]) == 0:
            each.fail(f"{quoted(each.text())} is no range; allowed: such as 0 <= m < 32")
        yield match[1], int(match[2])


def _axes(part: Part) -> Iterator[Axis]:
    axes = part.items() if isinstance(part.value, list) else (part[key] for key in part.names())
    for axis in axes:
        terms = []
        for text in axis.text().split("+"):
            match = _TERM.fullmatch(text)
            if match is None or (match[1] and match[3]):
                axis.fail(f"{quoted(axis.text())} is no sum of ranks such as 2 * p + r")
            terms.append((match[2], int(match[1] or match[3] or 1)))
        yield tuple(terms)


def read_arch(part: Part) -> Chain:
    """Read the chain of memories of an ``arch``."""
    memories: list[Memory] = []
    places: list[list[tuple[str, ...]]] = []
    fanout: list[tuple[str, str, int]] = []
    compute: Part | None = None
    for node in part["nodes"].items():
        if compute is not None:
            node.fail("stands after the compute unit; a chain ends there")
        fanout += _fanouts(node)
        if node.tag == "Container":
            continue
        if node.tag not in ("Memory", "Compute"):
            node.fail("has no tag !Memory, !Container or !Compute")
        units = 1
        for _, _, count in fanout:
            units = times(units, count, node)
        if memories:
            memories[-1] = replace(memories[-1], fanout=units)
        elif units > 1:
            node.fail(f"{units} main memories; allowed: one")
        places.append([(component, name) for component, name, _ in fanout])
        fanout = []
        if node.tag == "Compute":
            compute = node
        else:
            memories.append(_memory(node, main=not memories))
    if compute is None:
        part.fail("has no !Compute at its end")
    lanes = _throughput(compute, "compute")
    if lanes is None or lanes > _MOST_LANES:
        compute.fail(
            f"a throughput of {lanes or 'inf'} is none of a cycle; give every throughput per cycle"
        )
    return Chain(memories, places[1:], lanes, part)


def _fanouts(node: Part) -> Iterator[tuple[str, str, int]]:
    for each in node["spatial"].items() if "spatial" in node else ():
        each.only("name", "fanout")
        yield node["name"].text(), each["name"].text(), each["fanout"].integer()


def _memory(node: Part, main: bool) -> Memory:
    kept = node["tensors"]
    kept.only("keep", "may_keep")
    if not any(key in kept and kept[key].text() == "All" for key in ("keep", "may_keep")):
        kept.fail("does not keep All; every tensor of ours passes every memory")
    size = node["size"].text().strip()
    bits = None if size in ("inf", ".inf") else node["size"].integer()
    if bits is not None and bits % _WORD:
        node["size"].fail(f"{bits} bits are no words of {_WORD}")
    words = None if bits is None else bits // _WORD
    reads, writes = _throughput(node, "read"), _throughput(node, "write")
    name = node["name"].text()
    if "total_latency" not in node and (reads or writes):
        if reads != writes:
            node.fail(f"reads {reads} and writes {writes} words a cycle on one port")
        return Memory(name, words, shared=reads)
    if "total_latency" in node and "".join(node["total_latency"].text().split()) != "".join(
        _SEPARATE.split()
    ):
        node["total_latency"].fail(f"cannot be said; allowed: {_SEPARATE}")
    return Memory(name, words, reads, writes)


def _throughput(node: Part, action: str) -> int | None:
    """Return the words, or MACs, per cycle; None if there is no limit."""
    found = [each for each in node["actions"].items() if each["name"].text() == action]
    if len(found) != 1:
        node["actions"].fail(f"has {len(found)} actions {action}; allowed: one")
    (each,) = found
    bits = each["bits_per_action"].integer() if "bits_per_action" in each else _WORD
    if bits != _WORD:
        each.fail(f"an action of {bits} bits; a word of ours has {_WORD}")
    unlimited = each["throughput"].text().strip() in ("inf", ".inf")
    return None if unlimited else each["throughput"].integer()
