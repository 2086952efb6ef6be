"""The model `hierarchy` against numbers of FactorFlow, Timeloop and AccelForge.

Layers, mappings and numbers are in tests/data; its README names the sources.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hierarchy_cases import evaluator_of
from hierarchy_simulator import TENSORS

from maestro_env.accelerators.elements import FanoutElement, MemoryElement
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.hierarchy.evaluation import Conventions, HierarchyCost, HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape

Case = dict[str, Any]
Numbers = dict[tuple[str, ...], float]

FOLDER = Path(__file__).parent / "data"
DATA = json.loads((FOLDER / "hierarchy_references.json").read_text())
TOOLS: dict[str, Case] = DATA["tools"]
CASES: dict[str, Case] = {f"{each['tool']} {each['case']}": each for each in DATA["cases"]}
TIMELOOP = [case for case in CASES.values() if case["tool"] == "Timeloop"]
WINDOWS = {"halo": "innermost", "share": "tiles"}

PRODUCTS: list[Case] = json.loads((FOLDER / "accelforge_gemms.json").read_text())["rows"]


def cost_of(case: Case, switches: Case) -> HierarchyCost:
    elements, mapping = [], []
    for each in case["elements"]:
        mapping.append([(loop[0], int(loop[1:])) for loop in each["loops"].split()])
        if "memory" in each:
            read_bw, write_bw = each.get("ports", (None, None))
            keep = [letter for letter in TENSORS if letter in each]
            each = {"memory": each["memory"], "keep": keep, "width": dict.fromkeys(TENSORS, 1)}
            each |= {"read_bw": read_bw, "write_bw": write_bw}
        elements.append(each)
    layer = {"dims": case["dims"], "stride": case.get("stride", (1, 1)), "dilation": (1, 1)}
    options = {**TOOLS[case["tool"]]["conventions"], **switches}
    row = {"layer": layer, "accelerator": elements, "options": options}
    cost, status = evaluator_of(row).evaluate(mapping)
    assert cost is not None, status
    return cost


def counted(cost: HierarchyCost, memory: str, tensor: str) -> dict[str, float]:
    """Return accesses of a tensor at a memory: for outer memories, inner ones, and in all."""
    moved = [each for each in cost.traffic if each.tensor == tensor]
    fills = sum(each.child_writes for each in moved if each.child == memory)
    drains = sum(each.child_reads for each in moved if each.child == memory)
    updates = sum(each.parent_writes for each in moved if each.parent == memory)
    reads = drains + sum(each.parent_reads for each in moved if each.parent == memory)
    writes = fills + updates
    return {"reads": reads, "writes": writes, "fills": fills, "drains": drains, "updates": updates}


def given(case: Case) -> Numbers:
    """Return the counters of a tool by memory, tensor and name."""
    columns = TOOLS[case["tool"]]["columns"]
    return {
        (each["memory"], letter, name): number
        for each in case["elements"]
        for letter in TENSORS
        if each.get(letter)
        for name, number in zip(columns[letter], each[letter], strict=True)
    }


def unequal(case: Case, switches: Case) -> dict[tuple[str, ...], tuple[float, float]]:
    """Return the numbers that the model has otherwise, and those of the tool."""
    cost = cost_of(case, switches)
    pairs = {
        key: (counted(cost, key[0], TENSORS[key[1]])[key[2]], want)
        for key, want in given(case).items()
    }
    pairs[("cycles",)] = cost.latency_cycles, case["cycles"]
    return {key: (got, want) for key, (got, want) in pairs.items() if got != want}


# ---- All numbers --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_all_counters_and_the_cycles_of_a_case_are_equal(name: str) -> None:
    assert unequal(CASES[name], CASES[name].get("switches", {})) == {}


def test_so_many_numbers_are_compared() -> None:
    """FactorFlow has 8 counters a memory, 448; those of tensors that bypass it are 0 in any model.

    The cycles are one number a case.
    """
    cases, counters, memories = Counter[str](), Counter[str](), 0
    for case in CASES.values():
        cases[case["tool"]] += 1
        counters[case["tool"]] += len(given(case))
        if case["tool"] == "FactorFlow":
            memories += sum("memory" in each for each in case["elements"])
    assert cases == {"FactorFlow": 11, "Timeloop": 20, "AccelForge": 5}
    assert counters == {"FactorFlow": 226, "Timeloop": 435, "AccelForge": 30}
    assert 8 * memories == 448


# The sizes of Timeloop's example eyeriss_like, as Timeloop's files say them.
EYERISS_LIKE = """
architecture:
  nodes:
  - !Component {name: DRAM, class: DRAM, attributes: {datawidth: 8}}
  - !Component
    name: shared_glb
    class: SRAM
    attributes: {depth: 16384, width: 64, datawidth: 8, read_bandwidth: 16, write_bandwidth: 16}
    constraints: {dataspace: {bypass: [Weights]}}
  - !Container {name: columns, spatial: {meshX: 14}}
  - !Container {name: rows, spatial: {meshY: 12}, attributes: {width: 16, datawidth: 8}}
  - !Container {name: spads, attributes: {read_bandwidth: 2, write_bandwidth: 2}}
  - !Parallel
    nodes:
    - !Component
      name: ifmap_spad
      class: regfile
      attributes: {depth: 12}
      constraints: {dataspace: {keep: [Inputs]}}
    - !Component
      name: weights_spad
      class: regfile
      attributes: {depth: 192}
      constraints: {dataspace: {keep: [Weights]}}
    - !Component
      name: psum_spad
      class: regfile
      attributes: {depth: 16, datawidth: 16}
      constraints: {dataspace: {keep: [Outputs]}}
  - !Component {name: mac, class: intmac}
