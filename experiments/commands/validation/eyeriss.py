"""Eyeriss' measurements of AlexNet, beside the optimum of the model ``exact``.

They are Table V of Chen et al., JSSC 2017: batch of 4, 1 V, 200 MHz. The figures are those of
yonseicasl/NPUsim at 2a371fd, ``validation/phase3/traffic_reference.py``; times and active PEs also
of stanford-mast/nn_dataflow at 06c1092, ``nn_dataflow/tests/dataflow_test/test_nn_dataflow.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.accelerators.finding import find_hardware
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.tables import Table
from maestro_env.mapspace.space import MapSpace
from maestro_env.optimum.search import OptimumSearch
from maestro_env.workloads.layer import Layer

BATCH = 4


@dataclass(frozen=True)
class Measured:
    """A layer, and what was measured.

    Args:
        layer: with its padding as input words.
        schema: the smallest whose mappings fit.
        processing_ms: without loading.
        buffer_mb: accesses of the buffer.
        offchip_mb: to and from main memory, after compression.
        active_pes: at work.
        zeros: share of the inputs.
    """

    layer: Layer
    schema: str
    processing_ms: float
    buffer_mb: float
    offchip_mb: float
    active_pes: int
    zeros: float


def _layer(name: str, groups: int, channels: tuple[int, int], rows: int, window: int) -> Layer:
    inputs, outputs = (each // groups for each in channels)
    extents = {"N": BATCH, "K": outputs, "C": inputs, "Y": rows, "X": rows}
    extents |= {"R": window, "S": window} | ({"G": groups} if groups > 1 else {})
    stride = (4, 4) if name == "CONV1" else (1, 1)
    return Layer("NGCONV" if groups > 1 else "CONV", extents, stride, name)


MEASURED = (
    Measured(_layer("CONV1", 1, (3, 96), 227, 11), "full17", 16.5, 18.5, 5.0, 154, 0.0001),
    Measured(_layer("CONV2", 2, (96, 256), 31, 5), "legal13", 39.2, 77.6, 4.0, 135, 0.387),
    Measured(_layer("CONV3", 1, (256, 384), 15, 3), "legal13", 21.8, 50.2, 3.0, 156, 0.725),
    Measured(_layer("CONV4", 2, (384, 384), 15, 3), "legal13", 16.0, 37.4, 2.1, 156, 0.793),
    Measured(_layer("CONV5", 2, (384, 256), 15, 3), "legal13", 10.0, 24.9, 1.3, 156, 0.776),
)
"""The convolutions of AlexNet with two groups, as Eyeriss ran them."""

_COLUMNS = (
    *("active PEs", "peak ms", "model ms", "gap", "measured ms", "ratio"),
    *("least MB", "model MB", "gap ", "measured MB", "ratio "),
)


def compare(nodes: int) -> None:
    """Search for the optima in so many boxes of mappings, and print."""
    rows = [(each.layer.name, *_compare(each, nodes)) for each in MEASURED]
    Table("AlexNet on Eyeriss, two buffers, optimum of exact", ("layer",), _COLUMNS, rows).print()


def _compare(measured: Measured, nodes: int) -> tuple[str, ...]:
    hardware = find_hardware("eyeriss")
    layer = measured.layer
    problem = Problem(MapSpace(layer, hardware, measured.schema))
    assert hardware.clock_mhz is not None
    fastest, time_gap = _optimum(problem, "latency", nodes)
    leanest, energy_gap = _optimum(problem, "energy", nodes)
    a_ms = hardware.clock_mhz * 1000
    took = fastest.latency_cycles / a_ms
    assert leanest.offchip_read_words is not None
    assert leanest.offchip_write_words is not None
    moved = leanest.offchip_read_words + leanest.offchip_write_words
    words = layer.input_words + layer.filter_words + layer.output_words
    least, megabytes = (each * hardware.word_bytes / 1e6 for each in (words, moved))
    return (
        str(measured.active_pes),
        *(f"{layer.macs / hardware.num_pes / a_ms:.1f}", f"{took:.1f}", f"{time_gap:.0%}"),
        *(f"{measured.processing_ms:.1f}", f"{measured.processing_ms / took:.2f}"),
        *(f"{least:.1f}", f"{megabytes:.1f}", f"{energy_gap:.0%}"),
        *(f"{measured.offchip_mb:.1f}", f"{measured.offchip_mb / megabytes:.2f}"),
    )


def _optimum(problem: Problem, name: str, nodes: int) -> tuple[Cost, float]:
    """Return the cost of the best mapping found, and how far it may be from the optimum."""
    objective = find_objective(name)
    search = OptimumSearch(problem, objective)
    while not search.finished and search.nodes < nodes:
        points = search.ask()
        search.tell(points, problem.score(points, objective)[0])
    if search.best_point is None:
        raise UsageError(f"--nodes {nodes}: too few to find a mapping; give more")
    cost, _ = problem.evaluate_mapping(problem.space.decode(search.best_point))
    assert cost is not None
    return cost, search.best / search.bound - 1
