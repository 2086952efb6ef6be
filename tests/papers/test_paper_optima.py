"""Regrets against hand-made searches, and what the page says of latency without limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from math import prod
from pathlib import Path

import numpy as np
import pytest
from paper_helpers import made_up, make_folder, view

from maestro_env.experiments.papers.paper.items import FULL, QUICK, Folder
from maestro_env.experiments.papers.paper.items.optima import ITEM
from maestro_env.experiments.papers.paper.ledger import Run, goal
from maestro_env.experiments.search.cells import Finished
from maestro_env.mapspace.mapping import Level, Loop, Mapping
from maestro_env.optimum.known import known_optimum
from maestro_env.workloads.layer import Layer

LEAST = {"paper": 6662.0, "edge": 39516.0}
"""The optima of the quick scale's cells: least latency of mobilenetv2_l2, by hardware."""


def searched(hardware: str, mapper: str, ends: Sequence[float | None]) -> dict[Run, Finished]:
    """Searches that find these multiples of the optimum after 80 samples; None finds nothing.

    Before, from sample 10 on, they are at three times the optimum.
    """
    least = LEAST[hardware]
    made = {}
    for seed, end in enumerate(ends):
        run = Run("mobilenetv2_l2", "latency", mapper, seed, QUICK.samples, hardware)
        made[run] = made_up(run, {10: 3 * least, 80: end * least} if end else {})
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """The files of a few searches."""
    made = make_folder(ITEM, tmp_path)
    made.write(
        {
            # The interquartile means of four are those of the two in the middle: 1.02 and 1.32.
            **searched("paper", "marl", [1 + 5e-10, 1.01, 1.03, 1.5]),
            **searched("edge", "marl", [1 + 2e-9, 1.32, 1.32, 2]),
            **searched("paper", "ga", [1.8, 1.8]),
            **searched("edge", "ga", [None, None]),
            **searched("paper", "gamma", [1.004]),
            **searched("paper", "bo", [1.1, 1.1]),
        }
    )
    return made


def test_costs_are_multiples_of_the_optimum(folder: Folder) -> None:
    rows = folder.rows("ratios.csv", mapper="marl", samples="128")
    assert [row["group"] for row in rows] == ["exact", "exact, paper", "exact, edge"]
    ratios = [float(row["ratio"]) for row in rows]
    assert ratios == pytest.approx([math.sqrt(1.02 * 1.32), 1.02, 1.32], abs=1e-5)
    # The one cell in which it finds something counts.
    (row,) = folder.rows("ratios.csv", mapper="ga", samples="128", group="exact")
    assert (row["of"], row["ratio"], row["without"]) == ("2", "1.8", "1")
    found = {title: table[1] for title, table in ITEM.view(folder)["ratios"]}
    ends = {line[0]: line[-1] for line in found["exact, paper (1 cells)"]}
    assert ends["ga (2 seeds)"] == "80 [80, 80]"
    assert ends["gamma (1 seed)"] == "0.40"
    ends = {line[0]: line[-1] for line in found["exact, edge (1 cells)"]}
    assert ends["ga (2 seeds)"] == "none in 1"


def test_searches_arrive_near_the_optimum_or_at_it(folder: Folder) -> None:
    rows = folder.rows("arrivals.csv", mapper="marl", group="exact")
    # Only what is off by rounding is the optimum.
    assert {row["percent"]: (row["searches"], row["share"]) for row in rows} == {
        "5": ("8", "0.5"),
        "2": ("8", "0.375"),
        "1": ("8", "0.375"),
        "0": ("8", "0.125"),
    }
    (row,) = folder.rows("arrivals.csv", mapper="gamma", group="exact, paper", percent="1")
    assert (row["median"], row["share"]) == ("80", "1")


def test_cells_show_regrets_half_way_and_who_finds_the_optimum(folder: Folder) -> None:
    unlimited, edge = ITEM.view(folder)["cells"]
    assert [each["optimum"] for each in (unlimited, edge)] == list(LEAST.values())
    # 16 x 32 x 112 x 112 MACs on 1,024 PEs.
    assert unlimited["above"] == LEAST["paper"] - 6272
    assert unlimited["regrets"] == ["200", "-", "200", "-"]
    assert (unlimited["found"], edge["found"]) == (pytest.approx(1 / 9), 0)
    # Of marl, bo and ga the second is bo, which costs less than most searches of marl may.
    assert unlimited["apart"] == [False, False]
    # Of marl and ga it is ga, which finds nothing.
    assert edge["apart"] == [True, True]


