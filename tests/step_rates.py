"""CPU microseconds of a step of one copy: ``MaestroImprove-v1`` beside CartPole.

A script, not a part of the suite: ``python tests/step_rates.py`` prints the table of
docs/environments.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import maestro_env  # noqa: F401

TASK = "maestro_env/edge-resnet18_l2-edp-v1"
COUNTS = (1, 16, 4096)
STEPS = 40_000
"""Of all copies together, at least five of each."""


def taken(step: Callable[[Any], object], drawn: Callable[[], Any], copies: int) -> float:
    """Return the microseconds of a step of one copy: the least of three rounds."""
    rounds = max(5, STEPS // copies)
    actions, found = [drawn() for _ in range(rounds)], []
    for _ in range(3):
        began = time.process_time()
        for action in actions:
            step(action)
        found.append((time.process_time() - began) / rounds / copies * 1e6)
    return min(found)


def copies_of(name: str, count: int) -> tuple[Any, Callable[[], Any]]:
    """Return one environment or many copies, and what draws their actions."""
    rng = np.random.default_rng(0)
    if count == 1:
        env: Any = gymnasium.make(name).unwrapped
        env.reset(seed=0)
        return env, lambda: int(rng.integers(env.action_space.n))
    envs: Any = gymnasium.make_vec(name, count, vectorization_mode="vector_entry_point").unwrapped
    envs.reset(seed=0)
    return envs, lambda: rng.integers(envs.single_action_space.n, size=count)


def ours(count: int, masks: bool) -> float:
    """Measure steps of the task, with the masks of all moves before each."""
    env, drawn = copies_of(TASK, count)

    def step(action: Any) -> None:
        if masks:
            env.action_masks()
        env.step(action)

    return taken(step, drawn, count)


def cartpole(count: int) -> float:
    """Measure Gymnasium's; a single one begins again where it falls."""
    env, drawn = copies_of("CartPole-v1", count)

    def step(action: Any) -> None:
        ended = env.step(action)[2]
        if count == 1 and ended:
            env.reset()

    return taken(step, drawn, count)


def main() -> None:
    """Print the table."""
    rows: list[tuple[str, Callable[[int], float]]] = [
        (f"`{TASK}`", lambda count: ours(count, masks=False)),
        ("the same, with the masks of all moves", lambda count: ours(count, masks=True)),
        ("`CartPole-v1` of Gymnasium", cartpole),
    ]
    for name, measure in rows:
        cells = " | ".join(f"{measure(count):.2g}" for count in COUNTS)
        sys.stdout.write(f"| {name} | {cells} |\n")


if __name__ == "__main__":
    main()
