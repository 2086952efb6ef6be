"""What the tests of enumerations share: restrictions, and what is true of them by brute force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from hypothesis import strategies as st
from map_space_helpers import layers, machines

from experiments.exhaustive.enumeration import Enumeration, Vectors
from experiments.exhaustive.restriction import Choices
from maestro_env.map_space import TILES, MapSpace
from maestro_env.mapping import Mapping
from maestro_env.models import MODELS, find_model
from maestro_env.objectives import OBJECTIVES, Objective
from maestro_env.problem import Problem

MOST_VECTORS = 1200


@dataclass(frozen=True)
class Case:
    """A restricted space, and what is minimised over it."""

    problem: Problem
    objective: Objective
    choices: tuple[Choices, ...]

    def enumeration(self) -> Enumeration:
        still = find_model(self.problem.model).ignores_still_loops
        return Enumeration(self.problem.space, self.choices, still)


@dataclass(frozen=True)
class Truth:
    """What evaluating every mapping, one at a time, says."""

    mappings: int
    valid: int
    values: frozenset[float]
    optimal: frozenset[Mapping]

    @property
    def best(self) -> float:
        return min(self.values, default=math.inf)


def restricted_to(
    draw: st.DrawFn, space: MapSpace, most: int = MOST_VECTORS
) -> tuple[Choices, ...]:
    """Draw some choices of every parameter, few enough for brute force."""
    left: dict[int, Choices] = {}
    for column in draw(st.permutations(range(len(space.parameters)))):
        choices = space.parameters[column].choices
        room = min(most // math.prod(map(len, left.values())), choices, 12)
        some = st.sets(st.integers(0, choices - 1), min_size=1, max_size=max(room, 1))
        left[column] = sorted(draw(some))
    return tuple(left[column] for column in range(len(space.parameters)))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    model = draw(st.sampled_from(list(MODELS)))
    schema = draw(st.sampled_from(["legal13", "paper10", "full17"]))
    layer, machine = draw(layers()), draw(machines)
    space = MapSpace(layer, machine, schema, draw(st.sampled_from(TILES)))
    if space.cuts_windows and not find_model(model).cuts_windows:
        space = MapSpace(layer, machine, "legal13", space.tiles)
    objective = OBJECTIVES[draw(st.sampled_from(list(OBJECTIVES)))]
    return Case(Problem(space, model), objective, restricted_to(draw, space))


def brute_force(case: Case) -> Truth:
    space = case.problem.space
    vectors = product(*case.choices)
    mappings = {space.decode(np.array(vector, dtype=np.int32)) for vector in vectors}
    values = {}
    for mapping in mappings:
        cost, status = case.problem.evaluate_mapping(mapping)
        if status == "ok":
            assert cost is not None
            values[mapping] = case.objective.of(cost.figures())
    best = min(values.values(), default=math.inf)
    optimal = frozenset(mapping for mapping, value in values.items() if value == best)
    return Truth(len(mappings), len(values), frozenset(values.values()), optimal)


def batches(enumeration: Enumeration) -> Sequence[Vectors]:
    units = (enumeration.unit(index) for index in range(enumeration.units))
    return [batch for frames in units for batch in enumeration.batches(frames)]
