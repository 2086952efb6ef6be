"""The final learner with some agents, and parameters shared out among them in some way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass, fields

PARAMETERS = 13
"""Of the map space: as many agents are one per parameter."""
PEARSON, INTERACTION = "pearson", "interaction"
_GROUPINGS = (
    ("clustered", PEARSON),
    ("clustered", INTERACTION),
    ("reversed", PEARSON),
    ("random", ""),
)


@dataclass(frozen=True)
class Variant:
    """A form of MARL.

    Args:
        agents: how many; 0 for one per parameter.
        grouping: how parameters are shared out; empty for one agent or all.
        measure: of dependence that the grouping uses, if it does.
    """

    agents: int
    grouping: str = ""
    measure: str = ""

    @property
    def mapper(self) -> str:
        """Its name and settings, the shortest ones, as other items call it too."""
        if not self.grouping:
            return f"marl:agents={self.agents}" if self.agents else "marl"
        if self == _DEFAULT:
            return "marl_clustered"
        changes = [f"agents={self.agents}"]
        if self.grouping != "clustered":
            changes.append(f"grouping={self.grouping}")
        if self.measure == INTERACTION:
            changes.append(f"measure={self.measure}")
        return ":".join(("marl_clustered", *changes))

    def __str__(self) -> str:
        agents = {0: "one per parameter", 1: "1"}.get(self.agents, str(self.agents))
        return ", ".join(part for part in (agents, self.grouping, self.measure) if part)

    @staticmethod
    def header() -> tuple[str, ...]:
        """Return its columns of a file."""
        return tuple(field.name for field in fields(Variant))

    def row(self) -> tuple[int | str, ...]:
        """Return it as part of a row of a file."""
        return astuple(self)

    @classmethod
    def of(cls, row: Mapping[str, str]) -> Variant:
        """Read it from a row of a file."""
        return cls(int(row["agents"]), row["grouping"], row["measure"])


ONE, ALL = Variant(1), Variant(0)
_DEFAULT = Variant(6, "clustered", PEARSON)


def variants(agents: Iterable[int]) -> list[Variant]:
    """Return one agent, every grouping of each number of agents, and one agent per parameter."""
    between = [Variant(each, *grouping) for each in agents for grouping in _GROUPINGS]
    return [ONE, *between, ALL]


def duels(agents: Iterable[int]) -> list[tuple[Variant, Variant]]:
    """Return every grouping that is not random and the random one of as many agents."""
    return [
        (variant, Variant(variant.agents, "random"))
        for variant in variants(agents)
        if variant.grouping not in ("", "random")
    ]


def numbers(agents: Iterable[int]) -> list[Variant]:
    """Return one agent, each number of agents clustered by Pearson's r, and one per parameter."""
    return [ONE, *(Variant(each, "clustered", PEARSON) for each in agents), ALL]


def rivals(agents: Iterable[int], best: Iterable[int]) -> list[tuple[Variant, Variant]]:
    """Return pairs of numbers of agents, clustered by Pearson's r, that claims compare.

    Args:
        agents: numbers of them, without one and all.
        best: those that every other number is compared with, as with one agent.
    """
    one, *several = numbers(agents)
    learnt = {each.agents: each for each in several}
    bases = [one, *(learnt[each] for each in best if each in learnt)]
    return [(each, base) for base in bases for each in several if each != base]
