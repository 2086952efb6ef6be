"""Mappings on an accelerator with any memories as text: JSON for programs, lines for people."""

from __future__ import annotations

import json
from typing import Any

from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import MappingError, printable, quoted
from maestro_env.hierarchy.evaluation import NestMapping

SCHEMA = "maestro-env/nest/1"


def nest_json(hierarchy: Hierarchy, mapping: NestMapping) -> str:
    """Write a mapping as JSON: by the name of each element its loops [dimension, tile], a line."""
    lines = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(loops)}"
        for name, loops in zip(hierarchy.names, mapping, strict=True)
    )
    return f'{{\n  "schema": "{SCHEMA}",\n  "loops": {{\n{lines}\n  }}\n}}\n'


def read_nest(text: str, hierarchy: Hierarchy, source: str = "mapping") -> NestMapping:
    """Read what ``nest_json`` wrote for an accelerator; elements that are not named have no loops.

    ``HierarchyEvaluator`` checks the loops.

    Raises:
        MappingError: another text, or loops of other elements; begins with ``source``.
    """
    try:
        value: Any = json.loads(text)
        if value["schema"] != SCHEMA:
            raise MappingError(f"{source}: schema {quoted(value['schema'])}; allowed: {SCHEMA}")
        loops = dict(value["loops"])
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        if isinstance(error, MappingError):
            raise
        raise MappingError(f"{source}: no mapping as JSON: {error!r}") from None
    if unknown := [name for name in loops if name not in hierarchy.names]:
        raise MappingError(
            f"{source}: loops of {quoted(unknown[0])}; allowed: of {', '.join(hierarchy.names)}"
        )
    return [loops.get(name, []) for name in hierarchy.names]


def nest_lines(hierarchy: Hierarchy, mapping: NestMapping) -> str:
    """Write a mapping as a line for each element, outermost first."""
    return "\n".join(
        f"{printable(name)}: "
        + (", ".join(f"{dim} in tiles of {tile}" for dim, tile in loops) or "no loop")
        for name, loops in zip(hierarchy.names, mapping, strict=True)
    )
