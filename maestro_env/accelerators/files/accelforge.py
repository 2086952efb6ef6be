"""Accelerators as AccelForge has them, ``arch``: read and written.

It knows seconds, but no clock. One cycle is written as one second, and an action moves one word.
In a file of others a compute unit of more operations a second than any unit does in a cycle says
how long a cycle is: it does one in each.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Literal

from maestro_env.accelerators.elements import TENSORS, FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.files.accelforge_document import (
    ALL,
    SCALES,
    SEPARATE,
    SETS,
    action_of,
    counted_by_code,
    enabled,
    in_order,
    ports_of,
    size_of,
    tensor_set,
    units_of,
    whole_bits,
    word_bits_of,
)
from maestro_env.accelerators.files.nodes import (
    FANOUT_PJ,
    MAC,
    Node,
    check_said,
    exact,
    fanout_energies,
    hierarchy_of_nodes,
    nodes_of,
    picojoules,
    widths_of,
)
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import ANY_LOOPS, DIMS, INDEXING, LoopRules
from maestro_env.accelerators.two_buffers import two_buffers
from maestro_env.base.errors import HardwareError, Refuse
from maestro_env.base.expressions import value_of
from maestro_env.base.yaml_blocks import YamlBlock
from maestro_env.base.yaml_file import Part, read_yaml

TAGS = (
    *("Memory", "Container", "Compute", "Toll", "Network", "Array"),
    *("Storage", "Temporal", "Spatial"),
)
"""Tags of nodes."""

# More MACs in a cycle than any PE has.
_MOST_LANES = 4096
# A slower clock may be more MACs in a cycle.
_SLOWEST_MHZ = 1
_NAMES = dict(zip(TENSORS, ("input", "weight", "output"), strict=True))
_UNPRICED = ("leak_power", "area")
_COMPONENT = (
    *("name", "component_class", "extra_attributes_for_component_model", *_UNPRICED),
    *("total_latency", "enabled", "area_scale", "leak_power_scale", "values_per_action", *SCALES),
)
_BITS = ("bits_per_value", "bits_per_action")
_OF_MAPPINGS = ("min_usage", "loop_bounds", "power_gateable")
_OF_KEPT = (
    *("tile_shape", "tensor_order_options", "force_memory_hierarchy_order", "no_resend_to_below"),
)
STAYS = "no_refetch_from_above"
_LIMITS = (
    "{name}: {keys} limit mappings, but are not read, so that mappings may break them; read are "
    f"reuse and {STAYS}"
)


def container_of(fanout: FanoutElement) -> tuple[str, str]:
    """Return what an ``arch`` calls the container of a fan-out, and the fan-out in it."""
    container, _, along = fanout.name.rpartition("_")
    return (container, along) if container else (fanout.name, fanout.axis)


def hardware_from_accelforge(text: str, source: str = "arch", name: str = "") -> Hardware:
    """Read the ``arch`` of an AccelForge YAML text as an accelerator.

    Raises:
        HardwareError: other levels, widths or limits than two buffers have; begins with ``source``.
    """
    root = read_yaml(text, source, HardwareError, TAGS)
    return two_buffers(read_hierarchy(root, name), root)


def read_hierarchy(root: Part, name: str = "") -> Hierarchy:
    """Read the ``arch`` of a document, of any memories.

    Words have the bits of the ``workload``, or 8.
    A memory keeps what it may keep. Limits of mappings are not read; nor are areas, leakage and
    what components are made of, so that an energy that no action says is 0.

    Raises:
        HardwareError: it cannot be read, or says what no ``Hierarchy`` can be.
    """
    part, nodes = enabled(root)
    rate = _rate(part, nodes)
    clock = rate if rate > _MOST_LANES else None
    megahertz = None if clock is None else float(clock / 10**6)
    if megahertz is not None and megahertz < _SLOWEST_MHZ:
        part.note(
            f"{megahertz * 1e6:g} operations a second are read as one MAC at {megahertz:g} MHz"
        )
    code = counted_by_code([each.get("variables", YamlBlock()) for each in (root, part)])
    found = _nodes(nodes, clock or Fraction(1), code)
    return hierarchy_of_nodes(part, found, name, word_bits_of(part), megahertz)


def _rate(part: Part, nodes: Iterable[Part]) -> Fraction:
    """Return the operations of a compute unit in a second, or else actions of a memory."""
    of_units = [action_of(node, "compute").rate for node in nodes if node.tag == "Compute"]
    if of_units and of_units[0] is not None:
        return of_units[0]
    memories = [node for node in nodes if node.tag == "Memory"]
    rates = [action_of(node, name).rate for node in memories for name in ("read", "write")]
    if known := [rate for rate in rates if rate is not None]:
        part.note("no compute unit says how long a cycle is; the fastest memory acts once in each")
    return max(known, default=Fraction(1))


def _nodes(parts: Iterable[Part], hertz: Fraction, code: Collection[str]) -> Iterator[Node]:
    """Yield the nodes of a file.

    Args:
        parts: of the file.
        hertz: cycles a second.
        code: variables that need Python code, as ``_counted_by_code`` returns them.
    """
    sets = dict(SETS)
    for part in parts:
        if sets == SETS and part.tag == "Memory" and _kept(part, sets) != ALL:
            part.note("it has no main memory; one named outside, without limit and cost, is added")
            yield Node(part, [], MemoryElement(name="outside"))
        fanouts = list(_fanouts(part, sets))
        if part.tag in ("Container", "Array"):
            part.only("name", "spatial", "enabled", *(["nodes"] if part.tag == "Array" else []))
            yield Node(part, fanouts)
        elif part.tag == "Memory":
            memory = _memory(part, sets, hertz, code)
            sets[memory.name] = frozenset(memory.keeps)
            yield Node(part, fanouts, memory)
        elif part.tag == "Compute":
            _check_component(part, "actions", "spatial", "skip_initial_output_write")
            if "skip_initial_output_write" in part:
                part.note("whether an output is written before its first sum is not read")
            yield Node(part, fanouts, mac=_mac(part))
        elif part.tag == "Toll":
            yield Node(part, [*fanouts, *_toll(part, sets)])
        elif part.tag == "Network":
            _check_component(part, "actions", "spatial", "topology", *_BITS)
            part.note("networks are not read; what passes them costs neither time nor energy")
            yield Node(part, fanouts)
        else:
            part.fail("has no tag !Memory, !Container, !Compute, !Toll, !Network or !Array")


def _check_component(part: Part, *allowed: str) -> None:
    """Refuse keys of a component that are not allowed, and note what is left out."""
    part.only(*_COMPONENT, *allowed)
    for key in _UNPRICED:
        if value_of(part.get(key, "0").text(), part.names) != 0:
            part.note("leakage and areas are not read")
    if part.get("component_class", "Dummy").text() != "Dummy":
        part.note("energies and times of component models are not known here")


def _toll(part: Part, sets: Mapping[str, frozenset[str]]) -> Iterator[FanoutElement]:
    """Yield a toll on all that passes, as the way to one instance of what is below, if it costs."""
    _check_component(part, "tensors", "direction", "actions", "spatial", *_BITS)
    actions = [*part.get("actions", []).items()]
    if any("throughput" in each or each.get("latency", "0").text() != "0" for each in actions):
        part.note("the throughput of tolls is not read, so that mappings may be slower than here")
    if not any("energy" in each for each in actions):
        return
    part["tensors"].only("keep")
    on_all = tensor_set(part["tensors"]["keep"], sets) == ALL
    if part["direction"].text() != "up_and_down" or not on_all:
        part.fail("has an energy for some tensors or one direction; allowed: All, up_and_down")
    words = part.get("bits_per_value", YamlBlock())
    words.only("All")
    own = word_bits_of(part)
    word, read = words.get("All", str(own)).number(), action_of(part, "read")
    picojoules = read.picojoules / read.bits * word / own
    yield FanoutElement(name=part["name"].text(), size=1, pj_per_bit=float(picojoules))


def _fanouts(node: Part, sets: Mapping[str, frozenset[str]]) -> Iterator[FanoutElement]:
    name = node["name"].text()
    for index, each in enumerate(node.get("spatial", []).items()):
        each.only("name", "fanout", "reuse", "may_reuse", "usage_scale", *_OF_MAPPINGS)
        _note_limits(each, name, _OF_MAPPINGS)
        along = each["name"].text()
        shared = [tensor_set(each[key], sets) for key in ("may_reuse", "reuse") if key in each]
        axis: Literal["X", "Y"] = "Y" if along in ("y", "Y") or index % 2 else "X"
        yield FanoutElement(
            name=f"{name}_{along}",
            size=units_of(each),
            axis=axis,
            apart=in_order(ALL - shared[0]) if shared else (),
            pj_per_bit=float(node.names(f"{name}_{along}{FANOUT_PJ}") or 0),
            rules=_reusing(each, sets),
        )


def _reusing(spatial: Part, sets: Mapping[str, frozenset[str]]) -> LoopRules:
    """Return what leaves the loops over which all tensors of ``reuse`` are the same."""
    if "reuse" not in spatial:
        return ANY_LOOPS
    indexing = {dim for tensor in tensor_set(spatial["reuse"], sets) for dim in INDEXING[tensor]}
    return LoopRules(dims=[dim for dim in DIMS if dim not in indexing])


def _note_limits(part: Part, name: str, keys: Iterable[str]) -> None:
    """Note limits of mappings that no rule says."""
    if found := [key for key in keys if key in part]:
        part.note(_LIMITS.format(name=name, keys=", ".join(found)))


def _memory(
    node: Part, sets: Mapping[str, frozenset[str]], hertz: Fraction, code: Collection[str]
) -> MemoryElement:
    _check_component(node, "size", "tensors", "actions", "spatial", *_BITS)
    tensors = node.get("tensors", YamlBlock())
    _note_limits(tensors, node["name"].text(), _OF_KEPT)
    kept = _kept(node, sets)
    stays = in_order(tensor_set(tensors[STAYS], sets) & kept) if STAYS in tensors else ()
    read, write = action_of(node, "read"), action_of(node, "write")
    widths = {
        tensor: whole_bits(each)
        for key, each in node.get("bits_per_value", YamlBlock()).named().items()
        for tensor in in_order(tensor_set(each, sets, key) & kept)
    }
    return MemoryElement(
        name=node["name"].text(),
        keeps=in_order(kept),
        capacity_bits=size_of(node["size"], code),
        width_bits=widths or None,
        rules=LoopRules(stays=stays),
        read_pj_per_bit=float(read.picojoules / read.bits),
        write_pj_per_bit=float(write.picojoules / write.bits),
        **ports_of(node, read, write, hertz),  # type: ignore[arg-type]
    )


def _kept(node: Part, sets: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the tensors that a memory may keep."""
    kept = node.get("tensors", YamlBlock())
    kept.only("keep", "may_keep", STAYS, *_OF_KEPT)
    named = [tensor_set(kept[key], sets) for key in ("keep", "may_keep") if key in kept]
    return frozenset().union(*named) if named else ALL


