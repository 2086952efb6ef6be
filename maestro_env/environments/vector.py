"""Many environments that step together: each step evaluates one batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import Space
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from maestro_env.base.checks import look_up, require_integer
from maestro_env.base.errors import BudgetExceededError, EnvError, quoted
from maestro_env.environments.actions import ACTIONS, Mask
from maestro_env.environments.information import (
    NO_FIGURES,
    NOT_EVALUATED,
    Observer,
    full_information,
    require_info,
)
from maestro_env.environments.task import Task, TextSpec, episode_end, require_episode_length
from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.evaluation.observations_and_rewards import (
    MOST_REWARDED,
    REWARDS,
    Observations,
    observation,
)
from maestro_env.mapspace.space import Points

MAX_COPIES = 2**20


class MaestroVectorEnv(TextSpec, VectorEnv[Observations, Any, NDArray[Any]]):
    """Copies of ``MaestroEnv`` that step together, with the same results bit for bit.

    Spaces, observations, rewards, episode ends and information are those of ``MaestroEnv``,
    batched. All copies run in step, so they end an episode together; with several evaluators, all
    get the one that a reset draws.

    Autoreset is ``SAME_STEP`` unless told: the step that ends an episode returns the next one's
    first observations, and in ``info`` the last ones as ``final_obs`` (float32[N, n]) and
    ``final_info``. With ``NEXT_STEP`` the step after it returns them, and ignores its actions.

    Information is that of the mappings which the step evaluated, also where it ends an episode;
    Gymnasium's own vectors then have that of the reset, and this one as ``final_info`` only. It has
    arrays ``status`` (int64[N]) and ``objective`` (float64[N]), each with Gymnasium's mask
    (``_status``, ...). With ``info="full"`` also ``best_objective`` (of all copies and episodes),
    ``optimum``, ``optimum_bound``, ``optimum_gap``, ``regret`` and all figures, float64[N], and
    ``vector``, int32[N, D]. What a copy does not know is masked; what none knows is left out.

    Where fewer evaluations than copies remain of the budget, the first copies are evaluated. The
    others earn 0 and see zeros; their masks are false, their status is ``NOT_EVALUATED``. So a
    search that stops once it is ``exhausted`` has spent its budget exactly.

    Args:
        evaluator: counts and evaluates the samples; its budget may be shared with other users. Or
            several, one for each layer, of which every reset draws one.
        num_envs: copies, up to 2^20.
        reference: objective that earns 1 under the reward ``inverse``. None takes the median valid
            objective of the first step that has a valid one, so that every sample is paid for; with
            several evaluators it takes that of ``MaestroEnv`` for each.
        reward: a name of ``REWARDS``.
        episode_length: mappings of an episode; None for 100, or 1 with ``discrete_steps``.
        budget: evaluations allowed, in all copies together; None for all the evaluator has left.
        info: ``basic``, or ``full``.
        action: as in ``MaestroEnv``.
        observation: as in ``MaestroEnv``.
        max_episode_steps: steps after which an episode is truncated at the latest, or None.
        autoreset_mode: ``SAME_STEP`` or ``NEXT_STEP`` of Gymnasium, or its value.

    Raises:
        EnvError: an impossible number of copies or steps, or an impossible reference.
        UnknownNameError: no such reward, info, action or observation.
        MapSpaceError: by ``step``, an action of another shape or type or out of range.
        BudgetExceededError: by ``step``, the budget is spent.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012
    MODES: ClassVar[tuple[AutoresetMode, ...]] = (AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP)

    def __init__(
        self,
        evaluator: Evaluator | Sequence[Evaluator],
        num_envs: int,
        reference: float | None = None,
        reward: str = "inverse",
        episode_length: int | None = None,
        budget: int | None = None,
        info: str = "basic",
        action: str = "multidiscrete",
        observation: str = "cost",
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    ) -> None:
        self._set_up(num_envs, episode_length, action, info, max_episode_steps, autoreset_mode)
        self._tracks = _tracks(evaluator, reference)
        self._end = math.inf if budget is None else self._tracks[0].evaluator.used + budget
        self._reward = look_up("reward", reward, REWARDS)
        copies = (self.num_envs,)
        spaces = [track.evaluator.space for track in self._tracks]
        self._actions = look_up("action", action, ACTIONS)(spaces, copies)
        self._observer = Observer(observation, self._actions, copies)
        self._set_spaces(self._actions.space, self._observer.space)
        self._track: _Track | None = None
        self._begin(self._tracks[0])

    def _set_up(
        self,
        num_envs: int,
        episode_length: int | None,
        action: str,
        info: str,
        max_episode_steps: int | None,
        autoreset_mode: AutoresetMode | str,
    ) -> None:
        # Libraries look for it in either place, as Gymnasium's own vectors have both.
        self.autoreset_mode = _require_mode(autoreset_mode, self.MODES)
        self.metadata = self.metadata | {"autoreset_mode": self.autoreset_mode}
        self.num_envs = require_integer("num_envs", num_envs, EnvError, most=MAX_COPIES)
        self.episode_length = require_episode_length(episode_length, action)
        self._most_steps = _require_limit(max_episode_steps)
        self.info = require_info(info)

    def _set_spaces(self, actions: Space[Any], observations: Space[Any]) -> None:
        self.single_action_space, self.single_observation_space = actions, observations
        self.action_space = batch_space(actions, self.num_envs)
        self.observation_space = batch_space(observations, self.num_envs)

    def _begin(self, track: _Track) -> None:
        """Begin an episode in all copies."""
        if track is not self._track:
            self._track = track
            self.evaluator, self._task, self.reference = track
            self.space = self.evaluator.space
        self._actions.start(self.space)
        self._cost = np.tile(self._task.first, (self.num_envs, 1))
        self._steps = self._mappings = 0
        self._ended = False

    @property
    def remaining(self) -> float:
        """Evaluations left; infinite without any budget."""
        return min(self.evaluator.remaining, self._end - self.evaluator.used)

    @property
    def best_objective(self) -> float:
        """The least objective of all copies and episodes so far; infinite without a valid one."""
        return math.inf if self.evaluator.best is None else self.evaluator.best.value

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self.remaining <= 0

    def action_masks(self) -> Mask:
        """Return which actions of each copy can still become a valid mapping, bool[N, n]."""
        return self._actions.masks(self._task.masks)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode in all copies; ``reset_mask`` is refused."""
        if options:
            raise EnvError(
                f"reset has no option {quoted(next(iter(options)))}; allowed: none, as all copies "
                "are reset together"
            )
        super().reset(seed=seed)
        tracks = self._tracks
        self._begin(tracks[int(self.np_random.integers(len(tracks))) if len(tracks) > 1 else 0])
        return self._see(), self._nothing()

    def step(
        self, actions: Any
    ) -> tuple[Observations, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Step all copies; ``actions`` are of ``action_space``."""
        if self._ended:
            seen, info = self.reset()
            return seen, np.zeros(self.num_envs), self._all(False), self._all(False), info
        vectors = self._actions.vectors(actions)
        if vectors is None:
            rewards, info = np.zeros(self.num_envs), self._nothing()
        else:
            rewards, info = self._evaluate(self.space.as_points(vectors, self.num_envs))
            self._mappings += 1
        self._steps += 1
        terminated, truncated = episode_end(self._mappings, self.episode_length)
        truncated = truncated or self._steps >= self._most_steps
        seen = self._see()
        self._ended = terminated or truncated
        if self._ended and self.autoreset_mode is AutoresetMode.SAME_STEP:
            ended = {"final_obs": seen, "final_info": info}
            seen, _ = self.reset()
            info = info | masked(ended, self._all(True))
        return seen, rewards, self._all(terminated), self._all(truncated), info

    def _all(self, value: bool) -> Mask:
        """Return the same for all copies, bool[N]."""
        # Twice as fast as np.full.
        return (np.ones if value else np.zeros)(self.num_envs, dtype=np.bool_)

    def _see(self) -> Observations:
        return self._observer.see(self._cost, self._task)

    def _evaluate(self, points: Points) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Evaluate the copies that the budget covers; return rewards and information of all."""
        remaining = self.remaining
        if remaining <= 0:
            raise BudgetExceededError(
                "a step of the environments asked for, but no evaluation remains"
            )
        covered = int(min(self.num_envs, remaining))
        batch, figures = self.evaluator.evaluate_in_full(points[:covered])
        if covered < self.num_envs:
            rest, none = _unevaluated(self.num_envs - covered)
            batch = Batch(
                np.concatenate([batch.values, rest.values]),
                np.concatenate([batch.status, rest.status]),
            )
            figures = np.concatenate([figures, none])
        self._cost = observation(figures)
        told = self._information(batch, points, figures, batch.status != NOT_EVALUATED)
        return self._pay(batch.values), told

    def _pay(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.reference is None:
            valid = values[np.isfinite(values)]
            if not len(valid):
                return np.zeros(self.num_envs)
            self.reference = float(np.median(valid))
        least, best = self.reference / MOST_REWARDED, self.evaluator.best
        if best is not None and best.value < least:
            values = np.maximum(values, least)
        return self._reward(self.reference / values)

    def _nothing(self) -> dict[str, Any]:
        """Return the information of copies of which none was evaluated."""
        batch, figures = _unevaluated(self.num_envs)
        points = np.tile(self._task.no_vector, (self.num_envs, 1))
        return self._information(batch, points, figures, self._all(True))

    def _information(
        self, batch: Batch, points: Points, figures: NDArray[np.float64], mask: Mask
    ) -> dict[str, Any]:
        told: dict[str, Any] = {"status": batch.status.astype(np.int64), "objective": batch.values}
        if self.info == "full":
            added = full_information(batch.values, self._task.optimum, points, figures)
            added["best_objective"] = self.best_objective
            for name, value in added.items():
                told[name] = np.full(self.num_envs, value) if isinstance(value, float) else value
        return masked(told, mask)


class _Track(NamedTuple):
    """What an episode may be about: an evaluator, its task, and the objective that earns 1."""

    evaluator: Evaluator
    task: Task
    reference: float | None


def _tracks(evaluator: Evaluator | Sequence[Evaluator], reference: float | None) -> list[_Track]:
    if isinstance(evaluator, Evaluator):
        task = Task(evaluator.problem, evaluator.objective)
        return [_Track(evaluator, task, _require_reference(reference))]
    if reference is not None:
        raise EnvError(f"reference is {reference!r}; allowed: None, as there are many evaluators")
    tasks = [Task(each.problem, each.objective) for each in evaluator]
    return [_Track(*pair, pair[1].reference) for pair in zip(evaluator, tasks, strict=True)]


def _unevaluated(n: int) -> tuple[Batch, NDArray[np.float64]]:
    """Return what stands for the results of ``n`` copies that are not evaluated."""
    status = np.full(n, NOT_EVALUATED, dtype=np.uint8)
    return Batch(np.full(n, math.inf), status), np.broadcast_to(NO_FIGURES, (n, len(NO_FIGURES)))


def _require_reference(value: object) -> float | None:
    if value is None:
        return None
    if not isinstance(value, int | float | np.floating) or not 0 < value < math.inf:
        raise EnvError(f"reference is {value!r}; allowed: None or a positive number")
    return float(value)


def _require_limit(steps: object) -> float:
    """Return after how many steps an episode is truncated at the latest."""
    return math.inf if steps is None else require_integer("max_episode_steps", steps, EnvError)


def _require_mode(mode: AutoresetMode | str, modes: Sequence[AutoresetMode]) -> AutoresetMode:
    allowed = {each.value: each for each in modes}
    return look_up("autoreset_mode", mode.value if isinstance(mode, Enum) else mode, allowed)


def masked(arrays: dict[str, Any], mask: Mask) -> dict[str, Any]:
    """Add Gymnasium's masks: the copies for which an array has values.

    A figure that a copy does not know (NaN) is 0 and masked there; one that none knows is left out.
    """
    found: dict[str, Any] = {}
    for name, array in arrays.items():
        known = mask
        if isinstance(array, np.ndarray) and array.dtype == np.float64 and np.isnan(array).any():
            known = mask & ~np.isnan(array)
            if not known.any():
                continue
            array = np.where(known, array, 0.0)
        found |= {name: array, f"_{name}": known}
    return found
