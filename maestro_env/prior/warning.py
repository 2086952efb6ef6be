"""What to know of problems before a prior proposes: far from those of its training, or seen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from math import expm1

import numpy as np
from numpy.typing import NDArray

from maestro_env.accelerators.hardware import UNLIMITED, Hardware
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.observations_and_rewards import CONTEXT, SPANS, context
from maestro_env.evaluation.problem import Problem
from maestro_env.prior.file import PriorFile
from maestro_env.prior.proposals import Prior, Proposals
from maestro_env.workloads.finding import models

# Contexts are of single precision.
_ROUNDING = 1e-6
# So many octaves outside of a range are near enough.
_NEAR = 1.0
# Fields of ``Hardware`` that have no limit from ``UNLIMITED`` on, by their entries.
_LIMITED = {
    "noc_bw": "noc_bw",
    "offchip_bw": "offchip_bw",
    "l1_words": "l1_bytes",
    "l2_words": "l2_bytes",
}
_UNLIMITED = math.log2(1 + UNLIMITED) / SPANS["noc_bw"] - _ROUNDING
# The farthest entries of a context are named, so many.
_NAMED = 3


def prior_warning(prior: PriorFile, problems: Iterable[tuple[Problem, Objective]]) -> str | None:
    """Warn in one line of problems far outside of a prior's training, or seen in it."""
    problems = list(problems)
    told = (far_warning(prior, problems), seen_warning(prior, problems))
    return "; ".join(filter(None, told)) or None


def outside(
    seen: NDArray[np.float32], ranges: Mapping[str, tuple[float, float]]
) -> dict[str, float]:
    """Return which entries of a context are outside of their ranges, and by how much.

    Args:
        seen: float32[C], by the names of ``CONTEXT``.
        ranges: least and largest of each entry.

    Returns:
        Octaves by name; of an ``objective_*`` the difference of shares.
    """
    beyond = {}
    for name, entry in zip(CONTEXT, seen.tolist(), strict=True):
        least, largest = ranges[name]
        distance = max(least - entry, entry - largest)
        if distance > _ROUNDING:
            beyond[name] = distance * SPANS[name]
    return beyond


def far_warning(prior: PriorFile, problems: Iterable[tuple[Problem, Objective]]) -> str | None:
    """Warn in one line of problems far outside of what a prior was trained on; None if none is."""
    farthest: dict[str, float] = {}
    other: dict[str, None] = {}
    for problem, objective in problems:
        seen = context(problem.layer, problem.hardware, objective)
        limits = _limits(problem.hardware, prior.ranges)
        other |= dict.fromkeys(filter(None, limits.values()))
        for name, distance in outside(seen, prior.ranges).items():
            if name not in limits and (distance > _NEAR or _is_share(name)):
                farthest[name] = max(distance, farthest.get(name, 0.0))
        for name, of_it in _kinds(problem).items():
            listed = prior.data_card.get(name)
            if isinstance(listed, list) and of_it not in listed:
                other[f"{name} {of_it}"] = None
    if not farthest and not other:
        return None
    ordered = sorted(farthest, key=lambda name: -farthest[name])
    named = [_described(name, farthest[name]) for name in ordered[:_NAMED]]
    more = [f"{len(ordered) - _NAMED} more"] if len(ordered) > _NAMED else []
    return (
        f"the prior was not trained for this: outside of its ranges are "
        f"{', '.join([*other, *named, *more])}; its proposals may be poor"
    )


def _limits(hardware: Hardware, ranges: Mapping[str, tuple[float, float]]) -> dict[str, str]:
    """Return the entries of which octaves say nothing, as here or in all of training is no limit.

    Each has what training has not seen of it; nothing if it has.
    """
    found = {}
    for name, field in _LIMITED.items():
        all_unlimited, some_unlimited = (end >= _UNLIMITED for end in ranges[name])
        if getattr(hardware, field) >= UNLIMITED:
            found[name] = "" if some_unlimited else f"unlimited {name}"
        elif all_unlimited:
            found[name] = f"limited {name}"
    if "l2_words" in found:
        found |= {name: "" for name in CONTEXT if name.endswith("_per_l2")}
    return found


def _kinds(problem: Problem) -> dict[str, str]:
    """Return what a data card lists that no context tells."""
    space = problem.space
    # Fewer parallel loops to choose from are nothing new.
    schema = space.schema.partition(":")[0]
    return {"model": problem.model, "schema": schema, "tiles": space.tiles}


def _described(name: str, distance: float) -> str:
    return name if _is_share(name) else f"{name} by {distance:.1f} octaves"


def _is_share(name: str) -> bool:
    return name.startswith("objective_")


def seen_warning(prior: PriorFile, problems: Iterable[tuple[Problem, Objective]]) -> str | None:
    """Return, in one line, which layers a prior was trained with; None for none of them."""
    shapes = {problem.layer.shape for problem, _ in problems}
    seen = shapes & _trained_shapes(prior)
    if not seen:
        return None
    layers = f"{len(seen)} of these {len(shapes)} layers" if len(shapes) > 1 else "this layer"
    return f"the prior has seen {layers}: no fair comparison (docs/prior.md)"


def _trained_shapes(prior: PriorFile) -> set[str]:
    """Return the shapes of the zoo's layers but for those of the networks that were held out."""
    networks = {name: {layer.shape for layer in layers} for name, layers in models().items()}
    left_out = str(prior.data_card.get("hold")).split(",")
    held = [shapes for name, shapes in networks.items() if name in left_out]
    return set().union(*networks.values()).difference(*held)


# Of the shipped prior, in logarithms: how far its first proposal is above the optimum, for each
# unit of the spread of a pool (docs/prior.md).
_GAP_OF_SPREAD = 0.78
_POOR = 0.2
# Problems that are looked at, a few milliseconds each.
_LOOKED_AT = 100


def expected_gap(prior: Prior, problem: Problem, objective: Objective) -> float:
    """Return how far the first proposal is expected to be above the optimum, as a share of it.

    The more the costs of what a policy draws differ, the less it knows of the problem. The cost
    model is asked for up to 257 mappings.
    """
    points = Proposals(prior, problem, objective).pool(np.random.default_rng(0))
    if not len(points):
        return 0.0
    values, _ = problem.score(points, objective)
    valid = values[np.isfinite(values)]
    return expm1(_GAP_OF_SPREAD * float(np.log(valid).std())) if len(valid) else 0.0


def gap_warning(prior: Prior, problems: Iterable[tuple[Problem, Objective]]) -> str | None:
    """Warn in one line of problems for which first proposals are expected to be poor."""
    gaps = [expected_gap(prior, *each) for each in islice(problems, _LOOKED_AT)]
    poor = [gap for gap in gaps if gap > _POOR]
    if not poor:
        return None
    first = "first " if len(gaps) == _LOOKED_AT else ""
    where = f" on {len(poor)} of the {first}{len(gaps)} problems" if len(gaps) > 1 else ""
    return (
        f"the prior's first proposal is expected to be {max(poor):.0%} above the optimum{where}, "
        "or more; the best of ten is nearer"
    )
