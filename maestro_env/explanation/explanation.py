"""All that is to be said about a valid mapping."""

from __future__ import annotations

from dataclasses import dataclass

from maestro_env.base.errors import MapSpaceError
from maestro_env.evaluation.cost import Cost
from maestro_env.evaluation.objectives import OBJECTIVES, Objective, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.explanation.bottleneck import Bottleneck, find_bottleneck
from maestro_env.explanation.buffers import Buffers, fill_buffers
from maestro_env.explanation.costs import cost_of
from maestro_env.explanation.cycles import Cycles, StepTimes, count_cycles, time_steps
from maestro_env.explanation.dataflows import Dataflow, textbook_dataflows
from maestro_env.explanation.neighbours import Neighbour, find_neighbours
from maestro_env.explanation.reuse import Stage, count_reuse
from maestro_env.explanation.text import text_of
from maestro_env.explanation.traffic import Energy, Traffic, count_energy, count_traffic
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
    """Explain why a valid mapping costs what it does; ``Problem.explain`` says why one is invalid.

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
