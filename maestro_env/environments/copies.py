"""Copies that step together, each on a layer of its own: what they share, whatever their steps."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from maestro_env.base.checks import require_type
from maestro_env.base.errors import EnvError, quoted
from maestro_env.environments.actions import Mask
from maestro_env.environments.information import NO_FIGURES, NOT_EVALUATED, full_information
from maestro_env.environments.task import Task, chosen_tasks
from maestro_env.environments.vector import MaestroVectorEnv, masked
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.observations_and_rewards import Observations
from maestro_env.mapspace.space import Points

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Step = tuple[Observations, Floats, Mask, Mask, dict[str, Any]]


class LayersVectorEnv(MaestroVectorEnv):
    """Copies that each draw a layer of their own, at each of their resets, and end apart.

    What ``MaestroVectorEnv`` says of information holds here. Copy i draws from the seed plus i, as
    in Gymnasium's own vectors.

    Autoreset is as Gymnasium has it: ``SAME_STEP``, ``NEXT_STEP`` or ``DISABLED``. With the last,
    ``reset(options={"reset_mask": bool[N]})`` resets those copies whose episode has ended.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is.
        BudgetExceededError: by ``reset`` and ``step``, the budget of the evaluators is spent.
    """

    MODES: ClassVar[tuple[AutoresetMode, ...]] = tuple(AutoresetMode)

    def _open(
        self, evaluator: Evaluator | Sequence[Evaluator], budget: int | None, masks: bool
    ) -> None:
        self._evaluators = [evaluator] if isinstance(evaluator, Evaluator) else list(evaluator)
        self.evaluator = self._evaluators[0]
        self.space = self.evaluator.space
        self._end = math.inf if budget is None else self._used + budget
        self._masks = masks
        self._tasks = [Task(each.problem, each.objective) for each in self._evaluators]
        self._any, self._every = range(len(self._tasks)), np.arange(self.num_envs)
        self._generators: list[np.random.Generator] = []
        # The task of each copy, steps of its episode, and whether that has ended.
        self._grounds = np.full(self.num_envs, -1)
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)
        self._over = np.zeros(self.num_envs, dtype=np.bool_)

    @abstractmethod
    def _now(self) -> Observations:
        """Return what is seen of all copies, float32[N, n]."""

    @abstractmethod
    def _move(self, actions: Any, playing: Mask, tried: Tried) -> Floats:
        """Step some copies; return the rewards of all."""

    @abstractmethod
    def _start(self, copies: Integers, indices: Sequence[int], tried: Tried) -> None:
        """Put each of some copies on one of some tasks."""

    @abstractmethod
    def _finished(self) -> tuple[Mask, Mask]:
        """Return whether the steps of all copies terminate and truncate their episodes."""

    def _untried(self) -> Tried:
        """Return what stands for no mapping in any copy."""
        return Tried(self.num_envs)

    @property
    def layers(self) -> tuple[str, ...]:
        """The name of the layer that each copy has now."""
        return tuple(self._tasks[ground].problem.layer.name for ground in self._grounds.tolist())

    @property
    def remaining(self) -> float:
        return min(sum(each.remaining for each in self._evaluators), self._end - self._used)

    @property
    def _used(self) -> int:
        return sum(each.used for each in self._evaluators)

    @property
    def best_objective(self) -> float:
        return float(min(self._best_objectives()))

    def _best_objectives(self) -> list[float]:
        return [math.inf if each.best is None else each.best.value for each in self._evaluators]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode in each copy.

        Where the budget does not cover that, copies go on with their present mappings.

        Args:
            seed: of the first copy; None to go on.
            options: as in ``MaestroEnv.reset``; and ``reset_mask``, bool[N], the copies that are
                reset, None for all.
        """
        require_type("options", options or {}, Mapping, "of layer, hardware, reset_mask")
        asked = dict(options or {})
        where = self._require_mask(asked.pop("reset_mask", None))
        indices = chosen_tasks(self._tasks, asked)
        super(MaestroVectorEnv, self).reset(seed=seed)
        self._seed(seed, where)
        tried = self._untried()
        self._restart(np.flatnonzero(where), indices, tried)
        return self._now(), self._with_masks(self._told(tried, where))

    def step(self, actions: Any) -> Step:
        self._require_begun()
        resets = self._over
        if self.autoreset_mode is AutoresetMode.DISABLED and resets.any():
            raise EnvError(
                f"the episode of copy {int(resets.argmax())} has ended; call "
                "reset(options={'reset_mask': ...}) before the next step"
            )
        tried, rewards = self._untried(), np.zeros(self.num_envs)
        if not resets.all():
            rewards = self._move(actions, ~resets, tried)
        if resets.any():
            self._restart(np.flatnonzero(resets), self._any, tried)
        terminated, truncated = self._ends(resets)
        seen = self._now()
        info = self._told(tried, tried.told)
        self._over = over = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP and over.any():
            info |= masked({"final_obs": seen, "final_info": dict(info)}, over)
            self._restart(np.flatnonzero(over), self._any, self._untried())
            seen = self._now()
        return seen, rewards, terminated, truncated, self._with_masks(info)

    def _restart(self, copies: Integers, indices: Sequence[int], tried: Tried) -> None:
        """Begin an episode in some copies, each of one of some tasks."""
        self._start(copies, indices, tried)
        self._lengths[copies] = 0
        over = self._over.copy()
        over[copies] = False
        self._over = over

    def _seed(self, seed: int | None, where: Mask) -> None:
        if seed is None and self._generators:
            return
        made = [
            np_random(None if seed is None else seed + copy)[0] for copy in range(self.num_envs)
        ]
        old = self._generators or made
        self._generators = [
            new if reset else before
            for new, before, reset in zip(made, old, where.tolist(), strict=True)
        ]

    def _ends(self, resets: Mask) -> tuple[Mask, Mask]:
        """Count the step; return whether it terminates and truncates the episode of each copy."""
        self._lengths = np.where(resets, 0, self._lengths + 1)
        terminated, truncated = self._finished()
        return terminated & ~resets, truncated | (self._lengths >= self._most_steps)

    def _told(self, tried: Tried, mask: Mask) -> dict[str, Any]:
        told: dict[str, Any] = {"status": tried.status, "objective": tried.values}
        if self.info == "full":
            known = self._known[self._grounds].T
            told |= full_information(tried.values, known, tried.points, tried.figures)
            told["best_objective"] = np.array(self._best_objectives())[self._grounds]
        return masked(told, mask)

    def _with_masks(self, info: dict[str, Any]) -> dict[str, Any]:
        """Add the masks of the mappings that are seen."""
        if not self._masks:
            return info
        told = {"action_mask": self.action_masks().astype(np.int8)}
        return info | masked(told, np.ones(self.num_envs, dtype=np.bool_))

    @cached_property
    def _known(self) -> Floats:
        """Value and bound of the known optimum of each task, float64[T, 2]."""
        return np.array([task.optimum for task in self._tasks])

    def _require_begun(self) -> None:
        if not self._generators or (self._grounds < 0).any():
            raise EnvError("no episode has begun; call reset() before the first step")

    def _require_mask(self, mask: Any) -> Mask:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        given = np.asarray(mask)
        if given.shape != (self.num_envs,) or given.dtype != np.bool_ or not given.any():
            raise EnvError(
                f"reset_mask is {quoted(mask)}; allowed: bool[{self.num_envs}], at least one True"
            )
        return given


class Tried:
    """What became of the mappings of N copies; where none was tried, what stands for that."""

    def __init__(self, count: int) -> None:
        # Of which copies information is told.
        self.told = np.zeros(count, dtype=np.bool_)
        self.values = np.full(count, math.inf)
        self.status = np.full(count, NOT_EVALUATED, dtype=np.int64)
        self.points: Points = np.empty((count, 0), dtype=np.int32)
        # They are asked for with all information alone.
        self.figures: Floats = np.empty((0, len(NO_FIGURES)))

    def keep(self, copies: Integers, points: Points, outcome: Any) -> None:
        """Keep what some copies tried; ``points`` are those of all."""
        values, status, figures = outcome
        self.told[copies] = True
        self.values[copies], self.status[copies] = values, status
        if len(figures):
            if not len(self.figures):
                self.figures = np.tile(NO_FIGURES, (len(self.values), 1))
            self.figures[copies] = figures
        if self.points.shape == points.shape:
            self.points[copies] = points[copies]
        else:
            self.points = points
