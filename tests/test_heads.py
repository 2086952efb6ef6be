"""Heads, elites and exploration against brute force."""

from __future__ import annotations

import math
from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from team_helpers import LARGE, SMALL, actions_of

from maestro_env.accelerators.hardware import Hardware
from maestro_env.mappers.agents.archive import Elites
from maestro_env.mappers.agents.team import MOST_LOGITS, Heads, explore, refine
from maestro_env.mapspace.space import Parameter
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

HUGE = MapSpace(Layer("GEMM", {"M": 10**6, "N": 9000, "K": 8192}), Hardware(num_pes=20_000))
# A batch of convolutions has seven loops, whose orders a head offers all.
SEVEN = MapSpace(
    Layer("CONV", {"N": 2, "K": 4, "C": 4, "Y": 6, "X": 6, "R": 3, "S": 3}), Hardware(num_pes=4)
)


def orders_of_eight() -> Heads:
    """A head of more orders than any layer has."""
    parameter = Parameter("l2_order", "order", range(math.factorial(8)))
    return Heads(SimpleNamespace(parameters=(parameter,), ordered=lambda name: list("ABCDEFGH")))


# Choices


@pytest.mark.parametrize("heads", [Heads(HUGE), Heads(SEVEN), orders_of_eight(), LARGE])
def test_choices_are_few_ascending_and_reach_both_ends(heads: Heads) -> None:
    for offered, parameter in zip(heads.choices, heads.space.parameters, strict=True):
        assert len(offered) <= MOST_LOGITS
        assert (np.diff(offered) > 0).all()
        assert (offered[0], offered[-1]) == (0, parameter.choices - 1)
        if parameter.choices <= MOST_LOGITS:
            assert len(offered) == parameter.choices


def test_of_too_many_choices_sizes_are_spread_by_ratio_and_orders_evenly() -> None:
    heads = Heads(HUGE)
    for offered, parameter in zip(heads.choices, HUGE.parameters, strict=True):
        if parameter.is_size:
            sizes = offered + 1
            assert (sizes[1:] <= np.maximum(sizes[:-1] + 1, sizes[:-1] * 1.01)).all()
    (orders,) = orders_of_eight().choices
    assert set(np.diff(orders)) <= {4, 5}


@pytest.mark.parametrize("space", [HUGE, SEVEN, LARGE.space], ids=["huge", "seven", "large"])
def test_points_are_in_the_space(space: MapSpace) -> None:
    heads = Heads(space)
    actions = actions_of(heads, 50, np.random.default_rng(0))
    actions[0], actions[1] = 0, heads.counts - 1
    points = heads.points(actions)
    assert points.dtype == np.int32
    np.testing.assert_array_equal(points[0], 0)
    np.testing.assert_array_equal(points[1], space.sizes - 1)
    for row, point in zip(actions, points, strict=True):
        assert point.tolist() == [heads.choices[head][i] for head, i in enumerate(row)]
        np.testing.assert_array_equal(space.encode(space.decode(point)), clipped(space, point))


def clipped(space: MapSpace, point: np.ndarray) -> np.ndarray:
    """The point with L1 tiles of at most the L2 tile."""
    names = [each.name for each in space.parameters]
    result = point.copy()
    for column, name in enumerate(names):
        if name.startswith("l1_tile"):
            result[column] = min(point[column], point[names.index(f"l2{name[2:]}")])
    return result


# Starts


@pytest.mark.parametrize("tiles", ["integers", "divisors"])
def test_sizes_start_with_the_share_of_their_inverse(tiles: str) -> None:
    layer = Layer("GEMM", {"M": 360, "N": 97, "K": 1})
    heads = Heads(MapSpace(layer, Hardware(num_pes=48), tiles=tiles))
    for parameter, share in zip(heads.space.parameters, starts_of(heads), strict=True):
        sizes = np.array(parameter.values) if parameter.is_size else np.ones(parameter.choices)
        np.testing.assert_allclose(share, 1 / sizes / (1 / sizes).sum(), rtol=1e-12)


