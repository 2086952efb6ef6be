"""Loops that an accelerator can run (H2.1): spaces have exactly the mappings that obey."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hierarchy_cases import hierarchy_of, random_row
from hierarchy_simulator import broken_rules
from hypothesis import given, settings
from hypothesis import strategies as st

from maestro_env.accelerators.constraints import constrained
from maestro_env.accelerators.elements import (
    TENSORS,
    Element,
    FanoutElement,
    MacElement,
    MemoryElement,
)
from maestro_env.accelerators.finding import chips_with, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.accelerators.hierarchy_file import hierarchy_text, read_hierarchy
from maestro_env.accelerators.loop_rules import ANY_LOOPS, DIMS, LoopRules
from maestro_env.base.errors import HardwareError, MappingError, MapSpaceError
from maestro_env.environments.moves import moves_of
from maestro_env.evaluation.cost_and_status import METRICS, OK, STATUSES
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.hierarchy_problem import HierarchyProblem
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.objectives import find_objective
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.broken_rules import broken_rule
from maestro_env.hierarchy.evaluation import HierarchyEvaluator, NestMapping
from maestro_env.hierarchy.shape import Shape
from maestro_env.mappers import make_mapper
from maestro_env.mapspace.hierarchy_space import HierarchySpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

_GEMM = Layer("GEMM", {"M": 4, "K": 3, "N": 2})


def _drawn_rules(rng: random.Random, each: Element, first: bool) -> LoopRules:
    """Return rules, none as often as not."""

    def some(names: Any, chance: float) -> list[str]:
        return [name for name in rng.sample(list(names), len(names)) if rng.random() < chance]

    def sizes() -> dict[str, int]:
        return {dim: rng.randint(1, 3) for dim in some(DIMS, 0.2)}

    rules: dict[str, Any] = {}
    memory = isinstance(each, MemoryElement)
    if rng.random() < 0.4:
        rules["dims"] = some(DIMS, 0.6)
    if memory and rng.random() < 0.3:
        rules["outermost"], rules["innermost"] = some("KCP", 0.5), some("NGQRS", 0.5)
    if memory and not first and rng.random() < 0.3:
        kept = [tensor for tensor in TENSORS if tensor in getattr(each, "keeps", ())]
        rules |= {"stays": some(kept, 0.5)} if rng.random() < 0.5 else {"tiles": sizes()}
    if not memory and rng.random() < 0.4:
        rules["units"] = sizes()
    if not first and rng.random() < 0.2:
        rules["whole"] = some(DIMS, 0.2)
    return LoopRules(**rules)


def _ruled(hierarchy: Hierarchy, rng: random.Random) -> Hierarchy:
    elements = [
        replace(each, rules=_drawn_rules(rng, each, place == 0))
        for place, each in enumerate(hierarchy.elements)
    ]
    return replace(hierarchy, elements=elements)


def row_of(shape: Shape, hierarchy: Hierarchy, mapping: NestMapping) -> dict[str, Any]:
    """Return a mapping as the simulator reads it."""
    kinds = {MemoryElement: "memory", FanoutElement: "fanout"}
    return {
        "layer": {"dims": shape.sizes, "stride": shape.stride, "dilation": shape.dilation},
        "accelerator": [
            {kinds[type(each)]: each.name, "rules": each.rules.record()}
            for each in hierarchy.elements
        ],
        "mapping": [[(DIMS[shape.dim(d) or 0], t) for d, t in loops] for loops in mapping],
    }


def _every(space: HierarchySpace) -> set[NestMapping]:
    points = np.stack(np.unravel_index(np.arange(space.size()), space.sizes), axis=1)
    distinct = np.unique(space.clipped(points.astype(np.int32)), axis=0)
    return {space.decode(point) for point in distinct}


def _small(latches: bool, **rules: LoopRules) -> Hierarchy:
    """Return an accelerator of few mappings."""
    return Hierarchy(
        [
            MemoryElement(name="DRAM", rules=rules.get("DRAM", ANY_LOOPS)),
            FanoutElement(name="PEs", size=3, rules=rules.get("PEs", ANY_LOOPS)),
            MemoryElement(name="L1", rules=rules.get("L1", ANY_LOOPS)),
        ],
        MacElement(latches=("filter",) if latches else ()),
    )


_SPACES = [
    HierarchySpace(Layer("GEMM", {"M": 3, "K": 2, "N": 1}), _small(True)),
    HierarchySpace(Layer("GEMM", {"M": 4, "K": 3, "N": 1}), _small(True), "divisors"),
]
_ALL = [_every(each) for each in _SPACES]


@settings(max_examples=6)
@given(st.integers(0, 2**32), st.sampled_from((0, 1)))
def test_a_space_has_exactly_the_mappings_that_obey(seed: int, which: int) -> None:
    free, every = _SPACES[which], _ALL[which]
    hierarchy, shape = _ruled(free.hardware, random.Random(seed)), free.evaluator.shape
    obeying = {each for each in every if not broken_rules(row_of(shape, hierarchy, each))}
    assert obeying == {each for each in every if not broken_rule(hierarchy, shape, each)}
    tiles = any(rules.tiles for rules in hierarchy.rules)
    if space := _space(free.layer, hierarchy, refused=tiles or not obeying, tiles=free.tiles):
        assert _every(space) == obeying


def _space(
    layer: Layer, hierarchy: Hierarchy, refused: bool, tiles: str = "integers"
) -> HierarchySpace | None:
    """Return a space, or None if its rules may be and are refused."""
    with suppress(*[MapSpaceError] * refused):
        return HierarchySpace(layer, hierarchy, tiles)
    return None


@given(st.integers(0, 2**32))
def test_vectors_obey_the_rules_of_any_accelerator(seed: int) -> None:
    rng = random.Random(seed)
    row = random_row(rng)
    hierarchy = _ruled(hierarchy_of(row), rng)
    read = read_hierarchy(hierarchy_text(hierarchy))
    assert [each.record() for each in read.rules] == [each.record() for each in hierarchy.rules]
    layer = find_layer(rng.choice(["gemm:M=6,K=5,N=4", "conv:K=4,C=3,Y=6,X=5,R=3,S=2"]))
    tiles = rng.choice(["integers", "divisors"])
    space = _space(layer, hierarchy, refused=True, tiles=tiles)
    if space is None:
        return
    numbers, problem = np.random.default_rng(seed), HierarchyProblem(space)
    points = space.sample(10, numbers)
    rows = problem.evaluate(points)
    cycles = rows.metrics[rows.status == OK, METRICS.index("latency_cycles")]
    assert (cycles >= problem.lower_bounds["latency_cycles"] * (1 - 1e-9)).all()
    masks = Masks(problem)
    if masks.complete:
        points = np.concatenate([points, masks.sample(5, numbers)])
    clipped = space.clipped(points)
    for point, short in zip(points, clipped, strict=True):
        mapping = space.decode(point)
        assert not broken_rules(row_of(space.evaluator.shape, hierarchy, mapping))
        assert space.decode(short) == mapping
        np.testing.assert_array_equal(space.encode(mapping), short)


@pytest.mark.slow
@pytest.mark.parametrize("chip", chips_with("memories"))
def test_vectors_on_chips_obey(chip: str) -> None:
    # 170,000 vectors of each of nine chips, every third of them masked.
    for name in ("resnet18_l2", "mobilenetv2_l1", "bert_base_l4", "vgg16_l1"):
        space = HierarchySpace(find_layer(name), find_hierarchy(chip))
        rng = np.random.default_rng(0)
        masked = Masks(HierarchyProblem(space)).sample(14_000, rng)
        for point in np.concatenate([space.sample(28_500, rng), masked]):
            row = row_of(space.evaluator.shape, space.hardware, space.decode(point))
            assert not broken_rules(row)


def test_a_mapping_that_breaks_a_rule_is_refused_by_element_and_rule() -> None:
    ruled = _small(
        False,
        DRAM=LoopRules(innermost=["P"]),
        PEs=LoopRules(dims=["K", "C"], units={"K": 2}),
        L1=LoopRules(stays=["filter"], whole=["N"], tiles={"C": 2}),
    )
    evaluator = HierarchyEvaluator(_GEMM, replace(ruled, name="chip"))
    # Of a GEMM, M is the dimension P of the nest, N is K and K is C.
    for mapping, said in (
        ([[("K", 1)], [("M", 2)], []], "chip cannot run this mapping: PEs: a loop of P; allowed"),
        ([[("K", 2)], [("N", 1)], []], None),
        ([[], [("N", 1)], []], "L1: a tile of 3 of C; allowed: at most 2"),
        ([[("M", 2), ("K", 2)], [], []], "DRAM: loops of P, C; allowed: innermost P"),
        ([[("K", 2), ("M", 2)], [], []], None),
    ):
        if said is None:
            assert evaluator.evaluate(mapping)[1] == "ok"
        else:
            with pytest.raises(MappingError, match=said):
                evaluator.evaluate(mapping)
    problem = HierarchyProblem(HierarchySpace(_GEMM, _small(False, L1=LoopRules(whole=["C"]))))
    with pytest.raises(MappingError, match="L1: a tile of 2 of C; allowed: all 3 of it"):
        problem.evaluate_mapping([[("K", 2)], [], []])


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"PEs": LoopRules(dims=["M"])}, "fan-out PEs: dims has 'M'; allowed: N, G, K, C, P, Q"),
        ({"PEs": LoopRules(tiles={"K": 2})}, "PEs has tiles, which only memories have"),
        ({"L1": LoopRules(units={"K": 2})}, "L1 has units, which only fan-outs have"),
        ({"L1": LoopRules(tiles={"K": 0})}, "tiles of K"),
        ({"L1": LoopRules(stays=["weights"])}, "stays has 'weights'; allowed: input, filter"),
        ({"L1": LoopRules(outermost=["K"], innermost=["K"])}, "order has K twice; give it once"),
    ],
)
def test_rules_that_no_element_can_have_are_refused(rules: dict[str, LoopRules], said: str) -> None:
    with pytest.raises(HardwareError, match=said):
        _small(False, **rules)


def test_rules_that_leave_no_mapping_are_refused() -> None:
    ruled = _small(
        False, DRAM=LoopRules(dims=[]), PEs=LoopRules(dims=[]), L1=LoopRules(tiles={"C": 2})
    )
    with pytest.raises(MapSpaceError, match="L1 allows tiles of K that are smaller than 3"):
        HierarchySpace(_GEMM, ruled)


def test_a_bound_knows_which_units_have_no_loop() -> None:
    # A depthwise layer has one input and one output channel a group: one unit works, MAC by MAC.
    layer, gemmini = find_layer("mobilenetv2_l1"), find_hierarchy("gemmini")
    free = lower_bound(layer, constrained(gemmini, "none")).compute_cycles
    assert lower_bound(layer, gemmini).compute_cycles == layer.macs > 100 * free


@pytest.mark.parametrize("chip", chips_with("memories"))
def test_moves_and_masks_of_ruled_spaces_work(chip: str) -> None:
    # Some orders have fewer dimensions; of weights that stay, masks may find nothing that fits.
    layer = find_layer("gemm:M=64,N=64,K=64")
    forms = [find_hierarchy(chip)]
    # Some arrays hold no weights still.
    with suppress(HardwareError):
        forms.append(constrained(forms[0], "weight-stationary"))
    for hierarchy in forms:
        problem = HierarchyProblem(HierarchySpace(layer, hierarchy))
        points = Masks(problem).sample(20, np.random.default_rng(0))
        assert set(problem.evaluate(points).status.tolist()) <= {
            OK,
            STATUSES.index("pool_overflow"),
        }
        moves, made = moves_of(problem.space), np.ones((1, 1), dtype=np.bool_)
        for action in range(len(moves.names)):
            after = moves.native.after(points[:1], np.array([[action]]), made)
            problem.space.decode(problem.space.clipped(after)[0])


@pytest.mark.parametrize("mapper", ["ga", "marl", "bo", "pbil"])
def test_mappers_search_ruled_spaces(mapper: str) -> None:
    ruled = constrained(find_hierarchy("eyeriss"), "glb: {outermost: [K], dims: [K, C]}")
    problem = HierarchyProblem(HierarchySpace(find_layer("gemm:M=8,N=8,K=8"), ruled))
    evaluator = Evaluator(problem, find_objective("latency"), budget=60)
    make_mapper(mapper).search(evaluator, 60, np.random.default_rng(0))
    assert evaluator.used == 60
