"""Words of several bytes: the same counts in buffers that hold as many words."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from gate import few
from hypothesis import given
from hypothesis import strategies as st
from optimum_helpers import solve

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.technologies import TECHNOLOGIES
from maestro_env.base.errors import HardwareError, ModelError
from maestro_env.evaluation.cost_and_status import METRICS, OK
from maestro_env.evaluation.objectives import OBJECTIVES, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.verify import verify as check
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.optimum.certificate import certify
from maestro_env.workloads.finding import find_layer

BYTES = [METRICS.index(name) for name in METRICS if name.endswith("_bytes")]
AREAS = [METRICS.index(f"{name}") for name in ("area_um2", "maestro_area_um2", "maestro_power_mw")]
REST = [column for column in range(len(METRICS)) if column not in (*BYTES, *AREAS)]
SMALL = find_hardware("num_pes=64,l1_bytes=500,l2_bytes=20000,noc_bw=8,offchip_bw=4")


def wide(machine: Hardware, word_bytes: int, spare: int = 0) -> Hardware:
    """Return a machine with room for the same words, and some bytes less than one more."""
    sizes = {"l1_bytes": machine.l1_bytes, "l2_bytes": machine.l2_bytes}
    more = {name: size * word_bytes + spare for name, size in sizes.items()}
    return replace(machine, word_bytes=word_bytes, **more)


@given(st.integers(1, 9), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_figures_are_those_of_as_many_words(word_bytes: int, spare: int, seed: int) -> None:
    layer = find_layer("resnet18_l2")
    narrow = Problem(MapSpace(layer, SMALL))
    other = Problem(MapSpace(layer, wide(SMALL, word_bytes, spare % word_bytes)))
    points = narrow.space.sample(64, np.random.default_rng(seed))
    one, several = narrow.evaluate(points), other.evaluate(points)
    assert (one.status == several.status).all()
    np.testing.assert_array_equal(one.metrics[:, REST], several.metrics[:, REST])
    np.testing.assert_array_equal(one.metrics[:, BYTES] * word_bytes, several.metrics[:, BYTES])
    l1, l2 = (several.metrics[:, METRICS.index(name)] for name in ("l1_bytes", "l2_used_bytes"))
    area = 64 * 4470 + np.ceil(l2 / 32768) * 4161.536 + np.ceil(l1 / 64) * 4505.1889 * 64
    np.testing.assert_allclose(several.metrics[:, METRICS.index("area_um2")], area, rtol=1e-12)
    for objective in OBJECTIVES.values():
        values, status = other.score(points, objective)
        assert (status == several.status).all()
        valid = status == OK
        assert (values[valid] == objective.function(several.metrics)[valid]).all()
    mapping = other.space.decode(points[0])
    (cluster,) = other.evaluate_mapping(mapping)[0].clusters
    assert cluster.bytes == narrow.evaluate_mapping(mapping)[0].clusters[0].bytes * word_bytes


@pytest.mark.parametrize("name", few(["latency", "energy", "edp"], 2))
def test_the_optimum_is_that_of_as_many_words(name: str, tmp_path: Path) -> None:
    layer, objective = find_layer("gemm:M=12,N=10,K=18"), find_objective(name)
    machine = replace(SMALL, l1_bytes=30, l2_bytes=300)
    other = Problem(MapSpace(layer, wide(machine, 2, 1)))
    search = solve(other, objective)
    assert search.best == solve(Problem(MapSpace(layer, machine)), objective).best
    path = tmp_path / "c.gz"
    certify(other, objective, search.best, search.best_point, search.bound, path)
    assert check(path).claim.value == search.best
    header = json.loads(gzip.decompress(path.read_bytes()).split(b"\n")[0])
    assert header["hardware"]["word_bytes"] == 2


def test_the_model_maestro_has_words_of_one_byte() -> None:
    space = MapSpace(find_layer("resnet18_l2"), wide(SMALL, 2))
    with pytest.raises(ModelError, match=r"words of one byte.*have 2; allowed: word_bytes 1"):
        Problem(space, "maestro")


def test_energies_are_of_words_of_a_size() -> None:
    with pytest.raises(HardwareError, match="accelergy65 has energies of words of 2 B; allowed: 2"):
        replace(SMALL, technology=TECHNOLOGIES["accelergy65"])
    assert wide(replace(SMALL, technology=TECHNOLOGIES["eyeriss"]), 2).word_bytes == 2


@pytest.mark.parametrize("clock", ["0", "-3", "x"])
def test_an_impossible_clock_is_refused(clock: str) -> None:
    with pytest.raises(HardwareError, match="clock_mhz"):
        find_hardware(f"num_pes=4,clock_mhz={clock}")


def test_a_clock_changes_no_figure() -> None:
    machine = find_hardware("num_pes=4,clock_mhz=200.5")
    assert machine.clock_mhz == 200.5
    assert Hardware(**machine.record()) == machine
