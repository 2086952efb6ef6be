"""What a request adds to the rules of an accelerator: a dataflow, rules of elements, or nothing.

Rules are of the loops of mappings (docs/spec/hierarchy.md, H2.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from maestro_env.accelerators.elements import FanoutElement, MemoryElement
from maestro_env.accelerators.files import zigzag
from maestro_env.accelerators.hierarchy import Hierarchy, with_rules, without_rules
from maestro_env.accelerators.loop_rules import DIMS, INDEXING, LoopRules
from maestro_env.base.errors import HardwareError, MaestroEnvError, UnknownNameError, quoted
from maestro_env.base.reading import read_or_refuse
from maestro_env.base.yaml_file import Part, read_yaml

DATAFLOWS = ("weight-stationary", "output-stationary", "input-stationary", "row-stationary")
"""Names of dataflows, as Chen et al. (ISCA 2016) have them."""

_TENSORS = {"weight": "filter", "output": "output", "input": "input"}

FREE = "none"
"""The request that takes all rules away."""

CONSTRAINTS_HELP = (
    f"what loops obey besides the rules of the accelerator: {', '.join(DATAFLOWS)}, rules of "
    "elements such as 'rows: {dims: [C]}', or FILE.yaml of these; none: without its rules; with "
    "two buffers also parallel=K,C, over clusters and over the PEs of one"
)

TWO_LOOPS = "parallel="
"""What begins the parallel loops of two buffers, such as ``parallel=K,C``."""

_MAX_CHARACTERS = 2**16


def constraints_text(given: str) -> str:
    """Return constraints without the file they may be in.

    Raises:
        HardwareError: a file that cannot be read.
    """
    name = given.replace("_", "-")
    if name == FREE or name in DATAFLOWS:
        return name
    if ":" in given or given.startswith(TWO_LOOPS):
        return given
    if Path(given).suffix not in (".yaml", ".yml"):
        allowed = ", ".join((FREE, *DATAFLOWS))
        raise HardwareError(
            f"constraints {given}; allowed: {allowed}, rules by element such as "
            "'rows: {dims: [C]}', or FILE.yaml"
        )
    return read_or_refuse(Path(given), _MAX_CHARACTERS, HardwareError).strip()


def read_constraints(text: str) -> dict[str, LoopRules]:
    """Read rules by element, as YAML, or the units of a mapping file of ZigZag.

    Raises:
        HardwareError: another text.
    """
    root = read_yaml(text if "\n" in text else f"{{{text}}}", "constraints", HardwareError)
    if isinstance(root.value, list):
        return zigzag.rules_of(root)
    return {name: read_rules(part) for name, part in root.named().items()}


def one_line(rules: Mapping[str, LoopRules]) -> str:
    """Return rules as ``read_constraints`` reads them."""
    import yaml

    said = {name: each.record() for name, each in rules.items()}
    text: str = yaml.safe_dump(said, default_flow_style=True, sort_keys=False, width=2**20)
    return text.strip()[1:-1]


def constrained(hierarchy: Hierarchy, text: str) -> Hierarchy:
    """Return an accelerator whose loops obey constraints too; its name says so.

    Raises:
        UnknownNameError: no such element.
        HardwareError: constraints that cannot be read, or that no accelerator can have.
    """
    try:
        found = _constrained(hierarchy, text)
    except MaestroEnvError as error:
        raise HardwareError(
            f"constraints of {hierarchy.name or 'the accelerator'}: {error}"
        ) from None
    if [each.record() for each in found.rules] == [each.record() for each in hierarchy.rules]:
        return hierarchy
    said = {FREE: "without constraints"}.get(text, text if text in DATAFLOWS else "constrained")
    return replace(found, name=f"{hierarchy.name}, {said}")


def _constrained(hierarchy: Hierarchy, text: str) -> Hierarchy:
    if text == FREE:
        return without_rules(hierarchy)
    if text.startswith(TWO_LOOPS):
        raise HardwareError(
            f"{text} is of two buffers; allowed: {', '.join(DATAFLOWS)}, rules of elements such as "
            "'rows: {dims: [C]}'"
        )
    rules = dataflow_rules(hierarchy, text) if text in DATAFLOWS else read_constraints(text)
    return with_rules(hierarchy, rules)


def dataflow_rules(hierarchy: Hierarchy, name: str) -> dict[str, LoopRules]:
    """Return the rules of a dataflow, by element.

    The array is the innermost fan-outs without a memory between them. If a tensor is stationary,
    the units of the array work on different words of it, and its innermost memory gets each tile
    once. If rows are, the array has rows of filters and of outputs, and copies of these for
    filters, channels, groups and batch; the innermost memory of the filters has whole rows.

    Raises:
        UnknownNameError: no such dataflow.
        HardwareError: an accelerator without a fan-out.
    """
    if name not in DATAFLOWS:
        raise UnknownNameError("dataflow", name, DATAFLOWS)
    tensor = _TENSORS.get(name.partition("-")[0])
    dims = "NGKCPR" if tensor is None else INDEXING[tensor]
    array = {each: LoopRules(dims=tuple(dims)) for each in _array(hierarchy)}
    memory = _innermost(hierarchy, tensor or "filter")
    return {**array, memory: LoopRules(stays=[tensor]) if tensor else LoopRules(whole=["S"])}


def _array(hierarchy: Hierarchy) -> list[str]:
    found: list[str] = []
    for element in reversed(hierarchy.elements):
        if isinstance(element, FanoutElement):
            found.append(element.name)
        elif found:
            return found
    raise HardwareError(f"{hierarchy.name} has no fan-out, so that no dataflow is one of its own")


def _innermost(hierarchy: Hierarchy, tensor: str) -> str:
    memories = (each for each in hierarchy.elements if isinstance(each, MemoryElement))
    *_, last = (each.name for each in memories if tensor in each.keeps)
    return last


def read_rules(part: Part) -> LoopRules:
    """Read what is allowed of the loops of an element."""
    return LoopRules(**part.read(RULES))


def _dim(part: Part, name: str) -> str:
    # Tables show output rows and columns of convolutions like this.
    found = {"Y'": "P", "X'": "Q"}.get(name, name)
    if found not in DIMS:
        part.fail(f"has {quoted(name)}; allowed: {', '.join(DIMS)}")
    return found


def _dims(part: Part) -> tuple[str, ...]:
    return tuple(_dim(part, name) for name in part.texts())


def _by_dim(part: Part) -> dict[str, int]:
    return {_dim(part, name): each.integer() for name, each in part.named().items()}


RULES: Mapping[str, Callable[[Part], Any]] = {
    **dict.fromkeys(("dims", "whole", "outermost", "innermost"), _dims),
    **dict.fromkeys(("units", "tiles"), _by_dim),
    "stays": lambda part: tuple(part.texts()),
}
"""What reads each rule of an element."""
