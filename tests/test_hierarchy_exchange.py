"""Mappings of `hierarchy` out to Timeloop and AccelForge, and in again."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hierarchy_cases import evaluator_of, random_row
from hypothesis import given, settings
from hypothesis import strategies as st
from test_hierarchy_references import CASES, EYERISS_LIKE, TOOLS, counted
from test_hierarchy_references import given as counters_of

from maestro_env import find_layer
from maestro_env.accelerators.elements import TENSORS, Element, FanoutElement, MemoryElement
from maestro_env.accelerators.files.accelforge import arch_text
from maestro_env.accelerators.files.nodes import unsaid_rules
from maestro_env.accelerators.files.timeloop_text import architecture_text
from maestro_env.accelerators.finding import find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.loop_rules import DIMS, LoopRules
from maestro_env.base.errors import HardwareError, LayerError, MappingError
from maestro_env.exchange import (
    MappedNest,
    nest_from_accelforge,
    nest_from_timeloop,
    nest_hierarchy,
    nest_to_accelforge,
    nest_to_timeloop,
)
from maestro_env.exchange.nests import looping
from maestro_env.hierarchy.evaluation import Conventions, HierarchyEvaluator
from maestro_env.hierarchy.shape import Shape

Tool = tuple[Callable[..., str], Callable[..., MappedNest]]
Loops = list[list[tuple[str, int]]]

TOOLS_OF: dict[str, Tool] = {
    "timeloop": (nest_to_timeloop, nest_from_timeloop),
    "accelforge": (nest_to_accelforge, nest_from_accelforge),
}


def sayable(whole: Hierarchy, tool: str) -> Hierarchy:
    """Return an accelerator without what files of a tool cannot say."""
    elements: list[Element] = []
    for each in whole.elements:
        if isinstance(each, FanoutElement):
            elements.append(replace(each, size=150, bw=None))
            continue
        kept = {name: getattr(each, name) for name in SAID_OF_MEMORIES} if each.keeps else {}
        if kept and tool == "timeloop":
            (first, *_) = each.keeps
            kept |= {"width_bits": each.width_bits[first], "forgets": each.forgets}  # type: ignore[index,call-overload]
        elements.append(MemoryElement(name=each.name, keeps=each.keeps, **kept))
    last = elements[-1]
    latches = TENSORS if isinstance(last, MemoryElement) and not last.keeps else ()
    mac = replace(whole.mac, latches=latches, simd=1 if tool == "timeloop" else whole.mac.simd)
    return replace(whole, elements=elements, mac=mac)


SAID_OF_MEMORIES = (
    "width_bits",
    "read_bw",
    "write_bw",
    "bw",
    "read_pj_per_bit",
    "write_pj_per_bit",
)


def drawn(seed: int, canonical: bool, tool: str) -> tuple[HierarchyEvaluator, Loops]:
    """Draw a mapping whose tiles divide; canonical: all loops cut, and the last memory's to 1."""
    rng = random.Random(seed)
    whole = evaluator_of({**random_row(rng), "options": {}})
    evaluator = replace(whole, hierarchy=sayable(whole.hierarchy, tool))
    box, mapping = dict(evaluator.shape.extents), []
    memories = [isinstance(each, MemoryElement) for each in evaluator.hierarchy.elements]
    last = len(memories) - 1 - memories[::-1].index(True)
    for number in range(len(memories)):
        loops = []
        for dim in rng.sample(sorted(box), 8 if canonical and number == last else 3):
            sizes = [size for size in range(1, box[dim] + 1) if box[dim] % size == 0]
            # The first loop over a dimension may leave a remainder.
            if box[dim] == evaluator.shape.extents[dim]:
                sizes = [*range(1, box[dim] + 1)]
            tile = rng.choice(sizes)
            if canonical:
                tile = 1 if number >= last else tile
                if tile == box[dim]:
                    continue
            box[dim] = tile
            loops.append((dim, tile))
        mapping.append(loops)
    return evaluator, mapping


