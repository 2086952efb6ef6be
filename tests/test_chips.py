"""Published accelerators: their figures, and that layers can be mapped to them."""

from __future__ import annotations

import pytest
from commands import hardware

from maestro_env.accelerators.chips import CHIPS
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS, UNLIMITED, Hardware
from maestro_env.accelerators.technologies import TECHNOLOGIES
from maestro_env.base.errors import ModelError
from maestro_env.environments.texts import text_of
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace
from maestro_env.workloads.finding import find_layer


def test_chips_have_the_published_figures() -> None:
    macs = {name: find_hardware(name).num_pes * find_hardware(name).simd_lanes for name in CHIPS}
    assert macs == {
        "eyeriss": 168,
        "nvdla_large": 2048,
        "nvdla_small": 64,
        "tpu_v1": 65_536,
        "simba": 1024,
        "gemmini": 256,
    }
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


def test_maestro_refuses_a_chip_of_wider_words() -> None:
    with pytest.raises(ModelError, match="words of one byte"):
        Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("eyeriss")), "maestro")


def test_a_chip_too_small_for_whole_windows_names_the_schema_that_fits() -> None:
    problem = Problem(MapSpace(find_layer("resnet18_l2"), find_hardware("gemmini")))
    assert problem.why_nothing_fits().endswith("; try schema full17")
