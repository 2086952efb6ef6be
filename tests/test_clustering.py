from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from clustering_helpers import layer_samples, partition, sizes_samples
from gate import few
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import dendrogram, fcluster

from maestro_env.clustering import (
    LINKAGES,
    MEASURES,
    Clustering,
    Dependence,
    GroupingError,
    Samples,
    cluster,
)
from maestro_env.clustering.algorithm import stability
from maestro_env.clustering.groups import agglomerate, cut_at, cut_to_agents

PLANTED = {frozenset("aeg"), frozenset("bh"), frozenset("c"), frozenset("df")}


@cache
def planted() -> Samples:
    """Uniform samples whose reward wants the parameters of each group of PLANTED to agree."""
    rng = np.random.default_rng(0)
    points = rng.integers(0, 10, (20_000, 8))
    column = dict(zip("abcdefgh", points.T / 2, strict=True))
    cost = rng.normal(size=len(points)) * 0.1 + 0.3 * column["c"]
    for x, y in ("ae", "eg", "ag", "bh", "df"):
        cost += (column[x] - column[y]) ** 2 / 4
    return sizes_samples(points, np.exp(-cost))


@cache
def noise() -> Samples:
    rng = np.random.default_rng(1)
    return sizes_samples(rng.integers(0, 10, (2000, 12)), rng.uniform(0.1, 1, 2000))


def shuffled(samples: Samples, order: list[int]) -> Samples:
    return replace(
        samples,
        names=tuple(samples.names[i] for i in order),
        kinds=tuple(samples.kinds[i] for i in order),
        sizes=tuple(samples.sizes[i] for i in order),
        points=samples.points[:, order],
    )


@pytest.mark.parametrize("linkage", few(LINKAGES))
@pytest.mark.parametrize("measure", MEASURES)
def test_planted_groups_are_recovered_for_a_budget(measure: str, linkage: str) -> None:
    found = cluster(planted(), 4, measure=measure, linkage=linkage)
    assert partition(found.groups) == PLANTED
    assert found.dependence.measure == measure


@pytest.mark.parametrize(("linkage", "threshold"), [("ward_rows", 1.35), ("average", 0.9)])
@pytest.mark.parametrize("measure", few(MEASURES, 2))
def test_planted_groups_are_recovered_for_a_threshold(
    measure: str, linkage: str, threshold: float
) -> None:
    found = cluster(planted(), threshold=threshold, measure=measure, linkage=linkage)
    assert partition(found.groups) == PLANTED


def test_opposite_parameters_are_one_to_average_and_far_apart_to_ward() -> None:
    rng = np.random.default_rng(2)
    a = rng.integers(0, 10, 3000)
    points = np.stack([a, 9 - a, rng.integers(0, 10, 3000)], axis=1)
    samples = sizes_samples(points)
    together, apart = frozenset("ab"), frozenset("a")
    assert together in partition(cluster(samples, 2, linkage="average").groups)
    assert together not in partition(cluster(samples, 2, linkage="ward_rows").groups)
    assert apart in partition(cluster(samples, threshold=2, linkage="ward_rows").groups)


def random_dependence(d: int, seed: int, ties: bool) -> Dependence:
    rng = np.random.default_rng(seed)
    half = np.triu(rng.integers(-2, 3, (d, d)) / 2 if ties else rng.uniform(-1, 1, (d, d)), 1)
    varying = rng.random(d) < 0.7
    varying[rng.integers(d)] = True
    matrix = (half + half.T) * np.outer(varying, varying)
    np.fill_diagonal(matrix, 1)
    return Dependence(tuple(f"p{i}" for i in range(d)), matrix, varying, "pearson")


@given(st.integers(1, 17), st.integers(0, 10**6), st.booleans(), st.sampled_from(list(LINKAGES)))
def test_every_cut_is_a_partition(d: int, seed: int, ties: bool, linkage: str) -> None:
    dependence = random_dependence(d, seed, ties)
    names = dependence.names
    tree = agglomerate(dependence, linkage)
    for agents in range(1, d + 1):
        groups = cut_to_agents(tree, names, agents)
        assert len(groups) == agents
        assert sorted(groups.names) == sorted(names)
        # Agents are in the order of their first parameters, and parameters in theirs.
        assert [names.index(group[0]) for group in groups.values()] == sorted(
            names.index(group[0]) for group in groups.values()
        )
    thresholds = [0, *tree.merges[:, 2], tree.apart, 99]
    counts = [len(cut_at(tree, names, threshold)) for threshold in sorted(thresholds)]
    assert counts == sorted(counts, reverse=True)
    assert counts[-1] == 1