def written(tool: Tool, evaluator: HierarchyEvaluator, mapping: Any) -> MappedNest | None:
    """Write and read a mapping and its accelerator; None if it is refused."""
    layer = evaluator.layer
    try:
        text = tool[0](mapping, layer, evaluator.hierarchy)
    except MappingError:
        return None
    hierarchy = nest_hierarchy(text)
    assert hierarchy is not None
    return tool[1](text, layer, hierarchy)


def kept(found: MappedNest, name: str) -> Any:
    return next(
        getattr(each, "keeps", ()) for each in found.hierarchy.elements if each.name == name
    )


@pytest.mark.parametrize("name", TOOLS_OF)
def test_a_mapping_comes_back_with_its_cost_and_as_it_was_if_all_loops_cut(name: str) -> None:
    refused: list[bool] = []

    @settings(max_examples=30, derandomize=True, database=None)
    @given(st.integers(0, 2**32), st.booleans())
    def check(seed: int, canonical: bool) -> None:
        evaluator, mapping = drawn(seed, canonical, name)
        found = written(TOOLS_OF[name], evaluator, mapping)
        refused.append(found is None)
        if found is not None:
            again = replace(evaluator, hierarchy=found.hierarchy)
            assert again.evaluate(found.mapping) == evaluator.evaluate(mapping)
            assert not canonical or evaluator.hierarchy.mac.simd > 1 or found.mapping == mapping

    check()
    assert sum(refused) < len(refused) / 2


# ---- Timeloop -----------------------------------------------------------------------------------


@given(st.integers(1, 30), st.sampled_from([(12, 4, 2), (6, 6, 3), (7, 1, 1), (24, 8, 1)]))
def test_factors_are_what_the_parser_of_timeloop_takes(k: int, tiles: tuple[int, ...]) -> None:
    """A loop runs as often as its rest says where those outside are in their last step.

    So the parser adds up the last index, and takes no other factors (``residual_end`` in
    src/mapping/parser.cpp of NVlabs/timeloop).
    """
    names = ("DRAM", "GLB", "X", "RF")
    elements = [
        FanoutElement(name=n, size=12) if n == "X" else MemoryElement(name=n) for n in names
    ]
    mapping = [[("K", tile)] for tile in tiles]
    text = nest_to_timeloop([*mapping, []], Shape({"K": k}), Hierarchy(elements))
    lines = [
        each
        for each in yaml.safe_load(text[text.index("mapping:") :])["mapping"]
        if "factors" in each
    ]
    factors = [line["factors"][0].removeprefix("K=").split(",") for line in lines]
    last, inner = 0, [1]
    for runs, *rest in factors:
        last = last * int(runs) + int(rest[0] if rest else runs) - 1
    for runs, *_ in reversed(factors[1:]):
        inner.insert(0, inner[0] * int(runs))
    assert last + 1 == k
    assert k == 1 or inner == sorted({tile for tile in (*tiles, 1) if tile < k}, reverse=True)


LETTERS = dict(zip("IWO", TENSORS, strict=True))

# The factors that Timeloop's mapper found for its example eyeriss_like, of which M are filters.
EYERISS_MAPPING = """
mapping:
- {target: psum_spad, type: datatype, keep: [Outputs], bypass: [Weights, Inputs]}
- {target: inter_rows_spatial, type: datatype, keep: [], bypass: [Weights, Inputs, Outputs]}
- {target: psum_spad, type: temporal, factors: C1 M8 R1 S1 N1 P1 Q1, permutation: MCRSNPQ}
- {target: weights_spad, type: temporal, factors: R3 N1, permutation: RN}
- {target: inter_rows_spatial, type: spatial, factors: C3 M1 S3, permutation: SCM, split: 0}
- {target: inter_rows_spatial, type: temporal, factors: C1 M1}
- {target: columns, type: spatial, factors: Q14}
- {target: shared_glb, type: temporal, factors: 'P=14,Q=4', permutation: [Q, P]}
- {target: DRAM, type: temporal, factors: [M=4, P=8, Q=2], permutation: MQP}
"""


def eyeriss(tmp_path: Path) -> tuple[Shape, Hierarchy, Any]:
    path, case = tmp_path / "chip.yaml", CASES["Timeloop eyeriss_like"]
    path.write_text(EYERISS_LIKE)
    shape = Shape(case["dims"], tuple(case["stride"]), names={"M": "K"})
    return shape, find_hierarchy(str(path)), case


