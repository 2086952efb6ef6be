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
from operator import eq, ge, gt, le, lt, ne
from typing import Literal, TypeVar

from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import (
    TENSORS,
    FanoutElement,
    Hierarchy,
    MacElement,
    MemoryElement,
)
from maestro_env.accelerators.nodes import Node, hierarchy_of_nodes
from maestro_env.accelerators.two_buffers import WORD_BITS, two_buffers
from maestro_env.base.errors import HardwareError, quoted
from maestro_env.base.texts.blocks import YamlBlock
from maestro_env.base.texts.expressions import value_of
from maestro_env.base.yaml_file import Part, read_yaml

TAGS = ("Memory", "Container", "Compute", "Toll", "Network", "Storage", "Temporal", "Spatial")
"""Tags of nodes."""

# More MACs in a cycle than any PE has.
_MOST_LANES = 4096
_WORDS = {f"{tensor}.bits_per_value": str(WORD_BITS) for tensor in ("input", "weight", "output")}
_ENABLED = re.compile(r"len\(All\)\s*([=!<>]=|[<>])\s*([0-9]{1,3})")
_COMPARED = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_ALL = frozenset(TENSORS)
_SETS = {
    "All": _ALL,
    # One layer has none.
    **dict.fromkeys(("Nothing", "Intermediates"), frozenset[str]()),
    "input": frozenset({"input"}),
    **dict.fromkeys(("weight", "filter"), frozenset({"filter"})),
    "output": frozenset({"output"}),
}
_UNPRICED = ("leak_power", "area")
_COMPONENT = (
    *("name", "component_class", "extra_attributes_for_component_model", *_UNPRICED),
    *("total_latency", "enabled"),
)
_BITS = ("bits_per_value", "bits_per_action")
_OF_MAPPINGS = ("min_usage", "loop_bounds", "power_gateable")
_OF_KEPT = ("tile_shape", "tensor_order_options", "force_memory_hierarchy_order")
_LIMITS = "limits of mappings are not read, so that mappings may break them"
_TOGETHER = "sum(a.n_calls / a.throughput for a in actions)"
_SEPARATE = "max(a.n_calls / a.throughput for a in actions)"
_EXAMPLE = "sum(a.n_calls for a in actions) / 200e6"
_LATENCY = re.compile(
    r"(sum|max)\(a\.n_calls(?:/a\.throughputforainactions\)|forainactions\)((?:/[0-9.e+-]+)+))"
)
_IF = re.compile(r" if (?:input|weight|output) else .*")
_Number = TypeVar("_Number", int, Fraction)


def arch_text(hierarchy: Hierarchy) -> str:
    """Write an accelerator such as ``memories_of`` returns."""
    lines = ["arch:", "  nodes:"]
    for each in hierarchy.elements:
        if isinstance(each, FanoutElement):
            component, along = container_of(each)
            spatial = f"spatial: [{{name: {along}, fanout: {each.size}}}]"
            lines.append(f"  - !Container {{name: {component}, {spatial}}}")
            continue
        size = "inf" if each.capacity_bits is None else each.capacity_bits
        lines.append(f"  - !Memory\n    name: {each.name}\n    size: {size}")
        lines.append("    leak_power: 0\n    area: 0\n    tensors: {keep: All}")
        if each.bw is None:
            lines.append(f"    total_latency: {_SEPARATE}")
        lines.append("    actions:")
        for action, limit in (("read", each.read_bw), ("write", each.write_bw)):
            bits = limit if each.bw is None else each.bw
            throughput = "inf" if bits is None else int(bits) // WORD_BITS
            lines.append(
                f"    - {{name: {action}, energy: 0, throughput: {throughput}, "
                f"bits_per_action: {WORD_BITS}}}"
            )
    lines.append("  - !Compute\n    name: MAC\n    leak_power: 0\n    area: 0\n    actions:")
    lines.append(f"    - {{name: compute, energy: 0, throughput: {hierarchy.mac.simd}}}")
    return "\n".join(lines) + "\n"


def container_of(fanout: FanoutElement) -> tuple[str, str]:
    """Return what an ``arch`` calls the container of a fan-out, and the fan-out in it."""
    container, _, along = fanout.name.rpartition("_")
    return (container, along) if container else (fanout.name, fanout.axis)


# --- In -----------------------------------------------------------------------------------------


def hardware_from_accelforge(text: str, source: str = "arch", name: str = "") -> Hardware:
    """Read the ``arch`` of an AccelForge YAML text as an accelerator.

    Raises:
        HardwareError: other levels, widths or limits than two buffers have; begins with ``source``.
    """
    root = read_yaml(text, source, HardwareError, TAGS)
    return two_buffers(read_hierarchy(root, name), root)


