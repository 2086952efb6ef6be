"""Accelerators as ZigZag writes them: ``operational_array`` and ``memories``, the innermost first.

A memory says which dimensions of the array one instance of it serves. Here memories and dimensions
stand in one chain, a memory between those that it does not serve and those that it does. Where two
memories want it otherwise, the one that serves less stands below dimensions that it serves, once a
unit, and an access of each costs its part of the one.

ZigZag's mappings: which loops an array runs side by side, and in what order the others run.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from maestro_env.accelerators.elements import (
    TENSORS,
    FanoutElement,
    MacElement,
    MemoryElement,
    Sizes,
)
from maestro_env.accelerators.files.nodes import Node, hierarchy_of_nodes
from maestro_env.accelerators.hierarchy import Hierarchy, with_rules
from maestro_env.accelerators.loop_rules import LoopRules
from maestro_env.accelerators.two_buffers import WORD_BITS
from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import close_matches, quoted
from maestro_env.base.yaml_blocks import YamlBlock
from maestro_env.base.yaml_file import Part

_DIMS = {"B": "N", "OY": "P", "OX": "Q", "FY": "R", "FX": "S"}
_HINT, _ORDER, _LINKS = "spatial_mapping_hint", "temporal_ordering", "memory_operand_links"
_LINKED = {"O": "O", "W": "I2", "I": "I1"}
_PAIR = re.compile(r"\s*(\w+)\s*,\s*(\S+)\s*")


class LayerMapping(NamedTuple):
    """What a file says of a layer.

    Args:
        name: of the layer, else of its operator, else ``default``.
        units: of each dimension of the array, how many units each dimension of the layer takes.
        allowed: of each dimension of the array, which may take units where ``units`` has none.
        order: the loops in time, innermost first, and how often each runs; None: what is left.
    """

    name: str
    units: Mapping[str, Mapping[str, int]]
    allowed: Mapping[str, Sequence[str]]
    order: Sequence[tuple[str, int | None]]


def dim_of(name: str) -> str:
    """Return what a dimension of a layer is called here, such as P for OY."""
    return _DIMS.get(name.upper(), name.upper())


def read_mappings(root: Part) -> list[LayerMapping]:
    """Read a mapping file."""
    return [_mapping(part) for part in root.items()]


def read_units(part: Part) -> dict[str, dict[str, int]]:
    """Read a ``spatial_mapping``, or the ``dataflows`` of an accelerator."""
    return {along: dict(_units(each)) for along, each in part.named().items()}


def rules_of(root: Part) -> dict[str, LoopRules]:
    """Return what a mapping file, or its ``default`` where it has several, says of each fan-out."""
    found = {each.name: each for each in read_mappings(root)}
    if len(found) > 1 and "default" not in found:
        root.fail(
            f"has mappings of {', '.join(found)}; allowed: one, or one that is called default"
        )
    chosen = found.get("default") or next(iter(found.values()))
    hinted = {along: LoopRules(dims=list(dims)) for along, dims in chosen.allowed.items()}
    return {**hinted, **rules_of_units(chosen.units)}


def rules_of_units(units: Mapping[str, Mapping[str, int]]) -> dict[str, LoopRules]:
    """Return what units allow of each fan-out: so many at most, and no other dimension."""
    return {
        along: LoopRules(dims=[dim for dim, most in given.items() if most > 1], units=dict(given))
        for along, given in units.items()
    }


def _mapping(part: Part) -> LayerMapping:
    part.only("name", "spatial_mapping", _HINT, _ORDER, _LINKS)
    for operand, link in part.get(_LINKS, YamlBlock()).named().items():
        if link.text() != _LINKED.get(operand):
            link.fail(f"is {quoted(link.text())}; allowed: O: O, W: I2 and I: I1")
    hints = part.get(_HINT, YamlBlock()).named()
    return LayerMapping(
        part["name"].text(),
        read_units(part.get("spatial_mapping", YamlBlock())),
        {along: [*map(dim_of, each.texts())] for along, each in hints.items()},
        [_loop(each) for each in part.get(_ORDER, []).items()],
    )


def _units(part: Part) -> Iterator[tuple[str, int]]:
    """Yield dimensions and units of a list such as ``- K, 16``."""
    dims: set[str] = set()
    for text in part.texts():
        match = _PAIR.fullmatch(text)
        units = plain_integer(match[2]) if match else None
        if match is None or not units or match[1] in dims:
            part.fail(f"has {quoted(text)}; allowed: a dimension, once, and whole units: - K, 16")
        dims.add(match[1])
        yield dim_of(match[1]), units


def _loop(part: Part) -> tuple[str, int | None]:
    pair = part.texts()
    runs = plain_integer(pair[-1]) if pair else None
    if len(pair) != 2 or (not runs and pair[1] != "*"):
        part.fail("allowed: a dimension, and how often its loop runs, such as [K, 4] or [K, '*']")
    return dim_of(pair[0]), runs


TAGS = ()
"""Blocks have none."""

_OPERANDS = dict(zip(("I1", "I2", "O"), TENSORS, strict=True))
_ARRAY = (
    *("dimensions", "sizes", "input_precision", "is_imc"),
    *("unit_energy", "unit_area", "multiplier_energy", "multiplier_area"),
)
_MEMORY = (
    *("size", "r_cost", "w_cost", "area", "latency", "mem_type", "auto_cost_extraction"),
    *("operands", "ports", "served_dimensions", "force_double_buffering"),
)
# In older files ports of a type are counted, and all have one bandwidth.
_OLD = ("r_bw", "w_bw", "r_port", "w_port", "rw_port", "min_r_granularity", "min_w_granularity")
_PORT = ("name", "type", "bandwidth_min", "bandwidth_max", "allocation")
_WAYS = {"read": "r_port", "write": "w_port", "read_write": "rw_port"}
_MOST_PORTS = 16
# Wider ports move several words.
_MOST_WORDS = 4


class _Port(NamedTuple):
    """Bits a cycle that a port reads and writes at most, and the fewest that it moves."""

    read: int
    write: int
    least: int


class _Level(NamedTuple):
    """A memory of a file, and the dimensions of the array that an instance of it serves."""

    part: Part
    memory: MemoryElement
    served: frozenset[str]


def read_hierarchy(root: Part, name: str = "") -> Hierarchy:
    """Read a hardware file, of any memories.

    Raises:
        HardwareError: it cannot be read, or says what no ``Hierarchy`` can be.
    """
    root.only("name", "memories", "operational_array", "dataflows")
    array, memories = root["operational_array"], root["memories"].named()
    sizes, widths = _sizes(array), _widths(array)
    sums = _sum_bits(memories.values(), widths["output"])
    words = widths if len({*widths.values()}) > 1 else widths["input"]
    levels = [
        _level(each, memory, sizes, sums if _keeps(memory) == ("output",) else words)
        for each, memory in memories.items()
    ]
    nodes = [*_chain(levels, sizes)]
    placed = {each.name for node in nodes for each in node.fanouts}
    energy = array[array.one_of("unit_energy", "multiplier_energy")].number()
    # Operands that stay are not read again.
    mac = MacElement(latches=("input", "filter"), pj=float(energy))
    nodes.append(Node(array, _fanouts(sizes, {*sizes} - placed), mac=mac))
    called = root.get("name", name).text()
    hierarchy = hierarchy_of_nodes(root, nodes, called, widths["input"], None)
    units = read_units(root["dataflows"]) if "dataflows" in root else {}
    return with_rules(hierarchy, rules_of_units(units))


def _sizes(array: Part) -> dict[str, int]:
    """Return the units along each dimension of the array."""
    if array.is_true("is_imc"):
        array["is_imc"].fail(
            "energies and cycles of arrays that compute in memory are not in the file; allowed: "
            "false, with unit_energy"
        )
    array.only(*_ARRAY)
    dims, sizes = array["dimensions"].texts(), [*array["sizes"].items()]
    if len({*dims}) < len(dims) or len(dims) != len(sizes):
        array.fail(f"has dimensions {', '.join(dims)} and {len(sizes)} sizes; allowed: one each")
    return {dim: size.integer() for dim, size in zip(dims, sizes, strict=True)}


def _widths(array: Part) -> dict[str, int]:
    """Return the bits of words by tensor; those of workloads are not known here."""
    given = [each.integer() for each in array.get("input_precision", []).items()]
    if len(given) not in (0, 2):
        array["input_precision"].fail(f"has {len(given)} numbers; allowed: 2, of I1 and of I2")
    first, second = given or (WORD_BITS, WORD_BITS)
    return dict(zip(TENSORS, (first, second, first), strict=True))


def _sum_bits(memories: Iterable[Part], word_bits: int) -> int:
    """Return the bits of a partial sum: of the port of registers of outputs, if there are any."""
    first = next((each for each in memories if "output" in _keeps(each)), None)
    bits = min(port.least for port in _ports(first)) if first else 0
    if not first or len(_keeps(first)) > 1 or not word_bits < bits <= _MOST_WORDS * word_bits:
        return word_bits
    first.note(f"partial sums, in memories of outputs alone, have {bits} bits, as their port")
    return bits


# --- Memories -----------------------------------------------------------------------------------


def _level(name: str, part: Part, sizes: Mapping[str, int], width_bits: Sizes) -> _Level:
    part.only(*_MEMORY, *(_OLD if "r_bw" in part else ()))
    if part.is_true("auto_cost_extraction"):
        part["auto_cost_extraction"].fail("CACTI is not run; allowed: false, r_cost and w_cost")
    part.note("areas and latencies are not read")
    ports = _ports(part)
    memory = MemoryElement(
        name=name,
        keeps=_keeps(part),
        capacity_bits=part["size"].integer(),
        width_bits=width_bits,
        buffers=1 + part.is_true("force_double_buffering"),
        read_pj_per_bit=_picojoules(part["r_cost"], [port.read for port in ports]),
        write_pj_per_bit=_picojoules(part["w_cost"], [port.write for port in ports]),
        **_bandwidths(part, ports),  # type: ignore[arg-type]
    )
    return _Level(part, memory, frozenset(_known(part["served_dimensions"], sizes)))


def _keeps(part: Part) -> tuple[str, ...]:
    kept = _known(part["operands"], _OPERANDS) or part["operands"].fail("is empty")
    return tuple(tensor for operand, tensor in _OPERANDS.items() if operand in kept)


def _known(part: Part, names: Mapping[str, object]) -> list[str]:
    for each in part.texts():
        if each not in names:
            hint = close_matches(each, names)
            part.fail(f"{quoted(each)} is unknown; {hint}allowed: {', '.join(names)}")
    return part.texts()


def _ports(part: Part) -> list[_Port]:
    if "r_bw" not in part:
        return [_port(each) for each in part["ports"].items()]
    read, write = part["r_bw"].integer(), part["w_bw"].integer()
    least = min(part.get(key, str(read)).integer() for key in _OLD[-2:])
    counts = {kind: part[key].number() for kind, key in _WAYS.items()}
    if sum(counts.values()) > _MOST_PORTS:
        part.fail(f"has more than {_MOST_PORTS} ports")
    kinds = [kind for kind, count in counts.items() for _ in range(int(count))]
    return [_Port(read * ("read" in each), write * ("write" in each), least) for each in kinds]


def _port(part: Part) -> _Port:
    part.only(*_PORT)
    most, least = part["bandwidth_max"].integer(), part["bandwidth_min"].integer()
    if (kind := part["type"].text()) not in _WAYS:
        part["type"].fail(f"is {quoted(kind)}; allowed: {', '.join(_WAYS)}")
    return _Port(most * ("read" in kind), most * ("write" in kind), least)


def _bandwidths(part: Part, ports: Sequence[_Port]) -> dict[str, int]:
    """Return bits a cycle by field of a memory, which has one port for each way, or for both."""
    reads, writes = sum(port.read for port in ports), sum(port.write for port in ports)
    if not reads or not writes:
        part.fail(f"has no port that {'writes' if reads else 'reads'}")
    if any(port.least < max(port.read, port.write) for port in ports):
        part.note("the fewest bits that a port moves are not read; it moves what is asked for")
    shared = sum(1 for port in ports if port.read and port.write)
    if len(ports) > (1 if shared else 2):
        part.note("ports of one way are one of all their bits, whatever operand each is for")
    if shared == len(ports) and reads == writes:
        return {"bw": reads}
    if shared:
        part.note("a port for both ways that is not the only one has all its bits for each way")
    return {"read_bw": reads, "write_bw": writes}


def _picojoules(cost: Part, bits: Sequence[int]) -> float:
    """Return the energy of a bit; an access costs as much at a wide port as at a narrow one."""
    ports = [each for each in bits if each]
    if len({*ports}) > 1:
        cost.note("a bit of ports of several widths costs their mean")
    return float(cost.number() * len(ports) / max(sum(ports), 1))


# --- One chain ----------------------------------------------------------------------------------


def _chain(levels: Sequence[_Level], sizes: Mapping[str, int]) -> Iterator[Node]:
    """Yield the memories, outermost first, each below the dimensions that it does not serve."""
    placed: frozenset[str] = frozenset()
    # What serves more is outside.
    levels = sorted(_widened(levels), key=lambda each: math.prod(sizes[dim] for dim in each.served))
    for part, memory, served in reversed(levels):
        new = {*sizes} - served - placed
        placed |= new
        if twice := served & placed:
            share = math.prod(sizes[dim] for dim in twice)
            part.note(
                f"{memory.name} serves {', '.join(sorted(twice))}, but stands below, once for each "
                f"of {share} units at 1/{share} of its energy: the same where all are used and "
                f"their loops do not index {' or '.join(memory.keeps)}"
            )
            read, write = memory.read_pj_per_bit / share, memory.write_pj_per_bit / share
            memory = replace(memory, read_pj_per_bit=read, write_pj_per_bit=write)
        yield Node(part, _fanouts(sizes, new), memory)


def _widened(levels: Sequence[_Level]) -> Iterator[_Level]:
    """Yield the memories; each serves all that a memory inside of it serves."""
    inside = dict.fromkeys(TENSORS, frozenset[str]())
    for each in levels:
        served = each.served.union(*(inside[tensor] for tensor in each.memory.keeps))
        if more := served - each.served:
            dims = ", ".join(sorted(more))
            each.part.note(f"{each.memory.name} serves {dims} too, as one inside of it does")
        inside |= dict.fromkeys(each.memory.keeps, served)
        yield each._replace(served=served)


def _fanouts(sizes: Mapping[str, int], dims: Collection[str]) -> list[FanoutElement]:
    return [FanoutElement(name=dim, size=size) for dim, size in sizes.items() if dim in dims]
