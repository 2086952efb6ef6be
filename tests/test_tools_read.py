"""Files for Timeloop and AccelForge that hold all: read back by us, and by the tools themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tool_reads
from test_hierarchy_exchange import LETTERS, TOOLS_OF
from test_hierarchy_references import counted

from maestro_env import find_layer
from maestro_env.accelerators.hierarchy_file import read_hierarchy
from maestro_env.base.errors import MappingError
from maestro_env.exchange import nest_from_yaml, nest_hierarchy, nest_layer
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator

CHIP = """
clock_mhz: 700
memories:
- {memory: DRAM, bw: 34, read_pj_per_bit: 8.1, write_pj_per_bit: 7.9, innermost: [K]}
- {memory: GLB, keeps: [input, output], capacity_bits: 64KB, read_bw: 64, read_pj_per_bit: 0.75}
- {fanout: PE_X, size: 4, dims: [K, G]}
- {fanout: rows_Y, size: 4, axis: Y, pj_per_bit: 0, dims: [C, P], units: {P: 4}}
- {memory: taps, keeps: [filter], capacity_bits: 512B, read_pj_per_bit: 0.1, whole: [S]}
- memory: sums
  keeps: [output]
  capacity_bits: 272B
  width_bits: {output: 34}
  bw: 75.4
  stays: [output]
mac: {pj: 0.3}
"""
# By element, without partial sums that come back or windows that overlap in tiles: AccelForge
# counts these otherwise.
LOOPS = {
    "conv:K=8,C=4,Y=11,X=11,R=3,S=3,stride=2": "K4; ; K1; C1; ; P1 Q1 R1 S1",
    "dsconv:C=16,Y=10,X=10,R=3,S=3": "C8; C4; C1; P2; ; P1 Q1 R1 S1",
    "gemm:M=16,N=24,K=32": "M8 N12; ; N3; M2; ; K1 M1 N1",
}
MAPPINGS = {
    layer: [[(loop[0], int(loop[1:])) for loop in loops.split()] for loops in text.split(";")]
    for layer, text in LOOPS.items()
}


def evaluated(layer: str) -> tuple[HierarchyEvaluator, HierarchyCost]:
    evaluator = HierarchyEvaluator(find_layer(layer), read_hierarchy(CHIP))
    cost, status = evaluator.evaluate(MAPPINGS[layer])
    assert status == "ok"
    assert cost is not None
    return evaluator, cost


def found_by(tool: str, package: str, folder: Path) -> dict[str, dict[str, Any]]:
    """Return what a tool makes of the file of each layer; skip where it is not installed.

    A Python that has it is named by a variable such as ACCELFORGE_PYTHON.
    """
    python = os.environ.get(f"{tool.upper()}_PYTHON", sys.executable)
    if subprocess.run(
        [python, "-c", f"import {package}"], capture_output=True, check=False
    ).returncode:
        pytest.skip(f"{python} has no {package}")
    files = {layer: folder / f"{number}.yaml" for number, layer in enumerate(MAPPINGS)}
    for layer, path in files.items():
        evaluator, _ = evaluated(layer)
        path.write_text(TOOLS_OF[tool][0](MAPPINGS[layer], evaluator.layer, evaluator.hierarchy))
    command = [python, "-W", "ignore", tool_reads.__file__, tool, *map(str, files.values())]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(zip(files, json.loads(ran.stdout.splitlines()[-1]), strict=True))


@pytest.mark.parametrize("layer", MAPPINGS)
@pytest.mark.parametrize("tool", TOOLS_OF)
def test_a_file_that_holds_all_comes_back_with_the_same_cost(tool: str, layer: str) -> None:
    evaluator, cost = evaluated(layer)
    text = TOOLS_OF[tool][0](MAPPINGS[layer], evaluator.layer, evaluator.hierarchy)
    there, hierarchy = nest_layer(text), nest_hierarchy(text)
    assert there is not None
    assert hierarchy is not None
    found = nest_from_yaml(text, there, hierarchy, "file")
    assert HierarchyEvaluator(there, found.hierarchy).evaluate(found.mapping) == (cost, "ok")


def test_accelforge_counts_in_our_files_what_we_count(tmp_path: Path) -> None:
    for layer, found in found_by("accelforge", "accelforge", tmp_path).items():
        _, cost = evaluated(layer)
        assert found["counts"].pop("MAC None compute") == cost.macs
        for name, count in found["counts"].items():
            memory, letter, action = name.split()
            assert counted(cost, memory, LETTERS[letter])[f"{action}s"] == count, (layer, name)
        assert found["joules"] == pytest.approx(cost.energy_nj * 1e-9, rel=1e-6)


def test_the_front_end_of_timeloop_hands_on_all_of_our_files(tmp_path: Path) -> None:
    for layer, found in found_by("timeloop", "pytimeloop.timeloopfe.v4", tmp_path).items():
        assert len(found["ERT"]["tables"]) == 5
        # As tiles divide, the factors of a dimension make its extent.
        made = dict.fromkeys(found["problem"]["shape"]["dimensions"], 1)
        listed = ",".join(each.get("factors", "") for each in found["mapping"])
        for rank, runs in (each.split("=") for each in listed.split(",") if each):
            made[rank] *= int(runs)
        assert made.items() <= found["problem"]["instance"].items(), layer
        # Constraints, which become a part of the mapping, move no loop to another axis.
        for each in (each for each in found["mapping"] if each["type"] == "spatial"):
            cut = {rank[0] for rank in each["factors"].split(",") if not rank.endswith("=1")}
            along_x = cut & {*each["permutation"][: each["split"]]}
            assert along_x == (cut if each["target"] == "inter_PE_spatial" else set())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bw: 34,", "bw: 34, gaps: true,", "DRAM has gaps True, which its files cannot say"),
        ("fanout: PE_X", "fanout: MAC", "a node is called 'MAC'"),
        ("memory: taps", "memory: the taps", "a node is called 'the taps'; allowed: letters"),
        ("mac: {pj: 0.3}", "mac: {latches: [filter]}", "the MAC unit has latches ['filter']"),
    ],
)
@pytest.mark.parametrize("tool", TOOLS_OF)
def test_what_no_file_says_of_an_accelerator_is_refused(
    tool: str, old: str, new: str, message: str
) -> None:
    assert old in CHIP
    hierarchy, layer = read_hierarchy(CHIP.replace(old, new)), "gemm:M=16,N=24,K=32"
    with pytest.raises(MappingError) as refused:
        TOOLS_OF[tool][0](MAPPINGS[layer], find_layer(layer), hierarchy)
    assert message in str(refused.value)
