"""What all teams of agents share: settings, heads, moves off policies, and the shared reward."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maestro_env.base import native_learning as core
from maestro_env.clustering import LINKAGES, MEASURES
from maestro_env.evaluation.observations_and_rewards import REWARDS, Observations
from maestro_env.mappers.base import StartConfig, setting
from maestro_env.mappers.parts.arrays import DRAWS, Booleans, Floats, Integers, orders_of, sizes_at
from maestro_env.mapspace.space import Parameter, Points, Space

MOST_LOGITS = 8192
"""Most logits of a head: of a parameter with more choices, the head offers a spread-out part.

All of 7! orders fit. Offered sizes are spread geometrically, so all small sizes are among them.
"""

# Least chance of the choice that a head favours.
_FAVOUR = 0.7

# Octaves between heads. Seeds make the same searches as long as logarithms round as they do so.
_FAR = 100.0


class Heads:
    """The heads of all D parameters of a map space, with their logits in one array of length L.

    Args:
        space: the map space.
        start: initial distribution: ``log`` draws sizes in proportion to 1 / size and all else
            uniformly, ``uniform`` draws all uniformly.

    Attributes:
        choices: the choices each head offers, one per logit, D arrays.
        counts: logits of every head, int64[D].
        starts: index of every head's first logit, int64[D].
        are_sizes: whether a head's parameter is a size, bool[D].
        bias: the logits before learning, float64[L].
    """

    def __init__(self, space: Space, start: str = "log") -> None:
        parameters = space.parameters
        self.space, self._start = space, start
        self.choices = tuple(_offered(parameter) for parameter in parameters)
        self.counts: Integers = np.array([len(offered) for offered in self.choices])
        ends: Integers = np.cumsum(self.counts)
        self.starts: Integers = ends - self.counts
        self.are_sizes = np.array([parameter.is_size for parameter in parameters])
        pairs = list(zip(parameters, self.choices, strict=True))
        self.bias: Floats = np.concatenate([_bias(*pair, start) for pair in pairs])
        self._ranges = list(zip(self.starts.tolist(), ends.tolist(), strict=True))
        self._choices: Points = np.concatenate(self.choices).astype(np.int32)

    def __reduce__(self) -> tuple[type[Heads], tuple[Space, str]]:
        # What the core has of them cannot be copied.
        return Heads, (self.space, self._start)

    @cached_property
    def native(self) -> core.Heads:
        """The heads as the core has them."""
        pairs = zip(self.space.parameters, self.choices, strict=True)
        # Base-2 logarithms of all sizes in one ascending array.
        places = [_logs(*pair) + _FAR * head for head, pair in enumerate(pairs)]
        return core.Heads(self.counts.tolist(), self.are_sizes.tolist(), np.concatenate(places))

    @cached_property
    def features(self) -> list[NDArray[np.uint8]]:
        """Features that choices of one head share, 0 or 1, uint8[choices, f], D arrays.

        The feature of a size is its octave. The features of a loop order are the place of each
        dimension, and which of each two dimensions comes first. What is learnt about one choice so
        carries over to similar ones.
        """
        heads = zip(self.space.parameters, self.choices, strict=True)
        return [
            _features(parameter, offered, len(self.space.ordered(parameter.name)))
            for parameter, offered in heads
        ]

    @property
    def numbers(self) -> list[Floats]:
        """Numbers that describe the choices of each head, float64[choices, f], D arrays.

        They are ``features``, and of a size log(size) / log(largest) too; one-hots where a head has
        no features.
        """
        heads = zip(self.space.parameters, self.choices, self.features, strict=True)
        return [_numbers(*head) for head in heads]

    def points(self, actions: Integers) -> Points:
        """Return the points of int64[N, D] actions, indices of logits within heads, int32[N, D]."""
        points: Points = self._choices[self.starts + actions]
        return points

    def actions(self, points: Points) -> Integers:
        """Return the actions int64[N, D] of points: of a choice not offered, the last one below."""
        pairs = zip(self.choices, points.T, strict=True)
        found = [offered.searchsorted(column, side="right") - 1 for offered, column in pairs]
        return np.stack(found, axis=1)

    def favouring(self, actions: Integers, favoured: Booleans) -> Floats:
        """Return the bias, raised so that favoured heads start with their action of int64[D].

        Its chance becomes 0.7 or more.
        """
        raised = self.bias.copy()
        for head in np.flatnonzero(favoured):
            start, end = self._ranges[head]
            logits = raised[start:end]
            others = np.delete(logits, actions[head])
            if len(others):
                least = np.logaddexp.reduce(others) + math.log(_FAVOUR / (1 - _FAVOUR))
                logits[actions[head]] = max(logits[actions[head]], least)
        return raised


def _offered(parameter: Parameter) -> Integers:
    if parameter.choices <= MOST_LOGITS:
        return np.arange(parameter.choices)
    if parameter.is_size:
        spread = np.geomspace(1, parameter.choices, MOST_LOGITS) - 1
    else:
        spread = np.linspace(0, parameter.choices - 1, MOST_LOGITS)
    return np.unique(np.rint(spread).astype(np.int64))


def _bias(parameter: Parameter, offered: Integers, start: str) -> Floats:
    if start == "uniform" or not parameter.is_size:
        return np.zeros(len(offered))
    # An offered choice also stands for the choices skipped after it.
    skipped = np.diff(offered, append=offered[-1] + 1)
    return np.log(skipped / sizes_at(parameter, offered))


def _logs(parameter: Parameter, offered: Integers) -> Floats:
    """Return the base-2 logarithms of sizes, or other ascending numbers."""
    if parameter.is_size:
        return np.log2(sizes_at(parameter, offered))
    return np.arange(len(offered)) / len(offered)


def _numbers(parameter: Parameter, offered: Integers, features: NDArray[np.uint8]) -> Floats:
    if not features.size:
        return np.eye(len(offered))
    if not parameter.is_size:
        return features.astype(np.float64)
    logs = np.log2(sizes_at(parameter, offered))
    return np.column_stack([features, logs / max(logs[-1], 1)])


def _features(parameter: Parameter, offered: Integers, dims: int) -> NDArray[np.uint8]:
    if parameter.is_size:
        octaves = np.floor(np.log2(sizes_at(parameter, offered)))
        found: NDArray[np.bool_] = octaves[:, np.newaxis] == np.unique(octaves)
        return found.astype(np.uint8)
    if parameter.kind != "order":
        return np.empty((len(offered), 0), dtype=np.uint8)
    places = np.argsort(orders_of(offered, dims), axis=1)
    first, second = np.triu_indices(dims, k=1)
    at_place = places[:, :, np.newaxis] == np.arange(dims)
    ahead = places[:, first] < places[:, second]
    return np.hstack([at_place.reshape(len(offered), -1), ahead]).astype(np.uint8)


GROUPINGS = ("clustered", "reversed", "random")
"""How parameters are grouped: dependent ones together, dependent ones apart, or at random."""


def explore(
    actions: Integers, heads: Heads, chance: float, local: float, rng: np.random.Generator
) -> Integers:
    """Replace each of int64[N, D] actions with a chance of its own, so that all stay reachable.

    With chance ``local`` a replaced size moves by a step; all other replacements are uniform.
    """
    bits = rng.bit_generator.capsule
    explored: Integers = heads.native.explore(actions, chance, local, bits)
    return explored


def refine(
    best: Integers, drawn: Integers, heads: Heads, pairs: float, rng: np.random.Generator
) -> Integers:
    """Return a variant of one of the best samples for each drawn sample, int64[N, D].

    A variant copies a remembered sample but for one or two parameters. If two change, both are
    sizes and change by the same factor, in the same or in opposite directions: where a buffer is
    full, one tile can grow only if another shrinks. If one changes, it takes the drawn choice or,
    a size, perhaps a step. The agents share these random numbers from the start (which sample,
    which parameters, how far), so they exchange nothing.

    Args:
        best: int64[E, D], E of at least 1, the best first.
        drawn: int64[N, D], from the policies.
        heads: of the actions.
        pairs: chance that two parameters change.
        rng: the shared random numbers.

    Raises:
        ValueError: fewer than two parameters are sizes.
    """
    variants: Integers = heads.native.refine(best, drawn, pairs, rng.bit_generator.capsule)
    return variants


@dataclass(frozen=True)
class GroupConfig(StartConfig):
    """Which parameters share an agent."""

    agents: int = setting(0, "number of agents; 0 is one per parameter", most=1000)
    grouping: str = setting("clustered", "which parameters share an agent", allowed=GROUPINGS)
    groups: str = setting("", "JSON file of groups to use instead of learning them")
    warm_up: int = setting(20_000, "random samples that groups are learnt from", least=1)
    measure: str = setting("pearson", "measure of dependence between parameters", allowed=MEASURES)
    linkage: str = setting("ward_rows", "linkage of the clustering", allowed=LINKAGES)


@dataclass(frozen=True)
class MarlConfig(GroupConfig):
    """Parameters of the agents and of their grouping."""

    policy: str = setting("stateless", "policy of every agent", allowed=("stateless", "mlp"))
    backend: str = setting("torch", "what computes networks (mlp)", allowed=("torch", "fused"))
    batch: int = setting(16, "samples between two updates", least=1, most=100_000)
    epochs: int = setting(4, "gradient steps of an update", least=1, most=1000)
    rate: float = setting(0.1, "learning rate of Adam", most=1)
    clip: float = setting(0.4, "bound of PPO's ratio around 1", most=10)
    entropy: float = setting(0.0, "weight of the entropy bonus", most=100)
    exploration: float = setting(0.1, "chance per parameter of an action off the policy", most=1)
    local: float = setting(0.7, "share of such actions of sizes that are small steps", most=1)
    imitation: float = setting(1.0, "weight of the pull towards the best samples", most=100)
    memory: int = setting(16, "best samples that agents remember", least=1, most=10_000)
    refinement: float = setting(0.35, "share of samples that are variants of the best", most=0.95)
    pairs: float = setting(0.6, "share of variants in which two sizes move", most=1)
    reward: str = setting("inverse", "reward of a mapping", allowed=REWARDS)
    draw: str = setting("log", "initial distribution", allowed=DRAWS)
    patience: int = setting(500, "samples without a gain before a new team starts; 0 is never")
    keep: float = setting(0.5, "chance that a new agent favours its part of the best", most=1)


MOST_CHANGE = 20.0
"""Largest logarithm of a ratio: ratios that PPO does not clip would overflow beyond it."""


class Agents(ABC):
    """All agents of a search, each with its own heads, weights and optimiser.

    An agent's policy is the product of its heads. No agent's computation depends on the weights or
    actions of another. For speed, arrays and tensors hold all agents; every operation on them is
    elementwise, within a head, or within an agent.

    Args:
        heads: of all parameters.
        agents: int64[D], the agent that owns each parameter, from 0 on.
        config: how every agent learns.
        bias: float64[L], the start of the logits.
    """

    def __init__(self, heads: Heads, agents: Integers, config: MarlConfig, bias: Floats) -> None:
        self._heads = heads
        self._agents = agents
        self._config = config
        self._bias = bias

    @abstractmethod
    def draw(self, uniform: Floats, observations: Observations) -> Integers:
        """Draw actions by inverting every head's distribution function.

        Args:
            uniform: float64[N, D] in [0, 1), one number per action.
            observations: float32[N, 4], shared by all agents.

        Returns:
            int64[N, D], indices of logits within their heads.
        """

    @abstractmethod
    def learn(self, actions: Integers, rewards: Floats, best: Integers) -> None:
        """Update every agent from the shared reward of the joint actions.

        Every epoch ascends, for each agent, PPO's clipped surrogate (Schulman et al., 2017,
        equation 7) over the batch, plus the entropy of its heads and the log-likelihood of its
        part of the best samples (self-imitation after Oh et al., 2018), each with its weight.

        Args:
            actions: int64[N, D], the last drawn ones; exploration may have changed some.
            rewards: float64[N].
            best: int64[E, D], actions of the best samples so far; E may be 0.
        """

    def _imitated(self, best: Integers) -> Floats | None:
        """Return how often each choice is among the best samples, float64[L]; None if unwanted."""
        if not len(best) or not self._config.imitation:
            return None
        taken = (best + self._heads.starts).ravel()
        return np.bincount(taken, minlength=len(self._bias)) / len(best)


def normalised(advantages: Floats) -> Floats:
    """Return advantages float64[N, ...] with mean 0 and deviation 1 over the batch."""
    centred: Floats = advantages - advantages.mean(axis=0)
    centred /= np.sqrt((centred * centred).mean(axis=0)) + 1e-8
    return centred


class RelativeRewards:
    """Rewards relative to the median of the first values of which one is valid.

    Args:
        kind: one of ``REWARDS``.
    """

    def __init__(self, kind: str) -> None:
        self._reward = REWARDS[kind]
        self._reference: float | None = None

    def __call__(self, values: Floats) -> Floats:
        """Return the rewards of values float64[N]; 0 of those that are infinite."""
        if self._reference is None:
            valid = np.isfinite(values)
            if not valid.any():
                return np.zeros(len(values))
            self._reference = float(np.median(values[valid]))
        return self._reward(self._reference / values)
