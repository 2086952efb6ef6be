"""The model `hierarchy`: reference rows, `exact` as a special case, statuses, refusals."""

from __future__ import annotations

import json
import lzma
import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exact_cases import random_row as exact_row
from gate import few
from hierarchy_cases import evaluator_of, random_row
from row_reader import RefusedError, prepare

from maestro_env.accelerators.elements import Cache, FanoutElement, MacElement, MemoryElement
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import LoopRules
from maestro_env.base.errors import ArgumentTypeError, HardwareError, LayerError, MappingError
from maestro_env.compat.evaluation import evaluate_exact
from maestro_env.compat.program import main
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import (
    FIGURES,
    STATUSES,
    Conventions,
    HierarchyCost,
    HierarchyEvaluator,
)
from maestro_env.hierarchy.shape import Shape
from maestro_env.workloads.finding import find_layer, find_network

DATA = Path(__file__).parent / "data" / "hierarchy_rows.jsonl.xz"
DRAM = MemoryElement(name="DRAM")
L1 = MemoryElement(name="L1")


def cost_of(evaluator: HierarchyEvaluator, mapping: Any) -> HierarchyCost:
    cost, status = evaluator.evaluate(mapping)
    assert cost is not None, status
    return cost


# ---- Reference rows -----------------------------------------------------------------------------


