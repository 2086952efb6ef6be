"""Variants of good mappings have the bits, and draw the random numbers, of formulas in Python."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from map_space_helpers import spaces

from maestro_env.mapspace.space import Parameter, count_up_to, tile_name
from maestro_env.mapspace.two_level_space import LEVELS, MapSpace
from maestro_env.prior.proposals import Variants


class Formulas:
    """One change after the other of a list of choices."""

    def __init__(self, space: MapSpace, rng: np.random.Generator) -> None:
        self.space, self.rng = space, rng
        self.sizes = [i for i, each in enumerate(space.parameters) if each.is_size]
        turns = min(space.parameter(f"{level}_parallel").choices for level in LEVELS) > 1
        kinds = [*[self.trade] * 3, *[self.recut] * 3, self.scale, self.reorder]
        self.kinds = [*kinds, *[self.turn] * turns]

    def octaves(self) -> float:
        return float(2 ** self.rng.uniform(-5, 0) * self.rng.choice((-1, 1)))

    def one_of(self, ending: str) -> tuple[int, Parameter]:
        column = self.rng.choice([self.space.columns[f"{level}_{ending}"] for level in LEVELS])
        return int(column), self.space.parameters[column]

    def scale(self, vector: list[int]) -> None:
        self.resize(vector, int(self.rng.choice(self.sizes)), self.octaves())

    def trade(self, vector: list[int]) -> None:
        octaves = self.octaves()
        for column in self.rng.permutation(self.sizes)[:2]:
            self.resize(vector, int(column), octaves)
            octaves *= self.rng.choice((-1, 1))

    def resize(self, vector: list[int], column: int, octaves: float) -> None:
        parameter, choice = self.space.parameters[column], vector[column]
        scaled = up_to(parameter, round(int(parameter.values[choice]) * 2**octaves))
        moved = max(scaled, choice + 1) if octaves > 0 else min(scaled, choice - 1)
        vector[column] = min(max(moved, 0), parameter.choices - 1)

    def recut(self, vector: list[int]) -> None:
        column = int(self.rng.choice(self.sizes))
        parameter, whole = self.space.parameters[column], self.whole_of(vector, column)
        size = min(int(parameter.values[vector[column]]), whole)
        pieces = -(-whole // size) + int(self.rng.choice((-2, -1, 0, 0, 1, 2)))
        vector[column] = up_to(parameter, -(-whole // min(max(pieces, 1), whole)))

    def whole_of(self, vector: list[int], column: int) -> int:
        space, name = self.space, self.space.parameters[column].name
        if name == "cluster_size":
            return space.hardware.num_pes
        (dim,) = (dim for dim in space.extents if tile_name(name[:2], dim) == name)
        outer = space.tile("l2", dim)
        if name.startswith("l2") or isinstance(outer, int):
            return space.extents[dim]
        return int(outer.values[vector[space.columns[outer.name]]])

    def reorder(self, vector: list[int]) -> None:
        column, _ = self.one_of("order")
        orders = list(permutations(range(len(self.space.extents))))
        order = list(orders[vector[column]])
        to, place = self.rng.integers(len(order)), self.rng.integers(len(order))
        order.insert(to, order.pop(place))
        vector[column] = orders.index(tuple(order))

    def turn(self, vector: list[int]) -> None:
        column, parameter = self.one_of("parallel")
        by = int(self.rng.integers(1, parameter.choices))
        vector[column] = (vector[column] + by) % parameter.choices


def up_to(parameter: Parameter, size: int) -> int:
    return max(int(count_up_to(parameter, np.array(size))) - 1, 0)


@given(spaces(), st.integers(1, 4), st.integers(0, 2**32))
def test_variants_are_those_of_the_formulas(space: MapSpace, count: int, seed: int) -> None:
    rng, other = np.random.default_rng(seed), np.random.default_rng(seed)
    best, formulas = space.sample(count, np.random.default_rng(0)), Formulas(space, other)
    if not formulas.sizes:
        return
    drawn = Variants(space).draw(best, 12, rng)
    ranks = other.integers(count, size=(2, 12)).min(axis=0)
    expected = [best[rank].tolist() for rank in ranks]
    for vector, kind in zip(expected, other.integers(len(formulas.kinds), size=12), strict=True):
        formulas.kinds[kind](vector)
    assert drawn.tolist() == expected
    assert rng.bit_generator.state == other.bit_generator.state
