"""All that is to be said about a valid mapping, and its text: one section a question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from maestro_env.base.errors import MapSpaceError, printable
from maestro_env.evaluation.cost_and_status import Cost
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation.bottleneck import (
    PARTS,
    Bottleneck,
    Cycles,
    Delay,
    StepTimes,
    cost_of,
    count_cycles,
    find_bottleneck,
    time_steps,
)
from maestro_env.explanation.dataflows import Dataflow, textbook_dataflows
from maestro_env.explanation.neighbours import Neighbour, find_neighbours
from maestro_env.explanation.text import (
    bound_lines,
    cycle_lines,
    energy_lines,
    neighbour_lines,
    reuse_lines,
    table,
)
from maestro_env.explanation.traffic import (
    Buffer,
    Buffers,
    Energy,
    Stage,
    Traffic,
    count_energy,
    count_reuse,
    count_traffic,
    fill_buffers,
)
from maestro_env.mapspace.mapping import Mapping


@dataclass(frozen=True)
class Explanation:
    """Why a valid mapping costs what it does; ``print(explanation)`` shows it.

    Args:
        problem: the layer and the accelerator.
        mapping: what is explained.
        objective: by which neighbours and dataflows are judged.
        cost: of the mapping.
        bottleneck: what bounds its latency.
        cycles: where they go.
        steps: what a step of L2 takes.
        traffic: accesses of each memory.
        energy: of the accesses.
        reuse: accesses avoided, by tensor.
        buffers: how full they are.
        neighbours: mappings that differ in one parameter; none if ``no_neighbours``.
        no_neighbours: why the mapping has no neighbours; empty if it has.
        dataflows: of the textbooks, on the same layer and accelerator.
    """

    problem: Problem
    mapping: Mapping
    objective: Objective
    cost: Cost
    bottleneck: Bottleneck
    cycles: Cycles
    steps: StepTimes
    traffic: Traffic
    energy: Energy
    reuse: dict[str, tuple[Stage, ...]]
    buffers: Buffers
    neighbours: tuple[Neighbour, ...]
    no_neighbours: str
    dataflows: tuple[Dataflow, ...]

    def __str__(self) -> str:
        return text_of(self)


def explain_mapping(
    problem: Problem, mapping: Mapping, objective: str | Objective = "edp"
) -> Explanation:
    """Explain why a valid mapping costs what it does; ``Problem.explain`` explains an invalid one.

    Args:
        problem: of the model ``exact``; ``maestro`` has no figures that add up to its totals.
        mapping: any, from the problem's space or not.
        objective: an ``Objective``, or text for ``find_objective``: by which neighbours and
            dataflows are judged.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        UnknownNameError: no such objective.
        ModelError: a problem of another model.
        MappingError: an invalid mapping.
    """
    found = find_objective(objective)
    cost, hardware = cost_of(problem, mapping), problem.hardware
    neighbours: tuple[Neighbour, ...] = ()
    no_neighbours = ""
    try:
        judged = {**OBJECTIVES, found.name: found}.values()
        neighbours = find_neighbours(problem, mapping, judged)
    except MapSpaceError as error:
        no_neighbours = str(error)
    return Explanation(
        problem=problem,
        mapping=mapping,
        objective=found,
        cost=cost,
        bottleneck=find_bottleneck(problem, mapping),
        cycles=count_cycles(problem, mapping),
        steps=time_steps(cost),
        traffic=count_traffic(cost),
        energy=count_energy(cost, hardware),
        reuse=count_reuse(cost),
        buffers=fill_buffers(cost, hardware),
        neighbours=neighbours,
        no_neighbours=no_neighbours,
        dataflows=textbook_dataflows(problem, found),
    )


def text_of(explanation: Explanation) -> str:
    """Return an explanation as lines of text: sections with a blank line between them."""
    sections = (
        _heading(explanation),
        str(explanation.mapping).splitlines(),
        bound_lines(explanation.bottleneck),
        _cycles(explanation),
        _steps(explanation),
        energy_lines(explanation.energy),
        reuse_lines(explanation.reuse, "main memory"),
        _buffers(explanation),
        neighbour_lines(
            explanation.neighbours, explanation.objective.name, explanation.no_neighbours
        ),
        _dataflows(explanation),
    )
    return "\n\n".join("\n".join(map(printable, section)) for section in sections)


def _heading(explanation: Explanation) -> Iterator[str]:
    problem, cost = explanation.problem, explanation.cost
    layer = problem.layer
    yield (
        f"{layer} ({layer.operator} {layer.dimensions}) on {problem.hardware.name or 'hardware'}, "
        f"model {problem.model}"
    )
    yield (
        f"{cost.latency_cycles:,.0f} cycles, {cost.energy_nj:,.6g} nJ, "
        f"{cost.area_um2:,.6g} um^2, "
        f"{explanation.cycles.utilization:.1%} of the peak throughput"
    )


def _cycles(explanation: Explanation) -> Iterator[str]:
    cycles = explanation.cycles
    yield from cycle_lines(cycles.parts, PARTS)
    yield (
        f"  {cycles.time_busy:.1%} of the time computes, with {cycles.pes_busy:.1%} of the PEs and "
        f"{cycles.lanes_busy:.1%} of what such a PE can do in a cycle"
    )


def _steps(explanation: Explanation) -> Iterator[str]:
    steps = explanation.steps
    yield f"A step of L2 (of {steps.steps:,}), in cycles; the slowest sets its time"
    delays = {"words come in": steps.ingress, "computation": steps.compute}
    delays["outputs go out"] = steps.egress
    yield from table([("", "least", "mean", "most"), *(_delay(*each) for each in delays.items())])


def _delay(name: str, delay: Delay) -> tuple[str, ...]:
    return name, f"{delay.least:,.0f}", f"{delay.mean:,.1f}", f"{delay.most:,.0f}"


def _buffers(explanation: Explanation) -> Iterator[str]:
    buffers = explanation.buffers
    yield "Buffers"
    shared = f"{buffers.cluster_bytes:,.0f} B of it for the cluster buffers"
    kept = f"keeps {', '.join(buffers.resident)} whole" if buffers.resident else "keeps no tensor"
    enough = "no word is fetched twice"
    if buffers.hold_bytes > buffers.l2.used_bytes:
        enough = f"with {buffers.hold_bytes:,.0f} B {enough}"
    rows = [
        (*_buffer("L1 of a PE", buffers.l1), shared if buffers.cluster_bytes else ""),
        (*_buffer("L2", buffers.l2), f"{kept}; {enough}"),
    ]
    yield from table(rows, left=(0, 3))


def _buffer(name: str, buffer: Buffer) -> tuple[str, str, str]:
    return (
        name,
        f"{buffer.used_bytes:,.0f} of {buffer.capacity_bytes:,} B",
        f"{buffer.filled:.1%}",
    )


def _dataflows(explanation: Explanation) -> Iterator[str]:
    objective = explanation.objective
    yield f"Textbook dataflows, sized for {objective.name}"
    here = objective.of(explanation.cost.figures())

    def row(name: str, cost: Cost | None, fits: str = "-") -> tuple[str, ...]:
        if cost is None:
            return name, fits, "-", "-"
        ratio = objective.of(cost.figures()) / here
        return name, f"{cost.latency_cycles:,.0f}", f"{cost.energy_nj:,.6g}", f"{ratio:.3f}"

    rows = [row("this mapping", explanation.cost)]
    rows += [
        row(each.name, each.cost, "none fits" if each.expressible else "-")
        for each in explanation.dataflows
    ]
    header = ("", "cycles", "nJ", f"{objective.name} / this mapping's")
    yield from table([header, *rows])
    for dataflow in explanation.dataflows:
        yield f"  {dataflow.name}: {dataflow.how}"
