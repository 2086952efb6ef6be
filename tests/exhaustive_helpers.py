"""What the tests of enumerations share: restrictions, and what is true of them by brute force."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from hypothesis import strategies as st
from map_space_helpers import layers, machines

from experiments.exhaustive.config import ExhaustiveConfig, Task
from experiments.exhaustive.enumeration import Enumeration
from experiments.exhaustive.frame_bound import frame_bound
from experiments.exhaustive.restriction import Choices
from experiments.goals import Goal
from maestro_env.cost import Cost
from maestro_env.map_space import TILES, MapSpace
from maestro_env.mapping import Mapping
from maestro_env.models import MODELS, find_model
from maestro_env.objectives import OBJECTIVES
from maestro_env.problem import Problem

MOST_VECTORS = 400


@dataclass(frozen=True)
class Truth:
    """What evaluating every mapping, one at a time, says of an objective."""

    mappings: int
    valid: int
    best: float
    optimal: frozenset[Mapping]


@dataclass(frozen=True)
class Case:
    """A restricted space."""

    problem: Problem
    choices: tuple[Choices, ...]

    def task(self, objective: str, prune: bool = False, threads: int = 1) -> Task:
        found = OBJECTIVES[objective]
        assert found.bound is not None
        goal = Goal(self.problem, found, found.bound(self.problem.layer, self.problem.hardware))
        still = find_model(self.problem.model).ignores_still_loops
        enumeration = Enumeration(self.problem.space, self.choices, still)
        bound = frame_bound(goal) if prune else None
        return Task(ExhaustiveConfig(threads=threads), goal, enumeration, bound, 0)

    @cached_property
    def costs(self) -> dict[Mapping, Cost | None]:
        """Costs of all mappings, None of invalid ones."""
        space = self.problem.space
        vectors = product(*self.choices)
        mappings = {space.decode(np.array(vector, dtype=np.int32)) for vector in vectors}
        found = {mapping: self.problem.evaluate_mapping(mapping) for mapping in mappings}
        return {each: cost if status == "ok" else None for each, (cost, status) in found.items()}

    def truth(self, objective: str) -> Truth:
        values = {
            mapping: OBJECTIVES[objective].of(cost.figures())
            for mapping, cost in self.costs.items()
            if cost is not None
        }
        best = min(values.values(), default=math.inf)
        optimal = frozenset(mapping for mapping, value in values.items() if value == best)
        return Truth(len(self.costs), len(values), best, optimal)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    model = draw(st.sampled_from(list(MODELS)))
    schema = draw(st.sampled_from(["legal13", "paper10", "full17"]))
    layer, machine = draw(layers()), draw(machines)
    space = MapSpace(layer, machine, schema, draw(st.sampled_from(TILES)))
    if space.cuts_windows and not find_model(model).cuts_windows:
        space = MapSpace(layer, machine, "legal13", space.tiles)
    left: dict[int, Choices] = {}
    for column in draw(st.permutations(range(len(space.parameters)))):
        choices = space.parameters[column].choices
        room = min(MOST_VECTORS // math.prod(map(len, left.values())), choices, 12)
        some = st.sets(st.integers(0, choices - 1), min_size=1, max_size=max(room, 1))
        left[column] = sorted(draw(some))
    return Case(Problem(space, model), tuple(left[column] for column in sorted(left)))
