"""A status is explained with the level and loop at fault."""

from __future__ import annotations

from dataclasses import replace

import pytest

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.layer import Layer

LAYER = Layer("CONV", {"K": 16, "C": 12, "Y": 12, "X": 12, "R": 3, "S": 3})
ONCE = Loop("K", 4, 4, spatial=True)
INNER = Loop("C", 2, 2, spatial=True)

Levels = list[tuple[int | None, list[Loop]]]


def mapping(*levels: tuple[int | None, list[Loop]]) -> Mapping:
    return Mapping(tuple(Level(tuple(loops), cluster) for cluster, loops in levels))


def explained(levels: Levels, layer: Layer = LAYER, hardware: Hardware = PRESETS["edge"]) -> str:
    return Problem(MapSpace(layer, hardware), "exact").explain(mapping(*levels))


CASES: list[tuple[str, Levels, str]] = [
    ("coverage", [(None, [ONCE, Loop("C", 3, 2)])], "level 0, 'for C in tiles of 3 every 2': "),
    (
        "coverage",
        [(None, [ONCE]), (2, [Loop("C", 2, 2, True), Loop("K", 1, 3)])],
        "level 1, 'for K in tiles of 1 every 3': ",
    ),
    ("coverage", [(None, [ONCE, Loop("Y", 2, 2)])], "level 0, 'for Y in tiles of 2': "),
    ("bad_tile", [(None, [ONCE]), (2, [INNER, Loop("Z", 1, 1)])], "level 1, 'for Z in tiles of 1'"),
    ("bad_tile", [(None, [ONCE, Loop("K", 2, 2)])], "level 0, 'for K in tiles of 2': "),
    (
        "bad_tile",
        [(None, [ONCE]), (2, [INNER]), (2, [Loop("Y'", 2, 2), Loop("Y", 4, 2, True)])],
        "level 2, 'parallel-for Y in tiles of 4 every 2': ",
    ),
    ("bad_spatial", [(None, [ONCE, INNER])], "level 0, 'parallel-for C in tiles of 2': "),
    ("bad_spatial", [(None, [Loop("K", 4, 4)])], "level 0: "),
    ("bad_spatial", [(None, [Loop("K", 4, 4)]), (2, [INNER])], "level 0: "),
    ("bad_spatial", [(None, [ONCE]), (2, [Loop("C", 2, 2)]), (2, [INNER])], "level 1: "),
    ("bad_spatial", [(None, [ONCE]), (2, [Loop("C", 2, 2)])], "level 1: "),
    ("bad_spatial", [(None, [ONCE]), (2, [])], "level 1: "),
    ("bad_spatial", [(None, []), (2, [INNER])], "level 0: "),
    ("too_many_levels", [(None, [ONCE]), *[(1, [INNER])] * 4], "level 4: more than 4 levels"),
    ("cluster_exceeds_pes", [(None, [ONCE]), (169, [INNER])], "level 1, 'cluster of 169': "),
    (
        "cluster_exceeds_pes",
        [(None, [ONCE]), (2, [INNER]), (10, [INNER]), (20, [INNER])],
        "level 2, 'cluster of 10': ",
    ),
]


@pytest.mark.parametrize(("status", "levels", "place"), CASES)
def test_the_level_and_the_loop_are_named(status: str, levels: Levels, place: str) -> None:
    text = explained(levels)
    assert text.startswith(f"{status}: {place}")
    assert "\n" not in text


def test_clusters_too_large_are_told_in_pes() -> None:
    text = explained([(None, [ONCE]), (20, [INNER]), (10, [INNER])])
    assert text.endswith("make them smaller (needed 200 PEs, there are 168)")


def test_buffers_too_small_are_told_in_bytes() -> None:
    levels: Levels = [(None, [ONCE, Loop("C", 2, 2)])]
    roomy = replace(PRESETS["edge"], l1_bytes=10**6, l2_bytes=10**6)
    assert explained(levels, hardware=roomy) == "ok: the mapping is valid"
    # One PE: 2 x (2 x 12 x 12 inputs, 4 x 2 x 9 filters, 4 x 10 x 10 outputs).
    l1 = 2 * (2 * 144 + 72 + 400)
    text = explained(levels, hardware=replace(roomy, l1_bytes=l1 - 1))
    assert text == (
        "l1_overflow: the tiles do not fit L1; make the L1 tiles smaller "
        f"(needed {l1:,} B per PE, there are {l1 - 1:,} B)"
    )
    # All of K at once: 2 x 288 inputs of 1,728, 2 x 288 filters of 1,728, all 1,600 outputs.
    l2 = 2 * 288 + 2 * 288 + 1600
    text = explained(levels, hardware=replace(roomy, l2_bytes=l2 - 1))
    assert text == (
        "l2_overflow: the tiles do not fit L2; make the L2 tiles smaller "
        f"(needed {l2:,} B, there are {l2 - 1:,} B)"
    )


@pytest.mark.parametrize(
    ("status", "layer"),
    [
        ("bad_layer", replace(LAYER, operator="TRCONV")),
        ("overflow", Layer("GEMM", {"M": 2**20, "N": 2**20, "K": 2**20})),
    ],
)
def test_a_layer_at_fault_is_not_laid_on_a_loop(status: str, layer: Layer) -> None:
    text = explained([(None, [ONCE])], layer)
    assert text.startswith(f"{status}: the ")
    assert "level" not in text


def test_a_mapping_without_a_loop_is_a_bad_tile() -> None:
    assert explained([(None, [])]).startswith("bad_tile: ")


def test_a_death_of_the_binary_is_not_laid_on_a_loop() -> None:
    problem = Problem(MapSpace(LAYER, PRESETS["edge"]), "maestro")
    text = problem.explain(mapping((None, [ONCE, Loop("R", 1, 1)])))
    assert text == "reference_exit: the MAESTRO binary exits with an error on it"