def test_a_size_starts_with_the_share_of_those_it_stands_for() -> None:
    heads = Heads(HUGE)
    for head, parameter in enumerate(HUGE.parameters):
        if parameter.choices > MOST_LOGITS:
            inverse = 1 / np.arange(1, parameter.choices + 1)
            expected = np.add.reduceat(inverse, heads.choices[head]) / inverse.sum()
            np.testing.assert_allclose(starts_of(heads)[head], expected, rtol=2e-3)


def test_a_uniform_start_prefers_nothing() -> None:
    assert not Heads(HUGE, "uniform").bias.any()


def starts_of(heads: Heads) -> list[np.ndarray]:
    """Probabilities of every head before anything is learnt."""
    weights = [np.exp(bias) for bias in np.split(heads.bias, heads.starts[1:])]
    return [each / each.sum() for each in weights]


# Features


def features_of(heads: Heads, head: int) -> list[tuple[int, ...]]:
    """Every feature of a head as the choices that have it, sorted."""
    table = heads.features[head]
    assert set(np.unique(table)) <= {0, 1}
    return sorted(tuple(np.flatnonzero(column)) for column in table.T if column.any())


@pytest.mark.parametrize("space", [SMALL.space, LARGE.space], ids=["3 loops", "6 loops"])
def test_features_of_orders_are_places_and_precedences(space: MapSpace) -> None:
    heads, loops = Heads(space), len(space.extents)
    orders = list(permutations(range(loops)))
    expected = [
        tuple(rank for rank, order in enumerate(orders) if order[place] == loop)
        for loop in range(loops)
        for place in range(loops)
    ]
    expected += [
        tuple(i for i, order in enumerate(orders) if order.index(first) < order.index(second))
        for first, second in combinations(range(loops), 2)
    ]
    for head, parameter in enumerate(space.parameters):
        if parameter.kind == "order":
            assert features_of(heads, head) == sorted(expected)


def test_orders_that_are_left_out_have_no_features() -> None:
    heads = orders_of_eight()
    (offered,), (table,) = heads.choices, heads.features
    orders = list(permutations(range(8)))
    for row in range(0, len(offered), 1000):
        order = orders[offered[row]]
        assert sum(table[row]) == 8 + sum(a < b for a, b in combinations(order, 2))


@pytest.mark.parametrize("space", [SMALL.space, HUGE], ids=["small", "huge"])
def test_features_of_sizes_are_octaves(space: MapSpace) -> None:
    heads = Heads(space)
    for head, parameter in enumerate(space.parameters):
        if parameter.is_size:
            octaves: dict[int, list[int]] = {}
            for row, choice in enumerate(heads.choices[head]):
                octaves.setdefault(int(choice + 1).bit_length(), []).append(row)
            assert features_of(heads, head) == sorted(map(tuple, octaves.values()))
        elif parameter.kind == "parallel":
            assert features_of(heads, head) == []


# Elites


VALUES = st.one_of(st.integers(1, 12).map(float), st.just(math.inf))


@given(st.lists(st.lists(VALUES, min_size=1, max_size=8), max_size=6), st.integers(1, 6))
def test_elites_are_the_first_samples_of_the_least_distinct_values(
    batches: list[list[float]], capacity: int
) -> None:
    elites = Elites(capacity, 2)
    seen: dict[float, int] = {}
    number = 0
    for batch in batches:
        numbers = np.arange(number, number + len(batch))
        elites.add(np.stack([numbers, -numbers], axis=1), np.array(batch))
        for value in batch:
            seen.setdefault(value, number)
            number += 1
        best = [seen[value] for value in sorted(seen) if value < math.inf][:capacity]
        assert elites.actions.tolist() == [[each, -each] for each in best]


# Exploration


N = 20_000


