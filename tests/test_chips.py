"""Published accelerators: their figures, and that layers can be mapped to them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from commands import hardware

from maestro_env import MaestroEnv
from maestro_env.accelerators.finding import chips_with, find_hardware
from maestro_env.accelerators.hardware import PRESETS, UNLIMITED, Hardware
from maestro_env.accelerators.technologies import TECHNOLOGIES
from maestro_env.base.errors import ModelError
from maestro_env.environments.task import text_of
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.problems.drawn import distinct_layers, has_mapping
from maestro_env.experiments.search.goals import ProblemConfig, make_goal
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer

CHIPS = chips_with("two_buffers")
MACS = {
    "eyeriss": 168,
    "nvdla_large": 2048,
    "nvdla_small": 64,
    "tpu_v1": 65_536,
    "simba": 1024,
    "gemmini": 256,
}


def test_chips_have_the_published_figures() -> None:
    chips = {name: find_hardware(name) for name in MACS}
    assert {name: chip.num_pes * chip.simd_lanes for name, chip in chips.items()} == MACS
    eyeriss = find_hardware("eyeriss")
    assert (eyeriss.l1_bytes // 2, eyeriss.l2_bytes // 2, eyeriss.noc_bw) == (260, 55_296, 9)
    # 33.6 GMAC/s, 92 TOPS.
    assert 168 * eyeriss.clock_mhz * 1e6 == pytest.approx(33.6e9)
    assert 65_536 * 2 * find_hardware("tpu_v1").clock_mhz * 1e6 == pytest.approx(92e12, rel=0.01)
    assert eyeriss.energies.offchip_macs == 200
    assert eyeriss.offchip_bw == UNLIMITED


@pytest.mark.parametrize("name", CHIPS)
def test_a_chip_is_found_by_name_and_written_by_it(name: str) -> None:
    assert name not in PRESETS
    assert text_of(find_hardware(name)) == name
    assert Hardware(**find_hardware(name).record()) == find_hardware(name)


def test_the_command_lists_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert hardware([]) == 0
    shown = capsys.readouterr().out
    assert all(f"{name}: " in shown for name in (*PRESETS, *CHIPS, *TECHNOLOGIES))


@pytest.mark.parametrize("name", [*CHIPS, *PRESETS])
def test_every_layer_of_the_zoo_has_a_mapping_by_default(name: str) -> None:
    hardware = find_hardware(name)
    for layer in distinct_layers().values():
        problem = make_goal(ProblemConfig(), layer, hardware, "edp").problem
        assert has_mapping(problem), layer
        # The default is left only where it has to be.
        whole = Problem(MapSpace(layer, hardware))
        assert (problem.space.schema == "legal13") == has_mapping(whole), layer


def test_what_does_not_fit_says_what_the_buffers_must_hold() -> None:
    layer, gemmini = find_layer("conv:K=4,C=4,Y=5,X=5,R=3,S=3"), find_hardware("gemmini")
    told = Problem(MapSpace(layer, gemmini)).why_nothing_fits()
    assert told == (
        "no mapping fits: L1 must hold 39 B per PE, gemmini has 12; take schema full17, which cuts "
        "R and S too"
    )
    for least, fits in ((38, False), (39, True)):
        assert has_mapping(Problem(MapSpace(layer, replace(gemmini, l1_bytes=least)))) == fits
    tiny = replace(gemmini, l1_bytes=5, l2_bytes=1, name="")
    least = Problem(MapSpace(layer, tiny, "full17")).why_nothing_fits()
    assert least == Problem(MapSpace(layer, tiny)).why_nothing_fits()
    raised = replace(tiny, **{at: int(n) for at, n in re.findall(r"(l[12]_bytes) to (\d+)", least)})
    assert has_mapping(Problem(MapSpace(layer, raised, "full17")))
    for at in ("l1_bytes", "l2_bytes"):
        less = replace(raised, **{at: getattr(raised, at) - 1})
        assert not has_mapping(Problem(MapSpace(layer, less, "full17")))


def test_environments_take_the_schema_that_fits_all_their_layers() -> None:
    names = ["resnet18_l2", "resnet18_l6"]
    with pytest.warns(UserWarning, match="two-buffer form of gemmini; model hierarchy has all"):
        env = MaestroEnv(layers=names, hardware="gemmini")
    assert {each.problem.space.schema for each in env.unwrapped.tasks} == {"full17"}
    assert MaestroEnv(layers=names, hardware="edge").action_space.nvec.size == 13


def test_the_record_of_a_goal_says_its_schema() -> None:
    layer = find_layer("resnet18_l2")
    for name, schema in (("gemmini", "full17"), ("edge", None)):
        goal = make_goal(ProblemConfig(), layer, find_hardware(name), "edp")
        assert goal.describe()["map_space"].get("schema") == schema


def test_maestro_refuses_a_chip_of_wider_words() -> None:
    with pytest.raises(ModelError, match="words of one byte"):
        Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("eyeriss")), "maestro")


def test_a_chip_too_small_for_whole_windows_names_the_schema_that_fits() -> None:
    problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("gemmini")))
    assert problem.why_nothing_fits().endswith("; take schema full17, which cuts R and S too")
