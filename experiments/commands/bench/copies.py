"""What ``info`` costs where Gymnasium steps many copies of the environment."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import gymnasium
from gymnasium.vector import SyncVectorEnv
from numpy.typing import NDArray

from experiments.commands.bench.batches import LAYERS, REPEATS
from experiments.commands.bench.sections import Section, interleaved

COPIES = 64
STEPS = 500


def copies() -> Section:
    """Measure Gymnasium's ``SyncVectorEnv`` with the information and with an empty one."""
    return Section(
        "copies",
        f"{STEPS} steps of {COPIES} copies in Gymnasium's SyncVectorEnv",
        ("layer",),
        {
            "empty_steps_per_s": ("empty info, steps/s", "{:,.0f}"),
            "steps_per_s": ("steps/s", "{:,.0f}"),
            "share": ("share of the rate with an empty info", "{:.2f}"),
        },
        [_measure(layer) for layer in LAYERS],
    )


class _Passing(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Costs what ``_Silent`` costs, and changes nothing."""

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, info = self.env.step(action)
        return seen, reward, terminated, truncated, info


class _Silent(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Leaves the information empty."""

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(**arguments)[0], {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        seen, reward, terminated, truncated, _ = self.env.step(action)
        return seen, reward, terminated, truncated, {}


def _measure(layer: str) -> tuple[str | float, ...]:
    """Return a row: layer and figures."""

    def make(wrapper: type[gymnasium.Wrapper[Any, Any, Any, Any]]) -> SyncVectorEnv:
        return SyncVectorEnv(
            [lambda: wrapper(gymnasium.make("MaestroEnv-v1", layer=layer))] * COPIES
        )

    envs = {"empty": make(_Silent), "told": make(_Passing)}
    actions = [envs["told"].action_space.sample() for _ in range(STEPS)]
    works = {name: partial(_step_through, env, actions) for name, env in envs.items()}
    seconds = interleaved(works, REPEATS)
    rates = {name: COPIES * STEPS / each for name, each in seconds.items()}
    return layer, rates["empty"], rates["told"], rates["told"] / rates["empty"]


def _step_through(env: SyncVectorEnv, actions: Iterable[NDArray[Any]]) -> None:
    env.reset()
    for each in actions:
        env.step(each)
