"""A name means one accelerator in every command, and messages lead on; nothing is searched."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from maestro_env.experiments.shell import cli

MEMORIES = "memories: [memory: DRAM, {fanout: units, size: 4}, {memory: M, capacity_bits: 8KB}]\n"
MEMORY = "!Component {name: M, class: SRAM, attributes: {datawidth: 16}}"
TIMELOOP = f"architecture: {{nodes: [{MEMORY}, !Component {{name: mac, class: intmac}}]}}\n"
FORM = "two-buffer form of {}; for all its memories: run, compare, map, codesign, optimum\n"
# They are refused after they have found the accelerator: what is wrong is x.
ON_TWO_BUFFERS = dict.fromkeys(("cluster", "dataset"), "--objective=x")
ON_TWO_BUFFERS |= dict.fromkeys(("evaluate", "explain"), "x")
ON_MEMORIES = {"codesign": "alexnet --num-pes=x --technology=x", "compare": "--objectives=x"}
ON_MEMORIES |= {
    "map": "alexnet --objective=x",
    "optimum": "--objective=x",
    "run": "--objective=x",
    "sweep": "x.yaml",
}

Told = Callable[..., tuple[str, str, bool]]


@pytest.fixture
def told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Told:
    """What a command prints of an accelerator, and whether it took it."""
    monkeypatch.chdir(tmp_path)
    Path("own.yaml").write_text(MEMORIES)
    Path("other.yaml").write_text(TIMELOOP)

    def call(command: str, hardware: str, model: str = "auto") -> tuple[str, str, bool]:
        Path("x.yaml").write_text(f"model: {model}\nhardware: ['{hardware}']\nlayers: [x]\n")
        flags = (ON_TWO_BUFFERS | ON_MEMORIES)[command].split()
        if command != "sweep":
            flags += [f"--hardware={hardware}", *([f"--model={model}"] if model != "auto" else ())]
        assert cli.main(command, flags) == 2
        out, err = capsys.readouterr()
        return out, err, re.search(r"'x'| x: |--num-pes", err) is not None

    return call


@pytest.mark.parametrize("command", [*ON_TWO_BUFFERS, *ON_MEMORIES])
def test_the_form_of_a_chip_is_said_first_and_refusals_lead_on(told: Told, command: str) -> None:
    pytest.importorskip("pyarrow" if command == "dataset" else "numpy")
    of_memories, free = ("nvdla", "own.yaml", "other.yaml"), command in ON_MEMORIES
    form = FORM.format("gemmini")
    assert told(command, "gemmini", "exact" if free else "auto")[::2] == (form, True)
    for whole in ("nvdla_small", "edge", *(("gemmini", *of_memories) if free else ())):
        assert told(command, whole)[::2] == ("", True)
    if free:
        return
    for hardware in of_memories:
        out, err, taken = told(command, hardware)
        assert (out, taken) == ("", False)
        model, others = re.findall(r"model (\w+), of ([\w, ]+), takes all memories", err)[0]
        assert all(told(each, hardware, model)[2] for each in re.split(", | and ", others))
        assert all(told(command, each)[2] for each in re.findall(r"\bnvdla_\w+", err))
    Path("own.yaml").write_text(f"{MEMORIES}two_buffers: {{num_pes: 4}}\n")
    assert told(command, "own.yaml")[0] == FORM.format("own")


def test_names_that_messages_list_are_taken(told: Told, capsys: pytest.CaptureFixture[str]) -> None:
    (models,) = re.findall(r"models (\w+) and (\w+)", told("run", "edge", "hierarchy")[1])
    assert all(told("run", "edge", each)[2] for each in models)
    assert cli.main("map", ["alexnet"]) == 2
    *names, _, _ = capsys.readouterr().err.partition("missing; allowed: ")[2].split(", ")
    assert {"gemmini", "nvdla", "edge"} < {*names}
    assert all(told("map", each)[2] for each in names)