def test_the_drop_in_repeats_all_reference_rows(tmp_path: Path) -> None:
    text = lzma.decompress(DATA.read_bytes()).decode()
    (tmp_path / "in.jsonl").write_text(text)
    arguments = ["--model", "hierarchy", "--out", str(tmp_path / "out.jsonl")]
    assert main(["--jsonl", str(tmp_path / "in.jsonl"), *arguments]) == 0
    got = (tmp_path / "out.jsonl").read_text().splitlines()
    want = text.splitlines()
    assert len(want) == 1000
    assert [json.loads(each) for each in got] == [json.loads(each) for each in want]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"mapping": [[["Z", 2]], []]}, "'Z'"),
        ({"mapping": [[]]}, "a list of loops for each of M, F"),
        ({"accelerator": [{"memory": "M", "keep": "IWOX"}, {"fanout": "F"}]}, "'X'"),
        ({"accelerator": [{"memory": "M", "keep": "IW"}, {"fanout": "F"}]}, "first element is 'M'"),
        ({"layer": {"dims": {"K": 0}}}, "extent of K is 0"),
        ({"layer": {"dims": {"K": 2}, "stride": [1]}}, "a pair"),
    ],
)
def test_a_wrong_row_is_refused_in_one_line(
    change: Any, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elements = [{"memory": "M", "keep": "IWO"}, {"fanout": "F", "size": 2}]
    row = {"layer": {"dims": {"K": 4}}, "accelerator": elements, "mapping": [[], []]} | change
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row))
    assert main(["--jsonl", str(path), "--model", "hierarchy", "--out", str(tmp_path / "o")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "line 1" in line
    assert named in line


# ---- `exact` at one level -----------------------------------------------------------------------


def as_hierarchy(row: Any) -> tuple[HierarchyEvaluator, Any]:
    """Return a mapping of one level, where L2 feeds PEs and nothing is cold but the first step."""
    layer, (level,) = prepare(row)
    shape = Shape(dict(zip("NGKCPQRS", map(len, layer.box), strict=True)), layer.strides)
    elements = [MemoryElement(name="L2"), FanoutElement(name="X", size=level.units)]
    evaluator = HierarchyEvaluator(shape, Hierarchy([*elements, MemoryElement(name="L1")]))
    outer, spatial = [], []
    for loop in level.loops:
        dim = "NGKCPQRS"[loop.dim]
        outer.append((dim, loop.tile * (level.units if loop.spatial else 1)))
        spatial += [(dim, loop.tile)] if loop.spatial else []
    return evaluator, [outer, spatial, []]


@pytest.mark.parametrize("count", few([60, 200]))
def test_a_mapping_of_one_level_costs_what_exact_says(count: int) -> None:
    rng, seen = random.Random(0), 0
    while seen < count:
        row = exact_row(rng)
        try:
            levels = prepare(row)[1]
        except RefusedError:
            continue
        if len(levels) > 1:
            continue
        seen += 1
        want = evaluate_exact(row)["out"]
        cost = cost_of(*as_hierarchy(row))
        words = {(each.tensor, each.parent): each for each in cost.traffic}
        got = {
            "macs": cost.macs,
            "l2_read_input": words["input", "L2"].parent_words,
            "l2_read_filter": words["filter", "L2"].parent_words,
            "unit_write_input": words["input", "L2"].child_words,
            "unit_write_filter": words["filter", "L2"].child_words,
            "leaving_output": words["output", "L2"].parent_words,
            "l2_psum_read_output": words["output", "L2"].parent_reads,
        }
        assert {name: want[name] for name in got} == got


# ---- One mapping and many -----------------------------------------------------------------------


def test_a_batch_has_the_figures_of_single_mappings() -> None:
    rng = random.Random(3)
    evaluator = evaluator_of(random_row(rng))
    elements = evaluator.hierarchy.elements
    mappings = [
        [[(dim, rng.randint(0, 4)) for dim in rng.sample("NGKCPQRS", 2)] for _ in elements]
        for _ in range(100)
    ]
    batch = evaluator.encode(mappings)
    assert [evaluator.decode(row) for row in batch] == mappings
    figures, status = evaluator.evaluate_batch(batch)
    with ThreadPoolExecutor(2) as threads:
        for again, _ in threads.map(evaluator.evaluate_batch, [batch] * 20):
            np.testing.assert_array_equal(again, figures)
    copy = pickle.loads(pickle.dumps(evaluator))
    np.testing.assert_array_equal(copy.evaluate_batch(batch)[0], figures)
    assert set(status) == {STATUSES.index("ok"), STATUSES.index("bad_tile")}
    for mapping, row, code in zip(mappings, figures, status, strict=True):
        cost, name = evaluator.evaluate(mapping)
        assert STATUSES[code] == name
        single = [np.nan] * 6 if cost is None else [getattr(cost, each) for each in FIGURES]
        np.testing.assert_array_equal(row, single)


def test_a_layer_has_its_own_names_and_dilation() -> None:
    hierarchy = Hierarchy([DRAM])
    gemm = HierarchyEvaluator(find_layer("gemm:M=4,N=5,K=6"), hierarchy)
    assert cost_of(gemm, [[("M", 2), ("N", 5), ("K", 3)]]).macs == 120
    assert gemm.shape.extents == {**dict.fromkeys("NGQRS", 1), "P": 4, "K": 5, "C": 6}
    conv = find_layer("conv:K=2,C=3,Y=9,X=8,R=3,S=3,stride=2x1")
    assert Shape.of(conv, (2, 3)).extents["P"] == 3
    assert Shape.of(conv, (2, 3)).extents["Q"] == 2
    assert Shape.of(find_layer("dsconv:C=3,Y=9,X=8,R=3,S=3")).extents["G"] == 3
    with pytest.raises(LayerError, match="larger than the input"):
        Shape.of(conv, (5, 1))
    with pytest.raises(LayerError, match="transposed"):
        Shape.of(replace(conv, operator="TRCONV"))


@pytest.mark.parametrize("network", ["resnet18", "mobilenetv2"])
def test_a_layer_moves_each_word_once_through_a_memory_that_holds_all(network: str) -> None:
    hierarchy = Hierarchy([DRAM, MemoryElement(name="L2")])
    for layer in find_network(network).layers:
        cost = cost_of(HierarchyEvaluator(layer, hierarchy), [[], []])
        assert cost.macs == cost.compute_cycles == layer.macs
        words = [each.parent_words for each in cost.traffic if each.parent == "DRAM"]
        assert words == [layer.input_words, layer.filter_words, layer.output_words]


def test_the_worked_example_of_the_specification() -> None:
    memory = MemoryElement(name="RF", read_bw=16, write_bw=8)
    elements = [MemoryElement(name="DRAM", bw=8), FanoutElement(name="X", size=2), memory]
    evaluator = HierarchyEvaluator(Shape({"P": 4, "K": 2, "C": 2}), Hierarchy(elements))
    cost = cost_of(evaluator, [[("K", 1)], [("P", 2)], []])
    words = [(each.parent_words, each.child_words) for each in cost.traffic]
    assert words == [(8, 8), (16, 16), (4, 8), (16, 16), (8, 8), (16, 16)]
    assert [each.parent_reads for each in cost.traffic if each.tensor == "output"] == [0, 8]
    figures = [getattr(cost, name) for name in FIGURES[:5]]
    assert figures == [25, 8, 10, 4, 11]
    assert cost.needed_bits["RF"] == 64
    # Across the fan-out: 8 inputs and 2 filter words that both units get, then 2 others and 4
    # outputs, 4 more in the end; or twice as many filter words.
    for rate, apart, figures in (
        (4, (), [40, 8, 20, 8, 12]),
        (4, ("filter",), [48, 8, 24, 8, 16]),
    ):
        elements[1] = FanoutElement(name="X", size=2, bw=rate, apart=apart)
        slowed = HierarchyEvaluator(evaluator.shape, Hierarchy(elements))
        cost = cost_of(slowed, [[("K", 1)], [("P", 2)], []])
        assert [getattr(cost, name) for name in FIGURES[:5]] == figures


# ---- Statuses and capacities --------------------------------------------------------------------

SMALL = Shape({"K": 8, "C": 4})


@pytest.mark.parametrize(
    ("mapping", "status"),
    [
        ([[("K", 4)], [("K", 2)], []], "ok"),
        ([[("K", 0)], [], []], "bad_tile"),
        ([[("K", 4), ("K", 2)], [], []], "bad_tile"),
        ([[], [("K", 2)], []], "fanout_exceeded"),
        ([[], [("K", 4), ("C", 2)], []], "fanout_exceeded"),
        ([[], [("K", 4)], []], "pool_overflow"),
        ([[("K", 2**40)], [("K", 4)], []], "pool_overflow"),
    ],
)
def test_a_mapping_has_a_status(mapping: Any, status: str) -> None:
    buffer = MemoryElement(name="L1", capacity_bits=224, buffers=2)
    hierarchy = Hierarchy([DRAM, FanoutElement(name="X", size=2), buffer])
    cost, found = HierarchyEvaluator(SMALL, hierarchy).evaluate(mapping)
    assert found == status
    assert (cost is None) == (status not in ("ok", "pool_overflow"))


def test_a_layer_that_cannot_be_counted_overflows() -> None:
    large = Shape(dict.fromkeys("KCPQ", 2**15))
    _, status = HierarchyEvaluator(large, Hierarchy([DRAM])).evaluate([[]])
    assert status == "overflow"


def test_gaps_that_cannot_be_counted_overflow() -> None:
    # (2**20 - 1) * 2**16 + 1 words a row, and as many rows, are more than 2**63.
    shape = Shape({"P": 2**20, "Q": 2**20}, stride=(2**16, 2**16))
    for gaps, status in ((False, "ok"), (True, "overflow")):
        hierarchy = Hierarchy([MemoryElement(name="M", bw=8, gaps=gaps), MemoryElement(name="N")])
        assert HierarchyEvaluator(shape, hierarchy).evaluate([[], []])[1] == status


def test_parts_of_a_memory_share_its_room_and_its_ports() -> None:
    inner = MemoryElement(name="weights", keeps=("filter",), pool="L1", width_bits=4)
    outer = MemoryElement(name="L1", keeps=("input", "output"), capacity_bits=100, bw=8)
    evaluator = HierarchyEvaluator(SMALL, Hierarchy([DRAM, outer, inner]))
    # Four inputs and two outputs of 8 bits, four filter words of 4.
    cost = cost_of(evaluator, [[("K", 2)], [("K", 1)], []])
    assert cost.needed_bits == {"DRAM": 8 * (4 + 32 + 8), "L1": 8 * (4 + 2) + 4 * 4}
    by_tensor = MemoryElement(name="L1", capacity_bits={"filter": 63})
    evaluator = HierarchyEvaluator(SMALL, Hierarchy([DRAM, by_tensor]))
    assert evaluator.evaluate([[("K", 1)], []])[1] == "ok"
    assert evaluator.evaluate([[("K", 2)], []])[1] == "pool_overflow"


def test_a_port_moves_whole_beats_and_waits_for_lines_of_what_exceeds_a_cache() -> None:
    # Three runs of 20 inputs, 20 of one filter word, three of one output.
    shape = Shape({"C": 20, "P": 3})
    beats = MemoryElement(name="DRAM", bw=128, beat_bits=128)
    cost = cost_of(HierarchyEvaluator(shape, Hierarchy([beats, L1])), [[], []])
    assert (cost.first_cycles, cost.last_cycles) == (3 * 2 + 20, 3)
    assert cost.latency_cycles == 26 + 60 + 3
    cache = Cache(bits=160, line_bits=64, miss_cycles=1.5)
    cached = replace(beats, cache=cache)
    cost = cost_of(HierarchyEvaluator(shape, Hierarchy([cached, L1])), [[], []])
    assert (cost.first_cycles, cost.last_cycles) == (26 + 3 * 3 * 1.5, 3)


def test_steps_take_their_least_cycles_and_launches_the_port() -> None:
    array = MemoryElement(name="array", keeps=("filter",), step_cycles=4, load_cycles=16)
    evaluator = HierarchyEvaluator(Shape({"K": 2, "Q": 3, "P": 3}), Hierarchy([DRAM, array]))
    # Two filter words, each for three rows of three outputs.
    assert cost_of(evaluator, [[("K", 1), ("Q", 1)], []]).compute_cycles == 2 * (16 + 4 + 4)
    assert cost_of(evaluator, [[("Q", 1), ("K", 1)], []]).compute_cycles == 3 * 2 * 16
    assert cost_of(evaluator, [[], []]).compute_cycles == 18
    launched = Hierarchy([DRAM, replace(L1, launch_cycles=7.5)])
    cost = cost_of(HierarchyEvaluator(Shape({"K": 9}), launched), [[("K", 2)], []])
    assert (cost.compute_cycles, cost.port_cycles, cost.latency_cycles) == (9, 37.5, 37.5)


def test_each_block_of_outputs_takes_its_cycles_once_after_its_last_mac() -> None:
    # Two columns share four filters of three outputs: six blocks, however often sums come back.
    # Three rows share six channels, which makes no outputs fewer.
    columns = FanoutElement(name="columns", size=2, rules=LoopRules(dims=("K",)))
    rows = FanoutElement(name="rows", size=3, rules=LoopRules(dims=("C",)))
    array = Hierarchy([DRAM, replace(L1, finish_cycles=7.5), columns, rows])
    evaluator = HierarchyEvaluator(Shape({"K": 4, "P": 3, "C": 6}), array)
    for loops, channels in (([("K", 2)], 2), ([("C", 1), ("P", 1), ("K", 2)], 6)):
        cost = cost_of(evaluator, [loops, [], [("K", 1)], [("C", 2)]])
        assert cost.compute_cycles == 6 * channels + 6 * 7.5
    assert lower_bound(evaluator.shape, array).compute_cycles == 6 * 2 + 6 * 7.5


def test_each_further_tile_of_outputs_waits_for_a_share_of_the_first_fill() -> None:
    dram = replace(DRAM, bw=8, refill=0.25)
    evaluator = HierarchyEvaluator(Shape({"K": 4, "P": 3, "C": 5}), Hierarchy([dram, L1]))
    # Filters in three tiles, the last ragged, and channels in five: these begin no outputs.
    cost = cost_of(evaluator, [[("K", 2), ("C", 1)], []])
    assert cost.first_cycles == (3 + 2) * (1 + 0.25)
    assert cost_of(evaluator, [[("C", 1)], []]).first_cycles == 3 + 4
    assert cost.latency_cycles == cost.first_cycles + 60 + cost.last_cycles


def test_a_halo_may_stay_only_as_the_innermost_loop_advances() -> None:
    shape = Shape({"K": 2, "P": 6, "R": 3})
    hierarchy = Hierarchy([DRAM, MemoryElement(name="L1")])
    # Twice, rows 0 to 3 and 2 to 5, then 4 to 7: two of each four stay, also as P jumps back.
    for halo, rows in (("always", 4 + 5 * 2), ("innermost", 2 * (4 + 2 + 2))):
        evaluator = HierarchyEvaluator(shape, hierarchy, Conventions(halo=halo))  # type: ignore[arg-type]
        (words,) = [
            each.parent_words
            for each in cost_of(evaluator, [[("K", 1), ("P", 2)], []]).traffic
            if each.tensor == "input" and each.parent == "DRAM"
        ]
        assert words == rows + (halo == "always") * 2


# ---- Refusals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("elements", "named"),
    [
        ([], "the first element is None; allowed: a memory that keeps input, filter, output"),
        ([FanoutElement(name="X")], "the first element is 'X'"),
        ([MemoryElement(name="A", keeps=("input",))], "the first element is 'A'"),
        ([DRAM, DRAM], "two elements are called 'DRAM'"),
        ([DRAM, MemoryElement(name="mac")], "two elements are called 'mac'"),
        ([DRAM, MemoryElement(name="A", keeps=("weights",))], "'weights'; allowed: input, filter"),
        ([DRAM, MemoryElement(name="A", buffers=0)], "buffers is 0; allowed: integers from 1"),
        ([DRAM, MemoryElement(name="A", capacity_bits=-1)], "capacity_bits is -1"),
        ([DRAM, MemoryElement(name="A", capacity_bits={"x": 1})], "'x'"),
        ([DRAM, MemoryElement(name="A", read_bw=0)], "read_bw is 0; allowed: numbers above 0"),
        ([DRAM, MemoryElement(name="A", bw=1, read_bw=1)], "bw and read_bw or write_bw"),
        ([DRAM, MemoryElement(name="A", pool="B")], "a part of 'B'; allowed: an earlier memory"),
        ([DRAM, MemoryElement(name="A", pool="DRAM", bw=1)], "beats, cache and energies there"),
        ([MemoryElement(name="A", launch_cycles=5)], "memory A has launch_cycles 5; allowed: 0"),
        ([DRAM, MemoryElement(name="A", load_cycles=-1)], "load_cycles is -1; allowed: integers"),
        ([DRAM, MemoryElement(name="A", keeps=("input",), finish_cycles=1)], "keeps no outputs;"),
        ([DRAM, MemoryElement(name="A", refill=0.5)], "refill 0.5; allowed: 0, as refill is"),
        ([DRAM, MemoryElement(name="A", refill="x")], "refill 'x'; allowed: 0, as refill is"),  # type: ignore[arg-type]
        ([MemoryElement(name="A", refill=1.5)], "refill is 1.5; allowed: numbers from 0 to 1"),
        ([DRAM, MemoryElement(name="A", pool="DRAM", beat_bits=8)], "beats, cache and energies"),
        ([DRAM, MemoryElement(name="A", leak_mw=1)], "has no clock_mhz; allowed: a clock_mhz"),
        ([DRAM, FanoutElement(name="X", size=0)], "size is 0"),
        ([DRAM, FanoutElement(name="X", axis="Z")], "axis is 'Z'; allowed: X, Y"),  # type: ignore[arg-type]
        ([DRAM] + [FanoutElement(name=f"X{i}") for i in range(25)], "at most 48 and 24"),
    ],
)
def test_an_accelerator_that_cannot_exist_is_refused(elements: Any, named: str) -> None:
    with pytest.raises(HardwareError) as refused:
        Hierarchy(elements)
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_no_element_mapping_or_batch_is_refused() -> None:
    with pytest.raises(ArgumentTypeError, match="an element is 5"):
        Hierarchy([5])  # type: ignore[list-item]
    with pytest.raises(HardwareError, match="simd of a MAC unit is 0"):
        Hierarchy([DRAM], MacElement(simd=0))
    evaluator = HierarchyEvaluator(SMALL, Hierarchy([DRAM]))
    for mapping in (5, [[], []], [[("Z", 2)]], [["K"]], [5]):
        with pytest.raises((MappingError, ArgumentTypeError)):
            evaluator.evaluate(mapping)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="int32 array of shape"):
        evaluator.evaluate_batch(np.zeros((1, 2)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown halo 'never'"):
        HierarchyEvaluator(SMALL, Hierarchy([DRAM]), Conventions(halo="never"))  # type: ignore[arg-type]
