"""Many environments that step together: each step evaluates one batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from maestro_env.checks import require_integer
from maestro_env.env import MaestroEnv
from maestro_env.episode import (
    REWARDS,
    Observations,
    episode_end,
    first_observation,
    observation_space,
    optimum_information,
    require_info,
)
from maestro_env.errors import BudgetExceededError, EnvError
from maestro_env.evaluator import Batch, Evaluator
from maestro_env.map_space import MapSpace, Points
from maestro_env.optima import known_values
from maestro_env.registry import look_up
from maestro_env.threads import fitting_threads

NOT_EVALUATED = 255
"""Status code of a copy that the budget does not cover; it is no index of ``STATUSES``."""

_MAX_COPIES = 2**20


class MaestroVectorEnv(VectorEnv[Observations, NDArray[np.int64], NDArray[Any]]):
    """Copies of ``MaestroEnv`` over one evaluator, with the same results bit for bit.

    Spaces, observations, rewards and episode ends are those of ``MaestroEnv``, batched. All copies
    run in step, so they end an episode together.

    Autoreset is ``SAME_STEP``: the step that ends an episode returns the next one's first
    observations, and in ``info`` the last ones as ``final_obs`` (float32[N, 4]) and the step's
    information as ``final_info``. All else that ``info`` then holds is their masks.

    Information: arrays ``status`` (uint8[N], codes that index ``STATUSES``), ``objective``
    (float64[N], infinite where the status is not ``ok``) and ``best_objective`` (float64[N], the
    evaluator's best over all copies and episodes), each with Gymnasium's mask (``_status``, ...).
    With ``info="full"`` also ``optimum``, ``optimum_bound`` and ``regret``, float64[N].

    Where fewer evaluations than copies remain of the budget, the first copies are evaluated. The
    others earn 0 and see zeros; their masks are false, their status is ``NOT_EVALUATED``. So a
    search that stops once it is ``exhausted`` has spent its budget exactly.

    Args:
        evaluator: counts and evaluates the samples; its budget may be shared with other users.
        num_envs: copies, up to 2^20.
        reference: objective that earns 1 under the reward ``inverse``. None takes the median valid
            objective of the first step that has a valid one, so that every sample is paid for.
        reward: a name of ``REWARDS``.
        episode_length: steps of an episode.
        budget: evaluations allowed, in all copies together; None for all the evaluator has left.
        info: ``basic``, or ``full`` to be told of the optimum too.

    Raises:
        EnvError: an impossible number of copies or steps, or an impossible reference.
        UnknownNameError: no such reward or info.
        MapSpaceError: by ``step``, an action of another shape or type or out of range.
        BudgetExceededError: by ``step``, the budget is spent.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        evaluator: Evaluator,
        num_envs: int,
        reference: float | None = None,
        reward: str = "inverse",
        episode_length: int = 100,
        budget: int | None = None,
        info: str = "basic",
    ) -> None:
        self.evaluator = evaluator
        self._end = math.inf if budget is None else evaluator.used + budget
        self.num_envs = require_integer("num_envs", num_envs, EnvError, most=_MAX_COPIES)
        self.reference = None if reference is None else _require_reference(reference)
        self.episode_length = require_integer("episode_length", episode_length, EnvError)
        self._reward = look_up("reward", reward, REWARDS)
        self.info = require_info(info)
        if info == "full":
            self._optimum = known_values(evaluator.problem, evaluator.objective)
        self._steps = 0
        self._first = first_observation(self.space.layer, self.space.hardware)
        self.single_action_space = spaces.MultiDiscrete(self.space.sizes)
        self.single_observation_space = observation_space()
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)

    @property
    def space(self) -> MapSpace:
        """The map space whose vectors are the actions."""
        return self.evaluator.space

    @property
    def remaining(self) -> float:
        """Evaluations left; infinite without any budget."""
        return min(self.evaluator.remaining, self._end - self.evaluator.used)

    @property
    def exhausted(self) -> bool:
        """Whether the budget is spent."""
        return self.remaining <= 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode in all copies; nothing is random, and ``reset_mask`` is refused."""
        if options is not None and "reset_mask" in options:
            raise EnvError("reset_mask is not allowed: all copies are reset together")
        super().reset(seed=seed)
        self._steps = 0
        return np.tile(self._first, (self.num_envs, 1)), {}

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observations, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Evaluate one mapping per copy, integers of shape [N, D]."""
        batch, seen = self._evaluate(self.space.as_points(actions, self.num_envs))
        self._steps += 1
        rewards, info = self._pay(batch.values), self._info(batch)
        terminated, truncated = episode_end(self._steps, self.episode_length)
        if terminated or truncated:
            ended = _masked(
                {"final_obs": seen, "final_info": info}, np.ones(self.num_envs, dtype=np.bool_)
            )
            seen, info = self.reset()
            info |= ended
        copies = self.num_envs
        return seen, rewards, np.full(copies, terminated), np.full(copies, truncated), info

    def _evaluate(self, points: Points) -> tuple[Batch, Observations]:
        """Evaluate the copies that the budget covers, and pad the batch to all copies."""
        if self.exhausted:
            raise BudgetExceededError(
                "a step of the environments asked for, but no evaluation remains"
            )
        covered = int(min(self.num_envs, self.remaining))
        batch, seen = self.evaluator.observe(points[:covered])
        rest = (0, self.num_envs - covered)
        if rest == (0, 0):
            return batch, seen
        batch = Batch(
            np.pad(batch.values, rest, constant_values=math.inf),
            np.pad(batch.status, rest, constant_values=NOT_EVALUATED),
        )
        return batch, np.pad(seen, (rest, (0, 0)))

    def _pay(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        if self.reference is None:
            valid = values[np.isfinite(values)]
            if not len(valid):
                return np.zeros(self.num_envs)
            self.reference = float(np.median(valid))
        return self._reward(self.reference / values)

    def _info(self, batch: Batch) -> dict[str, Any]:
        best = self.evaluator.best
        arrays = {
            "status": batch.status,
            "objective": batch.values,
            "best_objective": np.full(self.num_envs, math.inf if best is None else best.value),
        }
        if self.info == "full":
            told = optimum_information(self._optimum, batch.values)
            arrays |= {name: np.full(self.num_envs, each) for name, each in told.items()}
        return _masked(arrays, batch.status != NOT_EVALUATED)


def _require_reference(value: object) -> float:
    if not isinstance(value, int | float | np.floating) or not 0 < value < math.inf:
        raise EnvError(f"reference is {value!r}; allowed: None or a positive number")
    return float(value)


def _masked(arrays: dict[str, Any], mask: NDArray[np.bool_]) -> dict[str, Any]:
    """Add Gymnasium's masks: the copies for which an array has values."""
    return arrays | {f"_{name}": mask for name in arrays}


def make_vector_env(
    num_envs: int = 1, threads: int | None = None, **arguments: Any
) -> MaestroVectorEnv:
    """Make copies of a ``MaestroEnv``; ``gymnasium.make_vec`` calls this.

    Args:
        num_envs: copies, up to 2^20.
        threads: of the batch evaluation; results do not depend on it. None takes one for every
            1,024 copies, but no more than the processors this process may run on; where several
            such processes share them, give each its part.
        **arguments: those of ``MaestroEnv``.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is.
    """
    single = MaestroEnv(**arguments)
    num_envs = require_integer("num_envs", num_envs, EnvError, most=_MAX_COPIES)
    threads = fitting_threads(num_envs) if threads is None else threads
    evaluator = Evaluator(single.problem, single.objective, threads=threads)
    return MaestroVectorEnv(
        evaluator,
        num_envs,
        single.reference,
        single.reward,
        single.episode_length,
        info=single.info,
    )
