"""The nearest other mappings: what the change of one parameter costs or saves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.cost_and_status import OK, STATUSES
from maestro_env.evaluation.objectives import OBJECTIVES, Objective
from maestro_env.mapspace.space import Parameter, Points, Space, lehmer_rank

# A smaller relative change is one of rounding.
_ROUNDING = 1e-12

_Change = tuple[int, int, str]
"""The column of a parameter, a choice of it, and what that choice is called."""


@dataclass(frozen=True)
class Neighbour:
    """A mapping that differs in one parameter.

    Args:
        parameter: a name of ``MapSpace.parameters``.
        before: its value in the mapping; of an order, the loops from the outermost to the
            innermost.
        after: its value in the neighbour.
        point: the vector of the neighbour, int32[D].
        status: of the neighbour, one of ``STATUSES``.
        changes: relative change of every objective by name, as in -0.03 for 3 % less; of a
            neighbour that exceeds a buffer, what it would be if there were room.
        over: bytes that are missing, by memory; ``L1`` is that of a PE.
    """

    parameter: str
    before: str
    after: str
    point: Points
    status: str
    changes: dict[str, float]
    over: dict[str, int]

    @property
    def valid(self) -> bool:
        """Whether the neighbour is a valid mapping."""
        return self.status == STATUSES[OK]


def find_neighbours(
    problem: AnyProblem, mapping: Any, objectives: Iterable[Objective] = tuple(OBJECTIVES.values())
) -> tuple[Neighbour, ...]:
    """Return the mappings that differ in one parameter from a valid one.

    A size becomes the next smaller and larger one, half, double, a quarter and so on to its ends. A
    parallel loop becomes any other, an order of loops all those in which one has moved. What is the
    same mapping again, or an objective that the model does not compute, is left out.

    Raises:
        MapSpaceError: no schema has such a mapping, neither that of the problem nor another.
    """
    problem = problem.holding(mapping)
    space = problem.space
    point = space.encode(mapping)
    orders = _orders(space, point)
    changes = [
        (column, *change)
        for column, parameter in enumerate(space.parameters)
        for change in _choices(parameter, int(point[column]), orders.get(parameter.name, []), space)
    ]
    points = np.tile(point, (len(changes) + 1, 1))
    for row, (column, choice, _) in enumerate(changes, start=1):
        points[row, column] = choice
    _, firsts = np.unique(space.identities(points), return_index=True)
    kept = sorted(set(firsts.tolist()) - {0})
    made = [changes[row - 1] for row in kept]
    computed = [each for each in objectives if problem.figures.issuperset(each.factors)]
    return tuple(_evaluated(problem, orders, computed, points[[0, *kept]], made))


def better(neighbours: Iterable[Neighbour], objective: str) -> list[Neighbour]:
    """Return the valid neighbours that improve an objective, the best one of each parameter.

    The one that saves most comes first.
    """
    return _first_of_each(neighbours, objective, valid=True)


def better_with_room(neighbours: Iterable[Neighbour], objective: str) -> list[Neighbour]:
    """Return the neighbours that would improve an objective if the buffers were larger.

    Of each parameter it is the one that lacks the fewest bytes; they are in the order of these.
    """
    return _first_of_each(neighbours, objective, valid=False)


def _first_of_each(neighbours: Iterable[Neighbour], objective: str, valid: bool) -> list[Neighbour]:
    def order(each: Neighbour) -> tuple[int, float]:
        return sum(each.over.values()), each.changes[objective]

    improving = (each for each in neighbours if each.changes[objective] < -_ROUNDING)
    found: dict[str, Neighbour] = {}
    for each in sorted((each for each in improving if each.valid == valid), key=order):
        found.setdefault(each.parameter, each)
    return list(found.values())


def _orders(space: Space, point: Points) -> dict[str, list[str]]:
    """Return the dimensions of the loops of each level or memory, outermost first.

    They are by the name of the parameter. Loops that cut nothing are last.
    """
    found = {}
    for name, dims in space.loops(space.decode(point)).items():
        ordered = space.ordered(f"{name}_order")
        cutting = [dim for dim in dims if dim in ordered]
        found[f"{name}_order"] = [*cutting, *(dim for dim in ordered if dim not in cutting)]
    return found


def _choices(
    parameter: Parameter, choice: int, order: list[str], space: Space
) -> Iterator[tuple[int, str]]:
    """Yield other choices of a parameter, and what they are called."""
    if parameter.kind == "order":
        names = space.ordered(parameter.name)
        for dim in order:
            others = [each for each in order if each != dim]
            for place in range(len(order)):
                moved = [*others[:place], dim, *others[place:]]
                yield lehmer_rank([names.index(each) for each in moved]), " ".join(moved)
        return
    values = parameter.values
    tried: Iterable[int] = range(len(values))
    if parameter.is_size:
        near = {choice - 1, choice + 1, *_scaled(parameter, choice)}
        tried = sorted(each for each in near if 0 <= each < len(values))
    for each in tried:
        yield each, str(values[each])


def _scaled(parameter: Parameter, choice: int) -> list[int]:
    """Return the choices of the half, the double and so on, or, of divisors, the next above."""
    sizes = np.array(parameter.values)
    size, largest = int(sizes[choice]), int(sizes[-1])
    halves = [size >> power for power in range(1, size.bit_length())]
    doubles = [size << power for power in range(1, (largest // size).bit_length())]
    found: list[int] = np.searchsorted(sizes, [*halves, *doubles, largest]).tolist()
    return found


def _evaluated(
    problem: AnyProblem,
    orders: dict[str, list[str]],
    objectives: Iterable[Objective],
    points: Points,
    changes: list[_Change],
) -> Iterator[Neighbour]:
    """Yield the neighbours of the first of int32[N + 1, D] vectors, which N changes made."""
    rows, parameters = problem.evaluate(points), problem.space.parameters
    values = {each.name: each.function(rows.metrics) for each in objectives}
    for row, (column, _, after) in enumerate(changes, start=1):
        parameter = parameters[column]
        before = str(parameter.values[int(points[0, column])])
        if parameter.kind == "order":
            before = " ".join(orders[parameter.name])
        yield Neighbour(
            parameter.name,
            before,
            after,
            points[row],
            STATUSES[rows.status[row]],
            {name: float(value[row] / value[0]) - 1 for name, value in values.items()},
            problem.missing_bytes(points[row], rows.metrics[row]),
        )
