"""ZigZag's mappings: which loops an array runs side by side, and in what order the others run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from maestro_env.accelerators.loop_rules import LoopRules
from maestro_env.base.checks import plain_integer
from maestro_env.base.errors import quoted
from maestro_env.base.texts.blocks import YamlBlock
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
