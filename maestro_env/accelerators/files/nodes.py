"""What architecture files of other tools list: fan-outs, memories, compute units; both ways."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import groupby
from typing import Any

from maestro_env.accelerators.elements import (
    TENSORS,
    Element,
    FanoutElement,
    MacElement,
    MemoryElement,
)
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import LoopRules
from maestro_env.base.errors import HardwareError, Refuse, quoted
from maestro_env.base.yaml_file import Part


@dataclass(frozen=True)
class Node:
    """A node of a file: a memory, a compute unit, or neither.

    Args:
        part: of the file.
        fanouts: that lead to it from the node before.
        memory: that it is.
        mac: units that it is.
    """

    part: Part
    fanouts: Sequence[FanoutElement] = ()
    memory: MemoryElement | None = None
    mac: MacElement | None = None


def hierarchy_of_nodes(
    part: Part, nodes: Iterable[Node], name: str, word_bits: int, clock_mhz: float | None
) -> Hierarchy:
    """Return the accelerator of the nodes of a file, outermost first; a compute unit ends them.

    The first memory, main memory, has no limit. A memory that keeps nothing is a place for loops.
    Right above the MACs it is a latch of theirs.

    Raises:
        HardwareError: an accelerator that cannot exist; the message names the part of the file.
    """
    elements: list[Element] = []
    mac: MacElement | None = None
    for node in nodes:
        if mac:
            node.part.fail("stands after the compute unit; a chain ends there")
        # One main memory is one, whatever leads to it.
        elements += [each for each in node.fanouts if elements or each.size != 1]
        if memory := node.memory:
            if memory.width_bits == word_bits:
                memory = replace(memory, width_bits=None)
            if memory.capacity_bits is not None and not elements:
                part.note(
                    f"the size of main memory {memory.name} is not read; it holds all of a layer"
                )
                memory = replace(memory, capacity_bits=None)
            elements.append(memory)
        mac = node.mac
    if not mac:
        part.fail("has no compute unit at its end")
    last = elements[-1] if elements else None
    if isinstance(last, MemoryElement) and not last.keeps:
        mac = replace(mac, latches=TENSORS)
    try:
        return Hierarchy(elements, mac, word_bits, name, clock_mhz)
    except HardwareError as error:
        part.fail(str(error))


MAC = "MAC"
"""What files call the compute unit."""

FANOUT_PJ = "_pj_per_bit"
"""How the variable of a fan-out ends that keeps its energy, which no node of a tool has."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLACES = 25

NameOf = Callable[[FanoutElement], str]


def exact(number: Fraction | float) -> str:
    """Write a number from 0 exactly: in decimals, or as a quotient where these have no end."""
    value = Fraction(str(number))
    scaled = value * 10**_PLACES
    if scaled.denominator != 1:
        return f"{value.numerator} / {value.denominator}"
    whole, rest = divmod(scaled.numerator, 10**_PLACES)
    return f"{whole}.{rest:0{_PLACES}d}".rstrip("0").rstrip(".")


def nodes_of(
    hierarchy: Hierarchy, container: NameOf, refuse: Refuse
) -> Iterator[MemoryElement | tuple[str, list[FanoutElement]]]:
    """Yield the nodes of a file: memories, and containers with a name and fan-outs.

    Raises:
        MaestroEnvError: of ``refuse``: a name twice, or one that files cannot have.
    """
    used = {MAC}

    def node(element: Element) -> tuple[type, str]:
        name = container(element) if isinstance(element, FanoutElement) else element.name
        return type(element), name

    for (_, name), group in groupby(hierarchy.elements, node):
        if name in used or not _NAME.fullmatch(name):
            raise refuse(
                f"a node is called {quoted(name)}; allowed: letters, digits and _, and a name for "
                f"each, other than {MAC}"
            )
        used.add(name)
        elements = [*group]
        fanouts = [each for each in elements if isinstance(each, FanoutElement)]
        yield (name, fanouts) if fanouts else elements[0]  # type: ignore[misc]


def widths_of(memory: MemoryElement, word_bits: int) -> dict[str, int]:
    """Return the bits of a word of each tensor that a memory keeps."""
    widths = zip(TENSORS, memory.widths(word_bits), strict=True)
    return {tensor: bits for tensor, bits in widths if tensor in memory.keeps}


def picojoules(memory: MemoryElement, word: int) -> dict[str, Fraction]:
    """Return the energy of a word of some bits by action."""
    per_bit = {"read": memory.read_pj_per_bit, "write": memory.write_pj_per_bit}
    return {action: Fraction(str(pj)) * word for action, pj in per_bit.items()}


def fanout_energies(hierarchy: Hierarchy, name: NameOf) -> dict[str, str]:
    """Return the variables that keep energies of fan-outs."""
    fanouts = [each for each in hierarchy.elements if isinstance(each, FanoutElement)]
    return {name(each) + FANOUT_PJ: exact(each.pj_per_bit) for each in fanouts if each.pj_per_bit}


def check_said(hierarchy: Hierarchy, again: Hierarchy, refuse: Refuse) -> None:
    """Refuse an accelerator that is another one as it is read again, by what no file can say."""
    pairs = zip((*hierarchy.elements, hierarchy.mac), (*again.elements, again.mac), strict=True)
    for ours, theirs in pairs:
        there = _facts(theirs, again.word_bits)
        for field, value in _facts(ours, hierarchy.word_bits).items():
            if value != there[field]:
                name = getattr(ours, "name", "the MAC unit")
                raise refuse(
                    f"{name} has {field} {value}, which its files cannot say; allowed: "
                    f"{there[field]}"
                )


def unsaid_rules(hierarchy: Hierarchy, again: Hierarchy, dims: Collection[str]) -> dict[str, str]:
    """Return which rules an accelerator has lost as it is read again, by element.

    Only those of some dimensions count, as a layer has them.
    """
    lost = {}
    for ours, theirs in zip(hierarchy.elements, again.elements, strict=True):
        there = _rule_facts(theirs.rules, dims)
        rules = _rule_facts(ours.rules, dims).items()
        if names := [name for name, said in rules if said != there.get(name)]:
            lost[ours.name] = " and ".join(names)
    return lost


def _rule_facts(rules: LoopRules, dims: Collection[str]) -> dict[str, Any]:
    """Return what rules say of some dimensions, equal for rules that allow the same."""
    facts: dict[str, Any] = {}
    for name, said in rules.record().items():
        listed = [each for each in said if each in dims or name == "stays"]
        if listed and name != "dims":
            in_order = listed if name.endswith("most") else sorted(listed)
            facts[name] = [said[each] if isinstance(said, dict) else each for each in in_order]
    return facts | {"dims": [dim for dim in dims if rules.allows(dim)]}


def _facts(part: Any, word_bits: int) -> dict[str, Any]:
    """Return what costs depend on: sets of tensors in order, and all widths."""
    names = [each.name for each in fields(part) if each.name not in ("name", "axis", "rules")]
    facts = {name: getattr(part, name) for name in names}
    for name in facts.keys() & {"keeps", "forgets", "apart", "latches"}:
        facts[name] = [tensor for tensor in TENSORS if tensor in facts[name]]
    if isinstance(part, MemoryElement):
        facts["width_bits"] = widths_of(part, word_bits)
    return facts
