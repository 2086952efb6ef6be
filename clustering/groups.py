"""Which agent sets which parameters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from maestro_env.clustering.errors import GroupingError, unknown
from maestro_env.clustering.samples import Integers


@dataclass(frozen=True)
class AgentGroups(Mapping[str, tuple[str, ...]]):
    """Agents and their parameters, in order: ``groups["agent_0"]`` is a tuple of names.

    Args:
        pairs: name and parameters of each agent.

    Raises:
        GroupingError: no agent, one without parameters, or an agent or parameter given twice.
    """

    pairs: tuple[tuple[str, tuple[str, ...]], ...]

    def __post_init__(self) -> None:
        if not self.pairs:
            raise GroupingError("groups have no agent: at least one is needed")
        agents = tuple(agent for agent, _ in self.pairs)
        for what, names in ("agent", agents), ("parameter", self.names):
            if repeated := [name for name, count in Counter(names).items() if count > 1]:
                raise GroupingError(
                    f"{what} {', '.join(repeated)} is given twice: each is allowed once"
                )
        for agent, names in self.pairs:
            if not names:
                raise GroupingError(
                    f"agent '{agent}' has no parameter: give it one, or leave it out"
                )

    @classmethod
    def of(cls, groups: Iterable[Iterable[str]]) -> AgentGroups:
        """Make groups whose agents are named ``agent_0``, ``agent_1`` and so on."""
        return cls(tuple((f"agent_{i}", tuple(group)) for i, group in enumerate(groups)))

    @classmethod
    def from_indices(cls, names: Sequence[str], agents: Sequence[int] | Integers) -> AgentGroups:
        """Make groups from the index of every parameter's agent (Algorithm 1, step 5).

        Agents are renumbered in the order of their first parameters.
        """
        groups: dict[int, list[str]] = {}
        for name, agent in zip(names, agents, strict=True):
            groups.setdefault(int(agent), []).append(name)
        return cls.of(groups.values())

    @classmethod
    def from_json(cls, text: str, names: Iterable[str]) -> AgentGroups:
        """Read groups of the parameters ``names``: an object of agents and lists of parameters.

        Raises:
            GroupingError: not JSON, not such an object, or not each of the parameters once.
        """
        form = 'allowed: an object of agents and their parameters, {"agent_0": ["l2_order"], ...}'
        try:
            pairs = json.loads(text, object_pairs_hook=tuple)
        except (ValueError, RecursionError) as error:
            raise GroupingError(f"groups are not JSON ({error}); {form}") from None
        if not isinstance(pairs, tuple):
            raise GroupingError(f"groups are {pairs!r:.40}; {form}")
        for agent, group in pairs:
            if not isinstance(group, list) or not all(isinstance(name, str) for name in group):
                raise GroupingError(f"agent '{agent}' is not a list of names; {form}")
        return cls(tuple((agent, tuple(group)) for agent, group in pairs)).for_names(names)

    def to_json(self) -> str:
        """Return the text that ``from_json`` reads."""
        return json.dumps(dict(self.pairs), indent=2) + "\n"

    def __getitem__(self, agent: str) -> tuple[str, ...]:
        return dict(self.pairs)[agent]

    def __iter__(self) -> Iterator[str]:
        return iter(dict(self.pairs))

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters of all agents, agent by agent."""
        return tuple(name for _, group in self.pairs for name in group)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of parameters of every agent."""
        return tuple(len(group) for _, group in self.pairs)

    def indices(self, names: Iterable[str]) -> Integers:
        """Return the index of every parameter's agent, int64[D].

        Raises:
            GroupingError: the groups are not of these parameters.
        """
        ordered = tuple(names)
        self.for_names(ordered)
        agents = {name: i for i, group in enumerate(self.values()) for name in group}
        return np.array([agents[name] for name in ordered], dtype=np.int64)

    def for_names(self, names: Iterable[str]) -> AgentGroups:
        """Return these groups for a layer with the parameters ``names``.

        Raises:
            GroupingError: the layer lacks a parameter of the groups, or has one they lack.
        """
        allowed = tuple(names)
        for agent, group in self.pairs:
            for name in group:
                if name not in allowed:
                    what = unknown("parameter", name, allowed)
                    raise GroupingError(f"agent '{agent}': {what}; leave it out if there is none")
        if missing := [name for name in allowed if name not in self.names]:
            raise GroupingError(
                f"no agent has parameter {', '.join(missing)}: give it to one of "
                f"{', '.join(self)}, or learn groups on a layer that has it"
            )
        return self
