"""The Gymnasium environment of a mapping problem."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import ArrayLike

from maestro_env import _native
from maestro_env.base.checks import look_up
from maestro_env.base.errors import UnknownNameError
from maestro_env.environments.actions import ACTIONS, Mask
from maestro_env.environments.information import (
    NO_FIGURES,
    NOT_EVALUATED,
    Attributes,
    Incumbent,
    Observer,
    full_information,
    known_alone,
    regret,
    require_info,
)
from maestro_env.environments.task import (
    Accelerators,
    Task,
    TextSpec,
    chosen_tasks,
    drawn_task,
    episode_end,
    make_tasks,
    require_episode_length,
)
from maestro_env.evaluation.cost_and_status import STATUSES
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.observations_and_rewards import MOST_REWARDED, REWARDS, Observations
from maestro_env.evaluation.problem import AUTO, require
from maestro_env.workloads.layer import Layer


class MaestroEnv(TextSpec, Attributes, gymnasium.Env[Observations, Any]):
    """Map a DNN layer to an accelerator: a step evaluates one mapping, given as its vector.

    ## Action Space
    By `action`; `env.unwrapped.space.parameters` has the names and values of the D parameters:

    * `multidiscrete`: `MultiDiscrete`, the vector: one choice per parameter. Every action decodes
      to one mapping.
    * `box`: `Box(-1, 1, (D,), float32)`. The interval of a parameter is cut into one part for each
      of its choices; parts of integer sizes have equal ratios, all others are equal.
    * `discrete_steps`: `Discrete`, the choice of one parameter, in their order; the step that
      makes the last choice evaluates the mapping. Steps before it earn 0. A choice c beyond the n
      of the parameter means c modulo n, as the space has the most choices of any parameter.

    `action_masks()` tells which discrete actions can still become a valid mapping, in the form that
    sb3-contrib reads; `maestro_env.evaluation.masks` says where masks are complete.

    ## Observation Space
    `Box(0, 1, (n,), float32)`, in this order:

    * 4 numbers: latency in cycles, power in mW, energy in nJ and area in um^2 of the last mapping,
      each as log10(1 + x) / 20; zeros if it has no figures. After a reset, the lower bounds of
      latency, energy and area, and 0 for power.
    * With `action="discrete_steps"` D numbers, (c + 1) / n for a choice c of n made for the next
      mapping and 0 for those to come, and D numbers that are 1 for the next parameter, else 0.
    * With `observation="context"` layer, hardware and objective: a number for each name of
      `maestro_env.CONTEXT`, which says what they are.

    ## Rewards
    0 for an invalid mapping, otherwise r = reference / objective (`reward="inverse"`, as in
    Krishnan et al., arXiv:2507.16249) or log(1 + r) (`reward="log"`). The reference
    (`env.unwrapped.reference`) is the median objective of the valid ones of 4,000 fixed random
    mappings, so that a random mapping earns about 1; if none is valid, the objective's lower bound.
    r is at most 10^30, so every reward is a finite number.

    ## Starting State
    Always the same; nothing is random. With `layers`, every reset draws one of them from the seed.

    ## Episode End
    Truncated after `episode_length` mappings. With `episode_length=1` it is terminated instead: a
    mapping is the whole task, and learners should bootstrap no value after it.

    ## Information
    The same keys at every reset and step, with `info="basic"`:

    * `status` (int): index of `maestro_env.STATUSES`, 0 for a valid mapping; `NOT_EVALUATED` (255)
      if nothing was evaluated, as after a reset.
    * `objective` (float): of this mapping, infinite unless it is valid.

    With `info="full"` also `best_objective`; `optimum`, `optimum_bound` and `optimum_gap`, the
    value, bound and gap of `known_optimum`; `regret`, objective / `optimum` - 1; `vector`,
    int32[D], zeros if nothing was evaluated; and every figure of `maestro_env.METRICS` as a float.
    What is not known is left out.

    The environment's attributes `vector`, `mapping`, `cost`, `best_objective`, `best_vector`,
    `best_mapping` and `best_cost` tell the rest; they are computed when they are read. The best are
    those of this layer; resets do not forget them.

    ## Arguments
    * `layer`: a `Layer`, or text for `find_layer`: `mobilenetv2_l2`, `conv:K=64,...`, a CSV file.
    * `objective`: an `Objective`, or text for `find_objective`: `edp`, `latency_cycles*area_um2`.
    * `hardware`: a `Hardware`, or text for `find_hardware`: a preset, `num_pes=256,...`, a file.
      With the model `hierarchy` a `Hierarchy`, or text for `find_hierarchy`: `gemmini`, a file.
    * `model`: a name of `MODELS`, or `hierarchy`, which needs an objective that it computes
      (`latency`) and does not render; its `context` tells layer and objective alone.
    * `schema`, `tiles`: of the `MapSpace`; `auto` is `legal13`, or `full17` where only that has
      mappings that fit. The model `hierarchy` has no schemas.
    * `reward`: a name of `REWARDS`.
    * `episode_length`: mappings of an episode; None for 100, or 1 with `discrete_steps`.
    * `guard`: whether figures that no accelerator could reach are invalid (model `maestro` only).
    * `info`: `basic`, or `full`.
    * `action`: `multidiscrete`, `box` or `discrete_steps`.
    * `observation`: `cost`, or `context`.
    * `layers`: in place of `layer`, several with the same parameters; `hardware` may then be a list
      of one for each. `reset(options={"layer": ...})` chooses one. Where they differ in the
      choices of a parameter, the action space has the most of any, and a choice c beyond the n of
      a layer means c modulo n.
    * `render_mode`: `ansi` for the loop nest as text, `rgb_array` for a picture of it, uint8[H, W,
      3]; None for neither.

    ## Version History
    * v1: `info` has the same few numbers every time, and more on request; actions, observations,
      layers and rendering are options.
    * v0: as published; `MaestroEnvV0` describes its `info`.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is allowed.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        layer: str | Layer | None = None,
        objective: str | Objective = "edp",
        hardware: Accelerators = "unlimited",
        model: str = DEFAULT_MODEL,
        schema: str = AUTO,
        tiles: str = "integers",
        reward: str = "inverse",
        episode_length: int | None = None,
        guard: bool = True,
        info: str = "basic",
        action: str = "multidiscrete",
        observation: str = "cost",
        layers: Sequence[str | Layer] | None = None,
        render_mode: str | None = None,
    ) -> None:
        tasks = make_tasks(layer, layers, objective, hardware, model, schema, tiles, guard)
        self.reward, self.action, self.observation = reward, action, observation
        self._reward = look_up("reward", reward, REWARDS)
        self._set_up(tasks, episode_length, info, render_mode)
        self._actions = look_up("action", action, ACTIONS)([task.space for task in tasks])
        self._observer = Observer(observation, self._actions)
        self.action_space = self._actions.space
        self.observation_space = self._observer.space
        self._seen = self._task.first

    def _set_up(
        self, tasks: Sequence[Task], length: int | None, info: str, render_mode: str | None
    ) -> None:
        self.tasks = tasks
        self.info = require_info(info)
        self.episode_length = require_episode_length(length, self.action)
        if not all("levels" in task.problem.abilities for task in tasks):
            # Pictures and texts are of mappings of two levels.
            self.metadata = self.metadata | {"render_modes": []}
        self.render_mode = _require_render_mode(render_mode, self.metadata["render_modes"])
        for task in tasks:
            task.warn()
        self._bests = [Incumbent() for _ in tasks]
        self._begin(0)

    def _begin(self, index: int) -> None:
        """Begin an episode of one of the tasks."""
        self._index, self._mappings = index, 0
        self._task, self._best = self.tasks[index], self._bests[index]
        self._forget()

    def _forget(self) -> None:
        """Have nothing evaluated by the last step."""
        self._vector, self._status, self._value = None, NOT_EVALUATED, math.inf
        self._figures = NO_FIGURES

    def action_masks(self) -> Mask:
        """Return which actions can still become a valid mapping, bool[sum of choices].

        With ``discrete_steps``, bool[n] for the n actions. Discrete actions alone have masks.
        """
        return self._actions.masks(self._task.masks)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Begin an episode; return the first observation, float32[n], and ``info``.

        Args:
            seed: of the layers that this and later resets draw; None to go on.
            options: ``layer`` and ``hardware`` say which of several layers and accelerators this
                episode has, as ``find_layer`` and ``find_hardware`` take them.
        """
        indices = chosen_tasks(self.tasks, options)
        super().reset(seed=seed)
        self._begin(drawn_task(indices, self.np_random))
        return self._first()

    def _first(self) -> tuple[Observations, dict[str, Any]]:
        """Return what is seen and told after a reset."""
        self._actions.start(self._task.space)
        self._seen = self._task.first
        return self._observer.see(self._seen, self._task).copy(), self._information()

    def step(self, action: Any) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Evaluate a mapping: return observation, reward, terminated, truncated and ``info``.

        Raises:
            MapSpaceError: an action outside of the action space.
        """
        vector = self._actions.vectors(action)
        if vector is None:
            self._forget()
            seen = self._observer.see(self._seen, self._task)
            return seen, 0.0, False, False, self._information()
        return self._step_to(vector)

    def _step_to(self, vector: ArrayLike) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Make the step that evaluates a vector."""
        self._evaluate(vector)
        reward = self._pay()
        self._mappings += 1
        terminated, truncated = episode_end(self._mappings, self.episode_length)
        seen = self._observer.see(self._seen, self._task)
        return seen, reward, terminated, truncated, self._information()

    def _evaluate(self, vector: ArrayLike) -> None:
        task, best = self._task, self._best
        observed = task.problem.observe(vector, task.objective)
        self._seen, value, self._status, self._vector, self._figures = observed
        self._value = value
        if value < best.value:
            best.value, best.vector = value, self._vector.copy()

    def _pay(self) -> float:
        """Return the reward of the mapping that was evaluated."""
        reference = self._task.reference
        return float(self._reward(reference / max(self._value, reference / MOST_REWARDED)))

    def _information(self) -> dict[str, Any]:
        told: dict[str, Any] = {"status": self._status, "objective": self._value}
        if self.info == "full":
            told["best_objective"] = self._best.value
            vector = self._task.no_vector if self._vector is None else self._vector
            told |= full_information(self._value, self._task.optimum, vector.copy(), self._figures)
            return known_alone(told)
        return told

    def render(self) -> Any:
        """Return the last mapping as text or picture, uint8[H, W, 3], by ``render_mode``."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode: ansi or rgb_array")
            return None
        from maestro_env.explanation import rendering

        problem = require(self.problem, "levels", "render()")
        if self.render_mode == "ansi":
            return rendering.text(self.mapping, self.cost) if self.mapping else "no mapping yet"
        mapping = self.mapping or self.space.decode(self._task.no_vector)
        picture = rendering.picture(mapping, problem.hardware, problem.layer)
        return picture if self.mapping else np.full_like(picture, 255)


