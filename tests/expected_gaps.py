"""Compares the gaps that the shipped prior expects of itself with those that it has.

python tests/expected_gaps.py       200 random problems, drawn as for training, then the 500 of
                                    split ``ood-both`` of ``maestro-env benchmark``

What has no proof after half a million boxes is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from random import Random

import numpy as np
from scipy.stats import spearmanr

from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.problems.drawn import is_bounded, random_problem
from maestro_env.experiments.problems.splits import unusual_problems
from maestro_env.optimum.solving import Limits, solve
from maestro_env.prior.proposals import likeliest, load_prior
from maestro_env.prior.warning import expected_gap

PROBLEMS, BOXES = 200, 5 * 10**5
POOR = 0.2
EDGES = (0.0, 0.05, 0.1, 0.2, 0.5, np.inf)

Goal = tuple[Problem, Objective]


def fresh_goals() -> Iterator[Goal]:
    rng = Random("expected gaps")
    drawn = (random_problem(rng) for _ in range(PROBLEMS))
    return ((each.problem, each.objective) for each in drawn)


def compare(name: str, goals: Iterable[Goal]) -> None:
    """Print means of expected gaps, of the first proposal and of ten, by what is expected."""
    rows, prior = [], load_prior()
    for problem, objective in goals:
        if not is_bounded(problem, objective):
            continue
        found = solve(problem, objective, Limits(nodes=BOXES))
        if not found.proven or found.point is None:
            continue
        values, _ = problem.score(likeliest(problem, objective), objective)
        gaps = np.log([values[0] / found.value, values.min() / found.value])
        rows.append((np.log1p(expected_gap(prior, problem, objective)), *gaps))
    expected, first, best = np.array(rows).T
    say(
        f"{name}: {len(rows)} problems, first: slope {expected @ first / (expected @ expected):.2f}"
    )
    say(f"rank correlation {spearmanr(expected, first)[0]:.2f}")
    warned, poor = np.expm1(expected) > POOR, np.expm1(first) > POOR
    both = (warned & poor).sum()
    say(f"above {POOR:.0%}: expected {warned.sum()}, found {poor.sum()}, both {both}")
    for low, high in pairwise(EDGES):
        at = (np.expm1(expected) >= low) & (np.expm1(expected) < high)
        if at.any():
            means = (f"{np.expm1(each[at].mean()):.1%}" for each in (expected, first, best))
            say(f"{low:.0%} to {high:.0%}, {at.sum()}: {', '.join(means)}")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    compare("fresh", fresh_goals())
    compare("unusual", ((each.goal.problem, each.goal.objective) for each in unusual_problems()))