def test_an_architecture_and_a_mapping_of_timeloop_have_its_counters(tmp_path: Path) -> None:
    shape, hierarchy, case = eyeriss(tmp_path)
    found = nest_from_timeloop(EYERISS_MAPPING, shape, hierarchy)
    conventions = Conventions(**TOOLS["Timeloop"]["conventions"], **case["switches"])
    cost, status = HierarchyEvaluator(shape, found.hierarchy, conventions).evaluate(found.mapping)
    assert cost is not None
    assert (status, cost.latency_cycles) == ("ok", case["cycles"])
    numbers = counters_of(case)
    got = {key: counted(cost, key[0], LETTERS[key[1]])[key[2]] for key in numbers}
    assert got == numbers
    for tool in TOOLS_OF.values():
        again = written(tool, HierarchyEvaluator(shape, hierarchy), found.mapping)
        assert again is not None
        assert again.mapping == found.mapping
        evaluators = [HierarchyEvaluator(shape, each.hierarchy) for each in (found, again)]
        first, second = (each.evaluate(found.mapping) for each in evaluators)
        assert first == second


def test_axes_of_a_container_are_one_target_and_a_file_says_what_memories_keep() -> None:
    layer = find_layer("gemm:M=8,N=16,K=4")
    elements = [MemoryElement(name="DRAM"), MemoryElement(name="GLB")]
    fanouts = [FanoutElement(name="PE_X", size=4), FanoutElement(name="PE_Y", size=4, axis="Y")]
    hierarchy = Hierarchy([*elements, *fanouts, MemoryElement(name="RF")])
    mapping = [[("K", 2)], [("M", 2)], [("N", 4)], [("M", 1)], [("N", 1), ("K", 1)]]
    text = nest_to_timeloop(mapping, layer, hierarchy)
    line = "- {target: PE, type: spatial, factors: ['N=4', 'M=2'], permutation: [N, M], split: 1}"
    assert line in text.splitlines()
    assert nest_from_timeloop(text, layer, hierarchy) == MappedNest(mapping, hierarchy)
    bypass = text.replace("GLB, type: dataspace, keep: [Inputs, Weights, Outputs], bypass: []",
                          "GLB, type: bypass, bypass: [Weights]")  # fmt: skip
    assert kept(nest_from_timeloop(bypass, layer, hierarchy), "GLB") == ("input", "output")


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("M=4, P=8", "M=2, P=8", "the factors of M make 16 of 32"),
        ("target: weights_spad, type: t", "target: spad, type: t", "'spad' are given twice, or"),
        ("target: psum_spad, type: d", "target: sums, type: d", "'sums' is no memory"),
        ("factors: Q14", "factors: Q14, split: 0", "has loops along Y, where it has no units"),
        ("keep: [Outputs], b", "keep: [Inputs], b", "psum_spad keeps no input; allowed there: out"),
        ("R3 N1", "R3 Z1", "'Z1' is not a factor"),
        (
            "datatype, keep: [Outputs]",
            "datatype, passthrough: []",
            "'passthrough' is not supported",
        ),
    ],
)
def test_a_file_of_timeloop_that_fits_not_is_refused(
    old: str, new: str, named: str, tmp_path: Path
) -> None:
    shape, hierarchy, _ = eyeriss(tmp_path)
    assert old in EYERISS_MAPPING
    with pytest.raises(MappingError) as refused:
        nest_from_timeloop(EYERISS_MAPPING.replace(old, new), shape, hierarchy, "map.yaml")
    assert named in str(refused.value)
    assert str(refused.value).startswith("map.yaml, line ")


# ---- AccelForge ---------------------------------------------------------------------------------

