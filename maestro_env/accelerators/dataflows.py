"""Dataflows by name: what they allow of an accelerator's loops (docs/spec/hierarchy.md, H2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from maestro_env.accelerators.hierarchy import Element, FanoutElement, Hierarchy, MemoryElement
from maestro_env.accelerators.loop_rules import ANY_LOOPS, INDEXING, LoopRules
from maestro_env.base.errors import HardwareError, UnknownNameError

DATAFLOWS = ("weight-stationary", "output-stationary", "input-stationary", "row-stationary")
"""Names of dataflows, as Chen et al. (ISCA 2016) have them."""

_TENSORS = {"weight": "filter", "output": "output", "input": "input"}


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


def with_rules(hierarchy: Hierarchy, rules: Mapping[str, LoopRules]) -> Hierarchy:
    """Return an accelerator to which rules of elements, by name, are added.

    Raises:
        UnknownNameError: no such element.
        HardwareError: rules that no such element can have, or that leave it no loop.
    """
    for name in rules:
        if name not in hierarchy.names:
            raise UnknownNameError("element", name, hierarchy.names)
    return replace(hierarchy, elements=[_ruled(e, rules.get(e.name)) for e in hierarchy.elements])


def _ruled(element: Element, rules: LoopRules | None) -> Element:
    if rules is None:
        return element
    own, both = element.rules.dims, element.rules.both(rules)
    if own and rules.dims and not both.dims:
        raise HardwareError(
            f"{element.name} has loops of {', '.join(own)} alone, and the constraints leave it "
            f"{', '.join(rules.dims)} alone; allowed: some of its own, or constraints none"
        )
    return replace(element, rules=both)


def without_rules(hierarchy: Hierarchy) -> Hierarchy:
    """Return an accelerator that can run any loops."""
    return replace(hierarchy, elements=[replace(e, rules=ANY_LOOPS) for e in hierarchy.elements])


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
