"""Eyeriss' measurements of AlexNet, beside its own mappings and the optimum of the model ``exact``.

They are Table V of Chen et al., JSSC 2017: batch of 4, 1 V, 200 MHz. The figures are those of
yonseicasl/NPUsim at 2a371fd, ``validation/phase3/traffic_reference.py``; times and active PEs also
of stanford-mast/nn_dataflow at 06c1092, ``nn_dataflow/tests/dataflow_test/test_nn_dataflow.py``.
The model ``hierarchy`` has the chip's own mappings.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import cache

import numpy as np

from maestro_env.accelerators.elements import TENSORS, FanoutElement
from maestro_env.accelerators.finding import find_hardware, find_hierarchy
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.validation.agreement import print_models
from maestro_env.experiments.shell.flags import UsageError
from maestro_env.experiments.shown.tables import Table
from maestro_env.hierarchy.bounds import lower_bound
from maestro_env.hierarchy.evaluation import HierarchyCost, HierarchyEvaluator, NestMapping
from maestro_env.mapspace.two_level_space import MapSpace
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


@cache
def chip() -> Hierarchy:
    """Return the accelerator; its file is read only when it is needed."""
    return find_hierarchy("eyeriss")


@dataclass(frozen=True)
class RowStationary:
    """A mapping that keeps rows of filters in PEs, by the parameters of Chen et al., JSSC 2017.

    A PE set is one PE for each row of a filter and of outputs. The array computes a pass at a
    time: p t filters and q r channels, for e rows of outputs of n images.

    Args:
        m: filters whose partial sums are in the buffer.
        n: images of a pass.
        e: rows of outputs of a PE set; more than the array has columns stand in several strips.
        p: filters of a PE set.
        q: channels of a PE set.
        r: PE sets with other channels.
        t: PE sets with other filters.
    """

    m: int
    n: int
    e: int
    p: int
    q: int
    r: int
    t: int

    def mapping(self, filter_rows: int) -> NestMapping:
        """Return the loops of each element of the accelerator.

        Inputs in the buffer serve all m filters, whose sums stay there until they have met all
        channels; so filters are the innermost loop over passes, then channels.
        """
        array = [each.size for each in chip().elements if isinstance(each, FanoutElement)]
        height, width = (size or 0 for size in array)
        passes = [("G", 1), ("K", self.m), ("N", self.n), ("P", self.e), ("C", self.q * self.r)]
        rows, columns = [("P", width), ("C", self.q), ("R", 1)], [("P", 1)]
        # PE sets stand one above the other, or else side by side.
        (rows if self.t * filter_rows <= height else columns).append(("K", self.p))
        return [passes, [("K", self.p * self.t)], [("N", 1), ("Q", 1)], rows, columns, [], [], []]


MAPPINGS = (
    RowStationary(m=96, n=1, e=7, p=16, q=1, r=1, t=2),
    RowStationary(m=64, n=1, e=27, p=16, q=2, r=1, t=1),
    RowStationary(m=64, n=4, e=13, p=16, q=4, r=1, t=4),
    RowStationary(m=64, n=4, e=13, p=16, q=3, r=2, t=2),
    RowStationary(m=64, n=4, e=13, p=16, q=3, r=2, t=2),
)
"""Of the layers of ``MEASURED``, from yonseicasl/NPUsim at 2748be9:
``configs/mappings/eyeriss_paper/alexnet/energy.map``."""


_SHOWN = (
    *("compute ms", "model ms", "measured ms", "ratio"),
    *("buffer MB", "without fills", "measured MB", "ratio "),
    *("DRAM MB", "compressed", "measured MB ", "ratio  "),
)


def compare_own_mappings() -> None:
    """Predict all layers with the paper's mappings, and print."""
    # CONV3 also with the mapping of CONV4, which its measured buffer accesses speak for.
    runs = [*zip(MEASURED, MAPPINGS, strict=True), (MEASURED[2], MAPPINGS[3])]
    rows = [_own(*run) for run in runs]
    title = "AlexNet on Eyeriss, its own mappings by hierarchy"
    Table(title, ("layer", "m n e p q r t"), _SHOWN, rows).print()
    layers = [each.layer for each in MEASURED]
    milliseconds = np.array([each.processing_ms for each in MEASURED])
    models = {
        "least of any mapping": [lower_bound(each, chip()).latency_cycles for each in layers],
        "hierarchy": [predict(*run).latency_cycles for run in runs[: len(MEASURED)]],
    }
    a_ms = 1000 * (chip().clock_mhz or 0)
    print_models(
        f"{len(MEASURED)} layers on Eyeriss, nothing fitted",
        milliseconds,
        {name: np.array(cycles) / a_ms for name, cycles in models.items()},
    )


def _own(measured: Measured, parameters: RowStationary) -> tuple[str, ...]:
    cost = predict(measured, parameters)
    clock = chip().clock_mhz
    assert clock is not None
    a_ms = clock * 1000
    compute, took = cost.compute_cycles / a_ms, cost.latency_cycles / a_ms
    megabytes = {key: words * chip().word_bits / 8e6 for key, words in cost.accesses.items()}
    fills = megabytes["DRAM", "input"]
    buffer = megabytes["glb", "input"] + megabytes["glb", "output"]
    moved = sum(megabytes["DRAM", tensor] for tensor in TENSORS)
    compressed = moved - sum(
        megabytes["DRAM", tensor] * _saved(zeros)
        for tensor, zeros in (("input", measured.zeros), ("output", _following(measured).zeros))
    )
    return (
        *(measured.layer.name, " ".join(map(str, astuple(parameters)))),
        *(f"{compute:.1f}", f"{took:.1f}"),
        *(f"{measured.processing_ms:.1f}", f"{measured.processing_ms / took:.2f}"),
        *(f"{buffer:.1f}", f"{buffer - fills:.1f}"),
        *(f"{measured.buffer_mb:.1f}", f"{measured.buffer_mb / buffer:.2f}"),
        *(f"{moved:.1f}", f"{compressed:.1f}"),
        *(f"{measured.offchip_mb:.1f}", f"{measured.offchip_mb / compressed:.2f}"),
    )


def predict(measured: Measured, parameters: RowStationary) -> HierarchyCost:
    """Return what a mapping of a layer costs on the chip."""
    mapping = parameters.mapping(measured.layer.extents["R"])
    cost, status = HierarchyEvaluator(measured.layer, chip()).evaluate(mapping)
    assert cost is not None, status
    return cost


def _saved(zeros: float) -> float:
    """Return the share of bits that compression saves: 64 hold three words other than 0."""
    return max(0.0, 1 - (1 - zeros) * 64 / 48)


def _following(measured: Measured) -> Measured:
    """Return the layer whose inputs are a layer's outputs, pooled or not; the last one itself."""
    return MEASURED[min(MEASURED.index(measured) + 1, len(MEASURED) - 1)]