def explored(chance: float, local: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Uniform actions, and what exploration made of them."""
    rng = np.random.default_rng(seed)
    actions = actions_of(LARGE, N, rng)
    kept = actions.copy()
    after = explore(actions, LARGE, chance, local, rng)
    np.testing.assert_array_equal(actions, kept)
    assert ((after >= 0) & (after < LARGE.counts)).all()
    return actions, after


@pytest.mark.parametrize("local", [0.0, 0.5, 1.0])
def test_without_a_chance_nothing_changes(local: float) -> None:
    np.testing.assert_array_equal(*explored(0.0, local))


def test_small_steps_are_a_choice_or_a_factor_of_two_at_most_and_go_both_ways() -> None:
    before, after = explored(1.0, 1.0)
    for head in np.flatnonzero(LARGE.are_sizes):
        last = LARGE.counts[head] - 1
        was, by = before[:, head], after[:, head] - before[:, head]
        # All choices are offered: choice c is size c + 1.
        factors = (after[:, head] + 1) / (was + 1)
        assert (((factors >= 0.49) & (factors <= 2.01)) | (abs(by) == 1)).all()
        # Only an end can stop a step.
        assert np.isin(was[by == 0], (0, last)).all()
        inside = by[(was > last / 8) & (was < last / 2)]
        assert abs((inside > 0).mean() - 0.5) < 0.03


def nearest(head: int, was: int, octaves: float) -> int:
    """The choice whose logarithm is nearest to that of a scaled size, by trying them all."""
    logs = np.log2(np.arange(1, LARGE.counts[head] + 1))
    return int(np.argmin(abs(logs - logs[was] - octaves)))


@given(st.data())
def test_sizes_are_scaled_to_the_nearest_choice_but_by_one_at_least(data: st.DataObject) -> None:
    head = data.draw(st.sampled_from(np.flatnonzero(LARGE.are_sizes).tolist()))
    last = int(LARGE.counts[head]) - 1
    was = data.draw(st.integers(0, last))
    octaves = data.draw(st.floats(-3, 3).filter(bool))
    reached = LARGE.native.scaled(head, was, octaves)
    best = nearest(head, was, octaves)
    if best == was:
        best = min(max(was + (1 if octaves > 0 else -1), 0), last)
    assert abs(reached - best) <= (0 if best == was else 1)
    logs = np.log2([reached + 1, best + 1]) - np.log2(was + 1) - octaves
    assert best in (0, last) or abs(best - was) == 1 or abs(logs[0]) <= abs(logs[1]) + 1e-9


@given(st.data())
def test_a_favoured_choice_has_seven_chances_in_ten_and_others_their_proportions(
    data: st.DataObject,
) -> None:
    count = len(SMALL.counts)
    favoured = np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)))
    (actions,) = actions_of(SMALL, 1, np.random.default_rng(data.draw(st.integers(0, 99))))
    raised = SMALL.favouring(actions, favoured)
    for head, (start, size) in enumerate(zip(SMALL.starts, SMALL.counts, strict=True)):
        old, new = (np.exp(bias[start : start + size]) for bias in (SMALL.bias, raised))
        was, now = (each[actions[head]] / each.sum() for each in (old, new))
        assert now == pytest.approx(max(was, 0.7) if favoured[head] else was)
        rest = np.arange(size) != actions[head]
        np.testing.assert_array_equal(old[rest], new[rest])


# Refinement


BEST = actions_of(LARGE, 4, np.random.default_rng(5))


def refined(pairs: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Drawn actions, the variants, and how many parameters of its sample each changes."""
    rng = np.random.default_rng(0)
    drawn = actions_of(LARGE, N, rng)
    variants = refine(BEST, drawn, LARGE, pairs, rng)
    assert ((variants >= 0) & (variants < LARGE.counts)).all()
    changes = (variants[:, np.newaxis] != BEST).sum(axis=2)
    return drawn, variants, changes


def test_a_variant_changes_one_parameter_to_what_was_drawn_or_by_a_step() -> None:
    drawn, variants, changes = refined(pairs=0.0)
    assert (changes.min(axis=1) <= 1).all()
    of = BEST[changes.argmin(axis=1)]
    rows, heads = np.nonzero(variants != of)
    stepped = variants[rows, heads] != drawn[rows, heads]
    assert LARGE.are_sizes[heads[stepped]].all()
    factors = (variants[rows, heads] + 1) / (of[rows, heads] + 1)
    by = abs(variants[rows, heads] - of[rows, heads])
    assert (((factors > 0.49) & (factors < 2.01)) | (by == 1))[stepped].all()
    # Everyone has a turn.
    assert set(heads.tolist()) == set(range(len(LARGE.counts)))


def test_variants_of_two_sizes_keep_their_product_or_their_quotient() -> None:
    _, variants, changes = refined(pairs=1.0)
    assert (changes.min(axis=1) <= 2).all()
    of = BEST[changes.argmin(axis=1)]
    moved = variants != of
    assert LARGE.are_sizes[np.nonzero(moved)[1]].all()
    both = moved.sum(axis=1) == 2
    assert both.mean() > 0.8
    logs = np.log2((variants + 1) / (of + 1))[both]
    steps = logs[moved[both]].reshape(-1, 2)
    # Where neither is small or at an end, rounding to whole sizes changes little.
    sizes = (of + 1)[both][moved[both]].reshape(-1, 2).min(axis=1)
    ends = (variants == LARGE.counts - 1)[both][moved[both]].reshape(-1, 2).any(axis=1)
    smooth = steps[(sizes > 20) & ~ends & (abs(steps).max(axis=1) > 0.2)]
    assert len(smooth) > 100
    ratio = smooth[:, 0] / smooth[:, 1]
    assert (abs(abs(ratio) - 1) < 0.5).all()
    assert 0.4 < (ratio > 0).mean() < 0.6


def test_better_samples_have_more_variants() -> None:
    _, _, changes = refined(pairs=1.0)
    counts = np.bincount(changes.argmin(axis=1), minlength=len(BEST))
    # The lesser of two ranks drawn from four: 7, 5, 3 and 1 of 16.
    np.testing.assert_allclose(counts / N, np.array([7, 5, 3, 1]) / 16, atol=0.02)


@pytest.mark.parametrize("local", [0.0, 1.0])
def test_what_is_no_small_step_is_uniform_whatever_was_drawn(local: float) -> None:
    rng = np.random.default_rng(1)
    drawn = np.tile(actions_of(LARGE, 1, rng), (N, 1))
    after = explore(drawn, LARGE, 1.0, local, rng)
    for head, count in enumerate(LARGE.counts):
        if not (LARGE.are_sizes[head] and local):
            found = np.bincount(after[:, head], minlength=count)
            assert chisquare(found).pvalue > 1e-4


def test_each_action_is_replaced_with_its_own_chance() -> None:
    before, after = explored(0.3, 0.0)
    changed = before != after
    # A uniform draw is what was there once in as many times as there are choices.
    expected = 0.3 * (1 - 1 / LARGE.counts)
    np.testing.assert_allclose(changed.mean(axis=0), expected, atol=0.015)
    correlation = np.corrcoef(changed.T) - np.eye(changed.shape[1])
    assert abs(correlation).max() < 0.03


def test_a_parameter_of_one_choice_keeps_it() -> None:
    heads = Heads(MapSpace(Layer("GEMM", {"M": 1, "N": 4, "K": 1}), Hardware(num_pes=1)))
    rng = np.random.default_rng(0)
    after = explore(actions_of(heads, 200, rng), heads, 1.0, 0.5, rng)
    assert (after[:, heads.counts == 1] == 0).all()
    assert (heads.counts == 1).sum() == 5


def test_numbers_are_features_and_the_logarithms_of_sizes() -> None:
    heads = Heads(SEVEN)
    for parameter, own, table in zip(
        heads.space.parameters, heads.features, heads.numbers, strict=True
    ):
        if parameter.is_size:
            np.testing.assert_array_equal(table[:, :-1], own)
            logs = np.log(parameter.values)
            np.testing.assert_allclose(table[:, -1], logs / max(logs[-1], np.log(2)))
        else:
            np.testing.assert_array_equal(table, own if own.size else np.eye(len(own)))
