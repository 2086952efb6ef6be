"""How fast environments step."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv
from numpy.typing import NDArray

from experiments.commands.bench.batches import LAYERS, REPEATS, space_of
from experiments.commands.bench.sections import Section, interleaved
from maestro_env.evaluation.models import MODELS

STEPS = 5_000
COPIES = 4_096
VECTOR_STEPS = 20


def steps() -> Section:
    """Measure the environment alone, as ``gymnasium.make`` gives it, and many copies in one."""
    return Section(
        "environments",
        f"{STEPS:,} steps of an environment, {VECTOR_STEPS} of {COPIES:,} copies, which take as "
        "many threads as suit them",
        ("layer", "model"),
        {
            "unwrapped_step_us": ("env.unwrapped us/step", "{:.1f}"),
            "made_steps_per_s": ("gymnasium.make steps/s", "{:,.0f}"),
            "vector_steps_per_s": ("vector env steps/s", "{:,.0f}"),
        },
        [_measure(layer, model) for layer in LAYERS for model in MODELS],
    )


def _measure(layer: str, model: str) -> tuple[str | float, ...]:
    """Return a row: layer, model and figures."""
    arguments: dict[str, Any] = {"layer": layer, "objective": "edp", "model": model}
    env = gymnasium.make("MaestroEnv-v1", **arguments)
    vector = gymnasium.make_vec(
        "MaestroEnv-v1", COPIES, vectorization_mode="vector_entry_point", **arguments
    )
    actions = list(space_of(layer).sample(STEPS, np.random.default_rng(0)).astype(np.int64))
    batches = [vector.action_space.sample() for _ in range(VECTOR_STEPS)]
    works = {
        "unwrapped": partial(_step_through, env.unwrapped, actions),
        "made": partial(_step_through, env, actions),
        "vector": partial(_step_together, vector, batches),
    }
    seconds = interleaved(works, REPEATS)
    unwrapped, made = 1e6 * seconds["unwrapped"] / STEPS, STEPS / seconds["made"]
    return layer, model, unwrapped, made, COPIES * VECTOR_STEPS / seconds["vector"]


def _step_through(env: gymnasium.Env[Any, Any], actions: Iterable[NDArray[np.int64]]) -> None:
    env.reset()
    for action in actions:
        _, _, _, truncated, _ = env.step(action)
        if truncated:
            env.reset()


def _step_together(env: VectorEnv[Any, Any, Any], batches: Iterable[NDArray[np.int64]]) -> None:
    env.reset()
    for actions in batches:
        env.step(actions)
