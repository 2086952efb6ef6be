"""Accelerators as AccelForge writes them: ``arch``.

One cycle is written as one second, and an action moves one word.
"""

from __future__ import annotations

from collections.abc import Iterator

from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.memories import Chain, Link, Memory, chain_of, hardware_of
from maestro_env.base.errors import HardwareError
from maestro_env.base.yaml_file import Part, read_yaml

TAGS = ("Memory", "Container", "Compute", "Toll", "Storage", "Temporal", "Spatial")
"""Tags of nodes."""

_WORD = 8
# More MACs in a cycle than any PE has.
_MOST_LANES = 4096
_SEPARATE = "max(a.n_calls / a.throughput for a in actions)"


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


# --- In -----------------------------------------------------------------------------------------


def hardware_from_accelforge(text: str, source: str = "arch", name: str = "") -> Hardware:
    """Read the ``arch`` of an AccelForge YAML text as an accelerator.

    Raises:
        HardwareError: it is none of ours: other levels, widths or limits; begins with ``source``.
    """
    root = read_yaml(text, source, HardwareError, TAGS)
    return hardware_of(read_arch(root["arch"]), name)


def read_arch(part: Part) -> Chain:
    """Read the chain of memories of an ``arch``."""
    return chain_of(part, map(_link, part["nodes"].items()))


def _link(node: Part) -> Link:
    fanouts = list(_fanouts(node))
    if node.tag == "Container":
        return Link(node, fanouts)
    if node.tag == "Memory":
        return Link(node, fanouts, _memory(node))
    if node.tag != "Compute":
        node.fail("has no tag !Memory, !Container or !Compute")
    lanes = _throughput(node, "compute")
    if lanes is None or lanes > _MOST_LANES:
        node.fail(
            f"a throughput of {lanes or 'inf'} is none of a cycle; give every throughput per cycle"
        )
    return Link(node, fanouts, lanes=lanes)


def _fanouts(node: Part) -> Iterator[tuple[tuple[str, str], int]]:
    for each in node.get("spatial", []).items():
        each.only("name", "fanout")
        yield (node["name"].text(), each["name"].text()), each["fanout"].integer()


def _memory(node: Part) -> Memory:
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
    latency = node.get("total_latency", _SEPARATE)
    if "".join(latency.text().split()) != "".join(_SEPARATE.split()):
        latency.fail(f"cannot be said; allowed: {_SEPARATE}")
    return Memory(name, words, reads, writes)


def _throughput(node: Part, action: str) -> int | None:
    """Return the words, or MACs, per cycle; None if there is no limit."""
    found = [each for each in node["actions"].items() if each["name"].text() == action]
    if len(found) != 1:
        node["actions"].fail(f"has {len(found)} actions {action}; allowed: one")
    (each,) = found
    bits = each.get("bits_per_action", str(_WORD)).integer()
    if bits != _WORD:
        each.fail(f"an action of {bits} bits; a word of ours has {_WORD}")
    unlimited = each["throughput"].text().strip() in ("inf", ".inf")
    return None if unlimited else each["throughput"].integer()
