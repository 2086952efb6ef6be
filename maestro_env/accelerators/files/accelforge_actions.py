"""Actions of AccelForge's components: how often, at what energy, and how many bits at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from maestro_env.base.yaml_file import Part

TOGETHER = "sum(a.n_calls / a.throughput for a in actions)"
SEPARATE = "max(a.n_calls / a.throughput for a in actions)"
_EXAMPLE = "sum(a.n_calls for a in actions) / 200e6"
_COUNTED = re.compile(r"(sum|max)\(a\.n_callsforainactions\)((?:/[0-9.e+-]+)+)")
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
    """Return the action of a name of a component."""
    shared, counted = _port(node)
    bits = node.get("bits_per_action", "1")
    if "actions" not in node:
        return Action(counted, Fraction(0), bits.integer(), shared)
    found = [each for each in node["actions"].items() if each["name"].text() == name]
    if len(found) != 1:
        node["actions"].fail(f"has {len(found)} actions {name}; allowed: one")
    (each,) = found
    each.only("name", "energy", "throughput", "latency", "bits_per_action")
    rate = limit_of(each.get("throughput", "inf"), Part.positive)
    if seconds := each.get("latency", "0").number():
        rate = 1 / seconds if rate is None else each.fail("has a throughput and a latency")
    picojoules = each.get("energy", "0").number() * 10**12
    own = each.get("bits_per_action", bits.value)
    return Action(rate if counted is None else counted, picojoules, own.integer(), shared)


def limit_of(part: Part, read: Callable[[Part], _Number]) -> _Number | None:
    """Return a number, None for a limit that is infinite."""
    text = _IF.sub("", part.text().strip())
    return None if text in ("inf", ".inf") else read(replace(part, value=text))


def _port(node: Part) -> tuple[bool, Fraction | None]:
    """Whether all actions share a port, and how many of them there are a second if that is said."""
    latency = node.get("total_latency", TOGETHER)
    text = "".join(latency.text().split())
    for each in (TOGETHER, SEPARATE):
        if text == "".join(each.split()):
            return each == TOGETHER, None
    if not (match := _COUNTED.fullmatch(text)):
        latency.fail(f"cannot be said; allowed: {TOGETHER}, or max, or {_EXAMPLE}")
    rates = replace(latency, value=match[2].strip("/").replace("/", "*"))
    return match[1] == "sum", rates.positive()
