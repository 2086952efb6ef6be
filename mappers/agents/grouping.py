"""Which agent decides which parameters of a search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from clustering import AgentGroups, ClusteringError, Samples, SamplesError, cluster
from clustering.controls import random_groups, reversed_groups
from maestro_env.errors import MaestroEnvError, UnknownNameError
from maestro_env.evaluator import Evaluator
from maestro_env.map_space import MapSpace, Points
from maestro_env.reading import read_text

GROUPINGS = ("clustered", "reversed", "random")
"""Ways to share out parameters: dependent ones together, apart, or by chance."""

_BATCH = 4096
_MAX_CHARACTERS = 2**20


class AgentsError(MaestroEnvError, ValueError):
    """Agents that a search cannot have."""


def group_parameters(
    evaluator: Evaluator,
    rng: np.random.Generator,
    *,
    agents: int,
    grouping: str,
    warm_up: int,
    measure: str,
    linkage: str,
) -> AgentGroups:
    """Give every parameter of a space to an agent.

    Groups are random, too, if the warm-up's valid samples say nothing on the parameters.

    Args:
        evaluator: of a search that has not begun; it is charged with the warm-up.
        rng: the only source of randomness.
        agents: how many; 0 for one per parameter.
        grouping: a name of ``GROUPINGS``, which none or one agent per parameter does without.
        warm_up: random samples that groups are learnt from, unless they are known or random.
        measure: a name of ``clustering.MEASURES``.
        linkage: a name of ``clustering.LINKAGES``.

    Raises:
        AgentsError: more agents than parameters.
        UnknownNameError: no such grouping.
    """
    space = evaluator.space
    require_agents(agents, space, least=0)
    if grouping not in GROUPINGS:
        raise UnknownNameError("grouping", grouping, GROUPINGS)
    names = _names(space)
    if agents in (0, len(names)):
        return AgentGroups.one_per_parameter(names)
    if agents == 1:
        return AgentGroups.one_agent(names)
    if grouping == "random":
        return random_groups(names, agents, rng)
    points = space.sample(warm_up, rng)
    batches = np.array_split(points, len(points) // _BATCH + 1)
    values = np.concatenate([evaluator.warm_up(batch).values for batch in batches])
    try:
        found = cluster(samples_of(space, points, values), agents, None, measure, linkage)
    except SamplesError:
        # Hardly a valid mapping among them: the search goes on with groups as good as any.
        return random_groups(names, agents, rng)
    if grouping == "reversed":
        return reversed_groups(found.groups, found.dependence)
    return found.groups


def read_groups(path: str, space: MapSpace, agents: int | None = None) -> AgentGroups:
    """Read groups of a space's parameters, in an order that does not depend on the file's.

    Args:
        path: of a JSON file: an object of agents and lists of parameters.
        space: of this layer or the one the groups were learnt on.
        agents: how many groups there must be, 0 for one per parameter; None for any number.

    Raises:
        AgentsError: there is no such file, or its groups are not of the space's parameters, or
            not as many as agents.
    """
    names = _names(space)
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


def require_agents(agents: int, space: MapSpace, least: int = 1) -> None:
    """Refuse a number of agents that a space's parameters cannot have.

    Raises:
        AgentsError: fewer than ``least``, or more than parameters.
    """
    names = _names(space)
    if not least <= agents <= len(names):
        none = "" if least else " (one per parameter)"
        raise AgentsError(
            f"agents is {agents}; allowed: {least}{none} to {len(names)}, as layer {space.layer} "
            f"has {len(names)} parameters: {', '.join(names)}"
        )


def samples_of(space: MapSpace, points: Points, values: NDArray[np.float64]) -> Samples:
    """Return evaluated points as samples with the reward 1/value, of which the best has 1.

    Args:
        space: of the points.
        points: int32[N, D].
        values: float64[N], the objective; infinite if invalid, which is reward 0.

    Raises:
        SamplesError: points that are not of the space, or values that are not positive.
    """
    least = values.min(where=values > 0, initial=np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = least / values
    # A valid sample's reward stays above 0, however bad it is.
    shares[shares == 0] = np.finfo(float).smallest_subnormal
    parameters = space.parameters
    return Samples(
        tuple(each.name for each in parameters),
        tuple(each.kind for each in parameters),
        tuple(each.choices for each in parameters),
        points.astype(np.int64, casting="safe"),
        np.where(np.isposinf(values), 0.0, shares),
    )


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn an error of ``clustering`` into one that commands show in a line.

    Raises:
        AgentsError: it begins with ``what``.
    """
    try:
        yield
    except ClusteringError as error:
        raise AgentsError(f"{what}: {error}") from None


def _names(space: MapSpace) -> tuple[str, ...]:
    return tuple(each.name for each in space.parameters)
