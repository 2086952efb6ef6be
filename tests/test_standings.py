"""Standings of searches that were made up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from maestro_env.accelerators.hardware import PRESETS
from maestro_env.experiments.search.cells import Cell, Finished
from maestro_env.experiments.search.goals import Goal, ProblemConfig, make_goal
from maestro_env.experiments.study.standings import Contest, over_time, overall, profiles, standings
from maestro_env.optimum.known import KnownOptimum
from maestro_env.workloads.finding import find_layer


def goal() -> Goal:
    return make_goal(ProblemConfig(), find_layer("resnet18_l2"), PRESETS["unlimited"], "latency")


def search(mapper: str, seed: int, improvements: dict[int, float]) -> Finished:
    return Finished(
        Cell("resnet18_l2", "latency", mapper, seed),
        evaluations=100,
        invalid=0,
        unique=100,
        warm_up=0,
        at=np.array(list(improvements)),
        values=np.array(list(improvements.values())),
        after=np.array(list(improvements)) / 100,
        best_point=(0,),
        seconds=1.0,
        model_seconds=0.5,
        versions={},
    )


def test_the_best_known_is_the_optimum_or_less_than_what_is_known_of_it() -> None:
    searches = {"ga": [search("ga", 0, {2: 3e6, 9: 2e6})]}

    def best_known(*optimum: float) -> float:
        value, bound = optimum
        known = KnownOptimum(value, np.zeros(13, np.int32), bound, 1.0, 1, "")
        return Contest("resnet18_l2", "latency", goal(), searches, known).best_known

    assert best_known(1e6, 1e6) == 1e6
    assert best_known(2.5e6, 1e6) == 2e6


def test_without_a_search_that_found_the_optimum_profiles_are_multiples_of_it() -> None:
    known = KnownOptimum(1e6, np.zeros(13, np.int32), 1e6, 1.0, 1, "")
    searches = {"ga": [search("ga", seed, {2: 3e6, 9: 2e6}) for seed in range(2)]}
    contest = Contest("resnet18_l2", "latency", goal(), searches, known)
    assert overall([contest], np.array([5, 100]))["ga"][0].figure == pytest.approx([3, 2])
    assert profiles([contest], 100, np.array([1.9, 2.0]))["ga"].figure.tolist() == [0, 1]
    (found,) = standings(contest, np.array([100])).values()
    assert np.isinf(found.samples_to).all()


def test_over_time_counts_what_was_found_within_so_many_seconds() -> None:
    known = KnownOptimum(1e6, np.zeros(13, np.int32), 1e6, 1.0, 1, "")
    seeds = ({2: 3e6, 9: 2e6}, {10: 1e6}, {4: 5e6, 50: 4e6})
    searches = {"ga": [search("ga", seed, found) for seed, found in enumerate(seeds)]}
    searches["old"] = [replace(searches["ga"][0], after=np.full(2, np.nan))]
    contests = [Contest("resnet18_l2", "latency", goal(), searches, known)] * 2
    found = over_time(contests, np.array([0.01, 0.03, 0.09, 0.1, 0.5, 2.0]))
    assert list(found) == ["ga"]
    # Of three the interquartile mean is that of all.
    ratios = [np.inf, np.inf, np.inf, (2 + 1 + 5) / 3, (2 + 1 + 4) / 3, (2 + 1 + 4) / 3]
    assert found["ga"].figure == pytest.approx(ratios)


def test_a_search_arrives_at_5_percent_above_the_best_known_and_not_before() -> None:
    searches = {
        "best": [search("best", 0, {3: 2e6, 9: 1e6})],
        "other": [
            search("other", 0, {2: 3e6, 40: 1.05e6, 60: 1.02e6}),
            search("other", 1, {2: 3e6, 40: 1.0501e6, 70: 1.04e6}),
            search("other", 2, {2: 1.0501e6}),
        ],
    }
    found = standings(Contest("resnet18_l2", "latency", goal(), searches, None), np.array([5, 100]))
    assert found["best"].samples_to.tolist() == [9]
    assert found["other"].samples_to.tolist() == [40, 70, np.inf]
    np.testing.assert_allclose(
        found["other"].best.figure, [(3e6 + 3e6 + 1.0501e6) / 3, 3.1101e6 / 3]
    )
    np.testing.assert_allclose(found["best"].to_best_mapper, [1, 1])
    np.testing.assert_allclose(found["other"].improvement, [1 / 3, 0])
