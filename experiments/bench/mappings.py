"""How long single mappings take: how it spreads over mappings, and how it grows with levels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from experiments.bench.batches import LAYERS, REPEATS, space_of
from experiments.bench.sections import Row, Section
from maestro_env.map_space import MapSpace
from maestro_env.mapping import Level, Loop, Mapping
from maestro_env.models import MODELS
from maestro_env.problem import Problem

MAPPINGS = 5_000
LEVELS = (1, 2, 3, 4)
_PERCENTILES = (50, 90, 99)
_FIGURES = {f"p{each}_us": (f"p{each} us", "{:.2f}") for each in _PERCENTILES}


def percentiles() -> Section:
    """Measure random mappings of the map space."""
    rows = []
    for layer, model in product(LAYERS, MODELS):
        problem = Problem(space_of(layer), model)
        points = problem.space.sample(MAPPINGS, np.random.default_rng(0))
        figures = _spread(partial(problem.time, points))
        rows.append({"layer": layer, "model": model, **figures})
    title = f"{MAPPINGS:,} random legal13 mappings, one by one: least of {REPEATS} times of each"
    return Section("mappings", title, ("layer", "model"), _FIGURES, rows)


def levels() -> Section:
    """Measure mappings of one to four levels, which come as directives."""
    rows = []
    space = space_of(LAYERS[0])
    for number in LEVELS:
        rng = np.random.default_rng(number)
        mappings = [random_mapping(space, number, rng) for _ in range(MAPPINGS)]
        for model in MODELS:
            figures = _spread(partial(Problem(space, model).time_mappings, mappings))
            rows.append({"model": model, "levels": number, **figures})
    title = f"{MAPPINGS:,} random mappings of {LAYERS[0]} as directives, which are read beforehand"
    return Section("levels", title, ("model", "levels"), _FIGURES, rows)


def random_mapping(space: MapSpace, number: int, rng: np.random.Generator) -> Mapping:
    """Draw a mapping of so many levels, whose sizes and dimensions are those of a space.

    With two levels it is drawn as the space draws its own.
    """
    tiles, pes = dict(space.extents), space.hardware.num_pes
    levels = []
    for index in range(number):
        cluster = int(rng.integers(1, pes + 1)) if index else None
        pes //= cluster or 1
        for dim, extent in space.extents.items():
            if not isinstance(space.tile("l2", dim), int):
                tiles[dim] = min(tiles[dim], int(rng.integers(1, extent + 1)))
        parallel = str(rng.choice(space.parallel_dims))
        order = rng.permutation(list(tiles)).tolist()
        loops = (Loop(dim, tiles[dim], tiles[dim], dim == parallel) for dim in order)
        levels.append(Level(tuple(loops), cluster))
    return Mapping(tuple(levels))


def _spread(measure: Callable[[], NDArray[np.float64]]) -> Row:
    """Return percentiles over mappings; what else the machine does shows in few of the repeats."""
    seconds = np.min([measure() for _ in range(REPEATS)], axis=0)
    figures = 1e6 * np.percentile(seconds, _PERCENTILES)
    return dict(zip(_FIGURES, figures.tolist(), strict=True))
