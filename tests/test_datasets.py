"""Collected samples: what they are, what they cost, and when the cache has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from odd_mappers import ODD
from planted import LATENCY

from maestro_env import mappers
from maestro_env.accelerators.finding import find_hardware
from maestro_env.base.errors import ModelError
from maestro_env.clustering import Samples
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import find_objective
from maestro_env.experiments.search.goals import Goal, ProblemConfig, make_goal
from maestro_env.experiments.search.samples import Collected, collect, default_cache, describe
from maestro_env.experiments.search.searches import run_search
from maestro_env.experiments.shell.files import RecordError
from maestro_env.experiments.shown.progress import Bar
from maestro_env.experiments.store import records as machine
from maestro_env.workloads.finding import find_layer

SAMPLES = 40
RESNET = "conv:K=64,C=64,Y=58,X=58,R=3,S=3"


def goal(layer: str = RESNET, objective: str = "latency", **flags: Any) -> Goal:
    config = ProblemConfig(**flags)
    return make_goal(config, find_layer(layer), find_hardware(config.hardware), objective)


def gather(cache: Path, policy: str = "random", samples: int = SAMPLES, seed: int = 0) -> Collected:
    return collect(goal(), policy, samples, seed, cache)


def same(first: Samples, second: Samples) -> bool:
    return all(
        np.array_equal(getattr(first, name), getattr(second, name))
        for name in ("names", "kinds", "sizes", "points", "rewards")
    )


class Shown(Bar):
    """Notes what a bar is told."""

    def __init__(self) -> None:
        super().__init__("samples", SAMPLES)
        self.done, self.entered = 0.0, 0

    def __enter__(self) -> Bar:
        self.entered += 1
        return self

    def show(self, done: float, note: str) -> None:
        self.done = done


def files(directory: Path) -> list[Path]:
    return sorted(directory.iterdir())


@pytest.mark.parametrize("policy", ["random", "ga:population=10"])
def test_samples_are_those_of_the_policys_search(policy: str, tmp_path: Path) -> None:
    found = gather(tmp_path, policy)
    evaluator = Evaluator(goal().problem, LATENCY, SAMPLES)
    run_search(evaluator, policy, 0)
    values, _ = evaluator.trace
    expected = np.where(np.isinf(values), 0, values.min() / values)
    np.testing.assert_array_equal(found.samples.rewards, expected)
    rescored = Evaluator(goal().problem, LATENCY).evaluate(found.samples.points.astype(np.int32))
    np.testing.assert_array_equal(rescored.values, values)


def test_samples_are_paid_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "new" / "cache"
    bar = Shown()
    first = collect(goal(), "random", SAMPLES, 0, cache, bar)
    assert (first.spent, first.complaint, bar.done) == (SAMPLES, None, SAMPLES)
    assert files(cache) == [first.path]
    monkeypatch.setattr("maestro_env.experiments.search.samples.run_search", None)
    again = collect(goal(), "random", SAMPLES, 0, cache, bar)
    assert bar.entered == 1
    assert (again.spent, again.complaint, again.path) == (0, None, first.path)
    assert same(first.samples, again.samples)


def test_a_policys_own_warm_up_is_charged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("maestro_env.mappers.MAPPERS", {**mappers.MAPPERS, **ODD})
    found = gather(tmp_path, "warming")
    assert (found.spent, len(found.samples)) == (SAMPLES + 7, SAMPLES)


OTHERS = {
    "layer": {"layer": RESNET.replace("K=64", "K=65")},
    "stride": {"layer": f"{RESNET},stride=2"},
    "operator": {"layer": RESNET.replace("conv", "trconv")},
    "hardware": {"hardware": "edge"},
    "objective": {"objective": "edp"},
    "model": {"model": "maestro"},
    "energy": {"model": "maestro", "energy": "csv", "objective": "edp"},
    "guard": {"guard": False},
    "schema": {"schema": "paper10"},
    "tiles": {"tiles": "divisors"},
}


def test_whatever_decides_the_samples_decides_their_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [describe(goal(**flags), "random", SAMPLES, 0) for flags in OTHERS.values()]
    keys += [describe(goal(model="maestro", objective="edp"), "random", SAMPLES, 0)]
    keys += [
        describe(goal(), *search)
        for search in (("ga", SAMPLES, 0), ("random", SAMPLES + 1, 0), ("random", SAMPLES, 1))
    ]
    here = describe(goal(), "random", SAMPLES, 0)
    monkeypatch.setattr("maestro_env.experiments.search.samples.code_digest", lambda: "other code")
    keys += [describe(goal(), "random", SAMPLES, 0), here]
    assert len(set(keys)) == len(keys)


def test_a_layer_by_another_name_shares_its_samples(tmp_path: Path) -> None:
    collect(goal(layer="resnet18_l2"), "random", SAMPLES, 0, tmp_path)
    assert gather(tmp_path).spent == 0


def test_the_digest_is_of_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    (root / "mappers").mkdir(parents=True)
    searches = root / "experiments" / "search" / "searches.py"
    searches.parent.mkdir(parents=True)
    core = root / "maestro_env" / "_native.so"
    core.parent.mkdir()
    monkeypatch.setattr(machine, "__file__", str(root / "experiments" / "store" / "versions.py"))

    def after(change: Callable[[], object]) -> str:
        change()
        return machine.code_digest()

    assert machine.code_digest() == machine.code_digest()
    digests = [
        after(lambda: searches.write_text("1")),
        after(lambda: searches.write_text("2")),
        after(lambda: core.write_bytes(b"3")),
        after(lambda: monkeypatch.setattr(machine, "version", lambda name: f"{name} 9")),
    ]
    assert len(set(digests)) == len(digests)
    plots = root / "experiments" / "plots.py"
    assert after(lambda: plots.write_text("4")) == digests[-1]


# Damage


def shuffle(path: Path, place: Path) -> bytes:
    """The same points and values in another order, as a sound archive."""
    with np.load(path) as arrays:
        kept = dict(arrays)
    order = np.random.default_rng(0).permutation(len(kept["values"]))
    kept["points"], kept["values"] = kept["points"][order], kept["values"][order]
    np.savez_compressed(place, **kept)
    return place.read_bytes()


def test_a_damaged_file_is_told_of_and_replaced(tmp_path: Path) -> None:
    first = gather(tmp_path)
    whole = first.path.read_bytes()
    other = gather(tmp_path, seed=1).path
    shuffled = shuffle(first.path, tmp_path / "shuffled.npz")
    for damaged in (b"", b"no archive", whole[:-30], other.read_bytes(), shuffled):
        first.path.write_bytes(damaged)
        again = gather(tmp_path)
        assert again.spent == SAMPLES
        assert again.complaint is not None
        assert again.complaint.startswith(f"cannot read samples {first.path}: ")
        assert again.complaint.endswith("; its samples were collected again")
        assert same(first.samples, again.samples)
        assert gather(tmp_path).spent == 0


@given(data=st.data())
def test_any_wrong_byte_is_noticed_or_without_effect(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    cache = tmp_path_factory.getbasetemp() / "damaged"
    first = gather(cache)
    whole = bytearray(first.path.read_bytes())
    place = data.draw(st.integers(0, len(whole) - 1))
    whole[place] ^= data.draw(st.integers(1, 255))
    first.path.write_bytes(whole)
    assert same(gather(cache).samples, first.samples)


def test_a_cache_that_cannot_be_made_is_an_error_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maestro_env.experiments.search.samples.run_search", None)
    (tmp_path / "file").touch()
    with pytest.raises(RecordError, match="cannot make directory"):
        gather(tmp_path / "file" / "cache")


def test_nothing_is_left_of_an_interrupted_search(tmp_path: Path) -> None:
    class Pressed(Shown):
        def show(self, done: float, note: str) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect(goal(), "random", SAMPLES, 0, tmp_path, Pressed())
    assert files(tmp_path) == []


def test_values_that_are_no_rewards_are_refused(tmp_path: Path) -> None:
    unknown = find_objective("energy", "csv")
    with pytest.raises(ModelError, match="needs csv_energy_nj, which model exact does not compute"):
        collect(Goal(goal().problem, unknown, None), "random", SAMPLES, 0, tmp_path)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    ("given_home", "base"), [("/x/cache", "/x/cache"), ("relative", "/home/a/.cache")]
)
def test_the_default_is_the_users_cache(
    given_home: str, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/a")
    monkeypatch.setenv("XDG_CACHE_HOME", given_home)
    assert default_cache() == Path(base) / "maestro-env" / "samples"
