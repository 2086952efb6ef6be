"""Samplers of a replay: Algorithm 1 by brute force, the head of the ring, priorities, seeds."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maestro_env.base.errors import UnknownNameError
from maestro_env.mappers.papers.replay.layouts import Fields, Replay, ReplayError, make_replay
from maestro_env.mappers.papers.replay.samplers import SAMPLERS, Prioritised, make_sampler
from maestro_env.mappers.parts.arrays import Floats, Integers

every_sampler = pytest.mark.parametrize("name", SAMPLERS)


class Fixed:
    """Draws these anchors, then the last one again, and the greatest number there could be."""

    def __init__(self, *anchors: int) -> None:
        self._anchors = anchors

    def integers(self, _: int, size: int) -> Integers:
        return np.array([*self._anchors, *[self._anchors[-1]] * size][:size])

    def random(self, size: int) -> Floats:
        return np.ones(size)


def replay_of(steps: int, capacity: int) -> Replay:
    """Single steps, of which the first observation is their number."""
    replay = make_replay("joint", Fields((1,), (1,)), capacity)
    add(replay, steps)
    return replay


def add(replay: Replay, steps: int) -> None:
    zero = np.zeros((1, 1))
    for number in range(replay.added, replay.added + steps):
        replay.add([zero + number], [zero], zero, [zero], zero)


def algorithm_1(anchors: list[int], filled: int, neighbours: int, batch: int) -> list[int]:
    """The algorithm as printed."""
    found: list[int] = []
    for i in anchors:
        found += [
            j for j in range(max(0, i - neighbours), min(filled, i + neighbours + 1)) if j != i
        ]
        if len(found) >= batch:
            break
    return found


def literal(anchors: list[int], replay: Replay, batch: int, neighbours: int = 3) -> list[int]:
    rng = cast(np.random.Generator, Fixed(*anchors))
    sampler = make_sampler("neighbour_literal", replay, rng, neighbours=neighbours)
    return sampler.rows(batch).tolist()


def test_the_golden_example_of_algorithm_1() -> None:
    replay = replay_of(10, 10)
    assert literal([1], replay, 4) == [0, 2, 3, 4]
    exact = make_sampler("neighbour_exact", replay, cast(np.random.Generator, Fixed(1, 9)))
    assert exact.rows(7).tolist() == [0, 1, 2, 3, 4, 6, 7]


def test_a_literal_batch_overshoots_as_the_papers_does() -> None:
    assert len(literal([500], replay_of(1000, 1000), 1024)) == 6 * 171 == 1026


@given(st.data())
def test_neighbours_are_those_of_algorithm_1_by_age(data: st.DataObject) -> None:
    capacity = data.draw(st.integers(2, 12))
    steps = data.draw(st.integers(2, 30))
    batch, neighbours = data.draw(st.integers(1, 40)), data.draw(st.integers(1, 5))
    replay = replay_of(steps, capacity)
    filled = len(replay)
    anchors = data.draw(st.lists(st.integers(0, filled - 1), min_size=40, max_size=40))
    rows = np.array(literal(anchors, replay, batch, neighbours))
    # The observations are the numbers of the steps: their ages from the oldest.
    ages = replay.gather(rows).observations[0][:, 0] - (steps - filled)
    assert ages.tolist() == algorithm_1(anchors, filled, neighbours, batch)
    assert batch <= len(rows) < batch + 2 * neighbours


@every_sampler
@given(st.integers(2, 20), st.integers(2, 50), st.integers(1, 30), st.integers(0, 2**32))
def test_rows_are_filled_and_seeds_decide_them(
    name: str, capacity: int, steps: int, batch: int, seed: int
) -> None:
    drawn = []
    for layout in ("list", "joint2"):
        replay = make_replay(layout, Fields((1,), (1,)), capacity)
        add(replay, steps)
        drawn.append(make_sampler(name, replay, np.random.default_rng(seed)).rows(batch))
    rows = drawn[0]
    assert rows.dtype == np.int64
    assert 0 <= rows.min() <= rows.max() < min(steps, capacity)
    assert len(rows) == batch or (name == "neighbour_literal" and len(rows) > batch)
    assert rows.tolist() == drawn[1].tolist()


@every_sampler
def test_every_row_is_drawn(name: str) -> None:
    replay = replay_of(13, 8)
    rows = make_sampler(name, replay, np.random.default_rng(0)).rows(8000)
    assert set(rows.tolist()) == set(range(8))
    if not name.startswith("neighbour"):
        # Five standard deviations of a binomial number.
        assert np.abs(np.bincount(rows) - 1000).max() < 5 * np.sqrt(1000 * 7 / 8)


# Priorities


def prioritised(replay: Replay, **settings: float) -> Prioritised:
    sampler = make_sampler("prioritised", replay, np.random.default_rng(0), **settings)
    assert isinstance(sampler, Prioritised)
    return sampler


def test_rows_are_drawn_in_proportion_to_their_priority() -> None:
    sampler = prioritised(replay_of(5, 6), alpha=0.5, beta=1.0)
    errors = np.array([1.0, -4.0, 0.0, 9.0, 16.0])
    sampler.update(np.arange(5), errors)
    draws = 100_000
    rows = sampler.rows(draws)
    chances = np.array([1, 2, 0.001, 3, 4]) / 10.001
    spread = np.sqrt(draws * chances * (1 - chances))
    assert (np.abs(np.bincount(rows, minlength=5) - draws * chances) < 5 * spread).all()
    # Wholly corrected, every row counts as much as any other.
    weights = sampler.weights(np.array([0, 1, 3, 4, 0]))
    assert weights.tolist() == pytest.approx([1, 1 / 2, 1 / 3, 1 / 4, 1])


def test_a_draw_that_is_rounded_up_is_of_a_row_that_is_filled() -> None:
    for filled in range(1, 9):
        rng = cast(np.random.Generator, Fixed(0))
        sampler = make_sampler("prioritised", replay_of(filled, 8), rng)
        assert sampler.rows(2).tolist() == [filled - 1] * 2


def test_a_new_row_has_the_greatest_priority_and_one_written_over_loses_its_own() -> None:
    replay = replay_of(4, 4)
    sampler = prioritised(replay, alpha=1.0, beta=1.0)
    sampler.update(np.arange(4), [0.0, 0.0, 0.0, 8.0])
    assert set(sampler.rows(1000).tolist()) == {3}
    add(replay, 1)
    assert np.bincount(sampler.rows(1000)).tolist() == pytest.approx([500, 0, 0, 500], abs=80)
    add(replay, 11)
    assert len(set(sampler.rows(1000).tolist())) == 4
    assert sampler.weights(np.arange(4)).tolist() == [1.0] * 4


@given(st.integers(1, 40), st.integers(0, 2**32))
def test_sums_are_those_of_the_priorities(capacity: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    replay = replay_of(capacity, capacity)
    sampler: Any = prioritised(replay, alpha=1.0)
    last = np.ones(capacity)
    for _ in range(3):
        rows = rng.integers(capacity, size=2 * capacity)
        errors = rng.exponential(size=len(rows)) * 10.0 ** rng.integers(-3, 4)
        sampler.update(rows, errors)
        last[rows] = errors + 1e-6
    assert sampler._sums[1] == pytest.approx(last.sum())
    # A row is drawn where the cumulative sum passes what was drawn.
    sampler._rng = np.random.default_rng(7)
    drawn = np.random.default_rng(7).random(200) * last.sum()
    wanted = np.searchsorted(last.cumsum(), drawn, side="right")
    assert (sampler.rows(200) == wanted).mean() > 0.98


# What cannot be


@every_sampler
def test_bad_requests_are_refused(name: str) -> None:
    sampler = make_sampler(name, replay_of(5, 5), np.random.default_rng(0))
    with pytest.raises(ReplayError, match="batch of 0 rows: allowed are 1"):
        sampler.rows(0)
    empty = make_sampler(name, replay_of(0, 5), np.random.default_rng(0))
    with pytest.raises(ReplayError, match=r"replay of 0 rows: .* needs"):
        empty.rows(3)


def test_bad_settings_are_refused() -> None:
    replay, rng = replay_of(1, 5), np.random.default_rng(0)
    with pytest.raises(UnknownNameError, match="allowed: neighbour_exact, neighbour_literal"):
        make_sampler("neighbor", replay, rng)
    with pytest.raises(ReplayError, match="0 neighbours: allowed are 1"):
        make_sampler("neighbour_exact", replay, rng, neighbours=0)
    with pytest.raises(ReplayError, match="replay of 1 rows: Neighbour needs 2"):
        make_sampler("neighbour_literal", replay, rng).rows(3)
    with pytest.raises(ReplayError, match="alpha 2: allowed are 0 to 1"):
        make_sampler("prioritised", replay, rng, alpha=2)
    with pytest.raises(ReplayError, match="not finite"):
        prioritised(replay).update(np.array([0]), [np.nan])
