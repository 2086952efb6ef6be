"""The cost of a mapping, also on an accelerator of which some fields are changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from maestro_env.base.checks import require_type
from maestro_env.base.errors import MappingError, ModelError
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Mapping
from maestro_env.mapspace.space import MapSpace

EXPLAINED = "exact"
"""The model whose costs are explained; ``maestro`` has no figures that add up to its totals."""


def cost_of(problem: Problem, mapping: Mapping, **changes: Any) -> Cost:
    """Return the cost of a valid mapping, on the accelerator with some fields changed.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        ModelError: a problem of another model than ``exact``.
        MappingError: an invalid mapping; the message says why.
    """
    require_type("problem", problem, Problem, "of a layer on some hardware")
    if problem.model != EXPLAINED:
        raise ModelError(
            f"model {problem.model} has no figures that add up to its totals; allowed: {EXPLAINED}"
        )
    if changes:
        hardware = replace(problem.hardware, **changes)
        space = MapSpace(problem.layer, hardware, problem.space.schema, problem.space.tiles)
        problem = replace(problem, space=space)
    cost, status = problem.evaluate_mapping(mapping)
    if cost is None or status != "ok":
        raise MappingError(problem.explain(mapping))
    return cost
