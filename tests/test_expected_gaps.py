"""What a prior expects of its own proposals."""

from __future__ import annotations

from dataclasses import replace
from itertools import repeat

import pytest
from prior_helpers import random_file

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.prior.proposals import Networks, Prior, load_prior
from maestro_env.prior.warning import expected_gap, gap_warning
from maestro_env.workloads.finding import find_layer

EDP = OBJECTIVES["edp"]


def untrained() -> Prior:
    file = random_file(scale=0.01)
    return Prior(file, Networks(file.arrays))


def problem(**changes: int) -> Problem:
    return Problem(MapSpace(find_layer("resnet18_l2"), replace(PRESETS["edge"], **changes)))


def test_a_policy_that_knows_nothing_expects_more_than_one_that_knows() -> None:
    knowing, ignorant = (expected_gap(each, problem(), EDP) for each in (load_prior(), untrained()))
    assert 0 < knowing < 0.3 * ignorant


@pytest.mark.slow
def test_a_warning_names_how_many_problems_and_the_worst_gap() -> None:
    goal = (problem(), EDP)
    gap = expected_gap(untrained(), *goal)
    assert gap_warning(untrained(), [goal]) == (
        f"the prior's first proposal is expected to be {gap:.0%} above the optimum, or more; "
        "the best of ten is nearer"
    )
    assert "on 100 of the first 100 problems" in (gap_warning(untrained(), repeat(goal)) or "")


def test_nothing_is_expected_where_no_mapping_fits() -> None:
    none = problem(l1_bytes=2)
    assert expected_gap(load_prior(), none, EDP) == 0
    assert gap_warning(load_prior(), [(none, EDP)]) is None
    assert "first proposal" not in (make_mapper("prior").warning([(none, EDP)]) or "")
