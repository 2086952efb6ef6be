"""What a request adds to the rules of an accelerator: a dataflow, rules of elements, or nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from maestro_env.accelerators.dataflows import DATAFLOWS, dataflow_rules, with_rules, without_rules
from maestro_env.accelerators.files import zigzag
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import read_rules
from maestro_env.accelerators.loop_rules import LoopRules
from maestro_env.base.errors import HardwareError, MaestroEnvError
from maestro_env.base.reading import read_or_refuse
from maestro_env.base.yaml_file import read_yaml

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
