"""Tries to get below the printed lower bounds: random layers and machines, searched for the least.

python tests/bounds.py [ROWS [LAYERS]] takes at least so many valid rows of each model, over at
least so many layers, and prints how near to each bound they came.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from random import Random

import numpy as np
from two_levels import MODELS

from maestro_env.accelerators.hardware import PRESETS, Hardware
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.models import find_model
from maestro_env.evaluation.objectives import ENERGIES, OBJECTIVES, find_objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.layer import DIMENSIONS, Layer

EXTENTS = (1, 2, 3, 5, 8, 13, 31, 64, 100, 257, 4099)
BOUNDED = [
    objective
    for energy in ENERGIES
    for objective in (find_objective(name, energy) for name in OBJECTIVES)
    if objective.bound is not None
]


def random_layer(rng: Random) -> Layer:
    """Return a layer of any operator: odd extents, strides to 4, also larger than the window."""
    operator = rng.choice(list(DIMENSIONS))
    extents = {dim: rng.choice(EXTENTS) for dim in DIMENSIONS[operator]}
    if operator == "GEMM":
        return Layer(operator, extents)
    for axis, window in (("Y", "R"), ("X", "S")):
        extents[window] = rng.randint(1, 7)
        extents[axis] = extents[window] + rng.randrange(rng.choice((1, 10, 40, 300)))
    if rng.random() < 0.3:
        extents["N"] = rng.randint(1, 4)
    strides = (rng.randint(1, 4), rng.randint(1, 4)) if rng.random() < 0.8 else (1, 1)
    return Layer(operator, extents, strides)


def random_machine(rng: Random) -> Hardware:
    if rng.random() < 0.2:
        return rng.choice(list(PRESETS.values()))
    machine = Hardware(
        num_pes=rng.choice((1, 2, 7, 16, 168, 1024)),
        simd_lanes=rng.choice((1, 1, 2, 5)),
        noc_hop_latency=rng.randrange(2),
        offchip_cost_macs=rng.choice((0, 200)),
    )
    if rng.random() < 0.5:
        return machine
    return replace(
        machine,
        l1_bytes=rng.choice((64, 512, 20_000)),
        l2_bytes=rng.choice((4_000, 108_000, 2**24)),
        noc_bw=rng.choice((1, 7, 64)),
        offchip_bw=rng.choice((1, 16)),
    )


def random_problem(rng: Random, model: str, layer: Layer) -> Problem:
    schema = rng.choice(list(SCHEMAS))
    space = MapSpace(layer, random_machine(rng), schema)
    if space.cuts_windows and "windows" not in find_model(model).abilities:
        space = MapSpace(layer, space.hardware)
    return Problem(space, model)


@dataclass
class Tally:
    """Valid rows, and the least value of each objective as a multiple of its bound."""

    rows: int = 0
    layers: set[Layer] = field(default_factory=set)
    least: dict[str, float] = field(default_factory=dict)

    def add(self, problem: Problem, rng: Random, samples: int) -> None:
        """Add a search of ``samples`` mappings a generation.

        Raises:
            AssertionError: a valid row is below a bound.
        """
        for points, valid, metrics in _generations(problem, rng, samples):
            self.rows += int(valid.sum())
            if valid.any():
                self.layers.add(problem.layer)
            for objective in BOUNDED:
                bound = objective.bound(problem.layer, problem.hardware)
                values = objective.function(metrics[valid])
                least = float(values.min(initial=np.inf))
                nearest = self.least.get(objective.name, np.inf)
                self.least[objective.name] = min(nearest, least / bound)
                if not (values >= bound).all():
                    mapping = problem.space.decode(points[valid][values.argmin()])
                    raise AssertionError(
                        f"{objective.name} {least} is below {bound} under {problem.model}: "
                        f"{problem.layer} on {problem.hardware}\n{mapping}"
                    )


def _generations(
    problem: Problem, rng: Random, samples: int
) -> Iterator[tuple[Points, np.ndarray, np.ndarray]]:
    """Yield points, which are valid, and their metrics: random ones, then mutants of the least."""
    space, draws = problem.space, np.random.default_rng(rng.getrandbits(32))
    points = space.sample(samples, draws)
    for objective in (*BOUNDED, None):
        rows = problem.evaluate(points)
        valid = rows.status == OK
        yield points, valid, rows.metrics
        if objective is not None:
            values = np.where(valid, objective.function(rows.metrics), np.inf)
            parents = points[np.argsort(values)[: samples // 16 + 1]]
            chosen = parents[draws.integers(len(parents), size=samples)]
            mutated = draws.random(chosen.shape) < 0.2
            points = np.where(mutated, space.sample(samples, draws), chosen)


def main(rows: int = 1_000_000, layers: int = 200) -> None:
    for model in MODELS:
        rng, tally = Random(0), Tally()
        while tally.rows < rows or len(tally.layers) < layers:
            tally.add(random_problem(rng, model, random_layer(rng)), rng, 600)
        strided = sum(layer.is_strided for layer in tally.layers)
        least = ", ".join(f"{name} {ratio:.6g}" for name, ratio in tally.least.items())
        sys.stdout.write(
            f"{model}: {tally.rows:,} valid rows of {len(tally.layers)} layers "
            f"({strided} strided); least value as a multiple of its bound: {least}\n"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