def _mac(node: Part) -> MacElement:
    units = action_of(node, "compute")
    rate = Fraction(1) if units.rate is None or units.rate > _MOST_LANES else units.rate
    if rate != int(rate):
        node.fail(f"does {float(rate):g} operations a cycle; allowed: whole numbers")
    return MacElement(simd=int(rate), pj=float(units.picojoules))


def arch_text(hierarchy: Hierarchy, refuse: Refuse) -> str:
    """Write an accelerator; the bits of its words are in the workload.

    Its rules of loops are there as far as files have them, never stricter ones.

    Raises:
        MaestroEnvError: of ``refuse``: it has what its file would not say.
    """
    said = fanout_energies(hierarchy, lambda each: "_".join(container_of(each)))
    lines = ["variables:"] if said else []
    lines += [*(f"  {name}: {pj}" for name, pj in said.items()), "arch:", "  nodes:"]
    for node in nodes_of(hierarchy, lambda each: container_of(each)[0], refuse):
        lines += (
            _memory_lines(node, hierarchy.word_bits)
            if isinstance(node, MemoryElement)
            else [_container_line(*node)]
        )
    pj, simd = _joules(Fraction(str(hierarchy.mac.pj))), hierarchy.mac.simd
    lines += ["  - !Compute", f"    name: {MAC}", "    leak_power: 0", "    area: 0"]
    lines += ["    actions:", f"    - {{name: compute, energy: {pj}, throughput: {simd}}}"]
    text = "\n".join(lines) + "\n"
    whole = f"{text}workload: {{bits_per_value: {{All: {hierarchy.word_bits}}}}}\n"
    again = read_hierarchy(read_yaml(whole, "arch", refuse, TAGS))
    check_said(hierarchy, again, refuse)
    return text


