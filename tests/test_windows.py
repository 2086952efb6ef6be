"""What a watched search did, against its trace and the points it asked for."""

from __future__ import annotations

import numpy as np
import pytest

from maestro_env import MaestroEnv
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.experiments.search.cells import (
    recorded_windows,
    window_ends,
    window_means,
    windows_entry,
    windows_of,
)
from maestro_env.experiments.search.goals import Goal, ProblemConfig, make_goal
from maestro_env.experiments.search.searches import Recorder
from maestro_env.workloads.finding import find_layer

LAYER = "mobilenetv2_l2"


def goal() -> Goal:
    return make_goal(ProblemConfig(), find_layer(LAYER), PRESETS["edge"], "edp")


def recorder(budget: int) -> Recorder:
    return Recorder(goal().problem, goal().objective, budget)


@pytest.mark.parametrize(
    ("samples", "ends"), [(1, [1]), (3, [1, 2, 3]), (250, [2, 5, 7, 10]), (20_000, [200, 400])]
)
def test_windows_cover_all_samples(samples: int, ends: list[int]) -> None:
    found = window_ends(samples)
    assert found[: len(ends)].tolist() == ends
    assert len(found) == min(samples, 100)
    assert found[-1] == samples


def test_a_mean_is_that_of_its_window() -> None:
    values = np.array([1.0, 3.0, 10.0, 20.0, 60.0])
    assert window_means(values, np.array([2, 5])).tolist() == [2, 30]
    assert window_means(np.stack([values, -values], 1), np.array([5])).tolist() == [[18.8, -18.8]]


def test_returns_and_choices_are_those_of_the_environment() -> None:
    watched = recorder(250)
    # Odd batches, so that their ends are no ends of windows.
    points = watched.space.sample(250, np.random.default_rng(0))
    points[:, 3] = np.sort(points[:, 3])
    for start in range(0, 250, 50 + 7):
        watched.evaluate(points[start : start + 57])
    windows = windows_of(watched, goal())
    env = MaestroEnv(LAYER, objective="edp", hardware="edge")
    env.reset()
    rewards = [env.step(point)[1] for point in points]
    # Windows of 250 samples end after 2, 5, 7, 10, ...
    np.testing.assert_allclose(windows.returns[0], np.mean(rewards[:2]))
    np.testing.assert_allclose(windows.returns[1], np.mean(rewards[2:5]))
    np.testing.assert_allclose(windows.returns[-1], np.mean(rewards[247:]))
    choices = points[2:5] / (watched.space.sizes - 1)
    assert watched.space.sizes.min() > 1
    np.testing.assert_allclose(windows.choices[1], choices.mean(axis=0))
    np.testing.assert_allclose(windows.spreads[1], choices.std(axis=0), atol=1e-9)


def test_windows_survive_their_file_within_its_digits() -> None:
    watched = recorder(150)
    watched.evaluate(watched.space.sample(150, np.random.default_rng(1)))
    windows = windows_of(watched, goal())
    entry = windows_entry(windows, goal())
    again = recorded_windows(entry, goal(), 150)
    assert again.ends.tolist() == windows.ends.tolist()
    np.testing.assert_allclose(again.returns, windows.returns, rtol=1e-4)
    np.testing.assert_allclose(again.choices, windows.choices, atol=0.5e-3)
    np.testing.assert_allclose(again.spreads, windows.spreads, atol=0.5e-3)


@pytest.mark.parametrize("text", ["1 2 3", "nan " * 150, "x " * 100, 5])
def test_damaged_windows_are_refused(text: object) -> None:
    watched = recorder(150)
    watched.evaluate(watched.space.sample(150, np.random.default_rng(1)))
    entry = windows_entry(windows_of(watched, goal()), goal())
    with pytest.raises((TypeError, ValueError)):
        recorded_windows({**entry, "returns": text}, goal(), 150)
