"""Copies of ``MaestroImprove-v1`` that step together."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from maestro_env.base.checks import require_type
from maestro_env.base.errors import BudgetExceededError, EnvError, quoted
from maestro_env.environments.actions import Mask, as_integers
from maestro_env.environments.improvement import Copies, Options, draw_starts
from maestro_env.environments.information import NO_FIGURES, NOT_EVALUATED, full_information
from maestro_env.environments.task import Task, chosen_tasks, drawn_task
from maestro_env.environments.vector import MaestroVectorEnv, masked
from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.evaluation.rewards import Observations
from maestro_env.evaluation.status import OK
from maestro_env.mapspace.space import Points

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Step = tuple[Observations, Floats, Mask, Mask, dict[str, Any]]


class MaestroImproveVectorEnv(MaestroVectorEnv):
    """Copies of ``MaestroImproveEnv`` that step together, with the same results bit for bit.

    What ``MaestroVectorEnv`` says of information holds here. The starts are samples too. Copy i
    draws them, and its layer where there are several, from the seed plus i, as in Gymnasium's own
    vectors; each copy has a layer of its own, which its resets draw anew.

    Autoreset is as Gymnasium has it: ``SAME_STEP``, ``NEXT_STEP`` or ``DISABLED``. With the last,
    ``reset(options={"reset_mask": bool[N]})`` resets those copies whose episode has ended.

    Args:
        evaluator: counts and evaluates the samples, or several, one for each layer.
        num_envs: copies, up to 2^20.
        episode_length: moves of an episode; None for 100.
        info: ``basic``, or ``full``.
        max_episode_steps: steps after which an episode is truncated at the latest, or None.
        autoreset_mode: a mode of Gymnasium, or its value.
        budget: evaluations that the copies may take; None for all that the evaluators have left.
        moves: as in ``MaestroImproveEnv``, like all below.
        observation: what is seen.
        reward: what is paid for.
        start: what episodes begin with.
        masks: whether ``info`` has ``action_mask``, int8[N, n].

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is.
        BudgetExceededError: by ``reset`` and ``step``, the budget of the evaluators is spent.
    """

    MODES: ClassVar[tuple[AutoresetMode, ...]] = tuple(AutoresetMode)

    def __init__(
        self,
        evaluator: Evaluator | Sequence[Evaluator],
        num_envs: int,
        episode_length: int | None = None,
        info: str = "basic",
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        budget: int | None = None,
        moves: str = "plain",
        observation: str = "context",
        reward: str = "improvement",
        start: str = "random",
        masks: bool = False,
    ) -> None:
        self._set_up(num_envs, episode_length, "moves", info, max_episode_steps, autoreset_mode)
        self._evaluators = [evaluator] if isinstance(evaluator, Evaluator) else list(evaluator)
        self.evaluator = self._evaluators[0]
        self.space = self.evaluator.space
        self._end = math.inf if budget is None else self._used + budget
        limits = (budget, *(each.budget for each in self._evaluators))
        self._unlimited = all(each is None for each in limits)
        self.options = Options(moves, observation, reward, start, info, masks)
        self._tasks = [Task(each.problem, each.objective) for each in self._evaluators]
        self._copies = Copies(self._tasks, self.num_envs, self.options, self.evaluator.threads)
        self._set_spaces(self._copies.action_space, self._copies.observation_space)
        self._any, self._every = range(len(self._tasks)), range(self.num_envs)
        # Others are told of new bests alone: of many layers a step has a few mappings each.
        self._told_all = np.array([not each.is_plain for each in self._evaluators])
        self._leasts = np.array(self._best_objectives())
        self._generators: list[np.random.Generator] = []
        # The task of each copy, moves of its episode, whether that has ended, and the logarithm of
        # what rewards compare with.
        self._grounds = np.full(self.num_envs, -1)
        self._lengths = np.zeros(self.num_envs, dtype=np.int64)
        self._over = np.zeros(self.num_envs, dtype=np.bool_)
        self._logs = np.zeros(self.num_envs)

    @property
    def moves(self) -> tuple[tuple[str, str], ...]:
        """Parameter and name of each action."""
        return self._copies.names

    @property
    def layers(self) -> tuple[str, ...]:
        """The name of the layer that each copy has now."""
        return tuple(self._tasks[ground].problem.layer.name for ground in self._grounds.tolist())

    @property
    def remaining(self) -> float:
        """Evaluations left; infinite without any budget."""
        return min(sum(each.remaining for each in self._evaluators), self._end - self._used)

    @property
    def _used(self) -> int:
        return sum(each.used for each in self._evaluators)

    @property
    def best_objective(self) -> float:
        """The least objective of all copies and episodes so far; infinite without a valid one."""
        return float(min(self._best_objectives()))

    def _best_objectives(self) -> list[float]:
        return [math.inf if each.best is None else each.best.value for each in self._evaluators]

    def action_masks(self) -> Mask:
        """Return which moves of each copy lead to another mapping that may be valid, bool[N, n]."""
        self._require_begun()
        return self._copies.native.masks()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Draw a mapping in each copy.

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
        tried = _Tried(self.num_envs)
        self._restart(np.flatnonzero(where), indices, tried)
        return self._copies.native.seen(), self._with_masks(self._told(tried, where))

    def step(self, actions: Any) -> Step:
        """Step all copies; ``actions`` are of ``action_space``."""
        self._require_begun()
        resets = self._over
        if self.autoreset_mode is AutoresetMode.DISABLED and resets.any():
            raise EnvError(
                f"the episode of copy {int(resets.argmax())} has ended; call "
                "reset(options={'reset_mask': ...}) before the next step"
            )
        tried, rewards = _Tried(self.num_envs), np.zeros(self.num_envs)
        if not resets.all():
            rewards = self._move(actions, ~resets, tried)
        if resets.any():
            self._restart(np.flatnonzero(resets), self._any, tried)
        terminated, truncated = self._ends(resets)
        seen = self._copies.native.seen()
        info = self._told(tried, tried.status != NOT_EVALUATED)
        self._over = over = terminated | truncated
        if self.autoreset_mode is AutoresetMode.SAME_STEP and over.any():
            info |= masked({"final_obs": seen, "final_info": dict(info)}, over)
            self._restart(np.flatnonzero(over), self._any, _Tried(self.num_envs))
            seen = self._copies.native.seen()
        return seen, rewards, terminated, truncated, self._with_masks(info)

    def _move(self, actions: Any, playing: Mask, tried: _Tried) -> Floats:
        """Make the moves of copies that the budget covers; return the rewards of all."""
        moves = as_integers(actions, (self.num_envs,), len(self.moves))
        native, copies = self._copies.native, self._covered(playing)
        points = native.after(moves[:, np.newaxis])
        began = time.perf_counter()
        outcome = native.try_points(copies, points[copies])
        tried.keep(copies, points, outcome)
        self._record(copies, tried, time.perf_counter() - began)
        logs = np.log(native.values())
        if self.options.reward == "best":
            logs = np.minimum(logs, self._logs)
        rewards: Floats = self._logs - logs
        self._logs = logs
        return rewards

    def _covered(self, playing: Mask) -> Integers:
        """Return the first of some copies, as many as the budgets cover."""
        if self._unlimited:
            return np.flatnonzero(playing)
        covered = playing & (np.cumsum(playing) <= self._end - self._used)
        for ground, evaluator in enumerate(self._evaluators):
            mine = covered & (self._grounds == ground)
            covered &= ~mine | (np.cumsum(mine) <= evaluator.remaining)
        if not covered.any():
            raise BudgetExceededError(
                "a step of the environments asked for, but no evaluation remains"
            )
        return np.flatnonzero(covered)

    def _record(self, copies: Integers, tried: _Tried, seconds: float) -> None:
        """Charge the evaluator of each layer with the points that were tried of it."""
        grounds, valid = self._grounds[copies], tried.status[copies] == OK
        counts = np.bincount(grounds, minlength=len(self._any))
        good = np.bincount(grounds[valid], minlength=len(self._any))
        told = self._told_all | (self._leasts > self._least_of(copies, tried))
        for ground in np.flatnonzero(counts).tolist():
            evaluator, share = self._evaluators[ground], counts[ground] / len(copies)
            evaluator.model_seconds += seconds * share
            if not told[ground]:
                evaluator.count(int(counts[ground]), int(good[ground]))
                continue
            mine = copies[grounds == ground]
            status = tried.status[mine].astype(np.uint8)
            evaluator.record(tried.points[mine], Batch(tried.values[mine], status))
        self._leasts = np.array(self._best_objectives()) if told.any() else self._leasts

    def _least_of(self, copies: Integers, tried: _Tried) -> Floats:
        """Return the least value that was tried of each layer."""
        least = np.full(len(self._any), math.inf)
        np.minimum.at(least, self._grounds[copies], tried.values[copies])
        return least

    def _restart(self, copies: Integers, indices: Sequence[int], tried: _Tried) -> None:
        """Begin an episode in some copies, each of one of some tasks."""
        native = self._copies.native
        grounds, starts = self._grounds[copies], native.present()[copies]
        try:
            grounds, starts = self._drawn(copies, indices)
        except BudgetExceededError:
            # What the last steps have found counts, though no new episode can begin.
            if (grounds < 0).any():
                raise
        self._grounds[copies] = grounds
        native.place(copies, grounds)
        # Their samples are counted already.
        outcome = native.try_points(copies, starts)
        tried.keep(copies, native.present(), outcome)
        self._logs[copies] = np.log(outcome[0])
        self._lengths[copies] = 0
        over = self._over.copy()
        over[copies] = False
        self._over = over

    def _drawn(self, copies: Integers, indices: Sequence[int]) -> tuple[Integers, Points]:
        """Draw a task, and a valid vector of it, for each of some copies."""
        generators = [self._generators[copy] for copy in copies.tolist()]
        grounds = np.array([drawn_task(indices, each) for each in generators])
        starts = np.empty((len(copies), len(self.space.sizes)), dtype=np.int32)
        for ground in np.unique(grounds).tolist():
            mine = np.flatnonzero(grounds == ground)
            starts[mine] = self._draw_on(ground, [generators[each] for each in mine.tolist()])
        return grounds, starts

    def _draw_on(self, ground: int, generators: Sequence[np.random.Generator]) -> Points:
        evaluator = self._evaluators[ground]

        def status(points: Points) -> NDArray[np.uint8]:
            return evaluator.evaluate(points).status

        return draw_starts(self._tasks[ground], generators, status, self.options.start)

    def _seed(self, seed: int | None, where: Mask) -> None:
        if seed is None and self._generators:
            return
        made = [np_random(None if seed is None else seed + copy)[0] for copy in self._every]
        old = self._generators or made
        self._generators = [
            new if reset else before
            for new, before, reset in zip(made, old, where.tolist(), strict=True)
        ]

    def _ends(self, resets: Mask) -> tuple[Mask, Mask]:
        """Count the step; return whether it terminates and truncates the episode of each copy."""
        self._lengths = np.where(resets, 0, self._lengths + 1)
        ended = self._lengths >= self.episode_length
        none = np.zeros(self.num_envs, dtype=np.bool_)
        terminated, truncated = (ended, none) if self.episode_length == 1 else (none, ended)
        return terminated, truncated | (self._lengths >= self._most_steps)

    def _told(self, tried: _Tried, mask: Mask) -> dict[str, Any]:
        told: dict[str, Any] = {"status": tried.status, "objective": tried.values}
        if self.info == "full":
            known = self._known[self._grounds].T
            told |= full_information(tried.values, known, tried.points, tried.figures)
            told["best_objective"] = np.array(self._best_objectives())[self._grounds]
        return masked(told, mask)

    def _with_masks(self, info: dict[str, Any]) -> dict[str, Any]:
        """Add the masks of the mappings that are seen."""
        if not self.options.masks:
            return info
        told = {"action_mask": self.action_masks().astype(np.int8)}
        return info | masked(told, np.ones(self.num_envs, dtype=np.bool_))

    @cached_property
    def _known(self) -> Floats:
        """Value and bound of the known optimum of each task, float64[T, 2]."""
        return np.array([task.optimum for task in self._tasks])

    def _require_begun(self) -> None:
        if not self._generators or (self._grounds < 0).any():
            raise EnvError("there is no mapping to change; call reset() before the first step")

    def _require_mask(self, mask: Any) -> Mask:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        given = np.asarray(mask)
        if given.shape != (self.num_envs,) or given.dtype != np.bool_ or not given.any():
            raise EnvError(
                f"reset_mask is {quoted(mask)}; allowed: bool[{self.num_envs}], at least one True"
            )
        return given


class _Tried:
    """What became of the mappings of N copies; where none was tried, what stands for that."""

    def __init__(self, count: int) -> None:
        self.values = np.full(count, math.inf)
        self.status = np.full(count, NOT_EVALUATED, dtype=np.int64)
        self.points: Points = np.empty((count, 0), dtype=np.int32)
        # They are asked for with all information alone.
        self.figures: Floats = np.empty((0, len(NO_FIGURES)))

    def keep(self, copies: Integers, points: Points, outcome: Any) -> None:
        """Keep what some copies tried; ``points`` are those of all."""
        values, status, figures = outcome
        self.values[copies], self.status[copies] = values, status
        if len(figures):
            if not len(self.figures):
                self.figures = np.tile(NO_FIGURES, (len(self.values), 1))
            self.figures[copies] = figures
        if self.points.shape == points.shape:
            self.points[copies] = points[copies]
        else:
            self.points = points
