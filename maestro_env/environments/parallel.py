"""The multi-agent environment, for PettingZoo; needs the extra ``agents``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import Space, spaces
from numpy.typing import NDArray

from maestro_env.base.checks import require_type
from maestro_env.base.errors import EnvError, MissingExtraError, UnknownNameError, quoted
from maestro_env.environments.actions import Groups, Mask, as_array, as_integers
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.improving import MaestroImproveEnv
from maestro_env.environments.task import RESET_OPTIONS
from maestro_env.evaluation.observations_and_rewards import Observations

try:
    from pettingzoo import ParallelEnv
except ModuleNotFoundError as error:
    raise MissingExtraError("parallel_env", "pettingzoo", "agents") from error

StepResult = tuple[
    dict[str, Observations],
    dict[str, float],
    dict[str, bool],
    dict[str, bool],
    dict[str, dict[str, Any]],
]


class MaestroParallelEnv(ParallelEnv[str, Observations, Any]):  # type: ignore[misc]
    """A ``MaestroEnv`` whose vector several agents fill: each sets the parameters of its group.

    All agents act in every step and end an episode together. They share observation, reward and
    ends, which are those of the ``MaestroEnv``; so is each agent's ``info``, but that
    ``masks`` adds the agent's ``action_mask``, int8. ``state()`` is the observation.

    The action of an agent has one entry for each of its parameters, in the order of its group. Its
    space is that part of the space of the ``MaestroEnv``: ``MultiDiscrete``, of one parameter
    ``Discrete``; with ``action="box"`` always ``Box``.

    Attributes:
        single: the ``MaestroEnv``. Its ``best_mapping``, ``cost`` and the like tell what ``info``
            does not.
        groups: names of the parameters of every agent.

    Args:
        single: the environment that evaluates the vectors.
        groups: as in ``parallel_env``.
        masks: as in ``parallel_env``.

    Raises:
        EnvError: actions of single parameters, or groups that do not have each parameter once.
    """

    metadata = {  # noqa: RUF012
        **MaestroEnv.metadata,
        "name": "maestro_env_v1",
        "is_parallelizable": True,
    }

    def __init__(
        self, single: MaestroEnv, groups: Groups | None = None, masks: bool = False
    ) -> None:
        names = [parameter.name for parameter in single.space.parameters]
        self.single = single
        self.groups = _require_groups(groups, names)
        self.render_mode = single.render_mode
        self.possible_agents = list(self.groups)
        self.agents = list(self.groups)
        self.action_spaces = self._share()
        require_type("masks", masks, bool, "to give masks in infos or not")
        self._masks = masks
        self.state_space = single.observation_space
        self.observation_spaces = dict.fromkeys(self.groups, single.observation_space)
        self._seen = np.zeros(single.observation_space.shape or (), dtype=np.float32)

    def _share(self) -> dict[str, Space[Any]]:
        """Share the parameters out; return the space of each agent's actions."""
        single = self.single
        if not single.action_space.shape:
            raise EnvError(
                f"action is {quoted(single.action)}; allowed: 'multidiscrete' or 'box', as agents "
                "choose all parameters in one step"
            )
        self._columns = {
            agent: np.array([single.space.columns[name] for name in group])
            for agent, group in self.groups.items()
        }
        # Where the entries of all actions, agent by agent, have those of the vector.
        self._order = np.argsort(np.concatenate(list(self._columns.values())))
        return {
            agent: _part(single.action_space, columns) for agent, columns in self._columns.items()
        }

    def observation_space(self, agent: str) -> Space[Observations]:
        """Return the space of what an agent sees, which is the same for all."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> Space[Any]:
        """Return the space of an agent's actions: the choices of its parameters."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Observations], dict[str, dict[str, Any]]]:
        """Begin an episode; return the observation, float32[n], and ``info`` of each agent.

        Of the options those of ``MaestroEnv.reset`` count.
        """
        # PettingZoo's checker requires that any options are taken.
        known = {name: (options or {})[name] for name in RESET_OPTIONS if name in (options or {})}
        self._seen, info = self.single.reset(seed=seed, options=known)
        self.agents = list(self.groups)
        return self._observations(), self._infos(info)

    def step(self, actions: Mapping[str, Any]) -> StepResult:
        """Evaluate the mapping that the agents' actions make together.

        Returns observations, rewards, whether terminated, whether truncated, and ``info``, each a
        dict with all agents.

        Raises:
            EnvError: the episode has ended, or not every agent has an action of its shape.
            MapSpaceError: an action outside of its space.
        """
        self._require_all(actions)
        self._seen, reward, terminated, truncated, info = self._step_together(actions)
        agents = self.agents
        if terminated or truncated:
            self.agents = []
        return (
            self._observations(),
            dict.fromkeys(agents, reward),
            dict.fromkeys(agents, terminated),
            dict.fromkeys(agents, truncated),
            self._infos(info),
        )

    def state(self) -> Observations:
        """Return what all agents see, float32[n]."""
        return self._seen.copy()

    def action_masks(self) -> dict[str, Mask]:
        """Return which choices of each agent can still become a valid mapping, as booleans.

        They are those of ``MaestroEnv.action_masks``: an agent's mask has the choices of all of its
        parameters, one parameter after the other.
        """
        mask = self.single.action_masks()
        sizes = self.single.action_space.nvec  # type: ignore[attr-defined]
        parts = np.split(mask, np.cumsum(sizes)[:-1])
        return {
            agent: np.concatenate([parts[column] for column in columns])
            for agent, columns in self._columns.items()
        }

    def render(self) -> Any:
        """Return the last mapping as text or picture, as ``MaestroEnv`` does."""
        return self.single.render()

    def close(self) -> None:
        """Do nothing: ``MaestroEnv`` holds no window and no file."""

    def _observations(self) -> dict[str, Observations]:
        return {agent: self._seen.copy() for agent in self.groups}

    def _infos(self, info: dict[str, Any]) -> dict[str, dict[str, Any]]:
        """Return a dictionary for each agent, as wrappers write into them."""
        infos = {agent: dict(info) for agent in self.groups}
        if self._masks:
            for agent, mask in self.action_masks().items():
                infos[agent]["action_mask"] = mask.astype(np.int8)
        return infos

    def _require_all(self, actions: Mapping[str, Any]) -> None:
        """Refuse actions unless each agent has one and the episode goes on."""
        if not self.agents:
            raise EnvError("the episode has ended; call reset() before the next step")
        require_type("actions", actions, Mapping, "from agents to their actions")
        if actions.keys() != self.groups.keys():
            wrong = sorted(map(str, actions.keys() ^ self.groups.keys()))[0]
            raise EnvError(
                f"the actions {'lack' if wrong in self.groups else 'have an unknown'} agent "
                f"{quoted(wrong)}; allowed: one action for each of {', '.join(self.groups)}"
            )

    def _step_together(
        self, actions: Mapping[str, Any]
    ) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Make the step of the single environment, which checks the joint action further."""
        parts = []
        for agent, space in self.action_spaces.items():
            part = as_array(actions[agent])
            if part.shape != space.shape:
                raise EnvError(
                    f"the action of {agent} has shape {part.shape}; allowed: {space.shape}"
                )
            parts.append(part.reshape(-1))
        return self.single.step(np.concatenate(parts)[self._order])


class MaestroImproveParallelEnv(MaestroParallelEnv):
    """A ``MaestroImproveEnv`` whose moves several agents make: each changes its own parameters.

    In a step every agent stays (action 0) or makes one of the moves of its parameters (1 and up, in
    the order of ``single.moves``); all together make the next mapping, which is evaluated. The rest
    is as in ``MaestroParallelEnv``. A mask says of each move what it leads to if the others stay.
    """

    metadata = {**MaestroParallelEnv.metadata, "name": "maestro_improve_v1"}  # noqa: RUF012
    single: MaestroImproveEnv

    def _share(self) -> dict[str, Space[Any]]:
        if self.single.options.moves == "pairs":
            raise EnvError(
                "moves is 'pairs'; allowed with many agents: 'plain' or 'chunks', as a move of two "
                "parameters may be of two agents"
            )
        self._moves = {
            agent: [index for index, (name, _) in enumerate(self.single.moves) if name in group]
            for agent, group in self.groups.items()
        }
        return {agent: spaces.Discrete(1 + len(moves)) for agent, moves in self._moves.items()}

    def action_masks(self) -> dict[str, Mask]:
        """Return which actions of each agent change the mapping and may leave it valid, or stay."""
        mask = self.single.action_masks()
        return {agent: np.append(True, mask[moves]) for agent, moves in self._moves.items()}

    def _step_together(
        self, actions: Mapping[str, Any]
    ) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        taken = []
        for agent, moves in self._moves.items():
            action = int(as_integers(actions[agent], (), 1 + len(moves)))
            taken += moves[action - 1 : action] if action else []
        return self.single.take(taken)


def _part(space: Space[Any], columns: NDArray[np.int64]) -> Space[Any]:
    """Return the space of some entries of a vector."""
    if isinstance(space, spaces.Box):
        return spaces.Box(space.low[columns], space.high[columns], dtype=np.float32)
    sizes = space.nvec[columns]  # type: ignore[attr-defined]
    return spaces.MultiDiscrete(sizes) if len(sizes) > 1 else spaces.Discrete(int(sizes[0]))


def _require_groups(groups: Groups | None, names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the agents and their parameters, if each of ``names`` is in one group."""
    pairs = _pairs([[name] for name in names] if groups is None else groups)
    for agent, group in pairs.items():
        if not group:
            raise EnvError(f"{agent} has no parameter; give it one, or leave it out")
        for name in group:
            if name not in names:
                raise UnknownNameError(f"parameter of {agent}", name, names)
    counts = Counter(name for group in pairs.values() for name in group)
    if repeated := [name for name in names if counts[name] > 1]:
        raise EnvError(f"groups repeat {', '.join(repeated)}; allowed: each parameter once")
    if missing := [name for name in names if not counts[name]]:
        raise EnvError(f"groups lack {', '.join(missing)}; give each to an agent")
    return pairs


def _pairs(groups: object) -> dict[str, tuple[str, ...]]:
    """Return named groups as they are, and others with the names ``agent_0`` and so on."""
    if isinstance(groups, Mapping):
        named = dict(groups)
    elif isinstance(groups, Iterable) and not isinstance(groups, str):
        named = {f"agent_{index}": group for index, group in enumerate(groups)}
    else:
        named = {}
    lists = [isinstance(each, Iterable) and not isinstance(each, str) for each in named.values()]
    if not named or not all(lists) or not all(isinstance(agent, str) for agent in named):
        raise EnvError(
            f"groups are {quoted(groups)}; allowed: lists of names of parameters, or a mapping of "
            "names of agents to such lists"
        )
    return {agent: tuple(group) for agent, group in named.items()}