@pytest.mark.parametrize(
    ("ends", "median", "apart", "solved"),
    [
        ([*[1.0] * 9, 1.001], 1.012, True, True),
        ([*[1.0] * 8, 1.001, 1.001], 1.012, True, False),
        ([1.0] * 10, 1.009, False, True),
        # Most resamples of these ten have some of the last four among the six in the middle.
        ([*[1.0] * 6, *[1.1] * 4], 1.05, False, False),
    ],
)
def test_a_cell_tells_mappers_apart_beyond_their_intervals(
    ends: Sequence[float], median: float, apart: bool, solved: bool, tmp_path: Path
) -> None:
    finished = {**searched("paper", "marl", ends), **searched("paper", "ga", [median] * 2)}
    (cell,) = view(ITEM, tmp_path, finished)["cells"]
    # Half-way all are alike.
    assert cell["apart"] == [False, apart]
    assert cell["solved"] is solved


def test_the_optima_of_all_reporting_cells_are_proven() -> None:
    for layer, hardware, objective in product(FULL.layers, FULL.hardware, FULL.objectives):
        sought = goal(Run(layer, objective, "marl", 0, 1, hardware))
        known = known_optimum(sought.problem, sought.objective)
        assert known is not None
        assert known.proven


# --- Latency without limits ---------------------------------------------------------------------

PARALLEL = {
    "mobilenetv2_l2": ("X'", 1, 9, "Y'", 13),
    "mobilenetv2_l3": ("K", 11, 112, "X'", 1),
    "mobilenetv2_l51": ("C", 5, 16, "K", 40),
    "vgg16_l1": ("C", 1, 16, "K", 2),
    "vgg16_l2": ("C", 1, 16, "K", 4),
    "vgg16_l8": ("C", 1, 2, "K", 128),
    "resnet50_l2": ("C", 1, 16, "K", 2),
    "bert_base_l4": ("K", 3, 4, "M", 32),
}
"""By layer: the outer parallel loop, its tile, PEs of a cluster, the inner one and its tile."""


def uncut(layer: Layer, parallel: str, tile: int, cluster: int | None = None) -> Level:
    """A level that cuts its parallel loop alone."""
    tiles = {**layer.loop_extents, parallel: tile}
    loops = tuple(Loop(dim, size, size, dim == parallel) for dim, size in tiles.items())
    return Level(loops, cluster)


@pytest.mark.parametrize("name", FULL.layers)
def test_least_latency_without_limits_needs_no_cut_but_of_the_parallel_loops(name: str) -> None:
    sought = goal(Run(name, "latency", "marl", 0, 1))
    outer, tile, cluster, inner, own = PARALLEL[name]
    layer = sought.problem.layer
    levels = uncut(layer, outer, tile), uncut(layer, inner, own, cluster)
    mapping = Mapping(levels)
    known = known_optimum(sought.problem, sought.objective)
    cost, status = sought.problem.evaluate_mapping(mapping)
    assert known is not None
    assert cost is not None
    assert status == "ok"
    assert cost.latency_cycles == known.value == closed_form(mapping, layer)
    points = sought.problem.space.sample(50, np.random.default_rng(0))
    latencies, _ = sought.problem.score(points, sought.objective)
    decoded = map(sought.problem.space.decode, points)
    assert latencies.tolist() == [closed_form(each, layer) for each in decoded]


def closed_form(mapping: Mapping, layer: Layer) -> int:
    """4 cycles, 2 for each outer step, and 1 for each MAC of the first PE."""
    outer, inner = mapping.levels
    pes = inner.cluster_size
    assert pes is not None
    tiles = {loop.dim: loop for loop in inner.loops}
    steps, macs = [], []
    for loop in outer.loops:
        units, own = 1024 // pes if loop.spatial else 1, tiles[loop.dim]
        boxes = chunks(layer.loop_extents[loop.dim], loop.size)[::units]
        parts = [chunks(box, own.size)[:: pes if own.spatial else 1] for box in boxes]
        steps.append(len(boxes))
        macs.append(sum(map(sum, parts)))
    return 4 + 2 * prod(steps) + prod(macs)


def chunks(extent: int, tile: int) -> list[int]:
    return [min(tile, extent - start) for start in range(0, extent, tile)]
