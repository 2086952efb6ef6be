"""Hardware: presets as published, files read strictly, mistakes named with file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.errors import ArgumentTypeError, HardwareError, UnknownNameError


def test_presets_are_the_published_machines() -> None:
    unlimited, edge, cloud = map(find_hardware, ("unlimited", "edge", "cloud"))
    assert (unlimited.num_pes, unlimited.noc_latency) == (1024, 1)
    limits = {unlimited.noc_bw, unlimited.offchip_bw, unlimited.l1_bytes, unlimited.l2_bytes}
    assert limits == {2**30}
    assert (edge.num_pes, edge.l1_bytes, edge.l2_bytes) == (168, 512, 108_000)
    assert (edge.noc_bw, edge.offchip_bw) == (64, 16)
    assert (cloud.num_pes, cloud.l1_bytes, cloud.l2_bytes) == (256 * 256, 512, 24 * 2**20)
    assert (cloud.noc_bw, cloud.offchip_bw) == (1024, 49)


def test_yaml_and_maestro_files_say_the_same(tmp_path: Path) -> None:
    yaml, m = tmp_path / "chip.yaml", tmp_path / "chip.m"
    yaml.write_text("num_pes: 64\nl1_bytes: 512\nnoc_bw: 32\nnoc_hops: 3\n# a comment\n")
    m.write_text("num_pes: 64;\nl1_size_cstr: 512\nnoc_bw_cstr 32 // words\nNoC_NumHops: 3\n")
    expected = Hardware(64, l1_bytes=512, noc_bw=32, noc_hops=3, name="chip")
    assert find_hardware(str(yaml)) == find_hardware(str(m)) == expected


@pytest.mark.parametrize(
    ("name", "text", "messages"),
    [
        ("a.yaml", "num_pes: abc", ("line 1", "num_pes", "'abc'", "integers")),
        ("a.yaml", "noc_bw: 3\nnum_pes: 1:20", ("line 2", "'1:20'")),
        ("a.yaml", "num_pes: 8\nnum_pes: 9", ("line 2", "twice")),
        ("a.yaml", "num_pes: 8\npes: 9", ("line 2", "'pes'", "num_pes")),
        ("a.yaml", "num_pes: [8]", ("line 1, num_pes", "expected a text, found a list")),
        ("a.yaml", "num_pes: 8\n  x: {", ("line 2",)),
        ("a.yaml", "[" * 3000, ("a.yaml",)),
        ("a.yaml", "- 8", ("name: value",)),
        ("a.yaml", "noc_bw: 3", ("num_pes is missing",)),
        ("a.yaml", "num_pes: 0", ("num_pes is 0", "1 to 2147483647")),
        ("a.yaml", "num_pes: " + "9" * 5000, ("line 1", "integers from 1 to 2147483647")),
        ("a.yaml", "num_pes: 4\nnoc_hops: -1", ("'-1'", "integers from 0 to 2147483647")),
        ("a.yaml", "num_pes: 4\nclock_mhz: -1", ("'-1'", "numbers above 0")),
        ("a.m", "num_pes: 12abc", ("line 1", "'12abc'")),
        ("a.m", "noc_bw_cstr: 3", ("num_pes is missing",)),
        ("a.m", "noc_bw_cstr: 3 // -1\nnum_pes: -4", ("line 2", "'num_pes: -4'", "no sign")),
        ("a.m", "num_pes: 4\npes: 8", ("line 2", "'pes'", "num_pes")),
        ("a.m", "num_pes: 4\nnoc_bw_cstr", ("line 2", "no value")),
        ("a.m", "num_pes: 4294967300", ("4294967300", "1 to 2147483647")),
    ],
)
def test_a_malformed_file_is_named_with_its_line(
    tmp_path: Path, name: str, text: str, messages: tuple[str, ...]
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(HardwareError) as caught:
        find_hardware(str(path))
    assert "\n" not in str(caught.value)
    for message in (name, *messages):
        assert message in str(caught.value)


@pytest.mark.parametrize("name", ["none.yaml", "none.m", "a\0.yaml"])
def test_an_unreadable_file_is_named(name: str) -> None:
    with pytest.raises(HardwareError, match="cannot be read"):
        find_hardware(name)


def test_unknown_hardware_suggests_names() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean cloud.*FILE\.yaml"):
        find_hardware("clouds")


@pytest.mark.parametrize("value", [0, -1, 2**31, 1.5, True, "8", None])
def test_only_positive_integers_are_accepted(value: object) -> None:
    with pytest.raises(
        (HardwareError, ArgumentTypeError), match=r"num_pes is .*integers from 1 to"
    ):
        Hardware(num_pes=value)
