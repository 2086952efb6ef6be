"""The Gymnasium environment of a mapping problem."""

from __future__ import annotations

import math
import warnings
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from maestro_env.checks import require_integer
from maestro_env.cost import Cost
from maestro_env.episode import (
    REWARDS,
    episode_end,
    first_observation,
    observation_space,
    optimum_information,
    require_info,
)
from maestro_env.errors import EnvError
from maestro_env.hardware import Hardware, find_hardware
from maestro_env.layer import Layer
from maestro_env.map_space import MapSpace, Points
from maestro_env.mapping import Mapping as LoopNest
from maestro_env.models import DEFAULT_MODEL
from maestro_env.objectives import find_objective
from maestro_env.optima import known_values
from maestro_env.problem import Problem
from maestro_env.registry import look_up
from maestro_env.workloads import find_layer


class MaestroEnv(gymnasium.Env[NDArray[np.float32], NDArray[np.int64]]):
    """Map one DNN layer to an accelerator: every step evaluates one whole mapping.

    ## Action Space
    `MultiDiscrete`, one entry per parameter of the map space (`env.unwrapped.space.parameters`
    gives their names and values); every action in the space decodes to one mapping.

    ## Observation Space
    `Box(0, 1, (4,), float32)`: latency in cycles, power in mW, energy in nJ and area in um^2 of the
    last mapping, each as log10(1 + x) / 20; zeros if it has no figures. After a reset, the lower
    bounds of latency, energy and area, and 0 for power.

    ## Rewards
    0 for an invalid mapping, otherwise r = reference / objective (`reward="inverse"`, as in
    Krishnan et al., arXiv:2507.16249) or log(1 + r) (`reward="log"`). The reference
    (`env.unwrapped.reference`) is the median objective of the valid ones of 4,000 fixed random
    mappings, so that a random mapping earns about 1; if none is valid, the objective's lower bound.

    ## Starting State
    Always the same; nothing is random.

    ## Episode End
    Truncated after `episode_length` steps. With `episode_length=1` it is terminated instead: a step
    is the whole task, and learners should bootstrap no value after it.

    ## Information
    `status` (a name of `STATUSES`), `mapping` (the vector), `best_objective` (infinite until a
    mapping is valid) and from then on `best_mapping` (its vector); if the mapping has figures, the
    fields of `Cost` that the model fills. Resets do not forget the best.

    With `info="full"` also `optimum` and `optimum_bound`, the value and bound of `known_optimum`,
    and `regret`: objective / `optimum` - 1, infinite for an invalid mapping. They are NaN where
    nothing is known.

    ## Arguments
    * `layer`: a `Layer`, or text for `find_layer`: `mobilenetv2_l2`, `conv:K=64,...`, a CSV file.
    * `objective`: a name of `OBJECTIVES`.
    * `hardware`: a `Hardware`, or text for `find_hardware`: a preset, a YAML or MAESTRO file.
    * `model`: a name of `MODELS`.
    * `schema`, `tiles`: of the `MapSpace`.
    * `reward`: a name of `REWARDS`.
    * `episode_length`: steps of an episode.
    * `guard`: whether figures that no accelerator could reach are invalid (model `maestro` only).
    * `info`: `basic`, or `full` to be told of the optimum too.

    ## Version History
    * v0: first version.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is allowed.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own annotation

    def __init__(
        self,
        layer: str | Layer = "mobilenetv2_l2",
        objective: str = "edp",
        hardware: str | Hardware = "unlimited",
        model: str = DEFAULT_MODEL,
        schema: str = "legal13",
        tiles: str = "integers",
        reward: str = "inverse",
        episode_length: int = 100,
        guard: bool = True,
        info: str = "basic",
    ) -> None:
        layer = find_layer(layer) if isinstance(layer, str) else layer
        hardware = find_hardware(hardware) if isinstance(hardware, str) else hardware
        problem = Problem(MapSpace(layer, hardware, schema, tiles), model, guard)
        self._set_up(problem, objective, reward, episode_length, info)

    def _set_up(
        self, problem: Problem, objective: str, reward: str, episode_length: int, info: str
    ) -> None:
        self.reward = reward
        self._reward = look_up("reward", reward, REWARDS)
        self.episode_length = require_integer("episode_length", episode_length, EnvError)
        self.problem = problem
        if warning := problem.stride_warning():
            warnings.warn(warning, stacklevel=3)
        self.objective = find_objective(objective)
        bound = self.objective.bound
        assert bound is not None
        layer, hardware = problem.layer, problem.hardware
        self.reference = problem.typical(self.objective) or bound(layer, hardware)
        self.info = require_info(info)
        if info == "full":
            self._optimum = self._find_optimum()
        self._first = first_observation(layer, hardware)
        self._best_value = math.inf
        self._best_point: Points | None = None
        self.best_cost: Cost | None = None
        self._steps = 0
        self.action_space = spaces.MultiDiscrete(self.space.sizes)
        self.observation_space = observation_space()

    def _find_optimum(self) -> tuple[float, float]:
        """Return the optimum and its bound; NaN where nothing is known."""
        return known_values(self.problem, self.objective)

    @property
    def space(self) -> MapSpace:
        """The map space whose vectors are the actions."""
        return self.problem.space

    @property
    def best_mapping(self) -> LoopNest | None:
        """The best valid mapping so far."""
        return None if self._best_point is None else self.space.decode(self._best_point)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return self._first.copy(), {}

    def step(
        self, action: NDArray[np.int64]
    ) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        observation, value, info = self.problem.observe(action, self.objective)
        if value < self._best_value:
            self._best_value, self._best_point = value, info["mapping"].copy()
            self.best_cost, _ = self.problem.evaluate_mapping(self.space.decode(self._best_point))
        info["best_objective"] = self._best_value
        if self._best_point is not None:
            info["best_mapping"] = self._best_point.copy()
        if self.info == "full":
            info |= optimum_information(self._optimum, value)
        self._steps += 1
        reward = float(self._reward(self.reference / value))
        terminated, truncated = episode_end(self._steps, self.episode_length)
        return observation, reward, terminated, truncated, info
