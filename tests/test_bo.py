"""Bayesian optimisation: what it reads of points, its surrogates, and what it suggests."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from gate import few
from hypothesis import given
from map_space_helpers import spaces_and_points
from mapper_helpers import Recorder
from numpy.typing import NDArray
from scipy import integrate, stats
from threadpoolctl import threadpool_limits

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.cost_and_status import METRICS
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import bo, make_mapper
from maestro_env.mappers.bo import Features, Forest, GaussianProcess, expected_improvement, features
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

Floats = NDArray[np.float64]

SMALL = MapSpace(
    Layer("CONV", {"K": 8, "C": 4, "Y": 10, "X": 10, "R": 3, "S": 3}), Hardware(num_pes=16)
)
# 6^2 orders, 3^2 parallel dimensions and 4 tilings.
TINY = MapSpace(Layer("GEMM", {"M": 2, "N": 2, "K": 1}), Hardware(num_pes=4), "paper10")


def search(text: str, space: MapSpace, budget: int, seed: int = 0) -> Recorder:
    recorder = Recorder(Problem(space), "edp", budget)
    make_mapper(text).search(recorder, budget, np.random.default_rng(seed))
    assert recorder.used == budget
    return recorder


def smooth(n: int) -> tuple[Features, Floats]:
    """Features of points of SMALL, and a smooth function of them."""
    read = features(SMALL, SMALL.sample(n, np.random.default_rng(3)))
    weights = np.linspace(-1, 1, read.shape[1])
    return read, read @ weights + np.sin(read[:, -1])


# --- Features -----------------------------------------------------------------------------------


@given(spaces_and_points)
def test_features_say_what_the_mapping_is(drawn: tuple[MapSpace, Points]) -> None:
    space, point = drawn
    columns = iter(features(space, point[np.newaxis])[0].tolist())
    mapping = space.decode(point)
    levels = dict(zip(("l2", "l1"), mapping.levels, strict=True))
    for parameter, choice in zip(space.parameters, point, strict=True):
        loops = levels[parameter.name[:2]].loops if parameter.name[:2] in levels else ()
        if parameter.kind == "order":
            positions = [next(columns) for _ in space.extents]
            dims = [loop.dim for loop in loops]
            assert dict(zip(space.extents, positions, strict=True)) == {
                dim: place for place, dim in enumerate(dims)
            }
        elif parameter.kind == "parallel":
            taken = [dim for dim in space.parallel_dims if next(columns) == 1]
            assert taken == [loop.dim for loop in loops if loop.spatial]
        else:
            assert next(columns) == pytest.approx(np.log2(parameter.values[choice]), rel=1e-6)
    assert next(columns, None) is None


def test_an_order_can_be_read_back_from_its_features() -> None:
    ranks = np.zeros((factorial(6), len(SMALL.sizes)), dtype=np.int32)
    ranks[:, 0] = np.arange(factorial(6))
    positions = features(SMALL, ranks)[:, :6]
    orders = [tuple(order) for order in np.argsort(positions, axis=1).tolist()]
    assert orders == list(permutations(range(6)))


# --- Surrogates and expected improvement --------------------------------------------------------


def test_a_forest_predicts_the_mean_and_deviation_of_its_trees() -> None:
    read, targets = smooth(300)
    surrogate = Forest(7, np.random.default_rng(0))
    surrogate.fit(read[:200], targets[:200])
    trees = [tree.predict(read[200:]) for tree in surrogate.forest.estimators_]
    assert len(trees) == 7
    mean, std = surrogate.predict(read[200:])
    np.testing.assert_allclose(mean, np.mean(trees, axis=0), rtol=1e-12)
    np.testing.assert_allclose(std, np.std(trees, axis=0), rtol=1e-9, atol=1e-12)
    assert (std > 0).any()


def test_a_gaussian_process_knows_its_training_points_and_doubts_the_rest() -> None:
    read, targets = smooth(300)
    surrogate = GaussianProcess()
    surrogate.fit(read[:200], targets[:200])
    mean, std = surrogate.predict(read)
    spread = targets.std()
    np.testing.assert_allclose(mean[:200], targets[:200], atol=0.02 * spread)
    assert std[:200].max() < 0.05 * spread < std[200:].min()
    errors = np.abs(mean[200:] - targets[200:])
    assert errors.mean() < 0.5 * spread


def test_a_gaussian_process_keeps_the_best_and_the_latest_of_many_points() -> None:
    read, targets = smooth(1000)
    surrogate = GaussianProcess()
    surrogate.fit(read, targets)
    _, std = surrogate.predict(read)
    known = std < 0.05 * targets.std()
    assert known[np.argsort(targets)[:200]].all()
    assert known[-200:].all()
    assert known.sum() < 500


@pytest.mark.parametrize("surrogate", bo.SURROGATES)
def test_a_surrogate_survives_equal_targets_and_repeated_points(surrogate: str) -> None:
    read = np.repeat(smooth(5)[0], 20, axis=0)
    made = bo.SURROGATES[surrogate](bo.BayesianConfig(), np.random.default_rng(0))
    made.fit(read, np.full(100, 4.5))
    mean, std = made.predict(read)
    np.testing.assert_allclose(mean, 4.5)
    assert (std >= 0).all()


@pytest.mark.parametrize(
    ("mean", "std"), [(3.0, 0.5), (5.0, 2.0), (4.0, 1e-3), (4.2, 0.1), (9.0, 1.5)]
)
def test_expected_improvement_is_the_integral_it_stands_for(mean: float, std: float) -> None:
    best = 4.0
    integral, _ = integrate.quad(
        lambda value: (best - value) * stats.norm.pdf(value, mean, std),
        min(mean, best) - 12 * std,
        best,
        epsabs=1e-14,
        limit=500,
    )
    [gain] = expected_improvement(np.array([mean]), np.array([std]), best)
    assert gain == pytest.approx(integral, rel=1e-6, abs=1e-12)


def test_expected_improvement_of_a_certainty_is_the_improvement() -> None:
    gains = expected_improvement(np.array([3.0, 4.0, 5.0]), np.zeros(3), 4.0)
    assert gains.tolist() == [1, 0, 0]


# --- What is modelled, and when -----------------------------------------------------------------


class Recording:
    """A surrogate that keeps what it is taught and is indifferent."""

    def __init__(self) -> None:
        self.targets: list[Floats] = []

    def fit(self, features: Features, targets: Floats) -> None:
        assert len(features) == len(targets)
        self.targets.append(targets)

    def predict(self, features: Features) -> tuple[Floats, Floats]:
        return np.zeros(len(features)), np.ones(len(features))


@pytest.fixture
def taught(monkeypatch: pytest.MonkeyPatch) -> list[Floats]:
    """Return the targets of every fit of the searches of a test."""
    surrogate = Recording()
    monkeypatch.setattr(bo, "SURROGATES", {"forest": lambda config, rng: surrogate})
    return surrogate.targets


@pytest.mark.parametrize("growth", [1.1, 2.0])
def test_refits_are_at_geometrically_growing_sizes(taught: list[Floats], growth: float) -> None:
    search(f"bo:initial=50:batch=10:growth={growth}", SMALL, 400)
    sizes = np.array([len(targets) for targets in taught])
    assert sizes[0] == 50
    assert (sizes[1:] >= growth * sizes[:-1]).all()
    assert (sizes[1:] < growth * sizes[:-1] + 10).all()
    assert sizes[-1] * growth + 10 > 400


def test_targets_are_decades_and_an_invalid_point_is_worse_the_more_it_misses(
    taught: list[Floats],
) -> None:
    space = MapSpace(find_layer("mobilenetv2_l2"), replace(PRESETS["unlimited"], l1_bytes=2000))
    recorder = search("bo:initial=300:penalty=0.5", space, 310)
    [targets] = taught
    values = recorder.trace[0][:300]
    rows = Problem(space).evaluate(np.concatenate(recorder.points)[:300])
    needed = rows.metrics[:, METRICS.index("l1_bytes")]
    valid = np.isfinite(values)
    assert 0 < valid.sum() < 300
    np.testing.assert_array_equal(targets[valid], np.log10(values[valid]))
    worse = targets[~valid] - targets[valid].max()
    np.testing.assert_allclose(worse, 0.5 * np.log10(needed[~valid] / 2000), atol=1e-12)


def test_the_first_valid_point_is_learnt_from_at_once(taught: list[Floats]) -> None:
    space = MapSpace(find_layer("vgg16_l2"), PRESETS["edge"])
    # With this seed the first fit knows invalid points alone.
    recorder = search("bo:initial=5:draw=uniform:growth=1000:share=0", space, 100, seed=3)
    first = int(np.isfinite(recorder.trace[0]).argmax())
    assert first > 5
    assert [len(targets) for targets in taught] == [5, first + 1]


# --- Suggestions --------------------------------------------------------------------------------


@pytest.mark.parametrize("surrogate", few(bo.SURROGATES))
def test_no_mapping_is_suggested_twice(surrogate: str) -> None:
    recorder = search(f"bo:surrogate={surrogate}", SMALL, 200)
    assert recorder.unique == 200


@pytest.mark.parametrize("surrogate", few(bo.SURROGATES))
def test_a_space_smaller_than_the_budget_is_searched_whole_before_it_repeats(
    surrogate: str,
) -> None:
    size = TINY.size()
    recorder = search(f"bo:surrogate={surrogate}", TINY, size + 150)
    assert len(set(map(tuple, np.concatenate(recorder.points)[:size].tolist()))) == size
    assert recorder.unique == size


def test_a_layer_of_one_element_is_searched() -> None:
    space = MapSpace(Layer("GEMM", dict.fromkeys("MNK", 1)), Hardware(num_pes=1), "paper10")
    assert search("bo", space, 400).unique == space.size() == 6**2 * 3**2


@pytest.mark.parametrize(
    "space",
    few(
        [
            MapSpace(Layer("GEMM", {"M": 10**6, "N": 30, "K": 10**6}), PRESETS["unlimited"]),
            MapSpace(Layer("DSCONV", {"C": 9, "Y": 20, "X": 20, "R": 3, "S": 3}), PRESETS["edge"]),
            MapSpace(SMALL.layer, SMALL.hardware, "full17"),
            MapSpace(SMALL.layer, SMALL.hardware, "paper10", "divisors"),
            MapSpace(replace(SMALL.layer, extents={**SMALL.layer.extents, "N": 2}), SMALL.hardware),
        ],
        3,
    ),
    ids=lambda space: f"{space.layer.operator}-{space.schema}-{space.tiles}-{len(space.sizes)}",
)
def test_every_kind_of_space_is_searched(space: MapSpace) -> None:
    values, _ = search("bo:initial=20", space, 120, seed=3).trace
    assert values[20:].min() < values[:20].min()


@pytest.mark.parametrize("surrogate", bo.SURROGATES)
def test_a_few_samples_beat_random_search(surrogate: str) -> None:
    def log_best(text: str) -> float:
        return float(np.mean([np.log(search(text, SMALL, 60, s).best.value) for s in range(4)]))

    assert log_best(f"bo:initial=20:batch=5:surrogate={surrogate}") < log_best("random")


@pytest.mark.parametrize("surrogate", bo.SURROGATES)
def test_the_threads_of_linear_algebra_change_nothing(surrogate: str) -> None:
    text = f"bo:initial=200:surrogate={surrogate}"
    free = search(text, SMALL, 300)
    with threadpool_limits(1):
        limited = search(text, SMALL, 300)
    np.testing.assert_array_equal(np.concatenate(free.points), np.concatenate(limited.points))