def read_hierarchy(root: Part, name: str = "") -> Hierarchy:
    """Read the ``arch`` of a document, of any memories, with words of 8 bits.

    A memory keeps what it may keep. Limits of mappings are not read; nor are areas, leakage and
    what components are made of, so that an energy that no action says is 0.

    Raises:
        HardwareError: it cannot be read, or says what no ``Hierarchy`` can be.
    """
    part, nodes = _enabled(root)
    rates = [_action_of(node, "compute").rate for node in nodes if node.tag == "Compute"]
    rate = rates[0] if rates else None
    clock = rate if rate is not None and rate > _MOST_LANES else None
    hertz = Fraction(1) if clock is None and rate is not None else clock
    megahertz = None if clock is None else float(clock / 10**6)
    return hierarchy_of_nodes(part, _nodes(nodes, hertz), name, WORD_BITS, megahertz)


def _enabled(root: Part) -> tuple[Part, list[Part]]:
    """Return the ``arch`` of a document and its nodes, but for those that no layer enables."""
    root.spelt("arch", "variables", "workload", "mapping", "mapper", "model", "renames", "config")
    words = {key: replace(root, value=bits) for key, bits in _WORDS.items()}
    part = root["arch"].knowing({**words, **root.get("variables", YamlBlock()).named()})
    part.only("nodes", "variables", "extra_attributes_for_all_component_models", "version")
    part = part.knowing(part.get("variables", YamlBlock()).named())
    return part, [each for each in part["nodes"].items() if _is_enabled(each)]


def _is_enabled(node: Part) -> bool:
    """Whether a node is there for layers, which have three tensors."""
    enabled = node.get("enabled", "true")
    text = enabled.text().strip()
    if match := _ENABLED.fullmatch(text):
        return bool(_COMPARED[match[1]](len(TENSORS), int(match[2])))
    if text.lower() not in ("true", "false"):
        enabled.fail(f"is {quoted(text)}; allowed: true, false, or such as len(All) == 3")
    return text.lower() == "true"


def _nodes(parts: Iterable[Part], hertz: Fraction | None) -> Iterator[Node]:
    """Yield the nodes of a file; of cycles a second, None where it does not say them."""
    sets = dict(_SETS)
    for part in parts:
        fanouts = list(_fanouts(part, sets))
        if part.tag == "Container":
            part.only("name", "spatial", "enabled")
            yield Node(part, fanouts)
        elif part.tag == "Memory":
            memory = _memory(part, sets, hertz)
            sets[memory.name] = frozenset(memory.keeps)
            yield Node(part, fanouts, memory)
        elif part.tag == "Compute":
            _check_component(part, "actions", "spatial")
            yield Node(part, fanouts, mac=_mac(part))
        elif part.tag == "Toll":
            yield Node(part, [*fanouts, _toll(part, sets)])
        elif part.tag == "Network":
            _check_component(part, "actions", "spatial", "topology", *_BITS)
            part.note("networks are not read; what passes them costs neither time nor energy")
            yield Node(part, fanouts)
        else:
            part.fail("has no tag !Memory, !Container, !Compute, !Toll or !Network")


def _check_component(part: Part, *allowed: str) -> None:
    """Refuse keys of a component that are not allowed, and note what is left out."""
    part.only(*_COMPONENT, *allowed)
    for key in _UNPRICED:
        if value_of(part.get(key, "0").text(), part.names) != 0:
            part.note("leakage and areas are not read")
    if part.get("component_class", "Dummy").text() != "Dummy":
        part.note("energies and times of component models are not known here")


def _toll(part: Part, sets: Mapping[str, frozenset[str]]) -> FanoutElement:
    """Return a toll on all that passes, as the way to one instance of what is below."""
    _check_component(part, "tensors", "direction", "actions", "spatial", *_BITS)
    part["tensors"].only("keep")
    on_all = _set(part["tensors"]["keep"], sets) == _ALL
    if part["direction"].text() != "up_and_down" or not on_all:
        part.fail("is a toll on some tensors or one way; allowed: All, up_and_down")
    read = _action_of(part, "read")
    if read.rate is not None:
        part.fail("has a throughput; allowed: a toll of energy alone")
    words = part.get("bits_per_value", YamlBlock())
    words.only("All")
    word = words.get("All", str(WORD_BITS)).number()
    picojoules = read.picojoules / read.bits * word / WORD_BITS
    return FanoutElement(name=part["name"].text(), size=1, pj_per_bit=float(picojoules))


