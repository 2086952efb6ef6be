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
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.objectives import OBJECTIVES, Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.experiments.commands.verify.bounds.boxes import (
    INNERMOST,
    Facts,
    Table,
    first,
    last,
    whole,
)
from maestro_env.experiments.commands.verify.bounds.levels import lower_bounds
from maestro_env.mapspace.space import TILES, Points
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace


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


def innermost(task: Problem, point: Points) -> tuple[int, int]:
    """Return the loops that move innermost in the layer and in the largest box, by definition."""
    mapping = task.space.decode(point)
    loops = mapping.levels
    clusters = task.hardware.num_pes // (loops[1].cluster_size or 1)
    extents, dims = dict(task.space.extents), list(task.space.extents)
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


def box_of(facts: Facts, point: Points) -> Table:
    """Return the box, int32[1, B], of the sizes and parallel loops of a vector."""
    point = facts.space.clipped(point[np.newaxis])[0]
    columns = [facts.space.columns[f"{level}_parallel"] for level in ("l2", "l1")]
    parallel = [dims[point[column]] for dims, column in zip(facts.parallel, columns, strict=True)]
    box = whole(facts, np.array([parallel], dtype=np.int8))
    for axis, column in facts.columns.items():
        box[0, [first(axis), last(axis)]] = point[column]
    return box


def around(task: Problem, facts: Facts, point: Points, rng: Random) -> Table:
    """Return a random box that holds a mapping, int32[1, B]."""
    box = box_of(facts, point)
    width = rng.choice((0, 1, 4, 10**9))
    for axis, sizes in enumerate(facts.sizes):
        if rng.random() < 0.6:
            box[0, first(axis)] = max(box[0, first(axis)] - rng.randint(0, width), 0)
            box[0, last(axis)] = min(box[0, last(axis)] + rng.randint(0, width), len(sizes) - 1)
    for level, dim in enumerate(innermost(task, point)):
        if rng.random() < 0.5:
            box[0, INNERMOST + level] = dim
    return box


def native_bounds(
    task: Problem, facts: Facts, objective: Objective, boxes: Table, certified: bool
) -> np.ndarray:
    """Return the bounds of boxes float64[N]: of certificates, or those that the search takes."""
    space, dims = task.space, len(facts.dims)
    natives = space.layer.native, space.hardware.native, space.native
    search = _native.OptimumSearch(*natives, objective.columns)

    def bound(box: Table) -> float:
        parallel, loops, spans = np.split(box, [INNERMOST, first(0)])
        ranges = [(low, high) for low, high in spans.reshape(-1, 2).tolist()]
        pairs = zip(facts.parallel, parallel, strict=True)
        choices = tuple(dealt.index(dim) for dealt, dim in pairs)
        outer, inner, (cluster,) = ranges[:dims], ranges[dims:-1], ranges[-1:]
        innermost = tuple(loops.tolist())
        return search.bound_of(choices, innermost, cluster, outer, inner, certified)

    return np.array([bound(box) for box in boxes])


def least_multiples(task: Problem, rng: Random, samples: int) -> tuple[int, dict[str, float]]:
    """Return how many of some mappings are valid, and their least costs as multiples of bounds.

    Raises:
        AssertionError: a certificate's bound of a box is above the checker's, or that or the
            search's is above what a mapping of the box costs.
    """
    points = random_points(task.space, samples, np.random.default_rng(rng.getrandbits(32)))
    rows = task.evaluate(points)
    valid = np.flatnonzero(rows.status == OK)
    least = dict.fromkeys(OBJECTIVES, np.inf)
    if not len(valid):
        return 0, least
    facts = Facts(task.space)
    boxes = np.concatenate([around(task, facts, points[i], rng) for i in valid])
    for name, objective in OBJECTIVES.items():
        values = objective.function(rows.metrics[valid])
        bounds, written = (
            native_bounds(task, facts, objective, boxes, certified) for certified in (False, True)
        )
        checked = lower_bounds(facts, objective.factors, boxes)
        least[name] = float((values / bounds).min())
        rises = (written <= bounds) & (bounds <= values) & (written * (1 - 1e-13) <= checked)
        for low in np.flatnonzero(~rises | (checked * (1 - 1e-13) > values)):
            raise AssertionError(
                f"{name}: not {written[low]} <= {bounds[low]} and {checked[low]} <= "
                f"{values[low]}: {task.layer} on "
                f"{task.hardware}, {task.space.schema}, {points[valid[low]].tolist()}"
            )
    return len(valid), least


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
