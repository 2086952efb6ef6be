"""How fast mappings are evaluated, in batches of all kinds and one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from experiments.commands.bench.sections import Section, interleaved
from experiments.search.searches import Recorder
from maestro_env.accelerators.finding import find_hardware
from maestro_env.accelerators.hardware import PRESETS
from maestro_env.base.threads import processors
from maestro_env.evaluation.models import MODELS
from maestro_env.evaluation.objectives import OBJECTIVES
from maestro_env.evaluation.problem import Problem
from maestro_env.mapspace.space import SCHEMAS, MapSpace
from maestro_env.workloads.finding import find_layer
from mappers import make_mapper

LAYERS = ("mobilenetv2_l2", "resnet18_l2", "vgg16_l2")
REPEATS = 5
MAPPINGS = 20_000
SEARCHERS = ("ga_log", "marl")
SAMPLES = 5_000
SINGLES = 5_000
_PERCENTILES = (50, 90, 99)
_MICROSECONDS = {f"p{each}_us": (f"p{each} us", "{:.2f}") for each in _PERCENTILES}

Works = Mapping[Any, Callable[[], object]]
"""What is timed, by the entries that tell its row from the others, a tuple."""


def space_of(layer: str, schema: str = "legal13", hardware: str = "unlimited") -> MapSpace:
    """Return the space that is measured: most figures are for the accelerator ``unlimited``."""
    return MapSpace(find_layer(layer), find_hardware(hardware), schema)


def rates() -> Section:
    """Measure batches of all kinds."""
    keys = ("layer", "schema", "model", "threads")
    # Powers of two up to the processors there are.
    numbers = [2**exponent for exponent in range(processors().bit_length())]
    works = {}
    for layer, schema in product(LAYERS, SCHEMAS):
        space = space_of(layer, schema)
        points = space.sample(MAPPINGS, np.random.default_rng(0))
        for model, threads in product(MODELS, numbers):
            if _fits(space, model):
                evaluate = Problem(space, model).evaluate
                works[layer, schema, model, threads] = partial(evaluate, points, threads)
    return _timed("batches", f"{MAPPINGS:,} random mappings a batch", keys, works, MAPPINGS)


def accelerators() -> Section:
    """Measure batches for every preset: on some of them PEs wait, and that takes longer."""
    keys, layer = ("hardware", "model"), LAYERS[1]
    title = f"{MAPPINGS:,} random legal13 mappings of {layer}, one thread"
    works = {}
    for hardware, model in product(PRESETS, MODELS):
        space = space_of(layer, hardware=hardware)
        points = space.sample(MAPPINGS, np.random.default_rng(0))
        works[hardware, model] = partial(Problem(space, model).evaluate, points)
    return _timed("accelerators", title, keys, works, MAPPINGS)


def searches() -> Section:
    """Measure values alone of the mappings that searches draw, most of which fit the buffers."""
    keys, layer = ("hardware", "schema", "model"), LAYERS[1]
    title = (
        f"EDP of the mappings of {layer} that searches draw, {SAMPLES:,} of each of "
        f"{', '.join(SEARCHERS)}, one thread"
    )
    works = {}
    edp = OBJECTIVES["edp"]
    for hardware, schema, model in product(PRESETS, SCHEMAS, MODELS):
        space = space_of(layer, schema, hardware)
        if not _fits(space, model):
            continue
        problem = Problem(space, model)
        points = []
        for mapper in SEARCHERS:
            recorder = Recorder(problem, edp, SAMPLES)
            make_mapper(mapper).search(recorder, SAMPLES, np.random.default_rng(0))
            points.append(recorder.points)
        works[hardware, schema, model] = partial(problem.score, np.concatenate(points), edp)
    return _timed("searches", title, keys, works, len(SEARCHERS) * SAMPLES)


def singles() -> Section:
    """Measure how long single mappings take, and how it spreads over mappings."""
    rows = []
    for layer, model in product(LAYERS, MODELS):
        problem = Problem(space_of(layer), model)
        points = problem.space.sample(SINGLES, np.random.default_rng(0))
        # What else the machine does shows in few of the repeats.
        seconds = np.min([problem.time(points) for _ in range(REPEATS)], axis=0)
        figures = 1e6 * np.percentile(seconds, _PERCENTILES)
        rows.append((layer, model, *figures.tolist()))
    title = f"{SINGLES:,} random legal13 mappings, one by one: least of {REPEATS} times of each"
    return Section("mappings", title, ("layer", "model"), _MICROSECONDS, rows)


def _timed(name: str, title: str, keys: tuple[str, ...], works: Works, mappings: int) -> Section:
    """Make a section with a row for each work, all of which evaluate so many mappings."""
    seconds = interleaved(works, REPEATS)
    rows = [(*key, mappings / each) for key, each in seconds.items()]
    return Section(name, title, keys, {"evaluations_per_s": ("evaluations/s", "{:,.0f}")}, rows)


def _fits(space: MapSpace, model: str) -> bool:
    return MODELS[model].cuts_windows or not space.cuts_windows
