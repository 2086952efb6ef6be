"""Accelerators as AccelForge writes them: ``arch``.

It knows seconds, but no clock. One cycle is written as one second, and an action moves one word. In
a file of others a compute unit of more operations a second than any unit does in a cycle says how
long a cycle is: it does one in each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, TypeVar

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

TAGS = ("Memory", "Container", "Compute", "Toll", "Storage", "Temporal", "Spatial")
"""Tags of nodes."""

# More MACs in a cycle than any PE has.
_MOST_LANES = 4096
_TOGETHER = "sum(a.n_calls / a.throughput for a in actions)"
_SEPARATE = "max(a.n_calls / a.throughput for a in actions)"
_EXAMPLE = "sum(a.n_calls for a in actions) / 200e6"
_COUNTED = re.compile(r"(sum|max)\(a\.n_callsforainactions\)((?:/[0-9.e+-]+)+)")
_IF = re.compile(r" if (?:input|weight|output) else .*")
_WORD = re.compile(r"(?:input|weight|output)\.bits_per_value")
_ALL = frozenset(TENSORS)
_SETS = {
    "All": _ALL,
    # One layer has none.
    **dict.fromkeys(("Nothing", "Intermediates"), frozenset[str]()),
    "input": frozenset({"input"}),
    **dict.fromkeys(("weight", "filter"), frozenset({"filter"})),
    "output": frozenset({"output"}),
}
_COMPONENT = (
    *("component_class", "extra_attributes_for_component_model", "leak_power", "area"),
    "total_latency",
)
_BITS = ("bits_per_value", "bits_per_action")
_Number = TypeVar("_Number", int, Fraction)
_OF_MAPPINGS = ("min_usage", "loop_bounds", "power_gateable")


def arch_text(memories: list[Memory], lanes: int) -> str:
    """Write an accelerator: main memory, L2, buffers of clusters, L1, and MACs with some lanes."""
    lines = ["arch:", "  nodes:"]
    for index, memory in enumerate(memories):
        if index > 1:
            fanout = memories[index - 1].fanout
            spatial = f"spatial: [{{name: X, fanout: {fanout}}}]"
            lines.append(f"  - !Container {{name: Level{index - 2}, {spatial}}}")
        size = "inf" if memory.words is None else memory.words * WORD_BITS
        lines.append(f"  - !Memory\n    name: {memory.name}\n    size: {size}")
        lines.append("    leak_power: 0\n    area: 0\n    tensors: {keep: All}")
        if memory.shared is None:
            lines.append(f"    total_latency: {_SEPARATE}")
        lines.append("    actions:")
        for action, limit in (("read", memory.reads), ("write", memory.writes)):
            throughput = memory.shared or limit or "inf"
            lines.append(
                f"    - {{name: {action}, energy: 0, throughput: {throughput}, "
                f"bits_per_action: {WORD_BITS}}}"
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
    nodes = list(part["nodes"].items())
    for node in nodes:
        if node.tag == "Compute":
            rate = _action(node, "compute").rate
            if rate is None or rate > _MOST_LANES:
                node.fail(
                    f"a throughput of {'inf' if rate is None else rate} is none of a "
                    "cycle; give every throughput per cycle"
                )
    return chain_of(part, _nodes(nodes, Fraction(1)))


def read_hierarchy(part: Part, name: str = "") -> Hierarchy:
    """Read an ``arch`` of any memories, with words of 8 bits.

    A memory keeps what it may keep. Limits of mappings are not read; nor are areas, leakage and
    what components are made of, so that an energy that no action says is 0.

    Raises:
        HardwareError: it cannot be read, or says what no accelerator of ours can be.
    """
    nodes = list(part["nodes"].items())
    rates = [_action(node, "compute").rate for node in nodes if node.tag == "Compute"]
    rate = rates[0] if rates else None
    clock = rate if rate is not None and rate > _MOST_LANES else None
    hertz = Fraction(1) if clock is None and rate is not None else clock
    megahertz = None if clock is None else float(clock / 10**6)
    return hierarchy_of_nodes(part, _nodes(nodes, hertz), name, WORD_BITS, megahertz)


def _nodes(parts: Iterable[Part], hertz: Fraction | None) -> Iterator[Node]:
    """Yield the nodes of a file; of cycles a second, None where it does not say them."""
    sets = dict(_SETS)
    for part in parts:
        fanouts = list(_fanouts(part, sets))
        if part.tag == "Container":
            part.only("name", "spatial")
            yield Node(part, fanouts)
        elif part.tag == "Memory":
            memory = _memory(part, sets, hertz)
            sets[memory.name] = frozenset(memory.keeps)
            yield Node(part, fanouts, memory)
        elif part.tag == "Compute":
            part.only(*_COMPONENT, "name", "actions", "spatial")
            yield Node(part, fanouts, mac=_mac(part))
        else:
            part.fail("has no tag !Memory, !Container or !Compute")


def _fanouts(
    node: Part, sets: Mapping[str, frozenset[str]]
) -> Iterator[tuple[Place, FanoutElement]]:
    name = node["name"].text()
    for index, each in enumerate(node.get("spatial", []).items()):
        each.only("name", "fanout", "reuse", "may_reuse", *_OF_MAPPINGS)
        along = each["name"].text()
        shared = [_set(each[key], sets) for key in ("may_reuse", "reuse") if key in each]
        axis: Literal["X", "Y"] = "Y" if along in ("y", "Y") or index % 2 else "X"
        element = FanoutElement(
            name=f"{name}_{along}",
            size=each["fanout"].integer(),
            axis=axis,
            apart=_listed(_ALL - shared[0]) if shared else (),
        )
        yield (name, along), element


def _memory(
    node: Part, sets: Mapping[str, frozenset[str]], hertz: Fraction | None
) -> MemoryElement:
    node.only(*_COMPONENT, "name", "size", "tensors", "actions", "spatial", *_BITS)
    kept = node.get("tensors", YamlBlock())
    kept.only("keep", "may_keep")
    named = [_set(kept[key], sets) for key in ("keep", "may_keep") if key in kept]
    read, write = _action(node, "read"), _action(node, "write")
    widths = {
        tensor: _plain(each).integer()
        for key, each in node.get("bits_per_value", YamlBlock()).named().items()
        for tensor in _listed(_set(each, sets, key))
    }
    return MemoryElement(
        name=node["name"].text(),
        keeps=_listed(frozenset().union(*named)) if named else TENSORS,
        capacity_bits=_limit(node["size"], Part.integer),
        width_bits=widths or None,
        read_pj_per_bit=float(read.picojoules / read.bits),
        write_pj_per_bit=float(write.picojoules / write.bits),
        **_ports(node, read, write, hertz),  # type: ignore[arg-type]
    )


def _ports(node: Part, read: _Action, write: _Action, hertz: Fraction | None) -> dict[str, float]:
    """Return bits a cycle by field of a memory."""
    if hertz is None and not read.rate is write.rate is None:
        node.fail("has a throughput a second, where no compute unit says how long a cycle is")
    rates = {
        field: float(action.rate * action.bits / hertz)
        for field, action in (("read_bw", read), ("write_bw", write))
        if action.rate is not None and hertz is not None
    }
    if not read.shared or not rates:
        return rates
    if rates.get("read_bw") != rates.get("write_bw"):
        shown = " and ".join(f"{field} {rate:g}" for field, rate in rates.items())
        node.fail(f"has one port, but bits a cycle of {shown}")
    return {"bw": rates["read_bw"]}


def _mac(node: Part) -> MacElement:
    units = _action(node, "compute")
    rate = Fraction(1) if units.rate is None or units.rate > _MOST_LANES else units.rate
    if rate != int(rate):
        node.fail(f"does {float(rate):g} operations a cycle; allowed: whole numbers")
    return MacElement(simd=int(rate), pj=float(units.picojoules))


@dataclass(frozen=True)
class _Action:
    """An action of a component.

    Args:
        rate: how often in a second; None without limit, or where it is not said.
        picojoules: its energy.
        bits: that it moves.
        shared: there is one port for all actions.
    """

    rate: Fraction | None
    picojoules: Fraction
    bits: int
    shared: bool


def _action(node: Part, name: str) -> _Action:
    shared, counted = _port(node)
    bits = node.get("bits_per_action", "1")
    if "actions" not in node:
        return _Action(counted, Fraction(0), bits.integer(), shared)
    found = [each for each in node["actions"].items() if each["name"].text() == name]
    if len(found) != 1:
        node["actions"].fail(f"has {len(found)} actions {name}; allowed: one")
    (each,) = found
    each.only("name", "energy", "throughput", "bits_per_action")
    rate = _limit(each.get("throughput", "inf"), Part.positive)
    picojoules = each.get("energy", "0").number() * 10**12
    own = each.get("bits_per_action", bits.value)
    return _Action(rate if counted is None else counted, picojoules, own.integer(), shared)


def _limit(part: Part, read: Callable[[Part], _Number]) -> _Number | None:
    return None if part.text().strip() in ("inf", ".inf") else read(_plain(part))


def _port(node: Part) -> tuple[bool, Fraction | None]:
    """Whether all actions share a port, and how many of them there are a second if that is said."""
    latency = node.get("total_latency", _TOGETHER)
    text = "".join(latency.text().split())
    for each in (_TOGETHER, _SEPARATE):
        if text == "".join(each.split()):
            return each == _TOGETHER, None
    if not (match := _COUNTED.fullmatch(text)):
        latency.fail(f"cannot be said; allowed: {_TOGETHER}, or max, or {_EXAMPLE}")
    rates = replace(latency, value=match[2].strip("/").replace("/", "*"))
    return match[1] == "sum", rates.positive()


def _plain(part: Part) -> Part:
    """Return a number of a file, where the words of all tensors have one width."""
    return replace(part, value=_WORD.sub(str(WORD_BITS), _IF.sub("", part.text())))


def _set(part: Part, sets: Mapping[str, frozenset[str]], text: str = "") -> frozenset[str]:
    """Return the tensors of an expression such as ``input | ~GlobalBuffer``."""

    def named(term: str) -> frozenset[str]:
        name = term.strip().removesuffix(".tensors")
        if name.startswith("~"):
            return _ALL - named(name[1:])
        if name not in sets:
            part.fail(f"{quoted(name)} is no tensor or memory; allowed: {', '.join(sets)}")
        return sets[name]

    terms = (text or part.text()).split("|")
    return frozenset().union(*(_ALL.intersection(*map(named, each.split("&"))) for each in terms))


def _listed(tensors: frozenset[str]) -> tuple[str, ...]:
    return tuple(tensor for tensor in TENSORS if tensor in tensors)
