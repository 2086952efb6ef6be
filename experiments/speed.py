"""Evaluations and environment steps per second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import repeat
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from experiments.files import write_json
from experiments.flags import option
from experiments.machine import processor, versions
from experiments.tables import new_table, print_table
from maestro_env.hardware import find_hardware
from maestro_env.map_space import MapSpace
from maestro_env.models import MODELS
from maestro_env.problem import Problem
from maestro_env.workloads import find_layer

LAYERS = ("mobilenetv2_l2", "resnet18_l2", "vgg16_l2")
REPEATS = 5
MAPPINGS = 20_000
STEPS = 5_000
COPIES = 4_096
VECTOR_STEPS = 20


@dataclass(frozen=True)
class BenchConfig:
    """Measure evaluations per second of every cost model, random legal13 mappings.

    Batches and single steps use one thread, the vector environment as many as it takes by itself.
    """

    json: str | None = option(None, "write the figures to this file too", value="file")


def execute(config: BenchConfig) -> int:
    """Measure, print, and return the exit status."""
    measured = [_measure(layer, model) for layer in LAYERS for model in MODELS]
    report = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "versions": versions(),
        "layers": measured,
    }
    print(f"{report['date']}, {report['processor']}, median of {REPEATS} repeats")
    table = new_table(
        f"{MAPPINGS:,} random legal13 mappings a batch, {STEPS:,} steps of the environment, one "
        "thread; the vector environment as many as it takes",
        ("layer", "model"),
        (
            "batch evaluations/s",
            "env.unwrapped us/step",
            "gymnasium.make steps/s",
            f"vector env steps/s ({COPIES:,} copies)",
        ),
    )
    for row in measured:
        table.add_row(
            row["layer"],
            row["model"],
            f"{row['evaluations_per_s']:,.0f}",
            f"{row['unwrapped_step_us']:.1f}",
            f"{row['made_steps_per_s']:,.0f}",
            f"{row['vector_steps_per_s']:,.0f}",
        )
    print_table(table)
    if config.json is not None:
        write_json(Path(config.json), report)
    return 0


def _measure(layer: str, model: str) -> dict[str, Any]:
    problem = Problem(MapSpace(find_layer(layer), find_hardware("paper")), model)
    arguments: dict[str, Any] = {"layer": layer, "objective": "edp", "model": model}
    env = gymnasium.make("MaestroEnv-v0", **arguments)
    vector = gymnasium.make_vec(
        "MaestroEnv-v0", COPIES, vectorization_mode="vector_entry_point", **arguments
    )
    random_walks = repeat(partial(_step_at_random, vector), REPEATS)
    return {
        "layer": layer,
        "model": model,
        "evaluations_per_s": MAPPINGS / _median_seconds(_batches(problem)),
        "unwrapped_step_us": 1e6 * _median_seconds(_walks(env.unwrapped, problem)) / STEPS,
        "made_steps_per_s": STEPS / _median_seconds(_walks(env, problem)),
        "vector_steps_per_s": COPIES * VECTOR_STEPS / _median_seconds(random_walks),
    }


def _median_seconds(works: Iterable[Callable[[], object]]) -> float:
    """Return the median time of pieces of work, each of which is prepared off the clock."""
    seconds = []
    for work in works:
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    return median(seconds)


def _batches(problem: Problem) -> Iterator[Callable[[], object]]:
    rng = np.random.default_rng(0)
    for _ in range(REPEATS):
        yield partial(problem.evaluate, problem.space.sample(MAPPINGS, rng))


def _walks(env: gymnasium.Env[Any, Any], problem: Problem) -> Iterator[Callable[[], object]]:
    rng = np.random.default_rng(0)
    for _ in range(REPEATS):
        yield partial(_step_through, env, problem.space.sample(STEPS, rng).astype(np.int64))


def _step_through(env: gymnasium.Env[Any, Any], actions: NDArray[np.int64]) -> None:
    env.reset()
    for action in actions:
        *_, truncated, _ = env.step(action)
        if truncated:
            env.reset()


def _step_at_random(env: VectorEnv[Any, Any, Any]) -> None:
    """Draw the actions too: that is what a step of a random agent costs."""
    env.reset()
    for _ in range(VECTOR_STEPS):
        env.step(env.action_space.sample())