PRODUCT = find_layer("gemm:M=8,N=12,K=4")
MACHINE = Hierarchy(
    [
        MemoryElement(name="Main"),
        MemoryElement(name="GLB"),
        FanoutElement(name="PE_a", size=4),
        MemoryElement(name="RF"),
    ]
)
WORKLOAD = """
workload:
  iteration_space_shape: {m: 0 <= m < 8, n0: 0 <= n0 < 4, n1: 0 <= n1 < 12}
  einsums:
  - name: Matmul
    tensor_accesses:
    - {name: T0, projection: [m, n0]}
    - {name: W0, projection: [n0, n1]}
    - {name: T1, projection: [m, n1], output: True}
"""
# GLB holds T0 outside of the loop over n1, which does not index it.
NODES = """
mapping:
  nodes:
  - !Storage {tensors: [W0, T1, T0], component: Main}
  - !Temporal {rank_variable: m, tile_shape: 1}
  - !Storage {tensors: [T0], component: GLB}
  - !Temporal {rank_variable: n1, tile_shape: 5}
  - !Storage {tensors: [T1], component: GLB}
  - !Spatial {rank_variable: n1, tile_shape: 2, name: a, component: PE}
  - !Storage {tensors: [W0, T1, T0], component: RF}
  - !Temporal {rank_variable: n1, tile_shape: 1}
  - !Temporal {rank_variable: n0, tile_shape: 1}
  - !Compute {einsum: Matmul, component: MAC}
"""


def test_tensors_of_a_memory_may_stand_outside_of_loops_that_do_not_index_them() -> None:
    found = nest_from_accelforge(WORKLOAD + NODES, PRODUCT, MACHINE)
    assert found.mapping == [[("M", 1), ("N", 5)], [], [("N", 2)], [("N", 1), ("K", 1)]]
    assert kept(found, "GLB") == ("input", "output")
    text = nest_to_accelforge(found.mapping, PRODUCT, found.hierarchy)
    nodes = [line.strip() for line in text.splitlines()]
    outside = nodes.index("- !Storage {tensors: [I], component: GLB}")
    assert nodes[outside + 1 : outside + 3] == [
        "- !Temporal {rank_variable: n, tile_shape: 5}",
        "- !Storage {tensors: [O], component: GLB}",
    ]
    assert nest_from_accelforge(text, PRODUCT, found.hierarchy) == found


# 12 tiles for 4 units in 3 rounds: each may as well get 3 neighbouring ones.
OUTSIDE = """
  - !Spatial {rank_variable: n, tile_shape: 3, name: a, component: PE}
  - !Temporal {rank_variable: n, tile_shape: 1}
  - !Storage {tensors: [W], component: RF}
  - !Temporal {rank_variable: m, tile_shape: 2}
  - !Storage {tensors: [I, O], component: RF}
"""
# 6 tiles for 4 units leave some idle in the last round.
INSIDE = """
  - !Temporal {rank_variable: n, tile_shape: 8}
  - !Temporal {rank_variable: m, tile_shape: 2}
  - !Spatial {rank_variable: n, tile_shape: 2, name: a, component: PE}
  - !Storage {tensors: [I, W, O], component: RF}
"""


@pytest.mark.parametrize(("outer", "inner", "nodes"), [(4, 1, OUTSIDE), (8, 2, INSIDE)])
def test_loops_in_space_stand_outside_where_units_get_the_same_tiles(
    outer: int, inner: int, nodes: str
) -> None:
    left = [("M", 1), ("N", 1), ("K", 1)]
    in_pe = [loop for loop in left if inner > 1 or loop[0] != "N"]
    mapping = [[], [("N", outer), ("M", 2)], [("N", inner)], in_pe]
    text = nest_to_accelforge(mapping, PRODUCT, MACHINE)
    assert nodes in text
    assert nest_from_accelforge(text, PRODUCT, MACHINE).mapping == mapping


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("n0, tile_shape: 1", "n0, tile_shape: 2", "no loop over n0 has the tile_shape 1"),
        ("T0], component: Main", "T1], component: Main", "Main holds output twice"),
        ("[W0, T1, T0], component: Main", "[W0, T1], component: Main", "not hold all tensors"),
        ("[T0], component: GLB", "[W0], component: GLB", "GLB holds filter outside of node 4"),
        ("component: PE", "component: MAC", "names no fan-out; allowed, as component_name: PE_a"),
        ("!Temporal {rank_variable: m", "!Temporal {rank_variable: x", "no rank 'x'; allowed: m"),
        (
            "!Storage {tensors: [W0, T1, T0], component: RF}\n  - !Temporal {rank_variable: n1",
            "!Temporal {rank_variable: n1",
            "inside one in space",
        ),
    ],
)
def test_a_file_of_accelforge_that_fits_not_is_refused(old: str, new: str, named: str) -> None:
    assert old in NODES
    with pytest.raises(MappingError) as refused:
        nest_from_accelforge(WORKLOAD + NODES.replace(old, new), PRODUCT, MACHINE)
    assert named in str(refused.value)


