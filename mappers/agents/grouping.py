"""Which agent sets which parameters, and what mappers with such agents have in common."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from maestro_env.base.errors import MaestroEnvError
from maestro_env.base.reading import read_text
from maestro_env.clustering import AgentGroups, ClusteringError, Samples, SamplesError, cluster
from maestro_env.clustering.algorithm import random_groups, reversed_groups
from maestro_env.evaluation.any_problem import AnyProblem
from maestro_env.evaluation.evaluator import Evaluator
from maestro_env.evaluation.objectives import Objective
from maestro_env.mappers.agents.team import GroupConfig
from maestro_env.mappers.base import Mapper
from maestro_env.mappers.parts.arrays import Floats, Integers
from maestro_env.mapspace.space import Points, Space

_BATCH = 4096
_MAX_CHARACTERS = 2**20


class AgentsError(MaestroEnvError, ValueError):
    """A number or a grouping of agents that does not fit the map space."""


def group_parameters(
    config: GroupConfig, evaluator: Evaluator, rng: np.random.Generator
) -> AgentGroups:
    """Assign every parameter of a space to an agent.

    Groups are also random if the warm-up has too few valid samples to learn from.

    Args:
        config: how many agents, and how they are learnt; ``grouping`` has no effect on one agent or
            one per parameter.
        evaluator: of a search that has not begun; it is charged with the warm-up.
        rng: the only source of randomness.

    Raises:
        AgentsError: more agents than parameters.
    """
    agents, grouping, names = config.agents, config.grouping, tuple(evaluator.space.columns)
    require_agents(agents, evaluator.space, least=0)
    if agents in (0, len(names)):
        return AgentGroups.of([name] for name in names)
    if agents == 1:
        return AgentGroups.of([names])
    if grouping == "random":
        return random_groups(names, agents, rng)
    try:
        samples = _warm_up_samples(evaluator, config.warm_up, rng)
        learnt = cluster(samples, agents, measure=config.measure, linkage=config.linkage)
    except SamplesError:
        return random_groups(names, agents, rng)
    if grouping == "reversed":
        return reversed_groups(learnt.groups, learnt.dependence)
    return learnt.groups


def read_groups(path: str, space: Space, agents: int | None = None) -> AgentGroups:
    """Read groups of a space's parameters; their order in the file has no effect.

    Args:
        path: a JSON file: an object of agents and lists of parameters.
        space: has the parameters of the groups; its layer may be another than they were learnt on.
        agents: how many groups the file must have, 0 for one per parameter; None for any number.

    Raises:
        AgentsError: the file cannot be read, its groups are not of the space's parameters, or
            their number is not ``agents``.
    """
    names = tuple(space.columns)
    try:
        text = read_text(path, _MAX_CHARACTERS)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AgentsError(f"cannot read groups {path}: {reason}") from None
    with refusing(f"groups {path}, layer {space.layer}"):
        groups = AgentGroups.from_json(text, names)
    if agents is not None and len(groups) != (agents or len(names)):
        raise AgentsError(
            f"agents is {agents}, but groups {path} has {len(groups)}: leave agents out, as the "
            "file decides, or give another file"
        )
    return AgentGroups.from_indices(names, groups.indices(names))


def require_agents(agents: int, space: Space, least: int = 1) -> None:
    """Refuse a number of agents that does not fit a space.

    Raises:
        AgentsError: fewer than ``least``, or more than parameters.
    """
    names = tuple(space.columns)
    if not least <= agents <= len(names):
        none = "" if least else " (one per parameter)"
        raise AgentsError(
            f"agents is {agents}; allowed: {least}{none} to {len(names)}, as layer {space.layer} "
            f"has {len(names)} parameters: {', '.join(names)}"
        )


def samples_of(space: Space, points: Points, values: Floats) -> Samples:
    """Return evaluated points as samples with the reward least value / value, so the best has 1.

    Args:
        space: of the points.
        points: int32[N, D].
        values: float64[N], the objective; infinite if invalid, which is reward 0.

    Raises:
        SamplesError: points outside the space, or values that are not positive.
    """
    least = values.min(where=values > 0, initial=np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = least / values
    # Division may underflow, but a valid sample's reward is above 0.
    shares[shares == 0] = np.finfo(float).smallest_subnormal
    parameters = space.parameters
    return Samples(
        tuple(space.columns),
        tuple(each.kind for each in parameters),
        tuple(each.choices for each in parameters),
        points.astype(np.int64, casting="safe"),
        np.where(np.isposinf(values), 0.0, shares),
    )


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn an error of ``clustering`` into one that commands print on one line.

    Raises:
        AgentsError: its message begins with ``what``.
    """
    try:
        yield
    except ClusteringError as error:
        raise AgentsError(f"{what}: {error}") from None


def _warm_up_samples(evaluator: Evaluator, n: int, rng: np.random.Generator) -> Samples:
    points = evaluator.space.sample(n, rng)
    batches = np.array_split(points, n // _BATCH + 1)
    values = np.concatenate([evaluator.warm_up(batch).values for batch in batches])
    return samples_of(evaluator.space, points, values)


Grouped = TypeVar("Grouped", bound=GroupConfig)


class GroupedMapper(Mapper[Grouped]):
    """A mapper of agents that each set their own parameters.

    Learning groups costs ``warm_up`` samples, counted outside the budget; groups from a
    file cost nothing. If ``agents`` is changed, a file of groups must have that many.
    """

    def require_fit(self, problem: AnyProblem, objective: Objective) -> None:
        if self.config.groups:
            self._read_groups(problem.space)
        else:
            require_agents(self.config.agents, problem.space, least=0)

    def agents(self, evaluator: Evaluator, rng: np.random.Generator) -> Integers:
        """Return the agent that sets each parameter, int64[D], from 0 on."""
        if self.config.groups:
            groups = self._read_groups(evaluator.space)
        else:
            groups = group_parameters(self.config, evaluator, rng)
        return groups.indices(evaluator.space.columns)

    def _read_groups(self, space: Space) -> AgentGroups:
        agents = self.config.agents
        # The default number is not a request.
        wanted = None if agents == self.DEFAULT.agents else agents
        return read_groups(self.config.groups, space, wanted)
