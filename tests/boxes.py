"""Tries to get below the bounds of boxes of mappings (docs/optimum.md): random boxes around them.

python tests/boxes.py [MAPPINGS [LAYERS]] takes at least so many valid mappings of at least so many
layers, each on a machine of its own, and prints how near to the bounds they came.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from random import Random

import numpy as np
from bounds import random_layer, random_machine
from technology_helpers import random_technology

from maestro_env import _native
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.evaluation.status import OK
from maestro_env.mapspace.space import SCHEMAS, TILES, MapSpace, Points

Range = tuple[int, int]
_ANY = -2


def random_problem(rng: Random) -> Problem:
    """Return a problem under exact; its layer may be one that exact does not compute."""
    layer, machine = random_layer(rng), random_machine(rng)
    if rng.random() < 0.5:
        machine = replace(machine, technology=random_technology(rng))
    return Problem(MapSpace(layer, machine, rng.choice(list(SCHEMAS)), rng.choice(TILES)))


def random_points(space: MapSpace, count: int, draws: np.random.Generator) -> Points:
    """Draw vectors, many of whose sizes are small."""
    points = space.sample(count, draws)
    small = (space.sizes ** draws.random(points.shape)).astype(np.int32) - 1
    of_size = np.array([parameter.is_size for parameter in space.parameters])
    return np.where(of_size & (draws.random(points.shape) < 0.6), small, points)


def innermost(problem: Problem, point: Points) -> tuple[int, int]:
    """Return the loops that move innermost in the layer and in the largest box, by definition."""
    mapping = problem.space.decode(point)
    loops = mapping.levels
    clusters = problem.hardware.num_pes // (loops[1].cluster_size or 1)
    extents, dims = dict(problem.space.extents), list(problem.space.extents)
    found = []
    for level, units in zip(loops, (clusters, loops[1].cluster_size or 1), strict=True):
        moving = -1
        for loop in level.loops:
            group = loop.size * (units if loop.spatial else 1)
            if extents[loop.dim] > group:
                moving = dims.index(loop.dim)
        found.append(moving)
        extents = {loop.dim: min(loop.size, extents[loop.dim]) for loop in level.loops}
    return found[0], found[1]


class Boxes:
    """The bounds of a problem's boxes, for every objective."""

    def __init__(self, problem: Problem) -> None:
        self._problem, self.space = problem, problem.space
        layer, hardware = problem.layer.native, problem.hardware.native
        self._searches = {
            name: _native.OptimumSearch(layer, hardware, problem.space.native, each.columns)
            for name, each in OBJECTIVES.items()
        }
        self._columns = {each.name: i for i, each in enumerate(self.space.parameters)}

    def around(self, point: Points, rng: Random) -> dict[str, float]:
        """Return the bounds of a random box that holds a mapping, by objective."""
        width = rng.choice((0, 1, 4, 10**9))

        def span(name: str) -> Range:
            if name not in self._columns:
                return 0, 0
            column = self._columns[name]
            most, choice = int(self.space.sizes[column]) - 1, int(point[column])
            if rng.random() < 0.4:
                return choice, choice
            return max(choice - rng.randint(0, width), 0), min(choice + rng.randint(0, width), most)

        dims = [dim.rstrip("'") for dim in self.space.extents]
        loops = innermost(self._problem, point)
        box = (
            tuple(int(point[self._columns[f"{level}_parallel"]]) for level in ("l2", "l1")),
            tuple(rng.choice((_ANY, loop)) for loop in loops),
            span("cluster_size"),
            [span(f"l2_tile_{dim}") for dim in dims],
            [span(f"l1_tile_{dim}") for dim in dims],
        )
        return {name: search.bound_of(*box) for name, search in self._searches.items()}


def least_multiples(problem: Problem, rng: Random, samples: int) -> tuple[int, dict[str, float]]:
    """Return how many of some mappings are valid, and their least costs as multiples of bounds.

    Raises:
        AssertionError: a mapping costs less than the bound of its box.
    """
    draws = np.random.default_rng(rng.getrandbits(32))
    points = random_points(problem.space, samples, draws)
    rows = problem.evaluate(points)
    least = dict.fromkeys(OBJECTIVES, np.inf)
    boxes = Boxes(problem) if (rows.status == OK).any() else None
    for index in np.flatnonzero(rows.status == OK):
        assert boxes is not None
        bounds = boxes.around(points[index], rng)
        for name, objective in OBJECTIVES.items():
            value = float(objective.function(rows.metrics[index : index + 1])[0])
            least[name] = min(least[name], value / bounds[name])
            assert value >= bounds[name], (
                f"{name} {value} is below {bounds[name]}: {problem.layer} on {problem.hardware}, "
                f"{problem.space.schema}, {points[index].tolist()}"
            )
    return int(np.count_nonzero(rows.status == OK)), least


def main(mappings: int = 1_000_000, layers: int = 200) -> None:
    rng, done, seen = Random(0), 0, 0
    least = dict.fromkeys(OBJECTIVES, np.inf)
    while done < mappings or seen < layers:
        valid, found = least_multiples(random_problem(rng), rng, 3000)
        done, seen = done + valid, seen + (valid > 0)
        least = {name: min(least[name], found[name]) for name in least}
    shown = ", ".join(f"{name} {ratio:.6g}" for name, ratio in least.items())
    sys.stdout.write(
        f"{done:,} valid mappings of {seen} layers and machines; "
        f"least cost as a multiple of its box's bound: {shown}\n"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
