"""Level-based foraging (Christianos et al., 2020): agents load food that is too much for one."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from maestro_env.base.errors import MissingExtraError
from maestro_env.mappers.papers.tasks import Task, TaskError
from maestro_env.mappers.parts.arrays import Floats, Floats32, Integers

DEFAULT = "Foraging-8x8-2p-2f-coop-v3"
"""Two agents that need each other for each of two foods, in a field of 8 x 8 cells."""

_ACTIONS = 6  # Stay, four directions, load.


class Foraging(Task):
    """Copies of an environment of lbforaging, which step one after the other.

    All agents are paid together: the share of all food that was loaded with a step, so that a
    return is at most 1. A copy is finished when no food is left. An agent sees places and levels of
    the foods, of itself and of the others, each divided by the largest there can be: of larger
    numbers QMIX's hypernetworks first make weights with which values diverge.

    Args:
        copies: E.
        name: of an environment that lbforaging registers with Gymnasium.

    Raises:
        MissingExtraError: lbforaging is not installed.
        TaskError: no such environment, or a number of copies outside 1 to 10,000.
    """

    def __init__(self, copies: int = 1, name: str = DEFAULT) -> None:
        try:
            import lbforaging  # noqa: F401 (registers its environments)
        except ModuleNotFoundError as error:
            raise MissingExtraError(__name__, str(error.name), "foraging") from error
        if not name.startswith("Foraging-") or name not in gymnasium.registry:
            raise TaskError(f"no task of foraging is {name!r}; allowed: names such as {DEFAULT}")
        settings = gymnasium.spec(name).kwargs
        super().__init__(
            copies, ((_ACTIONS,),) * settings["players"], settings["max_episode_steps"]
        )
        self._envs: list[Any] = [
            gymnasium.make(name, disable_env_checker=True).unwrapped for _ in range(copies)
        ]
        spaces = self._envs[0].observation_space
        # The largest numbers that can be seen.
        self._most = spaces[0].high
        # What each agent of a copy sees.
        self._seen: list[tuple[Floats32, ...]] = [()] * copies
        self.widths = tuple(each.shape[0] for each in spaces)

    def _begin(self, rng: np.random.Generator) -> None:
        self._seen = [env.reset(seed=int(rng.integers(2**31)))[0] for env in self._envs]

    def _act(self, actions: Integers) -> Floats:
        loaded = np.zeros(self.copies)
        for copy in np.flatnonzero(~self.finished).tolist():
            env = self._envs[copy]
            self._seen[copy], rewards, *_ = env.step(actions[copy].tolist())
            loaded[copy] = sum(rewards)
            self.finished[copy] = not env.field.any()
        return np.repeat(loaded[:, np.newaxis], self.agents, axis=1)

    def _observe(self) -> list[Floats32]:
        return [np.stack(each) / self._most for each in zip(*self._seen, strict=True)]