# ---- Both ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TOOLS_OF)
def test_what_no_file_can_say_is_refused(name: str) -> None:
    elements = [MemoryElement(name="DRAM"), FanoutElement(name="X", size=4)]
    write = TOOLS_OF[name][0]
    below = Hierarchy(elements)
    with pytest.raises(MappingError, match="4 of K are left to a MAC unit below the last memory"):
        write([[], [("K", 4)]], Shape({"K": 8}), below)
    with pytest.raises(MappingError, match="it has the status fanout_exceeded"):
        write([[], [("K", 1)]], Shape({"K": 8}), below)


LOST = {
    "timeloop": {
        "eyeriss": {"rows": "whole", "filter_spad": "whole"},
        "nvdla": {},
        "simba": {},
        "tpu_v1": {},
    },
    "accelforge": {
        "eyeriss": {"rows": "whole and dims", "columns": "dims", "filter_spad": "whole"},
        "simba": {"pes": "dims", "lanes": "dims"},
    },
}


def as_read(tool: str, hierarchy: Hierarchy, dims: Sequence[str]) -> Hierarchy:
    """Write an accelerator for a tool, and read it."""
    text = (
        architecture_text(hierarchy, HardwareError, dims)
        if tool == "timeloop"
        else arch_text(hierarchy, HardwareError)
    )
    again = nest_hierarchy(text)
    assert again is not None
    return again


@pytest.mark.parametrize(
    ("tool", "chip"), [(tool, chip) for tool, chips in LOST.items() for chip in chips]
)
def test_rules_of_chips_come_back_but_for_those_that_no_file_has(tool: str, chip: str) -> None:
    hierarchy, cut = find_hierarchy(chip), looping(Shape.of(find_layer("resnet18_l2")))
    again = as_read(tool, hierarchy, cut)
    assert unsaid_rules(hierarchy, again, cut) == LOST[tool][chip]


DIMS_OF_ONE = st.none() | st.lists(st.sampled_from(DIMS), unique=True)


@given(st.tuples(*[DIMS_OF_ONE] * 4), st.sets(st.sampled_from(TENSORS)), st.sampled_from([*LOST]))
def test_rules_that_are_written_forbid_no_loop_that_was_allowed(
    dims: tuple[list[str] | None, ...], apart: set[str], tool: str
) -> None:
    main, across, down, last = (LoopRules(dims=each) for each in dims)
    hierarchy = Hierarchy(
        [
            MemoryElement(name="DRAM", rules=main),
            FanoutElement(name="PE_X", size=4, apart=apart, rules=across),
            FanoutElement(name="PE_Y", size=4, axis="Y", apart=apart, rules=down),
            MemoryElement(name="RF", rules=last),
        ]
    )
    again = as_read(tool, hierarchy, DIMS)
    for ours, theirs in zip(hierarchy.rules, again.rules, strict=True):
        assert not theirs.tiles
        assert all(map(theirs.allows, filter(ours.allows, DIMS)))


def test_timeloop_has_remainders_in_the_last_tile_alone() -> None:
    hierarchy = Hierarchy([MemoryElement(name=name) for name in ("DRAM", "GLB", "RF")])
    with pytest.raises(MappingError, match=r"16 of K in tiles of 3 leave a remainder"):
        nest_to_timeloop([[("K", 16)], [("K", 3)], []], Shape({"K": 32}), hierarchy)


def test_the_layer_of_a_file_has_to_be_the_layer_given() -> None:
    with pytest.raises(MappingError, match="maps the layer GEMM M8 N12 K4; give that layer"):
        nest_from_accelforge(WORKLOAD + NODES, find_layer("gemm:M=8,N=8,K=4"), MACHINE)
    with pytest.raises(LayerError):
        nest_from_accelforge("workload: {einsums: []}\n" + NODES, PRODUCT, MACHINE)
