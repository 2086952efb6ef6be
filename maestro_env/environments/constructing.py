"""The environment whose steps each decide a part of a mapping, alone and as copies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from maestro_env import _native
from maestro_env.base.checks import require_type
from maestro_env.base.errors import EnvError
from maestro_env.environments.actions import Mask, as_integers
from maestro_env.environments.copies import Floats, Integers, LayersVectorEnv, Tried
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.information import NO_FIGURES
from maestro_env.environments.task import Accelerators, Task, drawn_task, make_tasks
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.observations_and_rewards import Observations
from maestro_env.evaluation.problem import AUTO, require
from maestro_env.prior.proposals import OPTIONS, Proposer
from maestro_env.workloads.layer import Layer

# Features are octaves of double-precision numbers from 2^-60 on, over 8, or less than 8.
_LEAST, _MOST = -8.0, 128.0
_FIRST = np.zeros(1, dtype=np.int64)


class MaestroConstructEnv(MaestroEnv):
    """Construct a mapping: a step makes one decision, and the last one evaluates the result.

    Decisions and what is seen of them are those of the package's prior: the parallel loops, the
    cluster size, the tiles of L2 and of L1, and the orders, from the innermost loop outwards. What
    leaves no choice is decided on the way, so the number of steps differs: about 13 on `edge`.

    ## Action Space
    `Discrete(64)`, an option of the decision. `action_masks()` allows as many as there are; an
    option c beyond these n means c modulo n. Sizes that fit the buffers are options, thinned out
    where they are many, so that every finished mapping is valid.

    ## Observation Space
    `Box(-8, 128, (n,), float32)`, in this order: the context, a number for each name of
    `maestro_env.CONTEXT`; which of 22 kinds the decision is, a 1 among zeros; 74 numbers for the
    state, what is decided so far; 20 for each of 64 options, what it would make of the mapping,
    zeros for those there are not (`native/prior/features.cpp` has all in their order). After the
    last decision all but the context is 0.

    ## Rewards
    0 until the last decision, then log(lower bound / objective), the bound the product of the lower
    bounds of the objective's figures. So differences of returns on a layer are those of
    `MaestroImproveEnv`: log(one objective / the other).

    ## Starting State
    Nothing is decided. With `layers`, every reset draws one of them from the seed.

    ## Episode End
    Terminated by the last decision.

    ## Information
    As in `MaestroEnv`: nothing is evaluated before the last decision. With `masks=True` also
    `action_mask`, int8[64], what `action_masks()` returns.

    ## Arguments
    Those of `MaestroEnv`, without `model`, which is `exact`, `guard`, `reward`, `episode_length`,
    `action` and `observation`; and `masks`, whether `info` has the mask.

    Raises:
        MaestroEnvError: an argument that is not allowed, or a layer of which no mapping fits; the
            message says what is allowed.
    """

    def __init__(
        self,
        layer: str | Layer | None = None,
        objective: str | Objective = "edp",
        hardware: Accelerators = "unlimited",
        schema: str = AUTO,
        tiles: str = "integers",
        info: str = "basic",
        layers: Sequence[str | Layer] | None = None,
        render_mode: str | None = None,
        masks: bool = False,
    ) -> None:
        tasks = make_tasks(layer, layers, objective, hardware, DEFAULT_MODEL, schema, tiles, True)
        require_type("masks", masks, bool, "True or False")
        self.masks = masks
        self.reward, self.action, self.observation = "bound", "decisions", "decisions"
        self._set_up(tasks, 1, info, render_mode)
        self._construction = _construction(tasks, 1)
        self.action_space, self.observation_space = _spaces(self._construction)
        # Whether there is no decision to make.
        self._over = True

    def action_masks(self) -> Mask:
        """Return which options the decision has, bool[64]."""
        mask: Mask = self._construction.masks(_FIRST)[0]
        return mask

    def _first(self) -> tuple[Observations, dict[str, Any]]:
        self._construction.begin(_FIRST, np.array([self._index]))
        self._over = False
        return self._construction.seen(_FIRST)[0], self._information()

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Decide: return observation, reward, terminated, truncated and ``info``.

        Raises:
            MapSpaceError: an action outside of the action space.
            EnvError: before the first reset, or after the last decision.
        """
        if self._over:
            raise EnvError("there is nothing to decide; call reset() before the next step")
        option = as_integers(action, (), OPTIONS)
        self._over = bool(self._construction.choose(_FIRST, option[np.newaxis])[0])
        self._forget()
        paid = 0.0
        if self._over:
            self._evaluate(self._construction.points(_FIRST)[0])
            paid = float(_reward(self._task, np.array([self._value]))[0])
        seen = self._construction.seen(_FIRST)[0]
        return seen, paid, self._over, False, self._information()

    def _information(self) -> dict[str, Any]:
        told = super()._information()
        if self.masks:
            told["action_mask"] = self.action_masks().astype(np.int8)
        return told


