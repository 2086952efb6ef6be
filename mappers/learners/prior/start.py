"""The start of a search from proposals of the prior, and what to know before."""

from __future__ import annotations

from collections.abc import Iterable

from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.optimum.known import layer_text
from maestro_env.workloads.finding import models
from mappers.learners.prior.file import PriorFile
from mappers.learners.prior.proposals import load_prior, propose
from mappers.learners.prior.ranges import far_warning


class PriorOpening:
    """Proposals of the shipped prior, which a search begins with (``mappers.base.Opening``)."""

    def points(self, problem: Problem, objective: Objective) -> Points:
        return propose([problem], [objective])[0]

    def warning(self, goals: Iterable[tuple[Problem, Objective]]) -> str | None:
        return prior_warning(load_prior().file, goals)


def prior_warning(prior: PriorFile, problems: Iterable[tuple[Problem, Objective]]) -> str | None:
    """Warn in one line of problems far outside of a prior's training, or seen in it."""
    problems = list(problems)
    told = (far_warning(prior, problems), _seen_warning(prior, problems))
    return "; ".join(filter(None, told)) or None


def _seen_warning(prior: PriorFile, problems: Iterable[tuple[Problem, Objective]]) -> str | None:
    shapes = {layer_text(problem.layer) for problem, _ in problems}
    seen = shapes & _trained_shapes(prior)
    if not seen:
        return None
    layers = f"{len(seen)} of these {len(shapes)} layers" if len(shapes) > 1 else "this layer"
    return f"the prior was trained with {layers}: no fair comparison (docs/prior.md)"


def _trained_shapes(prior: PriorFile) -> set[str]:
    """Return the shapes of the zoo's layers but for those of the networks that were held out."""
    networks = {name: {layer_text(layer) for layer in layers} for name, layers in models().items()}
    left_out = str(prior.data_card.get("hold")).split(",")
    held = [shapes for name, shapes in networks.items() if name in left_out]
    return set().union(*networks.values()).difference(*held)