def _fanouts(node: Part, sets: Mapping[str, frozenset[str]]) -> Iterator[FanoutElement]:
    name = node["name"].text()
    for index, each in enumerate(node.get("spatial", []).items()):
        each.only("name", "fanout", "reuse", "may_reuse", *_OF_MAPPINGS)
        if any(key in each for key in ("reuse", *_OF_MAPPINGS)):
            each.note(_LIMITS)
        along = each["name"].text()
        shared = [_set(each[key], sets) for key in ("may_reuse", "reuse") if key in each]
        axis: Literal["X", "Y"] = "Y" if along in ("y", "Y") or index % 2 else "X"
        yield FanoutElement(
            name=f"{name}_{along}",
            size=each["fanout"].integer(),
            axis=axis,
            apart=_listed(_ALL - shared[0]) if shared else (),
        )


def _memory(
    node: Part, sets: Mapping[str, frozenset[str]], hertz: Fraction | None
) -> MemoryElement:
    _check_component(node, "size", "tensors", "actions", "spatial", *_BITS)
    kept = node.get("tensors", YamlBlock())
    kept.only("keep", "may_keep", *_OF_KEPT)
    if any(key in kept for key in _OF_KEPT):
        node.note(_LIMITS)
    named = [_set(kept[key], sets) for key in ("keep", "may_keep") if key in kept]
    read, write = _action_of(node, "read"), _action_of(node, "write")
    widths = {
        tensor: each.integer()
        for key, each in node.get("bits_per_value", YamlBlock()).named().items()
        for tensor in _listed(_set(each, sets, key))
    }
    return MemoryElement(
        name=node["name"].text(),
        keeps=_listed(frozenset().union(*named)) if named else TENSORS,
        capacity_bits=_limit_of(node["size"], Part.integer),
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
    units = _action_of(node, "compute")
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


def _action_of(node: Part, name: str) -> _Action:
    """Return the action of a name of a component."""
    shared, counted = _port(node)
    bits = node.get("bits_per_action", "1")
    if "actions" not in node:
        return _Action(counted, Fraction(0), bits.integer(), shared)
    found = [each for each in node["actions"].items() if each["name"].text() == name]
    if len(found) != 1:
        node["actions"].fail(f"has {len(found)} actions {name}; allowed: one")
    (each,) = found
    each.only("name", "energy", "throughput", "latency", "bits_per_action")
    rate = _limit_of(each.get("throughput", "inf"), Part.positive)
    if seconds := each.get("latency", "0").number():
        rate = 1 / seconds if rate is None else each.fail("has a throughput and a latency")
    picojoules = each.get("energy", "0").number() * 10**12
    own = each.get("bits_per_action", bits.value)
    return _Action(rate if counted is None else counted, picojoules, own.integer(), shared)


def _limit_of(part: Part, read: Callable[[Part], _Number]) -> _Number | None:
    """Return a number, None for a limit that is infinite."""
    text = _IF.sub("", part.text().strip())
    return None if text in ("inf", ".inf") else read(replace(part, value=text))


def _port(node: Part) -> tuple[bool, Fraction | None]:
    """Whether all actions share a port, and how many of them there are a second if that is said."""
    latency = node.get("total_latency", _TOGETHER)
    if not (match := _LATENCY.fullmatch("".join(latency.text().split()))):
        latency.fail(f"cannot be said; allowed: {_TOGETHER}, or max, or {_EXAMPLE}")
    rates = replace(latency, value=(match[2] or "").strip("/").replace("/", "*"))
    return match[1] == "sum", rates.positive() if match[2] else None


def _set(part: Part, sets: Mapping[str, frozenset[str]], text: str = "") -> frozenset[str]:
    """Return the tensors of an expression such as ``input | ~GlobalBuffer``."""

    def named(term: str) -> frozenset[str]:
        inverted = term.strip()
        name = inverted.lstrip("~").removesuffix(".tensors")
        if name not in sets:
            part.fail(f"{quoted(name)} is no tensor or memory; allowed: {', '.join(sets)}")
        return _ALL - sets[name] if (len(inverted) - len(inverted.lstrip("~"))) % 2 else sets[name]

    terms = (text or part.text()).split("|")
    return frozenset().union(*(_ALL.intersection(*map(named, each.split("&"))) for each in terms))


def _listed(tensors: frozenset[str]) -> tuple[str, ...]:
    return tuple(tensor for tensor in TENSORS if tensor in tensors)
