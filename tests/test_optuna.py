"""Optuna's sampler as a mapper: it learns from violations, forgets, and is quiet."""

from __future__ import annotations

import numpy as np
import pytest
from mapper_helpers import Recorder

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.base.errors import MissingExtraError
from maestro_env.evaluation.cost_and_status import METRICS
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

EDGE = MapSpace(find_layer("vgg16_l2"), PRESETS["edge"])


def search(text: str, space: MapSpace, budget: int, seed: int = 0) -> Recorder:
    recorder = Recorder(Problem(space), "edp", budget)
    make_mapper(text).search(recorder, budget, np.random.default_rng(seed))
    return recorder


def test_without_optuna_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "maestro_env.mappers.optuna", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(MissingExtraError, match=r"optuna needs optuna: pip install -e '.\["):
        make_mapper("optuna")


@pytest.mark.slow
def test_it_beats_random_search_where_few_mappings_are_valid() -> None:
    pytest.importorskip("optuna", reason="the extra optuna is not installed")

    def log_best(text: str) -> float:
        return float(np.mean([np.log(search(text, EDGE, 80, s).best.value) for s in range(2)]))

    assert log_best("optuna") < log_best("random_log") - 0.3


def test_it_learns_from_invalid_samples_alone() -> None:
    pytest.importorskip("optuna", reason="the extra optuna is not installed")
    tight = MapSpace(EDGE.layer, Hardware(num_pes=168, l1_bytes=1))
    recorder = search("optuna:candidates=8", tight, 100)
    assert recorder.best is None
    points = np.concatenate(recorder.points)
    needed = Problem(tight).evaluate(points).metrics[:, METRICS.index("l1_bytes")]
    assert np.median(needed[-30:]) < np.median(needed[:30]) / 2


@pytest.mark.slow
def test_it_forgets_but_the_best(capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna", reason="the extra optuna is not installed")
    mapper = make_mapper("optuna:memory=50:candidates=2")
    recorder = Recorder(Problem(EDGE), "edp", 200)
    mapper.search(recorder, 200, np.random.default_rng(0))
    known = [trial.value for trial in mapper._study.get_trials(deepcopy=False)]
    assert 75 <= len(known) <= 125
    assert recorder.best.value in known
    assert capfd.readouterr() == ("", "")


def test_a_space_of_few_mappings_is_searched() -> None:
    pytest.importorskip("optuna", reason="the extra optuna is not installed")
    layer = Layer("GEMM", dict.fromkeys("MNK", 1))
    recorder = search("optuna", MapSpace(layer, Hardware(num_pes=1)), 60)
    assert recorder.valid == 60
