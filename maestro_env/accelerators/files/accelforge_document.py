"""The document of an ``arch``: the nodes that layers use, and what its names and functions count.

Compute-in-memory macros count by Python functions of AccelForge's examples. No code is run; what
is known of these functions is what they return here.

Actions of AccelForge's components: how often, at what energy, and how many bits at a time.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import eq, ge, gt, le, lt, ne
from typing import TypeVar

from maestro_env.accelerators.elements import TENSORS
from maestro_env.accelerators.two_buffers import WORD_BITS
from maestro_env.base.errors import quoted
from maestro_env.base.expressions import value_of
from maestro_env.base.yaml_blocks import YamlBlock
from maestro_env.base.yaml_file import Part

_CALL = re.compile(
    r"\b(?!(?:min|max|abs|ceil|floor|round|log2|is_hist_signed|get_array_fanout_\w+)\b)"
    r"[A-Za-z_][\w.]*\("
)
SCALES = ("energy_scale", "actions_scale", "throughput_scale", "n_parallel_instances")
"""Keys of components that scale their actions."""

TOGETHER = "sum(a.n_calls / a.throughput for a in actions)"
"""Time of a component with one port for all actions."""

SEPARATE = "max(a.n_calls / a.throughput for a in actions)"
"""Time of a component with a port for each action."""

ALL = frozenset(TENSORS)
"""All tensors."""

SETS = {
    "All": ALL,
    # One layer has none.
    **dict.fromkeys(("Nothing", "Intermediates"), frozenset[str]()),
    "input": frozenset({"input"}),
    **dict.fromkeys(("weight", "filter"), frozenset({"filter"})),
    "output": frozenset({"output"}),
}
"""Tensors by the names that expressions have for them."""

_EXAMPLE = "sum(a.n_calls for a in actions) / 200e6"
_LATENCY = re.compile(
    r"(sum|max)\(a\.n_calls(?:/a\.throughputforainactions\)|forainactions\)((?:/[0-9.e+-]+)+))"
)
_IF = re.compile(r" if (?:input|weight|output) else .*")
_Number = TypeVar("_Number", int, Fraction)
_WORDS = [f"{tensor}.bits_per_value" for tensor in ("input", "weight", "output")]
_ENABLED = re.compile(r"len\(All\)\s*([=!<>]=|[<>])\s*([0-9]{1,3})")
_COMPARED = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_REPEATED = re.compile(r"\[([0-9]{1,9})\] \* ([0-9]{1,4})")
_ARRAY = re.compile(r"ARRAY_(?:COLUMNS|ROWS)$")


def enabled(root: Part) -> tuple[Part, list[Part]]:
    """Return the ``arch`` of a document and its nodes, but for those that no layer enables."""
    root.spelt("arch", "variables", "workload", "mapping", "mapper", "model", "renames", "config")
    said = root.get("workload", YamlBlock()).get("bits_per_value", YamlBlock())
    bits = said.get("All", str(WORD_BITS)).integer()
    words = dict.fromkeys(_WORDS, replace(root, value=str(bits)))
    given = root.get("variables", YamlBlock()).named()
    part = root["arch"].knowing({**words, **given})
    part.only("nodes", "variables", "extra_attributes_for_all_component_models", "version")
    own = part.get("variables", YamlBlock()).named()
    calls = _counted(part.knowing(own), part["nodes"].items(), {**given, **own})
    part = part.knowing({**own, **calls})
    there = filter(_is_enabled, part["nodes"].items())
    return part, [each for each in _flat(there) if _is_enabled(each)]


def _flat(nodes: Iterable[Part]) -> Iterator[Part]:
    """Yield the nodes of a file, those of an array one after the other, then its units.

    As in AccelForge, units of an array do not multiply a memory of its own, which is one.
    """
    for node in nodes:
        if node.tag == "Array":
            node.only("name", "spatial", "nodes", "enabled")
            node.note("where memories stand in an array is not read; each is one")
            for each in node["nodes"].items():
                if each.tag not in ("Memory", "Network", "Toll"):
                    each.fail("has no tag !Memory, !Network or !Toll, as nodes of an array have")
                yield each.without("spatial")
        yield node


def _is_enabled(node: Part) -> bool:
    """Whether a node is there for layers, which have three tensors."""
    enabled = node.get("enabled", "true")
    text = enabled.text().strip()
    if match := _ENABLED.fullmatch(text):
        return bool(_COMPARED[match[1]](len(TENSORS), int(match[2])))
    if text.lower() not in ("true", "false"):
        enabled.fail(f"is {quoted(text)}; allowed: true, false, or such as len(All) == 3")
    return text.lower() == "true"


def counted_by_code(variables: Iterable[Part]) -> set[str]:
    """Return the variables whose expressions call functions of Python, which are not run."""
    named = [each for part in variables for each in part.named().items()]
    texts = {name: each.value for name, each in named if isinstance(each.value, str)}
    found = {name for name, text in texts.items() if _calls_unknown(text)}
    while more := {
        name
        for name, text in texts.items()
        if name not in found and not {*re.findall(r"\w+", text)}.isdisjoint(found)
    }:
        found |= more
    return found


def _calls_unknown(text: str) -> bool:
    """Whether an expression calls a function that is not known here."""
    return _CALL.search(text) is not None


def _counted(part: Part, nodes: Iterable[Part], variables: Mapping[str, Part]) -> dict[str, Part]:
    """Return the values of known functions by their calls.

    Args:
        part: the ``arch``, which knows the variables.
        nodes: of the file, whose fan-outs are named ``..._ARRAY_ROWS`` and ``..._ARRAY_COLUMNS``.
        variables: by name; lists are histograms of values, from the least to the largest.
    """
    units = {"input": Fraction(1), "output": Fraction(1)}
    for spatial in _of_arrays(nodes):
        shared = {spatial.get(key, "").text() for key in ("may_reuse", "reuse")}
        for tensor in shared & units.keys():
            units[tensor] *= value_of(spatial["fanout"].text(), part.names) or Fraction(1)
    found = {f"get_array_fanout_reuse_{each}(spec)": number for each, number in units.items()}
    found["get_array_fanout_total(spec)"] = units["input"] * units["output"]
    for name, variable in variables.items():
        histogram = _histogram(variable, variables)
        if histogram is not None:
            below = histogram[: len(histogram) // 2]
            found[f"is_hist_signed({name})"] = Fraction(any(below))
    return {call: replace(part, value=str(number)) for call, number in found.items()}


def _of_arrays(nodes: Iterable[Part]) -> Iterator[Part]:
    for node in nodes:
        for spatial in node.get("spatial", []).items():
            if _ARRAY.search(spatial["name"].text()):
                yield spatial


def _histogram(variable: Part, variables: Mapping[str, Part]) -> list[bool] | None:
    """Return which counts of a histogram are not 0, or of the one that is named; None for others.

    A list may be written as ``[0] * 7 + [1] * 8``.
    """
    named = variables.get(variable.value, variable) if isinstance(variable.value, str) else variable
    if isinstance(named.value, list):
        return [value_of(each.text()) != 0 for each in named.items()]
    if not isinstance(named.value, str):
        return None
    text = named.value.strip().removeprefix("(").removesuffix(")")
    pieces = [_REPEATED.fullmatch(each.strip()) for each in text.split("+")]
    found = [[piece[1] != "0"] * int(piece[2]) for piece in pieces if piece]
    return [each for piece in found for each in piece] if len(found) == len(pieces) else None


@dataclass(frozen=True)
class Action:
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


def action_of(node: Part, name: str) -> Action:
    """Return the action of a name of a component; what component models say of it is unknown."""
    shared, counted = _port(node)
    if "actions" not in node:
        return Action(counted, Fraction(0), node.get("bits_per_action", "1").integer(), shared)
    found = [each for each in node["actions"].items() if each["name"].text() == name]
    if len(found) != 1:
        node["actions"].fail(f"has {len(found)} actions {name}; allowed: one")
    (each,) = found
    each.only("name", "energy", "throughput", "latency", "bits_per_action", "values_per_action")
    if "energy" not in each and "component_class" not in node:
        node.note("actions without energy cost none")
    rate = _limit_of(each.get("throughput", "inf"), Part.positive)
    if seconds := each.get("latency", "0").number():
        rate = 1 / seconds if rate is None else each.fail("has a throughput and a latency")
    times = node.get("actions_scale", "1").positive()
    picojoules = each.get("energy", "0").number() * 10**12
    picojoules *= node.get("energy_scale", "1").number() * times
    if counted is not None:
        # The component says its time itself, by how often actions are called.
        return Action(counted / times, picojoules, _bits(each, node), shared)
    faster = _limit_of(node.get("throughput_scale", "1"), Part.positive)
    if rate is None or faster is None:
        return Action(None, picojoules, _bits(each, node), shared)
    rate *= faster * node.get("n_parallel_instances", "1").positive() / times
    return Action(rate, picojoules, _bits(each, node), shared)


def _limit_of(part: Part, read: Callable[[Part], _Number]) -> _Number | None:
    """Return a number, None for a limit that is infinite."""
    text = _IF.sub("", part.text().strip())
    return None if text in ("inf", ".inf") else read(replace(part, value=text))


def units_of(spatial: Part) -> int:
    """Return how many values a fan-out has units for, where one may take several."""
    fanout, taken = spatial["fanout"].integer(), spatial.get("usage_scale", "1").positive()
    if not 1 <= taken <= fanout:
        spatial["usage_scale"].fail(f"is {float(taken):g}; allowed: numbers from 1 to {fanout}")
    return int(fanout // taken)


def whole_bits(part: Part) -> int:
    """Return a number of bits; fractions are rounded up."""
    bits = part.positive()
    if bits.denominator != 1:
        part.note("fractions of bits are rounded up")
    return math.ceil(bits)


def size_of(part: Part, code: Collection[str]) -> int | None:
    """Return the bits of a memory; None without limit, or where Python code counts them."""
    text = part.text()
    if _calls_unknown(text) or not {*re.findall(r"\w+", text)}.isdisjoint(code):
        part.note(f"Python code is not run; what it counts has no limit: line {part.line}")
        return None
    return _limit_of(part, Part.integer)


def ports_of(node: Part, read: Action, write: Action, hertz: Fraction) -> dict[str, float]:
    """Return bits a cycle by field of a memory."""
    rates = {
        field: float(action.rate * action.bits / hertz)
        for field, action in (("read_bw", read), ("write_bw", write))
        if action.rate is not None
    }
    if not read.shared or len(rates) < 2:
        return rates  # What takes no time waits for nobody.
    if rates.get("read_bw") != rates.get("write_bw"):
        shown = " and ".join(f"{field} {rate:g}" for field, rate in rates.items())
        node.fail(f"has one port, but bits a cycle of {shown}")
    return {"bw": rates["read_bw"]}


def _bits(action: Part, node: Part) -> int:
    """Return the bits of an action, which it says before its component, in bits or in values."""
    for each in (action, node):
        if "values_per_action" in each:
            return _only_number(each["values_per_action"]) * _width(node)
        if "bits_per_action" in each:
            return each["bits_per_action"].integer()
    return 1


def _only_number(part: Part) -> int:
    """Return a number that a part says of all three tensors, by their names or ``All``."""
    named = part.named()
    values = {value.integer() for value in named.values()}
    if len(values) != 1 or ("All" not in named and len(named) < len(TENSORS)):
        part.fail("is not said of all tensors alike; allowed: one number for All")
    return values.pop()


def _width(node: Part) -> int:
    """Return the bits of a value in a component, where tensors do not differ in them."""
    widths = node.get("bits_per_value", YamlBlock())
    return _only_number(widths) if widths.value else word_bits_of(node)


def word_bits_of(part: Part) -> int:
    """Return the bits of a value of the workload, in a part of a file that knows them."""
    return int(part.names("input.bits_per_value") or WORD_BITS)


def _port(node: Part) -> tuple[bool, Fraction | None]:
    """Whether all actions share a port, and how many of them there are a second if that is said."""
    latency = node.get("total_latency", TOGETHER)
    if not (match := _LATENCY.fullmatch("".join(latency.text().split()))):
        latency.fail(f"cannot be said; allowed: {TOGETHER}, or max, or {_EXAMPLE}")
    rates = replace(latency, value=(match[2] or "").strip("/").replace("/", "*"))
    return match[1] == "sum", rates.positive() if match[2] else None


def tensor_set(part: Part, sets: Mapping[str, frozenset[str]], text: str = "") -> frozenset[str]:
    """Return the tensors of an expression such as ``input | ~GlobalBuffer``."""

    def named(term: str) -> frozenset[str]:
        inverted = term.strip()
        name = inverted.lstrip("~").removesuffix(".tensors")
        if name not in sets:
            part.fail(f"{quoted(name)} is no tensor or memory; allowed: {', '.join(sets)}")
        return ALL - sets[name] if (len(inverted) - len(inverted.lstrip("~"))) % 2 else sets[name]

    terms = (text or part.text()).split("|")
    return frozenset().union(*(ALL.intersection(*map(named, each.split("&"))) for each in terms))


def in_order(tensors: frozenset[str]) -> tuple[str, ...]:
    """Return tensors in their order."""
    return tuple(tensor for tensor in TENSORS if tensor in tensors)
