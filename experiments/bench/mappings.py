"""How long single mappings take, and how it spreads over mappings."""

from __future__ import annotations

from itertools import product

import numpy as np

from experiments.bench.batches import LAYERS, REPEATS, space_of
from experiments.bench.sections import Section
from maestro_env.models import MODELS
from maestro_env.problem import Problem

MAPPINGS = 5_000
_PERCENTILES = (50, 90, 99)
_FIGURES = {f"p{each}_us": (f"p{each} us", "{:.2f}") for each in _PERCENTILES}


def percentiles() -> Section:
    """Measure random mappings of the map space."""
    rows = []
    for layer, model in product(LAYERS, MODELS):
        problem = Problem(space_of(layer), model)
        points = problem.space.sample(MAPPINGS, np.random.default_rng(0))
        # What else the machine does shows in few of the repeats.
        seconds = np.min([problem.time(points) for _ in range(REPEATS)], axis=0)
        figures = 1e6 * np.percentile(seconds, _PERCENTILES)
        found = dict(zip(_FIGURES, figures.tolist(), strict=True))
        rows.append({"layer": layer, "model": model, **found})
    title = f"{MAPPINGS:,} random legal13 mappings, one by one: least of {REPEATS} times of each"
    return Section("mappings", title, ("layer", "model"), _FIGURES, rows)
