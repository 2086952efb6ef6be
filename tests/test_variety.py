"""The order of proposals: likely mappings first, but none too much like those before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import CONV, PES, spaces

from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.prior.proposals import varied

COMMON, PLACES = 2.0, 256


def parts_of(space: MapSpace, point: np.ndarray) -> list[tuple[int, ...]]:
    """Return the parallel loops, orders, L2 tiles and L1 tiles of a vector."""
    entry = dict(zip(space.columns, point.tolist(), strict=True))
    endings = ("_parallel", "_order", "l2_tile_", "l1_tile_")
    return [tuple(entry[name] for name in entry if ending in name) for ending in endings]


@given(spaces(), st.integers(1, 40), st.integers(0, 2**32))
def test_each_place_goes_to_the_likeliest_that_is_least_like_those_before(
    space: MapSpace, count: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.integers(0, np.minimum(space.sizes, 2), (count, len(space.sizes)), dtype=np.int32)
    logarithms = rng.uniform(-10, 0, count)
    order = varied(space, points, logarithms).tolist()
    assert sorted(order) == list(range(count))
    assert order[0] == 0
    parts = [parts_of(space, point) for point in points]
    # A kind of part that the space has not is the same everywhere, and decides nothing.
    for place in range(1, count):
        common = [
            sum(
                a == b
                for before in order[:place]
                for a, b in zip(parts[row], parts[before], strict=True)
            )
            for row in range(count)
        ]
        scores = {row: logarithms[row] - COMMON * common[row] for row in order[place:]}
        np.testing.assert_allclose(scores[order[place]], max(scores.values()))


def test_another_pair_of_parallel_loops_is_tried_soon() -> None:
    space = MapSpace(CONV, PES)
    points = np.zeros((100, len(space.sizes)), dtype=np.int32)
    points[:, space.columns["l1_tile_K"]] = np.arange(100) % 6
    points[:, space.columns["l1_tile_C"]] = np.arange(100) // 6 % 5
    points[99, space.columns["l2_parallel"]] = 1
    logarithms = np.linspace(0, -1, 100)
    logarithms[99] = -5
    assert varied(space, points, logarithms).tolist().index(99) < 5


def test_many_mappings_keep_the_likelier_ones_ahead_where_no_place_is_chosen() -> None:
    space = MapSpace(CONV, PES)
    points = np.zeros((3 * PLACES, len(space.sizes)), dtype=np.int32)
    logarithms = np.random.default_rng(0).uniform(-9, 0, len(points))
    # All have all in common, so that what is likelier always comes first.
    order = varied(space, points, logarithms)
    assert order[0] == 0
    assert sorted(order) == list(range(len(points)))
    assert (np.diff(logarithms[order[1:]]) <= 0).all()


def test_none_and_one() -> None:
    space = MapSpace(CONV, PES)
    none = np.empty((0, len(space.sizes)), dtype=np.int32)
    assert varied(space, none, np.empty(0)).tolist() == []
    assert varied(space, np.zeros((1, len(space.sizes)), np.int32), np.zeros(1)).tolist() == [0]
