"""Copies of ``MaestroImprove-v1`` in the core, and what one of them or many are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.base.checks import require_type
from maestro_env.base.errors import EnvError, UnknownNameError
from maestro_env.environments.moves import MoveSet, moves_of
from maestro_env.environments.task import Task
from maestro_env.evaluation.any_problem import NativeProblem
from maestro_env.evaluation.cost_and_status import OK
from maestro_env.evaluation.observations_and_rewards import CONTEXT, Observations
from maestro_env.evaluation.problem import require
from maestro_env.mapspace.space import Points
from maestro_env.prior.proposals import Proposer, load_prior

OBSERVATIONS = ("context", "bottlenecks")
"""What is seen beside costs and mapping: layer, hardware and objective, or also bottlenecks."""

REWARDS = ("improvement", "best")
"""What a step is paid for: any change of the objective, or a new best of the episode."""

STARTS = ("random", "prior")
"""What an episode starts from: a mapping that masks allow, or a proposal of the package's prior."""

# Where the masks are not complete, about every second mapping they allow is valid.
_MOST_DRAWS = 1000


@dataclass(frozen=True)
class Options:
    """What a ``MaestroImproveEnv`` may choose beside its problems; see there.

    Raises:
        UnknownNameError: no such name.
    """

    moves: str = "plain"
    observation: str = "context"
    reward: str = "improvement"
    start: str = "random"
    info: str = "basic"
    masks: bool = False

    def __post_init__(self) -> None:
        allowed = {"observation": OBSERVATIONS, "reward": REWARDS, "start": STARTS}
        for what, names in allowed.items():
            if getattr(self, what) not in names:
                raise UnknownNameError(what, getattr(self, what), names)
        require_type("masks", self.masks, bool, "True or False")


DEFAULTS = Options()


class Copies:
    """Copies that the core steps together, each on one of some tasks.

    Pickles have the present mappings, and evaluate them again.

    Args:
        tasks: with the same moves.
        count: of the copies.
        options: of all of them.
        threads: of their evaluation.

    Raises:
        EnvError: tasks whose moves differ, or an option that a model does not have.
        ModelError: a model without masks.
    """

    def __init__(
        self, tasks: Sequence[Task], count: int, options: Options, threads: int = 1
    ) -> None:
        self.tasks, self.count, self.options = tasks, count, options
        self._threads = threads
        moves = [moves_of(task.space, options.moves) for task in tasks]
        self.names = moves[0].names
        for task, each in zip(tasks, moves, strict=True):
            if each.names != self.names:
                raise EnvError(
                    f"layers {tasks[0].problem.layer} and {task.problem.layer} have different "
                    "moves; allowed: layers with the same parallel dimensions"
                )
        grounds = [self._ground(*pair) for pair in zip(tasks, moves, strict=True)]
        full = options.info == "full"
        self.native = _native.Copies(grounds, count, full, threads)
        self.action_space = spaces.Discrete(len(self.names))
        self.observation_space = self._observation_space(len(moves[0].native.shown))

    def _ground(self, task: Task, moves: MoveSet) -> _native.Ground:
        problem, masks = task.problem, task.problem.native_masks
        if not isinstance(problem, NativeProblem):
            raise EnvError(f"model {problem.model} is none of the core; allowed: one that is")
        # The types of both are those of the model.
        batch: Any = problem.native_batch
        columns = problem.columns_of(task.objective)
        seen = (masks, moves.native, columns, task.context.tolist())
        if self.options.observation == "context":
            return _native.Ground(batch, task.space.native, *seen)
        machine = require(problem, "levels", "observation='bottlenecks'")
        both = (machine.layer.native, machine.hardware.native)
        return _native.Ground(batch, task.space.native, *seen, both)

    def _observation_space(self, shown: int) -> spaces.Space[Observations]:
        width = _native.OBSERVED + shown + len(CONTEXT)
        if self.options.observation == "context":
            return spaces.Box(0.0, 1.0, (width,), np.float32)
        least, most = np.zeros(width), np.ones(width)
        added = np.full(_native.BOTTLENECKS, _native.MOST_BOTTLENECK)
        low, high = np.append(least, -added), np.append(most, added)
        return spaces.Box(low.astype(np.float32), high.astype(np.float32), dtype=np.float32)

    def __getstate__(self) -> dict[str, Any]:
        grounds, present = self.native.grounds(), self.native.present()
        made = (self.tasks, self.count, self.options, self._threads)
        return {"made": made, "grounds": grounds, "present": present}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(*state["made"])  # type: ignore[misc]
        begun = np.flatnonzero(state["grounds"] >= 0)
        self.native.place(begun, state["grounds"][begun])
        self.native.try_points(begun, state["present"][begun])


def draw_starts(
    task: Task,
    generators: Sequence[np.random.Generator],
    status_of: Callable[[Points], NDArray[Any]],
    start: str = "random",
) -> Points:
    """Return a valid vector from each generator, int32[N, D].

    Args:
        task: whose mappings they are.
        generators: one for each vector.
        status_of: tells the status codes of int32[K, D] vectors.
        start: a name of ``STARTS``.

    Raises:
        EnvError: none of many draws is valid.
        MapSpaceError: no mapping of the space is.
    """
    starts = np.tile(task.no_vector, (len(generators), 1))
    left = np.arange(len(generators))
    for _ in range(_MOST_DRAWS):
        chosen = [generators[index] for index in left.tolist()]
        drawn = task.masks.sample_by(chosen) if start == "random" else _proposed(task, chosen)
        starts[left] = task.space.clipped(drawn)
        left = left[status_of(starts[left]) != OK]
        if not len(left):
            return starts
    raise EnvError(
        f"none of {_MOST_DRAWS} mappings of {task.problem.layer} is valid on "
        f"{task.problem.hardware.name or 'the hardware'}; choose the model 'exact', or more L1 and "
        "L2"
    )


def _proposed(task: Task, generators: Sequence[np.random.Generator]) -> Points:
    """Draw a proposal of the package's prior from each generator."""
    problem = require(task.problem, "levels", "start='prior'")
    proposer, networks = Proposer(problem, task.objective), load_prior().networks
    return np.concatenate([proposer.draw(networks, 1, each)[0] for each in generators])
