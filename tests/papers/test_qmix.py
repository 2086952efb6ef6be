"""``qmix``: that its agents learn, what a mixer changes, and what a search spends."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from gate import few
from mapper_helpers import Recorder
from planted import Planted

torch = pytest.importorskip("torch", reason="needs the extra rl")

from maestro_env._native import METRICS  # noqa: E402
from maestro_env.accelerators.finding import find_hardware  # noqa: E402
from maestro_env.base.errors import UnknownNameError  # noqa: E402
from maestro_env.evaluation.cost_and_status import Rows  # noqa: E402
from maestro_env.mappers import make_mapper  # noqa: E402
from maestro_env.mappers.base import SettingError  # noqa: E402
from maestro_env.mappers.papers.qmix import QmixConfig, _Steps  # noqa: E402
from maestro_env.mappers.papers.replay.layouts import Batch  # noqa: E402
from maestro_env.mappers.papers.value_based.qmix import LEARNERS  # noqa: E402
from maestro_env.mapspace.space import Points  # noqa: E402
from maestro_env.mapspace.two_level_space import MapSpace  # noqa: E402
from maestro_env.workloads.layer import Layer  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_torch_thread")

BUDGET = 500
every_mixer = pytest.mark.parametrize("mixer", LEARNERS)


class Large(Planted):
    """A mapping costs 1, and 1 more for each octave that a tile is smaller than the largest."""

    def evaluate(self, points: Points, threads: int = 1) -> Rows:
        octaves = np.zeros(len(points))
        for parameter, choices in zip(self.space.parameters, points.T, strict=True):
            if parameter.kind == "tile":
                sizes = np.array(parameter.values)
                octaves += np.log2(sizes.max() / sizes[choices])
        metrics = np.repeat(1 + octaves[:, np.newaxis], len(METRICS), axis=1)
        return Rows(metrics, np.zeros(len(points), dtype=np.uint8))


@cache
def large() -> Large:
    layer = Layer("GEMM", {"M": 256, "N": 256, "K": 256})
    return Large(MapSpace(layer, find_hardware("unlimited"), tiles="divisors"))


def search(settings: str, budget: int = BUDGET, seed: int = 0) -> Recorder:
    recorder = Recorder(large(), "latency", budget)
    make_mapper(f"qmix:{settings}").search(recorder, budget, np.random.default_rng(seed))
    return recorder


@pytest.mark.parametrize("mixer", few(["qmix", "vdn", "iql"]))
def test_agents_that_learn_find_the_optimum_and_others_do_not(mixer: str) -> None:
    learnt, drawn = (search(f"mixer={mixer}:updates={each}") for each in (0.25, 0))
    assert learnt.best.value == 1 < drawn.best.value


def test_mixers_change_nothing_but_what_is_learnt() -> None:
    """Of 96 samples the last 16 are drawn after updates."""
    same, others = (
        [np.concatenate(search(f"mixer={each}:updates={updates}", 96).points) for each in LEARNERS]
        for updates in (0, 1)
    )
    assert all(np.array_equal(each, same[0]) for each in same)
    assert all(np.array_equal(each[:80], same[0][:80]) for each in others)
    assert len({each.tobytes() for each in others}) == 3


@pytest.mark.parametrize("episode", ["improve", "choose"])
@pytest.mark.parametrize("budget", [1, 64, 71])
def test_a_budget_is_spent_exactly_and_no_mapping_twice(budget: int, episode: str) -> None:
    found = search(f"episode={episode}:samples=8:candidates=4:rows=8:first=20", budget)
    assert found.used == found.unique == budget


def test_seeds_decide_everything() -> None:
    first, same, other = (search("density=0.2", 120, seed).digest() for seed in (0, 0, 1))
    assert first == same != other


def steps(**settings: Any) -> _Steps:
    heads = [[5], [3, 5]]
    logits = [np.zeros(sum(counts)) for counts in heads]
    made = QmixConfig(rate=0.05, **settings)
    return _Steps((2, 3), heads, np.random.default_rng(0), logits, None, made)


def rows(rng: np.random.Generator) -> Batch:
    """The team is paid for the last agent's second choice being 2."""
    seen = [rng.normal(size=(64, width)).astype("f") for width in (2, 3)]
    taken = steps().encoded(np.stack([rng.integers(each, size=64) for each in (5, 3, 5)], axis=1))
    rewards = np.repeat(taken[1][:, 1:] == 2, 2, axis=1).astype("f")
    return Batch(seen, taken, rewards, seen, np.zeros_like(rewards))


@every_mixer
def test_agents_stay_until_they_know_better(mixer: str) -> None:
    learner, rng = steps(mixer=mixer, density=0.3), np.random.default_rng(1)
    seen = rows(rng).observations
    assert not learner.act(seen).any()
    for _ in range(30):
        learner.update([rows(rng)])
    assert (learner.act(seen)[:, 2] == 2).all()
    better, worse = (learner.values(seen, np.tile([0, 0, each], (64, 1))) for each in (2, 1))
    assert (better > worse).all()


def test_a_share_of_the_weights_exists() -> None:
    learner = steps(density=0.3)
    learner.update([rows(np.random.default_rng(1))])
    topology = learner._learner.topology
    weights = [each for one in learner._learner.networks for each in one.parameters[::2]]
    exist = sum(int((each != 0).sum()) for each in weights)
    assert exist <= sum(topology.links) == round(0.3 * sum(topology.sizes))


def test_other_settings_are_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"mixer 'coma'.* allowed: iql, qmix, vdn"):
        make_mapper("qmix:mixer=coma")
    with pytest.raises(SettingError, match=r"density is 0.*; allowed: numbers from 0.001 to 1"):
        make_mapper("qmix:density=0")
