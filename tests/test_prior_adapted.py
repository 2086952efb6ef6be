"""The prior that goes on learning: as robust as the one that does not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra rl")

import torch
from mapper_helpers import Recorder
from prior_helpers import random_file

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.prior.file import PriorFileError
from maestro_env.workloads.layer import Layer

SMALL = Problem(MapSpace(Layer("GEMM", {"M": 30, "N": 20, "K": 40}), PRESETS["edge"]))


def search(mapper: str, problem: Problem, objective: str, budget: int) -> Recorder:
    recorder = Recorder(problem, objective, budget)
    make_mapper(mapper).search(recorder, budget, np.random.default_rng(0))
    return recorder


def test_it_begins_as_the_prior_does_whatever_the_budget() -> None:
    whole = search("prior_adapted", SMALL, "edp", 96)
    some = search("prior_adapted", SMALL, "edp", 64)
    np.testing.assert_array_equal(np.concatenate(whole.points)[:64], np.concatenate(some.points))
    fixed = search("prior", SMALL, "edp", 32)
    np.testing.assert_array_equal(whole.points[0], fixed.points[0])


def test_costs_of_zero_are_learnt_from() -> None:
    class Free(Problem):
        def score(self, points, objective, threads=1):  # type: ignore[no-untyped-def]
            values, status = super().score(points, objective, threads)
            return np.where(np.arange(len(values)) % 2, values, 0.0), status

    with np.errstate(all="raise"):
        recorder = search("prior_adapted", Free(SMALL.space), "latency", 96)
    assert recorder.best.value == 0
    assert recorder.unique == 96


@pytest.mark.parametrize("model", ["exact", "maestro"])
@pytest.mark.parametrize(
    "hardware", [Hardware(1, 1, 1), Hardware(1), Hardware(*[2**31 - 1] * 5)], ids=str
)
def test_odd_machines_are_survived(hardware: Hardware, model: str) -> None:
    problem = Problem(MapSpace(SMALL.layer, hardware), model)
    assert search("prior_adapted:batch=20", problem, "edp", 50).used == 50


def test_a_file_is_used_in_place_of_the_shipped_one(tmp_path: Path) -> None:
    path = tmp_path / "own.safetensors"
    path.write_bytes(random_file(3).to_bytes())
    own = search(f"prior_adapted:file={path}", SMALL, "edp", 40)
    assert own.digest() != search("prior_adapted", SMALL, "edp", 40).digest()
    with pytest.raises(PriorFileError, match="cannot read the prior nowhere"):
        search("prior_adapted:file=nowhere", SMALL, "edp", 40)


def test_random_streams_and_threads_of_torch_are_left_alone() -> None:
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    search("prior_adapted", SMALL, "edp", 64)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