class MaestroConstructVectorEnv(LayersVectorEnv):
    """Copies of ``MaestroConstructEnv`` that step together, with the same results bit for bit.

    Args:
        evaluator: counts and evaluates the mappings, or several, one for each layer.
        num_envs: copies, up to 2^20.
        info: ``basic``, or ``full``.
        max_episode_steps: steps after which an episode is truncated at the latest, or None.
        autoreset_mode: a mode of Gymnasium, or its value.
        masks: whether ``info`` has ``action_mask``, int8[N, 64].

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is.
        BudgetExceededError: by ``step``, the budget of an evaluator is spent.
    """

    def __init__(
        self,
        evaluator: Evaluator | Sequence[Evaluator],
        num_envs: int,
        info: str = "basic",
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        masks: bool = False,
    ) -> None:
        self._set_up(num_envs, 1, "decisions", info, max_episode_steps, autoreset_mode)
        self._open(evaluator, None, masks)
        self._construction = _construction(self._tasks, self.num_envs)
        self._set_spaces(*_spaces(self._construction))
        self._every = np.arange(self.num_envs)
        self._complete = np.zeros(self.num_envs, dtype=np.bool_)

    def action_masks(self) -> Mask:
        """Return which options the decision of each copy has, bool[N, 64]."""
        self._require_begun()
        return self._construction.masks(self._every)

    def _now(self) -> Observations:
        return self._construction.seen(self._every)

    def _finished(self) -> tuple[Mask, Mask]:
        return self._complete, np.zeros(self.num_envs, dtype=np.bool_)

    def _untried(self) -> Tried:
        tried = super()._untried()
        # Of mappings that are not complete as well.
        tried.points = np.zeros((self.num_envs, len(self.space.sizes)), dtype=np.int32)
        tried.figures = np.tile(NO_FIGURES, (self.num_envs, 1))
        return tried

    def _start(self, copies: Integers, indices: Sequence[int], tried: Tried) -> None:
        drawn = [drawn_task(indices, self._generators[copy]) for copy in copies.tolist()]
        self._grounds[copies] = drawn
        self._construction.begin(copies, self._grounds[copies])
        tried.told[copies] = True

    def _move(self, actions: Any, playing: Mask, tried: Tried) -> Floats:
        """Decide in some copies, and evaluate what is complete; return the rewards of all."""
        options, copies = as_integers(actions, (self.num_envs,), OPTIONS), np.flatnonzero(playing)
        complete = self._construction.choose(copies, options[copies])
        self._complete = np.zeros(self.num_envs, dtype=np.bool_)
        self._complete[copies] = complete
        tried.told[copies] = True
        rewards, finished = np.zeros(self.num_envs), copies[complete]
        for ground in np.unique(self._grounds[finished]).tolist():
            mine = finished[self._grounds[finished] == ground]
            points = self._construction.points(mine)
            batch, figures = self._evaluators[ground].evaluate_in_full(points)
            tried.values[mine], tried.status[mine] = batch.values, batch.status
            tried.points[mine], tried.figures[mine] = points, figures
            rewards[mine] = _reward(self._tasks[ground], batch.values)
        return rewards


def _construction(tasks: Sequence[Task], count: int) -> _native.Construction:
    """Return copies in the core, which decide mappings of these tasks."""
    problems = [require(task.problem, "levels", "MaestroConstruct-v1") for task in tasks]
    proposers = [
        Proposer(problem, task.objective).native
        for problem, task in zip(problems, tasks, strict=True)
    ]
    return _native.Construction(proposers, count)


def _spaces(
    construction: _native.Construction,
) -> tuple[spaces.Discrete, spaces.Space[Observations]]:
    """Return the spaces of actions and of observations."""
    seen = spaces.Box(_LEAST, _MOST, (construction.width,), np.float32)
    return spaces.Discrete(OPTIONS), seen


def _reward(task: Task, values: Floats) -> Floats:
    # Of arrays: numpy rounds single numbers another way.
    return math.log(task.lower_bound) - np.log(values)
