"""How fast batches are evaluated: by layer, schema, model, threads and size."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain, product

import numpy as np

from experiments.bench.sections import Row, Section, interleaved
from maestro_env.evaluator import Batch, Evaluator
from maestro_env.hardware import PRESETS, find_hardware
from maestro_env.map_space import SCHEMAS, MapSpace, Points
from maestro_env.models import MODELS
from maestro_env.objectives import OBJECTIVES, Objective
from maestro_env.problem import Problem
from maestro_env.threads import processors
from maestro_env.workloads import find_layer
from mappers import make_mapper

LAYERS = ("mobilenetv2_l2", "resnet18_l2", "vgg16_l2")
REPEATS = 5
MAPPINGS = 20_000
SEARCHERS = ("ga_log", "marl")
SAMPLES = 5_000
BATCH_SIZES = tuple(10**exponent for exponent in range(7))
# Of small batches several are evaluated on the clock.
_LEAST_TIMED = 10_000
_LARGE_REPEATS = 3
_FIGURES = {
    "evaluations_per_s": ("evaluations/s", "{:,.0f}"),
    "times_one_thread": ("times one thread", "{:.2f}"),
}


def space_of(layer: str, schema: str = "legal13", hardware: str = "paper") -> MapSpace:
    """Return the space that is measured: most figures are for the accelerator ``paper``."""
    return MapSpace(find_layer(layer), find_hardware(hardware), schema)


def rates() -> Section:
    """Measure batches of all kinds."""
    return Section(
        "batches",
        f"{MAPPINGS:,} random mappings a batch",
        ("layer", "schema", "model", "threads"),
        _FIGURES,
        list(chain.from_iterable(_rates(layer) for layer in LAYERS)),
    )


def batch_sizes() -> Section:
    """Measure batches of other sizes."""
    space = space_of(LAYERS[0])
    points = space.sample(BATCH_SIZES[-1], np.random.default_rng(0))
    return Section(
        "batch_sizes",
        f"Batches of other sizes: random legal13 mappings of {LAYERS[0]}",
        ("model", "batch", "threads"),
        _FIGURES,
        [row for model in MODELS for row in _sizes(Problem(space, model), points)],
    )


def accelerators() -> Section:
    """Measure batches for every preset: on some of them PEs wait, and that takes longer."""
    layer = LAYERS[1]
    return Section(
        "accelerators",
        f"{MAPPINGS:,} random legal13 mappings of {layer}, one thread",
        ("hardware", "model"),
        {"evaluations_per_s": ("evaluations/s", "{:,.0f}")},
        list(_accelerators(layer)),
    )


def searches() -> Section:
    """Measure values alone of the mappings that searches draw, most of which fit the buffers."""
    layer = LAYERS[1]
    return Section(
        "searches",
        f"EDP of the mappings of {layer} that searches draw, {SAMPLES:,} of each of "
        f"{', '.join(SEARCHERS)}, one thread",
        ("hardware", "schema", "model"),
        {"evaluations_per_s": ("evaluations/s", "{:,.0f}")},
        list(_searches(layer)),
    )


class _Recorder(Evaluator):
    """Keeps the points of its samples."""

    def __init__(self, problem: Problem, objective: Objective, budget: int) -> None:
        super().__init__(problem, objective, budget)
        self.points: list[Points] = []

    def record(self, points: Points, batch: Batch) -> None:
        super().record(points, batch)
        self.points.append(points.copy())


def _searches(layer: str) -> Iterator[Row]:
    works = {}
    edp = OBJECTIVES["edp"]
    for hardware, schema, model in product(PRESETS, SCHEMAS, MODELS):
        space = space_of(layer, schema, hardware)
        if space.cuts_windows and not MODELS[model].cuts_windows:
            continue
        problem = Problem(space, model)
        points = []
        for mapper in SEARCHERS:
            recorder = _Recorder(problem, edp, SAMPLES)
            make_mapper(mapper).search(recorder, SAMPLES, np.random.default_rng(0))
            points += recorder.points
        works[hardware, schema, model] = partial(problem.score, np.concatenate(points), edp)
    for (hardware, schema, model), each in interleaved(works, REPEATS).items():
        rate = len(SEARCHERS) * SAMPLES / each
        yield {"hardware": hardware, "schema": schema, "model": model, "evaluations_per_s": rate}


def _accelerators(layer: str) -> Iterator[Row]:
    works = {}
    for hardware, model in product(PRESETS, MODELS):
        space = space_of(layer, hardware=hardware)
        points = space.sample(MAPPINGS, np.random.default_rng(0))
        works[hardware, model] = partial(Problem(space, model).evaluate, points)
    for (hardware, model), each in interleaved(works, REPEATS).items():
        yield {"hardware": hardware, "model": model, "evaluations_per_s": MAPPINGS / each}


def _rates(layer: str) -> Iterator[Row]:
    works = {}
    for schema in SCHEMAS:
        space = space_of(layer, schema)
        points = space.sample(MAPPINGS, np.random.default_rng(0))
        for model in MODELS:
            if space.cuts_windows and not MODELS[model].cuts_windows:
                continue
            problem = Problem(space, model)
            for threads in _numbers_of_threads():
                works[schema, model, threads] = partial(problem.evaluate, points, threads)
    seconds = interleaved(works, REPEATS)
    for (schema, model, threads), each in seconds.items():
        yield {
            "layer": layer,
            "schema": schema,
            "model": model,
            "threads": threads,
            "evaluations_per_s": MAPPINGS / each,
            "times_one_thread": seconds[schema, model, 1] / each,
        }


def _numbers_of_threads() -> list[int]:
    """Powers of two up to the processors there are."""
    return [2**exponent for exponent in range(processors().bit_length())]


def _sizes(problem: Problem, points: Points) -> Iterator[Row]:
    for size in BATCH_SIZES:
        batches = max(1, _LEAST_TIMED // size)
        works = {
            threads: partial(_evaluate, problem, points, size, batches, threads)
            for threads in _numbers_of_threads()
        }
        repeats = REPEATS if size < MAPPINGS else _LARGE_REPEATS
        seconds = interleaved(works, repeats)
        for threads, each in seconds.items():
            yield {
                "model": problem.model,
                "batch": size,
                "threads": threads,
                "evaluations_per_s": size * batches / each,
                "times_one_thread": seconds[1] / each,
            }


def _evaluate(problem: Problem, points: Points, size: int, batches: int, threads: int) -> None:
    for start in range(0, size * batches, size):
        problem.evaluate(points[start : start + size], threads)