@given(st.integers(2, 12), st.integers(0, 10**6), st.floats(0, 3), st.sampled_from(list(LINKAGES)))
def test_thresholds_cut_as_scipy_does(d: int, seed: int, threshold: float, linkage: str) -> None:
    dependence = replace(random_dependence(d, seed, False), varying=np.ones(d, dtype=bool))
    tree = agglomerate(dependence, linkage)
    expected = fcluster(tree.merges, threshold, "distance")
    ours = cut_at(tree, dependence.names, threshold).indices(tree.leaves)
    np.testing.assert_array_equal(ours[:, np.newaxis] == ours, expected[:, np.newaxis] == expected)


@given(st.permutations(range(10)), st.integers(0, 10**6), st.booleans())
def test_the_order_of_parameters_does_not_matter(order: list[int], seed: int, ties: bool) -> None:
    dependence = random_dependence(10, seed, ties)
    other = Dependence(
        tuple(dependence.names[i] for i in order),
        dependence.matrix[np.ix_(order, order)],
        dependence.varying[order],
        "pearson",
    )
    for linkage in LINKAGES:
        trees = agglomerate(dependence, linkage), agglomerate(other, linkage)
        for agents in range(1, 11):
            assert partition(cut_to_agents(trees[0], dependence.names, agents)) == partition(
                cut_to_agents(trees[1], other.names, agents)
            )


@pytest.mark.parametrize("fraction", [0.01, 0.15, 0.1503, 1.0])
def test_samples_given_twice_do_not_matter_to_pearson(fraction: float) -> None:
    twice = noise().subset(np.tile(np.arange(2000), 2))
    once, other = (cluster(samples, 5, fraction=fraction) for samples in (noise(), twice))
    np.testing.assert_allclose(once.dependence.matrix, other.dependence.matrix, atol=1e-12)
    assert once.groups == other.groups


def test_parameters_without_variance_take_no_agent_from_others() -> None:
    points = planted().points.copy()
    points[:, [2, 7]] = 4
    still = replace(planted(), points=points)
    found = cluster(still, 3)
    assert found.tree.leaves == tuple("abdefg")
    # b is alone, so it is the smallest; then by name.
    assert partition(found.groups) == {frozenset("aeg"), frozenset("bch"), frozenset("df")}
    assert len(cluster(still, 8).groups) == 8
    # With one agent to spare c is alone, and h joins the first that is.
    assert partition(cluster(still, 7).groups) == set(map(frozenset, ("ah", *"bcdefg")))
    assert len(cluster(still, threshold=0.4).groups) == 8
    assert len(cluster(still, threshold=1.414).groups) == 3 + 2


def blocks(names: str, *groups: str) -> Dependence:
    """Dependence of 0.9 in the first group, a little less in each further one, 0 between them."""
    matrix = np.eye(len(names))
    varying = np.zeros(len(names), dtype=bool)
    for place, group in enumerate(groups):
        members = [names.index(name) for name in group]
        matrix[np.ix_(members, members)] = 0.9 - 0.1 * place
        varying[members] = True
    np.fill_diagonal(matrix, 1)
    return Dependence(tuple(names), matrix, varying, "pearson")


@pytest.mark.parametrize("names", ["abcdx", "xdcba"])
def test_of_equal_groups_a_parameter_without_variance_joins_the_first_by_name(names: str) -> None:
    groups = cut_to_agents(agglomerate(blocks(names, "cd", "ab")), tuple(names), 2)
    assert partition(groups) == {frozenset("abx"), frozenset("cd")}


@pytest.mark.parametrize("linkage", LINKAGES)
def test_a_parameter_without_variance_is_as_far_as_independent_ones(linkage: str) -> None:
    independent = agglomerate(blocks("ab", "a", "b"), linkage)
    assert independent.merges[0, 2] == pytest.approx(independent.apart, rel=1e-15)
    tree = agglomerate(blocks("abx", "ab"), linkage)
    assert len(cut_at(tree, tuple("abx"), tree.apart - 1e-9)) == 2
    assert len(cut_at(tree, tuple("abx"), tree.apart)) == 1


@given(st.integers(2, 12), st.integers(0, 10**6), st.sampled_from(list(LINKAGES)))
def test_rounding_does_not_decide_ties(d: int, seed: int, linkage: str) -> None:
    dependence = random_dependence(d, seed, ties=True)
    error = np.random.default_rng(seed).uniform(-1e-15, 1e-15, (d, d))
    disturbed = replace(dependence, matrix=dependence.matrix + error + error.T)
    trees = agglomerate(dependence, linkage), agglomerate(disturbed, linkage)
    np.testing.assert_array_equal(trees[0].merges, trees[1].merges)


