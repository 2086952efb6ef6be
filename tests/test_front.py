"""Fronts of latency and energy against brute force, and the network's choice among them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mapper_helpers import Recorder, problem

from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.fronts import (
    Front,
    FrontEvaluator,
    front_of_choices,
    least_product,
    product_of,
    totals_of,
)
from maestro_env.evaluation.objectives import find_objective
from maestro_env.mappers import make_mapper

pairs = st.tuples(st.integers(1, 12), st.integers(1, 12))
clouds = st.lists(pairs, min_size=1, max_size=6).map(lambda rows: np.array(rows, dtype=np.float64))


def numbered(figures: np.ndarray) -> Front:
    return Front.of(np.arange(len(figures), dtype=np.int32)[:, np.newaxis], figures)


@given(clouds)
def test_a_front_has_what_nothing_beats_and_of_equals_the_first(figures: np.ndarray) -> None:
    def beaten(row: int) -> bool:
        others = (each for each in range(len(figures)) if each != row)
        return any(
            (figures[each] <= figures[row]).all()
            and ((figures[each] < figures[row]).any() or each < row)
            for each in others
        )

    found = numbered(figures)
    expected = [row for row in range(len(figures)) if not beaten(row)]
    assert sorted(found.points[:, 0].tolist()) == expected
    np.testing.assert_array_equal(found.figures, figures[found.points[:, 0]])
    assert (np.diff(found.figures[:, 0]) > 0).all()
    assert (np.diff(found.figures[:, 1]) < 0).all()


@given(clouds, clouds)
def test_fronts_join_to_the_front_of_all(one: np.ndarray, other: np.ndarray) -> None:
    joined = numbered(one).joined(numbered(other))
    np.testing.assert_array_equal(joined.figures, numbered(np.concatenate([one, other])).figures)


@given(st.lists(st.tuples(clouds, st.integers(1, 4)), min_size=1, max_size=4))
def test_the_choice_of_a_network_is_the_least_of_all(layers: list[tuple[np.ndarray, int]]) -> None:
    figures, counts = [each for each, _ in layers], [count for _, count in layers]
    chosen = least_product(figures, counts)
    every = product(*(range(len(each)) for each in figures))
    assert product_of(figures, counts, chosen) == min(
        product_of(figures, counts, each) for each in every
    )


@given(st.lists(st.tuples(clouds, st.integers(1, 4)), min_size=1, max_size=4), st.integers(1, 9))
def test_a_thinned_front_keeps_what_some_weighting_chooses(
    layers: list[tuple[np.ndarray, int]], most: int
) -> None:
    figures, counts = [each for each, _ in layers], [count for _, count in layers]
    every = product(*(range(len(each)) for each in figures))
    totals = np.array([totals_of(figures, counts, each) for each in every])
    whole = numbered(totals).figures
    np.testing.assert_array_equal(front_of_choices(figures, counts).figures, whole)
    thinned = front_of_choices(figures, counts, most).figures
    # One that was left out may beat one that stays.
    assert {*map(tuple, thinned)} <= {*map(tuple, totals)}
    np.testing.assert_array_equal(thinned, numbered(thinned).figures)
    for weight in (0.01, 0.3, 1.0, 4.0, 99.0):
        assert (thinned @ (1, weight)).min() == pytest.approx((whole @ (1, weight)).min())


def test_the_least_of_a_sum_is_not_the_sum_of_the_leasts() -> None:
    # By hand: alone, the first layer takes 1 x 100 < 2 x 60, the second 90 x 1 < 50 x 2. The sums
    # are 91 and 101, but 52 and 62 are possible.
    figures = [np.array([[1.0, 100.0], [2.0, 60.0]]), np.array([[50.0, 2.0], [90.0, 1.0]])]
    assert [int(np.argmin(each[:, 0] * each[:, 1])) for each in figures] == [0, 1]
    assert totals_of(figures, [1, 1], [0, 1]) == (91.0, 101.0)
    assert least_product(figures, [1, 1]) == [1, 0]
    assert totals_of(figures, [1, 1], [1, 0]) == (52.0, 62.0)


@pytest.mark.parametrize("mapper", ["ga_log", "marl", "bo:initial=50:trees=3"])
def test_an_evaluator_keeps_the_front_and_its_values_are_the_same(mapper: str) -> None:
    tight = problem(l1_bytes=2000)
    keeper = FrontEvaluator(tight, find_objective("edp"), 150)
    recorder = Recorder(tight, "edp", 150)
    for evaluator in (keeper, recorder):
        make_mapper(mapper).search(evaluator, 150, np.random.default_rng(3))
    np.testing.assert_array_equal(keeper.trace[0], recorder.trace[0])
    points = np.concatenate(recorder.points)
    rows = tight.evaluate(points)
    valid = rows.status == OK
    expected = Front.of(points[valid], rows.metrics[valid][:, :2])
    np.testing.assert_array_equal(keeper.front.points, expected.points)
    np.testing.assert_array_equal(keeper.front.figures, expected.figures)
    assert keeper.best.value == expected.figures.prod(axis=1).min()
