"""Moves of a mapping whose parameters agents share out, and which all make at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maestro_env.environments.improving import Moves
from maestro_env.mappers.parts.arrays import Floats, Integers
from maestro_env.mapspace.space import Points, Space


class JointMoves(Moves):
    """Moves of ``MaestroImprove-v1`` in N copies; an action has a choice for each parameter.

    The first choice leaves the parameter as it is, the others are its moves.

    Args:
        space: of the mappings.
        copies: N.
        agents: the agent of each parameter, int64[D], from 0 on.

    Attributes:
        counts: moves of each parameter.
        widths: numbers that each agent sees.
    """

    def __init__(self, space: Space, copies: int, agents: Integers) -> None:
        super().__init__([space], (copies,))
        names = [name for name, _ in self.names]
        self.counts = [names.count(parameter.name) for parameter in space.parameters]
        self._firsts = np.cumsum([0, *self.counts[:-1]])
        # What agents see of the mapping, and after that the objective.
        owners = agents[self.shown]
        self._columns = [
            np.append(np.flatnonzero(owners == agent), len(owners))
            for agent in range(agents.max() + 1)
        ]
        self.widths = tuple(map(len, self._columns))

    def together(self, actions: Integers) -> Points:
        """Return the vectors, int32[N, D], after actions int64[N, D]."""
        return self.after(self._firsts + np.maximum(actions - 1, 0), actions > 0)

    def seen_by_agents(self, objectives: Floats) -> list[NDArray[np.float32]]:
        """Return what each agent sees, float32[N, o_i]: its parameters and the objective.

        Args:
            objectives: of the present mappings as agents see it, float64[N].
        """
        every = np.column_stack([*self.seen(), objectives]).astype(np.float32)
        return [every[:, columns] for columns in self._columns]