def test_one_parameter_with_variance_is_a_tree_without_merges() -> None:
    points = np.zeros((30, 3), dtype=np.int64)
    points[:, 1] = np.arange(30)
    samples = sizes_samples(points)
    assert cluster(samples, 1).groups.sizes == (3,)
    assert partition(cluster(samples, 3).groups) == set(map(frozenset, "abc"))


def test_the_tree_can_be_drawn() -> None:
    tree = cluster(planted(), 4).tree
    drawn = dendrogram(tree.merges, labels=tree.leaves, no_plot=True)
    assert sorted(drawn["ivl"]) == list("abcdefgh")


def test_six_agents_unless_said_or_fewer_parameters() -> None:
    assert len(cluster(planted()).groups) == 6
    assert len(cluster(sizes_samples(planted().points[:, :4])).groups) == 4


@pytest.mark.parametrize("agents", [0, -3, 9, 2.5, True, np.True_])
def test_impossible_numbers_of_agents(agents: int) -> None:
    told = f"{agents} agents for 8 parameters; allowed: integers from 1 to 8"
    with pytest.raises(GroupingError, match=told):
        cluster(planted(), agents)


@pytest.mark.parametrize("threshold", [-0.1, float("nan")])
def test_impossible_thresholds(threshold: float) -> None:
    with pytest.raises(GroupingError, match=r"threshold is .*; allowed: 0 or more"):
        cluster(planted(), threshold=threshold)


def test_agents_and_a_threshold_contradict_each_other() -> None:
    with pytest.raises(GroupingError, match=r"agents 3 and threshold 0.5 are given: give one"):
        cluster(planted(), 3, threshold=0.5)


def test_unknown_linkages_are_refused() -> None:
    with pytest.raises(
        GroupingError, match=r"unknown linkage 'ward': .*allowed: ward_rows, average"
    ):
        cluster(planted(), 3, linkage="ward")


@pytest.mark.parametrize("objective", ["latency", "edp"])
@pytest.mark.parametrize("schema", ["legal13", "paper10"])
def test_the_papers_thresholds_on_the_papers_layer(objective: str, schema: str) -> None:
    samples = layer_samples("mobilenetv2_l2", objective, schema=schema)
    found = cluster(samples, threshold=0.5)
    assert found.groups.sizes == (1,) * len(samples.names)
    assert cluster(samples, threshold=2.5).groups.sizes == (len(samples.names),)
    heights = found.tree.merges[:, 2]
    assert heights.min() > 0.9
    assert heights.max() < 2.4
    # By the other linkage the paper's upper threshold would say nothing.
    assert cluster(samples, linkage="average").tree.merges[:, 2].max() <= 1


def test_planted_groups_are_stable() -> None:
    samples = planted().subset(np.arange(6000))
    found = stability(samples, np.random.default_rng(0), partial(cluster, agents=4), 10)
    assert found.with_whole == found.of_halves == 1


def test_groups_of_noise_are_not_stable() -> None:
    found = stability(noise(), np.random.default_rng(0), partial(cluster, agents=5), 30)
    assert found.with_whole < 0.3
    assert abs(found.of_halves) < 0.1


def test_halves_share_no_sample() -> None:
    seen: list[set[int]] = []

    def grouping(samples: Samples) -> Clustering:
        seen.append(set(samples.rewards.astype(int).tolist()))
        return cluster(samples, 2)

    points = np.random.default_rng(0).integers(0, 9, (101, 4))
    numbered = sizes_samples(points, np.arange(1.0, 102.0))
    stability(numbered, np.random.default_rng(0), grouping, 3)
    whole, *halves = seen
    assert whole == set(range(1, 102))
    assert [len(half) for half in halves] == [50] * 6
    assert not any(one & other for one, other in zip(halves[::2], halves[1::2], strict=True))
    assert halves[0] != halves[2]


@pytest.mark.parametrize("agents", [1, 12])
def test_the_ends_are_always_stable(agents: int) -> None:
    found = stability(noise(), np.random.default_rng(0), partial(cluster, agents=agents), 2)
    assert found.with_whole == found.of_halves == 1


def test_stability_repeats_with_the_seed() -> None:
    first, second = (stability(noise(), np.random.default_rng(5), splits=3) for _ in range(2))
    assert first == second


def test_stability_needs_a_split() -> None:
    with pytest.raises(GroupingError, match="0 splits; allowed: 1 or more"):
        stability(noise(), np.random.default_rng(0), splits=0)
