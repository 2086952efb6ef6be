"""Mappings in the formats of other tools, with layer and accelerator, out and in.

``to_X`` writes a mapping of a problem, ``from_X`` reads it back; ``nest_to_X`` and ``nest_from_X``
do so on an accelerator with any memories. What a format cannot express is refused with the reason;
docs/exchange.md lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from maestro_env.accelerators.files.accelforge import hardware_from_accelforge
from maestro_env.accelerators.files.nodes import unsaid_rules
from maestro_env.accelerators.files.timeloop import hardware_from_timeloop
from maestro_env.accelerators.finding import ARCHITECTURES
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.checks import by_name, look_up
from maestro_env.base.errors import HardwareError, LayerError, MaestroEnvError, MappingError
from maestro_env.base.yaml_file import kind_of, read_yaml
from maestro_env.evaluation.problem import Problem
from maestro_env.exchange.accelforge import (
    from_accelforge,
    nest_from_accelforge,
    nest_to_accelforge,
    to_accelforge,
)
from maestro_env.exchange.maestro import all_from_m, from_json, from_m, to_json, to_m
from maestro_env.exchange.nests import MappedLayer, MappedNest, looping
from maestro_env.exchange.timeloop import (
    from_timeloop,
    nest_from_timeloop,
    nest_to_timeloop,
    to_timeloop,
)
from maestro_env.hierarchy.evaluation import NestMapping
from maestro_env.hierarchy.shape import Shape
from maestro_env.hierarchy.written import nest_json
from maestro_env.mapspace import mapping as nouns
from maestro_env.workloads.files.accelforge import workload_layer
from maestro_env.workloads.files.timeloop import problem_layer
from maestro_env.workloads.layer import Layer

__all__ = [
    "FORMATS",
    "YAML",
    "Format",
    "MappedLayer",
    "MappedNest",
    "format_by_ending",
    "format_of",
    "from_accelforge",
    "from_json",
    "from_m",
    "from_timeloop",
    "hardware_from_accelforge",
    "hardware_from_timeloop",
    "is_nest_yaml",
    "nest_from_accelforge",
    "nest_from_timeloop",
    "nest_from_yaml",
    "nest_hierarchy",
    "nest_layer",
    "nest_to_accelforge",
    "nest_to_timeloop",
    "to_accelforge",
    "to_json",
    "to_m",
    "to_timeloop",
    "unsaid",
]


@dataclass(frozen=True)
class Format:
    """A format of mappings.

    Args:
        name: as ``--format`` takes it.
        endings: of the names of its files.
        write: a mapping of a problem to a text.
        read: a text, and its name in errors, to the mapping, and layer and accelerator if given.
        key: which a YAML text of this format begins a line with; empty if it is no YAML.
        write_nest: a mapping of a layer on an accelerator with any memories to a text; None if the
            format has no such mappings.
        read_all: a text with any number of layers; None if the format has one a file.
    """

    name: str
    endings: tuple[str, ...]
    write: Callable[[nouns.Mapping, Problem], str]
    read: Callable[[str, str], MappedLayer]
    key: str = ""
    write_nest: Callable[[NestMapping, Layer, Hierarchy], str] | None = None
    read_all: Callable[[str, str], list[MappedLayer]] | None = None


def nest_to_json(mapping: NestMapping, _: Layer, hierarchy: Hierarchy) -> str:
    """Write a mapping as JSON: the loops of each element by its name."""
    return nest_json(hierarchy, mapping)


YAML = (".yaml", ".yml")

FORMATS: Mapping[str, Format] = by_name(
    Format("json", (".json",), to_json, from_json, write_nest=nest_to_json),
    Format("m", (".m",), to_m, from_m, read_all=all_from_m),
    Format("timeloop", YAML, to_timeloop, from_timeloop, "architecture:", nest_to_timeloop),
    Format("accelforge", YAML, to_accelforge, from_accelforge, "arch:", nest_to_accelforge),
)
"""The formats by name."""


def format_by_ending(file: str, name: str | None = None) -> Format:
    """Return the format of a file by the ending of its name, and by the format's name if given.

    Raises:
        MappingError: no format has this ending, or several have, or that format has another.
        UnknownNameError: no such format.
    """
    given = FORMATS if name is None else {name: look_up("format", name, FORMATS)}
    fitting = [each for each in given.values() if file.endswith(each.endings)]
    if not fitting:
        endings = dict.fromkeys(end for each in given.values() for end in each.endings)
        *others, last = endings
        listed = f"{', '.join(others)} or {last}" if others else last
        raise MappingError(f"{file}: allowed: a file whose name ends in {listed}")
    return fitting[0]


def format_of(file: str, text: str) -> Format:
    """Return the format of a file by the ending of its name and, of YAML, by its keys.

    Raises:
        MappingError: it has none of the endings or keys.
    """
    form = format_by_ending(file)
    found = _with_key(text) if form.key else form
    if found is None:
        keys = " or ".join(f"{each.key} ({each.name})" for each in FORMATS.values() if each.key)
        root = read_yaml(text, file, MappingError)
        raise root.error(
            f"no mapping{kind_of(root)}; allowed: YAML with the key {keys}, or with mapping: alone"
        )
    return found


def _with_key(text: str) -> Format | None:
    for line in text.splitlines():
        for each in FORMATS.values():
            if each.key and line.startswith(each.key):
                return each
    return None


def is_nest_yaml(text: str, source: str = "mapping") -> bool:
    """Whether a YAML text has a mapping that is read on any memories.

    That is one without an architecture, on one that is no two buffers, or one of other loops.
    """
    form = _with_key(text)
    if form is None:
        return "\nmapping:" in f"\n{text}"
    with suppress(MaestroEnvError):
        form.read(text, source)
        return False
    # What is wrong with the rest is said where it is read.
    with suppress(MaestroEnvError):
        return nest_hierarchy(text, source) is not None
    return False


def nest_layer(text: str, source: str = "mapping") -> Layer | None:
    """Return the layer that stands beside such a mapping, if there is one."""
    root = read_yaml(text, source, LayerError)
    readers = {"problem": problem_layer, "workload": workload_layer}
    return next((read(root[key]).layer for key, read in readers.items() if key in root), None)


def nest_hierarchy(text: str, source: str = "mapping") -> Hierarchy | None:
    """Return the accelerator that stands beside such a mapping, if there is one."""
    if (form := _with_key(text)) is None:
        return None
    tool = ARCHITECTURES[form.key.removesuffix(":")]
    found: Hierarchy = tool.read_hierarchy(read_yaml(text, source, HardwareError, tool.TAGS))
    return found


def unsaid(text: str, layer: Layer, hierarchy: Hierarchy) -> dict[str, str]:
    """Return which rules of loops a text with an accelerator has lost, by element."""
    again = nest_hierarchy(text)
    return {} if again is None else unsaid_rules(hierarchy, again, looping(Shape.of(layer)))


def nest_from_yaml(text: str, layer: Layer, hierarchy: Hierarchy, source: str) -> MappedNest:
    """Read such a mapping, of Timeloop if it is a list, else of AccelForge."""
    part = read_yaml(text, source, MappingError)["mapping"]
    read = nest_from_timeloop if isinstance(part.value, list) else nest_from_accelforge
    return read(text, layer, hierarchy, source)
