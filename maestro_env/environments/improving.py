"""The environment whose steps change one mapping, parameter by parameter, alone and as copies."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from maestro_env.base.errors import BudgetExceededError, EnvError
from maestro_env.environments.actions import Mask, as_integers
from maestro_env.environments.copies import Floats, Integers, LayersVectorEnv, Tried
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.improvement import DEFAULTS, Copies, Options, draw_starts
from maestro_env.environments.task import Accelerators, drawn_task, episode_end, make_tasks
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.observations_and_rewards import Observations
from maestro_env.evaluation.problem import AUTO
from maestro_env.mapspace.space import Points
from maestro_env.workloads.layer import Layer

_FIRST = np.zeros(1, dtype=np.int64)

Step = tuple[Observations, float, bool, bool, dict[str, Any]]


class MaestroImproveEnv(MaestroEnv):
    """Improve a mapping: a step changes one parameter of the present one and evaluates the result.

    It is a Markov decision process: the next state and the reward depend on state and action only.

    ## Action Space
    `Discrete`, the moves of all parameters; `env.unwrapped.moves` has the parameter and the name of
    each. An order exchanges two adjacent loops (`swap 0` the outer two), a parallel dimension is
    set, a size takes the next smaller or larger choice, or the largest one up to half or double.
    A move out of the range changes nothing. `action_masks()` forbids moves that change nothing or
    certainly lead to an invalid mapping; under the model `exact` what it allows is valid.

    ## Observation Space
    `Box(0, 1, (n,), float32)`: the figures of the present mapping, 4 numbers as in `MaestroEnv`;
    the mapping itself (of an order the place of each loop, of a parallel dimension a 1 among
    zeros, of a size log(size) / log(largest)); the context, a number for each name of
    `maestro_env.CONTEXT`. With `observation="bottlenecks"` 37 numbers from -3 to 3 follow.

    ## Rewards
    log(objective before / objective after). So the return, undiscounted, is log(objective of the
    first mapping / objective of the last). Where a move leads to an invalid mapping, the present
    one stays, and the reward is 0. With `reward="best"` it is log(best before / best after) of the
    mappings of the episode, and the return log(first / best).

    ## Starting State
    A valid mapping, drawn from the seed by `Masks.sample`. With `layers` also one of the layers.

    ## Episode End
    Truncated after `episode_length` moves; of 1 move, terminated.

    ## Information
    As in `MaestroEnv`: `status` and `objective` are of the mapping that the step evaluated, after
    a reset of the start. The attributes `vector`, `mapping` and `cost` are of the present mapping.
    With `masks=True` also `action_mask`, int8[n], what `action_masks()` returns.

    ## Arguments
    Those of `MaestroEnv`, without `action`, and with other names of `observation` and `reward`:

    * `moves`: `plain`, as above; `chunks`, or `pairs`, as `moves_of` lists them.
    * `observation`: `context`, or `bottlenecks`, what limits the mapping, in numbers that mean the
      same on all layers and accelerators: chunks of both levels, use of PEs and buffers, what takes
      cycles and energy (`native/improve/bottlenecks.cpp` has them in their order).
    * `reward`: `improvement`, or `best`.
    * `start`: `random`, or `prior`, a proposal of the package's prior, drawn from the seed.
    * `masks`: whether `info` has the mask.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is allowed. By
            `reset`, a space in which no valid mapping was found.
    """

    def __init__(
        self,
        layer: str | Layer | None = None,
        objective: str | Objective = "edp",
        hardware: Accelerators = "unlimited",
        model: str = DEFAULT_MODEL,
        schema: str = AUTO,
        tiles: str = "integers",
        episode_length: int | None = None,
        guard: bool = True,
        info: str = "basic",
        layers: Sequence[str | Layer] | None = None,
        render_mode: str | None = None,
        moves: str = "plain",
        observation: str = "context",
        reward: str = "improvement",
        start: str = "random",
        masks: bool = False,
    ) -> None:
        tasks = make_tasks(layer, layers, objective, hardware, model, schema, tiles, guard)
        self.options = Options(moves, observation, reward, start, info, masks)
        self.reward, self.action, self.observation = reward, "moves", observation
        self._set_up(tasks, episode_length, info, render_mode)
        self._copies = Copies(tasks, 1, self.options)
        self.action_space = self._copies.action_space
        self.observation_space = self._copies.observation_space
        self._count = len(self._copies.names)
        # Logarithm of what rewards compare with; NaN before the first reset.
        self._log = math.nan

    @property
    def moves(self) -> tuple[tuple[str, str], ...]:
        """Parameter and name of each action."""
        return self._copies.names

    @property
    def vector(self) -> Points | None:
        """The vector of the present mapping, int32[D]; None before the first reset."""
        return None if math.isnan(self._log) else self._copies.native.present()[0]

    def action_masks(self) -> Mask:
        """Return which moves lead to another mapping that may be valid, bool[moves]."""
        self._require_begun()
        mask: Mask = self._copies.native.masks()[0]
        return mask

    def _first(self) -> tuple[Observations, dict[str, Any]]:
        """Draw a mapping; return the first observation, float32[n], and ``info``."""
        task = self._task

        def status(points: Points) -> NDArray[np.uint8]:
            return task.problem.score(points, task.objective)[1]

        start = draw_starts(task, [self.np_random], status, self.options.start)[0]
        self._copies.native.place(_FIRST, np.array([self._index]))
        seen = self._keep(self._copies.native.try_point(start))
        self._log = np.log(self._value)
        return seen, self._information()

    def step(self, action: Any) -> Step:
        """Make a move: return observation, reward, terminated, truncated and ``info``.

        Raises:
            MapSpaceError: an action outside of the action space.
            EnvError: before the first reset.
        """
        self._require_begun()
        if type(action) not in (int, np.int64) or not 0 <= action < self._count:
            action = int(as_integers(action, (), self._count))
        return self._after(self._copies.native.step(action))

    def take(self, moves: Sequence[int]) -> Step:
        """Make some moves of different parameters at once: a step, as ``step`` returns it."""
        # An empty list has no integers.
        asked = np.asarray(moves, dtype=None if len(moves) else np.int64)
        together = as_integers(asked, (len(moves),), self._count)
        if len({self.moves[move][0] for move in together.tolist()}) < len(together):
            raise EnvError(f"moves are {list(moves)}; allowed: one of a parameter")
        self._require_begun()
        native = self._copies.native
        return self._after(native.try_point(native.after(together[np.newaxis])[0]))

    def _after(self, outcome: Any) -> Step:
        seen, reward = self._keep(outcome), self._pay()
        self._mappings += 1
        terminated, truncated = episode_end(self._mappings, self.episode_length)
        return seen, reward, terminated, truncated, self._information()

    def _keep(self, outcome: Any) -> Observations:
        """Keep what became of a mapping; return what is seen of the present one."""
        seen: Observations
        seen, self._value, self._status, self._vector, self._figures = outcome
        if self._value < self._best.value:
            self._best.value, self._best.vector = self._value, self._vector
        return seen

    def _pay(self) -> float:
        if self._value == math.inf:
            return 0.0
        # Of numpy, as of many copies: others may round another way.
        before, after = self._log, np.log(self._value)
        if self.reward == "best" and after >= before:
            return 0.0
        self._log = after
        return float(before - after)

    def _information(self) -> dict[str, Any]:
        told = super()._information()
        if self.options.masks:
            told["action_mask"] = self.action_masks().astype(np.int8)
        return told

    def _require_begun(self) -> None:
        if self._log != self._log:
            raise EnvError("there is no mapping to change; call reset() before the first step")


class MaestroImproveVectorEnv(LayersVectorEnv):
    """Copies of ``MaestroImproveEnv`` that step together, with the same results bit for bit.

    The starts are samples too.

    Args:
        evaluator: counts and evaluates the samples, or several, one for each layer.
        num_envs: copies, up to 2^20.
        episode_length: moves of an episode; None for 100.
        max_episode_steps: steps after which an episode is truncated at the latest, or None.
        autoreset_mode: a mode of Gymnasium, or its value.
        budget: evaluations that the copies may take; None for all that the evaluators have left.
        options: all else that a ``MaestroImproveEnv`` may choose.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is.
        BudgetExceededError: by ``reset`` and ``step``, the budget of the evaluators is spent.
    """

    def __init__(
        self,
        evaluator: Evaluator | Sequence[Evaluator],
        num_envs: int,
        episode_length: int | None = None,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        budget: int | None = None,
        options: Options = DEFAULTS,
    ) -> None:
        self.options = options
        how = (options.info, max_episode_steps, autoreset_mode)
        self._set_up(num_envs, episode_length, "moves", *how)
        self._open(evaluator, budget, options.masks)
        limits = (budget, *(each.budget for each in self._evaluators))
        self._unlimited = all(each is None for each in limits)
        self._copies = Copies(self._tasks, self.num_envs, self.options, self.evaluator.threads)
        self._set_spaces(self._copies.action_space, self._copies.observation_space)
        # Others are told of new bests alone: of many layers a step has a few mappings each.
        self._told_all = np.array([not each.is_plain for each in self._evaluators])
        self._leasts = np.array(self._best_objectives())
        # The logarithm of what the rewards of each copy compare with.
        self._logs = np.zeros(self.num_envs)

    @property
    def moves(self) -> tuple[tuple[str, str], ...]:
        """Parameter and name of each action."""
        return self._copies.names

    def action_masks(self) -> Mask:
        """Return which moves of each copy lead to another mapping that may be valid, bool[N, n]."""
        self._require_begun()
        return self._copies.native.masks()

    def _now(self) -> Observations:
        return self._copies.native.seen()

    def _finished(self) -> tuple[Mask, Mask]:
        ended = self._lengths >= self.episode_length
        none = np.zeros(self.num_envs, dtype=np.bool_)
        return (ended, none) if self.episode_length == 1 else (none, ended)

    def _move(self, actions: Any, playing: Mask, tried: Tried) -> Floats:
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

    def _record(self, copies: Integers, tried: Tried, seconds: float) -> None:
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

    def _least_of(self, copies: Integers, tried: Tried) -> Floats:
        """Return the least value that was tried of each layer."""
        least = np.full(len(self._any), math.inf)
        np.minimum.at(least, self._grounds[copies], tried.values[copies])
        return least

    def _start(self, copies: Integers, indices: Sequence[int], tried: Tried) -> None:
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
