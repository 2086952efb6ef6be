"""Accelerators with any number of memories as YAML (docs/hierarchy.md).

The keys are the fields of ``Hierarchy`` and of its elements. An element begins with its name, after
``memory`` or ``fanout``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any

from maestro_env.accelerators.constraints import RULES, dataflow_rules
from maestro_env.accelerators.elements import (
    TENSORS,
    Cache,
    Element,
    FanoutElement,
    MacElement,
    MemoryElement,
)
from maestro_env.accelerators.hierarchy import Hierarchy, with_rules
from maestro_env.accelerators.loop_rules import ANY_LOOPS, LoopRules
from maestro_env.accelerators.pricing import priced
from maestro_env.accelerators.quantities import bytes_per_second, hardware_of, sized_bits
from maestro_env.accelerators.technologies import find_technology
from maestro_env.accelerators.technology import Technology
from maestro_env.base.checks import plain_number
from maestro_env.base.errors import HardwareError, MaestroEnvError, UnknownNameError, quoted
from maestro_env.base.yaml_file import Part, read_yaml

HIERARCHY_KEYS = ("name", "clock_mhz", "word_bits", "technology", "dataflow", "memories", "mac")
"""Keys of a file with memories, but for its block ``two_buffers``."""

_KINDS = {MemoryElement: "memory", FanoutElement: "fanout"}

# --- In -----------------------------------------------------------------------------------------

_Reader = Callable[[Part], Any]


def read_hierarchy(text: str, source: str = "accelerator", name: str = "") -> Hierarchy:
    """Read an accelerator of a YAML text; ``name`` is its name if the text has none.

    Raises:
        ArgumentTypeError: no text.
        HardwareError: another text, or an accelerator that cannot exist; begins with ``source``.
    """
    return hierarchy_of(read_yaml(text, source, HardwareError), name)


def hierarchy_of(root: Part, name: str = "") -> Hierarchy:
    """Read the accelerator of a YAML document, as ``read_hierarchy`` does."""
    clock = _clock_mhz(root["clock_mhz"]) if "clock_mhz" in root else None
    readers = _element_readers(clock)
    values = root.read(
        {
            "name": Part.text,
            "clock_mhz": _clock_mhz,
            "word_bits": Part.integer,
            "technology": _technology,
            "dataflow": Part.text,
            "memories": lambda part: [_element(each, readers) for each in part.items()],
            "mac": lambda part: MacElement(**part.read(_MAC)),
            # The form of cost models of two levels: checked here, read by them.
            "two_buffers": lambda part: hardware_of(part, name),
        },
    )
    values.pop("two_buffers", None)
    if "memories" not in values:
        root.fail("memories is missing; it is the list of memories and fan-outs")
    elements, technology = values.pop("memories"), values.pop("technology", None)
    dataflow = values.pop("dataflow", None)
    try:
        hierarchy = Hierarchy(elements, **{"name": name, **values})
        if dataflow is not None:
            hierarchy = with_rules(hierarchy, dataflow_rules(hierarchy, dataflow))
        return hierarchy if technology is None else priced(hierarchy, technology)
    except (HardwareError, UnknownNameError) as error:
        root.fail(str(error))


def _element(part: Part, readers: Mapping[str, Mapping[str, _Reader]]) -> Element:
    kind = next((kind for kind in readers if kind in part), None)
    if kind is None:
        part.fail("begins with neither memory: NAME nor fanout: NAME")
    values = part.read({kind: Part.text, **readers[kind], **RULES})
    values["name"] = values.pop(kind)
    values["rules"] = LoopRules(**{key: values.pop(key) for key in RULES if key in values})
    return MemoryElement(**values) if kind == "memory" else FanoutElement(**values)


def _element_readers(clock: float | None) -> dict[str, dict[str, _Reader]]:
    def rate(part: Part) -> float:
        return _bits_per_cycle(part, clock)

    memory = {
        "keeps": _tensors,
        "pool": Part.text,
        "capacity_bits": _by_tensor(_bits),
        "width_bits": _by_tensor(Part.integer),
        "buffers": Part.integer,
        **dict.fromkeys(("read_bw", "write_bw", "bw"), rate),
        **dict.fromkeys(("read_pj_per_bit", "write_pj_per_bit"), _number("pJ")),
        "leak_mw": _number("mW"),
        "forgets": _tensors,
        "beat_bits": _bits,
        "gaps": _flag,
        "cache": _cache,
        **dict.fromkeys(("launch_cycles", "finish_cycles"), _number("cycles")),
        "refill": _number("shares of the first fill"),
        **dict.fromkeys(("step_cycles", "load_cycles"), Part.integer),
    }
    fanout = {
        "size": Part.integer,
        "axis": Part.text,
        "apart": _tensors,
        "pj_per_bit": _number("pJ"),
        "bw": rate,
    }
    return {"memory": memory, "fanout": fanout}


def _tensors(part: Part) -> tuple[str, ...]:
    """Return tensors in the order of ``TENSORS``, as they are written; others are refused later."""
    return tuple(sorted(part.texts(), key=[*TENSORS, *part.texts()].index))


def _by_tensor(read: Callable[[Part], int]) -> _Reader:
    """Return what reads one number for all tensors, or a block of them by tensor."""

    def sizes(part: Part) -> int | dict[str, int]:
        return (
            read(part) if isinstance(part.value, str) else part.read(dict.fromkeys(TENSORS, read))
        )

    return sizes


def _bits(part: Part) -> int:
    text = part.text().strip()
    if (bits := sized_bits(text)) is None:
        part.fail(
            f"is {quoted(text)}; allowed: a number of bits, or of B, KB, MB or GB (1 KB is 1 KiB, "
            "1,024 B)"
        )
    return bits


def _flag(part: Part) -> bool:
    if (text := part.text().strip()) not in ("true", "false"):
        part.fail(f"is {quoted(text)}; allowed: true, false")
    return text == "true"


def _number(unit: str) -> _Reader:
    def number(part: Part) -> float:
        if (found := plain_number(part.text().strip())) is None:
            part.fail(f"is {quoted(part.text())}; allowed: numbers from 0, in {unit}")
        return found

    return number


def _cache(part: Part) -> Cache:
    readers = {"bits": _bits, "line_bits": _bits, "miss_cycles": _number("cycles")}
    values = part.read(readers)
    if missing := [key for key in readers if key not in values]:
        part.fail(f"has no {' and no '.join(missing)}; a cache has {', '.join(readers)}")
    return Cache(**values)


def _technology(part: Part) -> Technology:
    text = part.text().strip()
    try:
        return find_technology(text)
    except MaestroEnvError as error:
        part.fail(str(error))


def _clock_mhz(part: Part) -> float:
    if not (number := plain_number(part.text().strip())):
        part.fail(f"is {quoted(part.text())}; allowed: numbers above 0, in MHz and without a unit")
    return number


def _bits_per_cycle(part: Part, clock: float | None) -> float:
    text = part.text().strip()
    if (number := plain_number(text)) is not None:
        return number
    if (rate := bytes_per_second(text)) is None:
        part.fail(f"is {quoted(text)}; allowed: bits a cycle, or such as 12.8GB/s with clock_mhz")
    if clock is None:
        part.fail(f"is {quoted(text)}, which needs clock_mhz: add it, or give bits a cycle")
    return float(rate * 8 / (Fraction(str(clock)) * 10**6))


_MAC: Mapping[str, _Reader] = {"simd": Part.integer, "latches": _tensors, "pj": _number("pJ")}

# --- Out ----------------------------------------------------------------------------------------


def hierarchy_text(hierarchy: Hierarchy) -> str:
    """Write an accelerator as YAML, which ``read_hierarchy`` reads back.

    Raises:
        HardwareError: it has a name or a number that no text can have.
    """
    import yaml

    elements = [
        {_KINDS[type(each)]: str(each.name), **stated_fields(each)} for each in hierarchy.elements
    ]
    mac = {"mac": said} if (said := stated_fields(hierarchy.mac)) else {}
    document = {**stated_fields(hierarchy), "memories": elements, **mac}
    text: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=96)
    read_hierarchy(text, "an accelerator that cannot be written")
    return text


def stated_fields(described: Hierarchy | Element | MacElement) -> dict[str, Any]:
    """Return the fields with another value than their default, as YAML has them."""
    values = {
        field.name: (getattr(described, field.name), field.default) for field in fields(described)
    }
    rules: LoopRules = values.pop("rules", (ANY_LOOPS,))[0]
    return {
        name: _plain(value)
        for name, (value, default) in values.items()
        if default is not MISSING and value != default
    } | rules.record()


def _plain(value: Any) -> Any:
    """Return a value of a field as YAML has it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Cache):
        return {name: _plain(number) for name, number in vars(value).items()}
    if isinstance(value, Mapping):
        return {str(tensor): int(size) for tensor, size in value.items()}
    if isinstance(value, Collection):
        return [tensor for tensor in TENSORS if tensor in value]
    return int(value) if value == int(value) else float(value)