def _require_render_mode(mode: str | None, modes: Sequence[str]) -> str | None:
    if mode is not None and mode not in modes:
        raise UnknownNameError("render_mode", mode, modes or ["None, on any memories"])
    return mode


class MaestroEnvV0(MaestroEnv):
    """``MaestroEnv`` with another ``info``, whose keys differ from step to step.

    After a reset it is empty. A step tells ``status`` (a name of ``STATUSES``), ``mapping`` (the
    vector), ``best_objective`` (infinite until a mapping is valid) and from then on
    ``best_mapping`` (its vector), and those figures of ``Cost`` that the mapping has. With
    ``info="full"`` also ``optimum``, ``optimum_bound`` and ``regret``. Copies that step together
    (``gymnasium.make_vec``) have the ``info`` of ``MaestroEnv``.
    """

    def _information(self) -> dict[str, Any]:
        if self.vector is None:
            return {}
        named = zip(_native.METRICS, self._figures.tolist(), strict=True)
        told: dict[str, Any] = {"status": STATUSES[self._status], "mapping": self.vector}
        told |= known_alone(dict(named))
        told["best_objective"] = self._best.value
        if self._best.vector is not None:
            told["best_mapping"] = self._best.vector.copy()
        if self.info == "full":
            optimum, bound = self._task.optimum
            told |= {"optimum": optimum, "optimum_bound": bound}
            told["regret"] = regret(self._value, optimum)
        return told