"""


def test_an_architecture_that_is_read_has_the_counters_of_timeloop(tmp_path: Path) -> None:
    case, path = CASES["Timeloop eyeriss_like"], tmp_path / "chip.yaml"
    path.write_text(EYERISS_LIKE)
    loops = [[(each[0], int(each[1:])) for each in e["loops"].split()] for e in case["elements"]]
    shape = Shape(case["dims"], tuple(case["stride"]))
    conventions = Conventions(**TOOLS["Timeloop"]["conventions"], **case["switches"])
    evaluator = HierarchyEvaluator(shape, find_hierarchy(str(path)), conventions)
    cost, status = evaluator.evaluate(loops)
    assert cost is not None
    # All tiles fit, and no port is slower than the MACs.
    assert (status, cost.latency_cycles) == ("ok", case["cycles"])
    numbers = given(case)
    assert {key: counted(cost, key[0], TENSORS[key[1]])[key[2]] for key in numbers} == numbers


# ---- Which switches they need, and why -----------------------------------------------------------


def test_without_switches_25_numbers_differ_in_ten_cases() -> None:
    """Each switch stands for something that the tool does.

    - `psum`, FactorFlow: an option of the tool, outputs begin with a bias that is read.
    - `halo`, Timeloop: words that two tiles share stay only while the tile moves as it did the step
      before (`gResetOnStrideChange` in src/loop-analysis/nest-analysis.cpp of NVlabs/timeloop).
    - `share`, Timeloop: windows of units that overlap are read for each; only equal tiles once.
    - `latch`, Timeloop: the tutorial's architecture has a storage of no use (`dummy_storage`) above
      its MACs, where an input stays as M advances.
    """
    different = {name: found for name, case in CASES.items() if (found := unequal(case, {}))}
    assert {name: len(found) for name, found in different.items()} == {
        "FactorFlow gemmini_timeloop": 4,
        "FactorFlow gemmini_factorflow_1": 4,
        "Timeloop eyeriss_like": 3,
        "Timeloop simple_output_stationary": 2,
        "Timeloop 04 cp": 2,
        "Timeloop 04 kp": 2,
        "Timeloop 06": 3,
        "Timeloop ispass intmac": 3,
        "Timeloop ispass fpmac": 1,
        "Timeloop tutorial 2024": 1,
    }
    assert list(different) == [name for name, case in CASES.items() if "switches" in case]
    for name, found in different.items():
        if CASES[name]["tool"] == "Timeloop":
            assert {key[1:] for key in found} <= {("I", "reads"), ("I", "fills")}


def test_every_switch_of_a_case_is_needed() -> None:
    for case in CASES.values():
        switches = case.get("switches", {})
        for name in switches:
            fewer = {key: value for key, value in switches.items() if key != name}
            assert unequal(case, fewer) != {}, (case["case"], name)


def test_timeloop_has_the_same_two_conventions_in_all_cases_and_a_latch_in_one() -> None:
    different = {case["case"]: found for case in TIMELOOP if (found := unequal(case, WINDOWS))}
    assert different == {"tutorial 2024": {("buffer", "I", "reads"): (2**30, 2**27)}}
    (tutorial,) = [case for case in TIMELOOP if case["case"] in different]
    assert unequal(tutorial, {**WINDOWS, "latch": True}) == {}


# ---- Matrix products that AccelForge evaluated ---------------------------------------------------


def product_cost(row: Case) -> HierarchyCost:
    """Return the cost of a mapping of `exact` with one or two levels, below a memory for all."""
    levels = row["levels"]
    # A cluster takes part of the PEs.
    inner = [min(row["pes"], each["cluster"]) for each in levels[1:]]
    units = [row["pes"] // inner[0], *inner] if inner else [row["pes"]]
    elements: list[MemoryElement | FanoutElement] = [MemoryElement(name="offchip")]
    mapping: list[list[tuple[str, int]]] = [[]]
    for name, level, size in zip(("l2", "cluster"), levels, units, strict=False):
        elements += [MemoryElement(name=name), FanoutElement(name=f"{name} units", size=size)]
        parallel, tiles = level["parallel"], level["tiles"]
        mapping.append([(d, tile * (size if d == parallel else 1)) for d, tile in tiles.items()])
        mapping.append([(parallel, tiles[parallel])])
    names = {"M": "P", "N": "K", "K": "C"}
    shape = Shape({names[dim]: size for dim, size in row["extents"].items()}, names=names)
    evaluator = HierarchyEvaluator(shape, Hierarchy([*elements, MemoryElement(name="l1")]))
    cost, status = evaluator.evaluate([*mapping, []])
    assert cost is not None, status
    return cost


def test_the_counters_of_260_products_are_those_of_accelforge() -> None:
    """At one level all are equal, at two all but 34 of 1,440 between cluster and L1.

    The files place L1 below all loops of the outer level, and AccelForge keeps words over no loop
    above the place of a memory. The model keeps them where no loop of the inner level moves them.
    """
    compared, different = Counter[int](), Counter[str]()
    for row in PRODUCTS:
        cost, counts = product_cost(row), dict(row["counts"])
        assert cost.compute_cycles == counts.pop("compute_cycles")
        compared[len(row["levels"])] += len(counts)
        for name, want in counts.items():
            tensor, memory, action = name.split("_")
            got = counted(cost, memory, tensor)[action]
            if got != want:
                assert len(row["levels"]) == 2
                assert got < want, (row, name)
                different[f"{tensor} {memory}"] += 1
    assert compared == {1: 3600, 2: 1440}
    moved = {"input": 7, "filter": 6, "output": 4}
    assert different == {
        f"{tensor} {at}": n for tensor, n in moved.items() for at in ("cluster", "l1")
    }
