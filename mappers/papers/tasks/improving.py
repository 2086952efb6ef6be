"""Mapping as a task: ``MaestroImprove-v1`` in many copies, where all parameters move at once."""

from __future__ import annotations

import numpy as np

from maestro_env.environments.improvement import draw_starts
from maestro_env.environments.task import Task as MappingTask
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import Problem
from maestro_env.mappers.papers.tasks import EPISODE, Task, require_counts
from maestro_env.mappers.parts.arrays import Floats, Floats32, Integers
from maestro_env.mappers.parts.operators import JointMoves
from maestro_env.mapspace.space import Points

_TYPICAL = 100


class Improvement(Task):
    """Agents share out the parameters of a map space and improve valid mappings.

    A head is a parameter: its first choice leaves the parameter as it is, the others are its moves.
    The first mappings are drawn by ``Masks.sample``. All agents are paid the logarithm of the
    objective before over that after; 0 where the mapping becomes invalid, and so stays what it was.
    An agent sees its parameters of the present mapping and the logarithm of the objective, relative
    to those of random mappings.
    No copy is ever finished.

    Args:
        problem: map space and cost model.
        objective: what to minimise.
        copies: E.
        agents: the agent of each parameter, int64[D], from 0 on; None for one each.
        length: steps of an episode.

    Attributes:
        values: objective of the present mappings, float64[E].

    Raises:
        TaskError: a number outside 1 to 10,000.
        MaestroEnvError: an objective that the model does not compute, or no valid mapping.
    """

    def __init__(
        self,
        problem: Problem,
        objective: Objective,
        copies: int = 1,
        agents: Integers | None = None,
        length: int = EPISODE,
    ) -> None:
        require_counts(copies=copies)
        self._task = MappingTask(problem, objective)
        owners = np.arange(len(problem.space.columns)) if agents is None else agents
        self._moves = JointMoves(problem.space, copies, owners)
        # The head of each parameter: heads stand agent by agent.
        self._places = np.argsort(np.argsort(owners, kind="stable"))
        own = [np.flatnonzero(owners == agent).tolist() for agent in range(owners.max() + 1)]
        counts = self._moves.counts
        heads = tuple(tuple(1 + counts[parameter] for parameter in each) for each in own)
        super().__init__(copies, heads, length)
        self.widths, self.values = self._moves.widths, np.ones(copies)
        typical = np.log(self._score(self._starts(_TYPICAL, np.random.default_rng(0))))
        self._centre, self._spread = typical.mean(), typical.std() or 1.0

    def _begin(self, rng: np.random.Generator) -> None:
        starts = self._starts(self.copies, rng)
        self._moves.accept(starts)
        self.values = self._score(starts)

    def _act(self, actions: Integers) -> Floats:
        points = self._moves.together(actions[:, self._places])
        values = self._score(points)
        valid = np.isfinite(values)
        after = np.where(valid, values, self.values)
        rewards = np.log(self.values / after)
        self._moves.accept(points, valid)
        self.values = after
        return np.repeat(rewards[:, np.newaxis], self.agents, axis=1)

    def _observe(self) -> list[Floats32]:
        relative = (np.log(self.values) - self._centre) / self._spread
        return self._moves.seen_by_agents(relative)

    def _starts(self, n: int, rng: np.random.Generator) -> Points:
        """Draw valid vectors, int32[n, D]."""
        task = self._task
        return draw_starts(
            task, [rng] * n, lambda points: task.problem.score(points, task.objective)[1]
        )

    def _score(self, points: Points) -> Floats:
        """Return the objective of vectors, float64[E]; infinite of invalid ones."""
        return self._task.problem.score(points, self._task.objective)[0]