def _container_line(name: str, fanouts: list[FanoutElement]) -> str:
    listed = []
    for each in fanouts:
        together, reused = {*TENSORS} - {*each.apart}, _reused(each)
        shared = f", may_reuse: {_set_text(together)}" if each.apart or reused else ""
        shared += f", reuse: {_set_text(reused)}" if reused else ""
        listed.append(f"{{name: {container_of(each)[1]}, fanout: {each.size or 1}{shared}}}")
    return f"  - !Container {{name: {name}, spatial: [{', '.join(listed)}]}}"


def _reused(fanout: FanoutElement) -> set[str]:
    """Return the tensors that no loop of a fan-out may index, of those that its units share."""
    return {
        tensor
        for tensor in {*TENSORS} - {*fanout.apart}
        if not any(map(fanout.rules.allows, INDEXING[tensor]))
    }


def _memory_lines(memory: MemoryElement, word_bits: int) -> Iterator[str]:
    size = memory.capacity_bits if isinstance(memory.capacity_bits, int) else "inf"
    yield from ("  - !Memory", f"    name: {memory.name}", f"    size: {size}")
    stays = f", {STAYS}: {_set_text(memory.rules.stays)}" if memory.rules.stays else ""
    yield from ("    leak_power: 0", "    area: 0")
    yield f"    tensors: {{keep: {_set_text(memory.keeps)}{stays}}}"
    widths = widths_of(memory, word_bits)
    other = [f"{_NAMES[tensor]}: {bits}" for tensor, bits in widths.items() if bits != word_bits]
    if other:
        yield f"    bits_per_value: {{{', '.join(other)}}}"
    if memory.bw is None:
        yield f"    total_latency: {SEPARATE}"
    yield "    actions:"
    word = min(widths.values(), default=word_bits)
    for action, pj in picojoules(memory, word).items():
        bits = getattr(memory, f"{action}_bw") if memory.bw is None else memory.bw
        rate = "inf" if bits is None else exact(Fraction(str(bits)) / word)
        said = f"name: {action}, energy: {_joules(pj)}, throughput: {rate}, bits_per_action: {word}"
        yield f"    - {{{said}}}"


def _joules(pj: Fraction) -> str:
    return f"{exact(pj)}e-12" if pj else "0"


def _set_text(tensors: Collection[str]) -> str:
    """Write a set of tensors."""
    listed = [name for tensor, name in _NAMES.items() if tensor in tensors]
    return "All" if len(listed) == len(_NAMES) else " | ".join(listed) or "Nothing"
