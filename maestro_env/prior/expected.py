"""How far the first proposal of a prior is expected to be above the optimum, which is not known."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import expm1

import numpy as np

from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.prior.proposals import Prior, Proposals

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
