"""``maestro-env validation``: compare published measurements with the optimum of the model."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.commands.validation.eyeriss import MEASURED, Measured
from experiments.shell.flags import UsageError, option
from experiments.shown.tables import Sheet
from maestro_env.accelerators.chips import CHIPS
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.objectives import find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import MapSpace
from maestro_env.optimum.search import OptimumSearch


@dataclass(frozen=True)
class Config:
    """Compare Eyeriss' measurements of AlexNet with the lowest latency and energy of the model."""

    nodes: int = option(300_000, "most boxes of mappings per optimum")


_COLUMNS = (
    *("active PEs", "peak ms", "model ms", "gap", "measured ms", "ratio"),
    *("least MB", "model MB", "gap ", "measured MB", "ratio "),
)


def execute(config: Config) -> int:
    """Search, print, and return the exit status."""
    rows = [(each.layer.name, *_compare(each, config.nodes)) for each in MEASURED]
    Sheet("AlexNet on Eyeriss, batch of 4", ("layer",), _COLUMNS, rows).print()
    return 0


def _compare(measured: Measured, nodes: int) -> tuple[str, ...]:
    hardware = CHIPS["eyeriss"].hardware
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
