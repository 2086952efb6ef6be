"""Actions of AccelForge's components: how often, at what energy, and how many bits at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from maestro_env.accelerators.hierarchy import TENSORS
from maestro_env.accelerators.two_buffers import WORD_BITS
from maestro_env.base.texts.blocks import YamlBlock
from maestro_env.base.yaml_file import Part

SCALES = ("energy_scale", "actions_scale", "throughput_scale", "n_parallel_instances")
"""Keys of components that scale their actions."""

TOGETHER = "sum(a.n_calls / a.throughput for a in actions)"
"""Time of a component with one port for all actions."""

SEPARATE = "max(a.n_calls / a.throughput for a in actions)"
"""Time of a component with a port for each action."""

_EXAMPLE = "sum(a.n_calls for a in actions) / 200e6"
_LATENCY = re.compile(
    r"(sum|max)\(a\.n_calls(?:/a\.throughputforainactions\)|forainactions\)((?:/[0-9.e+-]+)+))"
)
_IF = re.compile(r" if (?:input|weight|output) else .*")
_Number = TypeVar("_Number", int, Fraction)


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
    rate = limit_of(each.get("throughput", "inf"), Part.positive)
    if seconds := each.get("latency", "0").number():
        rate = 1 / seconds if rate is None else each.fail("has a throughput and a latency")
    times = node.get("actions_scale", "1").positive()
    picojoules = each.get("energy", "0").number() * 10**12
    picojoules *= node.get("energy_scale", "1").number() * times
    if counted is not None:
        # The component says its time itself, by how often actions are called.
        return Action(counted / times, picojoules, _bits(each, node), shared)
    faster = limit_of(node.get("throughput_scale", "1"), Part.positive)
    if rate is None or faster is None:
        return Action(None, picojoules, _bits(each, node), shared)
    rate *= faster * node.get("n_parallel_instances", "1").positive() / times
    return Action(rate, picojoules, _bits(each, node), shared)


def limit_of(part: Part, read: Callable[[Part], _Number]) -> _Number | None:
    """Return a number, None for a limit that is infinite."""
    text = _IF.sub("", part.text().strip())
    return None if text in ("inf", ".inf") else read(replace(part, value=text))


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
