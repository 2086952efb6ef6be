"""How long single mappings take: how it spreads over mappings, and how it grows with levels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

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
    return Section(
        "mappings",
        f"{MAPPINGS:,} random legal13 mappings, one by one: least of {REPEATS} times of each",
        ("layer", "model"),
        _FIGURES,
        [
            {"layer": layer, "model": model, **_times(Problem(space_of(layer), model))}
            for layer in LAYERS
            for model in MODELS
        ],
    )


def levels() -> Section:
    """Measure mappings of one to four levels, which come as directives."""
    return Section(
        "levels",
        f"{MAPPINGS:,} random mappings of {LAYERS[0]} as directives, which are read beforehand",
        ("model", "levels"),
        _FIGURES,
        list(_levels()),
    )


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


def _times(problem: Problem) -> Row:
    points = problem.space.sample(MAPPINGS, np.random.default_rng(0))
    return _spread(partial(problem.time, points))


def _levels() -> Iterator[Row]:
    space = space_of(LAYERS[0])
    for number in LEVELS:
        rng = np.random.default_rng(number)
        mappings = [random_mapping(space, number, rng) for _ in range(MAPPINGS)]
        for model in MODELS:
            problem = Problem(space, model)
            yield {
                "model": model,
                "levels": number,
                **_spread(partial(problem.time_mappings, mappings)),
            }


def _spread(measure: Callable[[], NDArray[np.float64]]) -> Row:
    """Return percentiles over mappings; what else the machine does shows in few of the repeats."""
    seconds = np.min([measure() for _ in range(REPEATS)], axis=0)
    figures = 1e6 * np.percentile(seconds, _PERCENTILES)
    return dict(zip(_FIGURES, figures.tolist(), strict=True))
