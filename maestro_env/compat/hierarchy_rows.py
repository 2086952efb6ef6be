"""Evaluates one row on an accelerator with any memories: ``traffic``, or ``status`` without one.

A row has ``layer`` (``dims`` by N G K C P Q R S, ``stride`` and ``dilation`` of rows and columns),
``accelerator`` (elements, outermost first: ``memory`` and ``keep``, letters of I, W, O; or
``fanout`` and perhaps ``size``) and ``mapping`` (a list of loops [dim, tile] an element).
"""

from __future__ import annotations

from typing import Any

from maestro_env.accelerators.hierarchy import Element, FanoutElement, Hierarchy, MemoryElement
from maestro_env.base.checks import require_type
from maestro_env.hierarchy.evaluation import HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape

_TENSORS = {"I": "input", "W": "filter", "O": "output"}
_COUNTS = ("tensor", "parent", "child", "parent_words", "child_words")


def evaluate(row: dict[str, Any]) -> dict[str, Any]:
    """Return ``{"traffic": words}``, or ``{"status": name}`` for a mapping without."""
    layer, elements = row["layer"], row["accelerator"]
    require_type("layer", layer, dict, "with dims")
    require_type("accelerator", elements, list, "of elements")
    shape = Shape(layer["dims"], layer.get("stride", (1, 1)), layer.get("dilation", (1, 1)))
    evaluator = HierarchyEvaluator(shape, Hierarchy([_element(each) for each in elements]))
    cost, status = evaluator.evaluate(row["mapping"])
    if cost is None:
        return {"status": status}
    return {"traffic": [{name: getattr(each, name) for name in _COUNTS} for each in cost.traffic]}


def _element(given: Any) -> Element:
    require_type("an element", given, dict, "with memory or fanout")
    if "fanout" in given:
        return FanoutElement(name=given["fanout"], size=given.get("size"))
    keep = given["keep"]
    require_type("keep", keep, str, "letters of I, W, O")
    return MemoryElement(name=given["memory"], keeps=[_TENSORS.get(each, each) for each in keep])
