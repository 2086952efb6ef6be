"""The environment whose steps change one mapping, parameter by parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import permutations
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from maestro_env.accelerators.hardware import Hardware
from maestro_env.accelerators.hierarchy import Hierarchy
from maestro_env.base.errors import BudgetExceededError, EnvError
from maestro_env.environments.actions import Actions, Mask, as_integers
from maestro_env.environments.env import MaestroEnv
from maestro_env.environments.task import Task, make_tasks
from maestro_env.environments.vector import MaestroVectorEnv
from maestro_env.evaluation.evaluator import Batch, Evaluator
from maestro_env.evaluation.masks import Masks
from maestro_env.evaluation.models import DEFAULT_MODEL
from maestro_env.evaluation.objectives import Objective
from maestro_env.evaluation.problem import AUTO
from maestro_env.evaluation.rewards import Observations, observation
from maestro_env.evaluation.status import OK
from maestro_env.mapspace.parameter import Parameter, count_up_to
from maestro_env.mapspace.space import Points, Space
from maestro_env.workloads.layer import Layer

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

# Where the masks are not complete, about every second mapping they allow is valid.
_MOST_DRAWS = 1000


class _Tables:
    """One table for each parameter, a row for each of its choices, looked up together.

    Args:
        tables: [choices, W] each, W of its own.
    """

    def __init__(self, tables: Sequence[NDArray[Any]]) -> None:
        widths = [table.shape[1] for table in tables]
        self._flat = np.concatenate([table.ravel() for table in tables])
        starts = np.cumsum([0, *(table.size for table in tables[:-1])])
        within = np.concatenate([np.arange(width) for width in widths])
        self._first = np.repeat(starts, widths) + within
        self._width = np.repeat(widths, widths)
        self.columns = np.repeat(np.arange(len(tables)), widths)
        """The parameter of each entry."""

    def entries(self, points: Points, entries: Integers) -> NDArray[Any]:
        """Return entries int64[N, M] of the rows of vectors int32[N, D]."""
        choices = np.take_along_axis(points, self.columns[entries], axis=1)
        found: NDArray[Any] = self._flat[self._first[entries] + choices * self._width[entries]]
        return found

    def all(self, points: Points) -> NDArray[Any]:
        """Return all entries of the rows of vectors int32[N, D]."""
        found: NDArray[Any] = self._flat[self._first + points[:, self.columns] * self._width]
        return found


@dataclass(frozen=True, eq=False)
class _Moves:
    """The moves of a parameter, and what an observation shows of it.

    Args:
        names: of the M moves.
        after: the choice after each move, int32[choices, M].
        shown: numbers from 0 to 1, float32[choices, F].
    """

    names: tuple[str, ...]
    after: Points
    shown: Observations


def _moves_of(parameter: Parameter, loops: int) -> _Moves:
    if parameter.is_size:
        return _scaled(parameter)
    if parameter.kind == "order":
        return _swaps(loops)
    choices = parameter.choices
    after = np.tile(np.arange(choices, dtype=np.int32), (choices, 1))
    return _Moves(tuple(map(str, parameter.values)), after, np.eye(choices, dtype=np.float32))


def _scaled(parameter: Parameter) -> _Moves:
    """Return the moves of a size; log(size) / log(largest) is shown."""
    choices, sizes = np.arange(parameter.choices), np.array(parameter.values)
    scaled = [count_up_to(parameter, each) - 1 for each in (sizes // 2, sizes * 2)]
    after = np.stack([choices - 1, choices + 1, *scaled], axis=-1).clip(0, len(choices) - 1)
    shown = np.log(sizes)[:, np.newaxis] / math.log(max(sizes[-1], 2))
    names = ("-1", "+1", "half", "double")
    return _Moves(names, after.astype(np.int32), shown.astype(np.float32))


@cache
def _swaps(loops: int) -> _Moves:
    """Return the exchanges of adjacent loops; the place of each loop is shown."""
    orders = list(permutations(range(loops)))
    ranks = {order: rank for rank, order in enumerate(orders)}

    def swapped(order: tuple[int, ...], place: int) -> tuple[int, ...]:
        return (*order[:place], order[place + 1], order[place], *order[place + 2 :])

    places = range(loops - 1)
    after = [[ranks[swapped(order, place)] for place in places] for order in orders]
    shown = np.array(orders, dtype=np.float32).argsort(axis=1) / max(loops - 1, 1)
    names = tuple(f"swap {place}" for place in places)
    return _Moves(names, np.array(after, dtype=np.int32), shown.astype(np.float32))


@lru_cache(maxsize=16)
def _tables_of(
    space: Space,
) -> tuple[_Tables, _Tables, tuple[tuple[str, str], ...]]:
    """Return the choices after all moves, what is shown, and parameter and name of each move."""
    moves = {each.name: _moves_of(each, len(space.ordered(each.name))) for each in space.parameters}
    named = tuple((name, move) for name, each in moves.items() for move in each.names)
    after, shown = ([getattr(each, name) for each in moves.values()] for name in ("after", "shown"))
    return _Tables(after), _Tables(shown), named


class Moves(Actions):
    """An action is a move: one parameter of the present mapping takes another choice.

    Vectors are those whose L1 tiles fit their L2 tiles, so that there is one for each mapping. A
    move out of the range leaves the mapping as it is.
    """

    def __init__(self, map_spaces: Sequence[Space], copies: tuple[int, ...] = ()) -> None:
        super().__init__(map_spaces, copies)
        self.space = spaces.Discrete(len(self.names))

    def start(self, map_space: Space) -> None:
        super().start(map_space)
        self._after, self._shown, self.names = _tables_of(map_space)
        """``names``: parameter and move of each action."""
        shape = math.prod(self._copies), len(map_space.parameters)
        self._present = np.zeros(shape, dtype=np.int32)
        self._begun = False

    @property
    def shown(self) -> Integers:
        """The parameter, int64[F], of each number that ``seen`` returns."""
        return self._shown.columns

    @property
    def present(self) -> Points:
        """The vectors of the present mappings, int32[(N,) D]."""
        return self._present.reshape(*self._copies, -1).copy()

    def accept(self, points: Points, where: Mask | None = None) -> None:
        """Make int32[(N,) D] vectors the present ones, in all copies or where bool[N] says so."""
        chosen = slice(None) if where is None else where
        self._present[chosen] = points.reshape(self._present.shape)[chosen]
        self._begun = True

    def vectors(self, actions: Any) -> Points:
        moves = as_integers(actions, self._copies, self.space.n)  # type: ignore[attr-defined]
        return self.after(moves.reshape(-1, 1)).reshape(*self._copies, -1)

    def after(self, moves: Integers, made: Mask | None = None) -> Points:
        """Return the vectors, int32[N, D], after moves int64[N, M] of M different parameters.

        Of these moves those are made that bool[N, M] says; None for all.
        """
        self._require_begun()
        return self._moved(self._present, moves, made)

    def _moved(self, present: Points, moves: Integers, made: Mask | None = None) -> Points:
        points = present.copy()
        targets = self._after.entries(present, moves)
        if made is not None:
            kept = np.take_along_axis(present, self._after.columns[moves], axis=1)
            targets = np.where(made, targets, kept)
        np.put_along_axis(points, self._after.columns[moves], targets, axis=1)
        return self._map_space.clipped(points)

    def _require_begun(self) -> None:
        if not self._begun:
            raise EnvError("there is no mapping to change; call reset() before the first step")

    def seen(self) -> list[Observations]:
        """Return the present mappings as numbers, float32[(N,) F]."""
        return [self._shown.all(self._present).reshape(*self._copies, -1)]

    def masks(self, masks: Masks) -> Mask:
        """Return which moves lead to another mapping that may be valid, bool[(N,) actions]."""
        self._require_begun()
        moves = len(self.names)
        before = np.repeat(self._present, moves, axis=0)
        each = np.tile(np.arange(moves), len(self._present))
        after = self._moved(before, each[:, np.newaxis])
        allowed: Mask = (after != before).any(axis=1)
        allowed[allowed] = masks.allow(after[allowed])
        return allowed.reshape(*self._copies, moves)


class MaestroImproveEnv(MaestroEnv):
    """Improve a mapping: a step changes one parameter of the present one and evaluates the result.

    It is a Markov decision process: the next state and the reward depend on state and action only.

    ## Action Space
    `Discrete`, the moves of all parameters; `env.unwrapped.moves` has the parameter and the name of
    each. An order exchanges two adjacent loops (`swap 0` the outer two), a parallel dimension is
    set, a size takes the next smaller or larger choice, or the largest one up to half or double.
    A move out of the range changes nothing. `action_masks()` forbids moves that change nothing or
    certainly lead to an invalid mapping; under the model `exact` what it allows is valid.

    ## Observation Space
    `Box(0, 1, (n,), float32)`: the figures of the present mapping, 4 numbers as in `MaestroEnv`;
    the mapping itself (of an order the place of each loop, of a parallel dimension a 1 among
    zeros, of a size log(size) / log(largest)); the context, a number for each name of
    `maestro_env.CONTEXT`.

    ## Rewards
    log(objective before / objective after). So the return, undiscounted, is log(objective of the
    first mapping / objective of the last). Where a move leads to an invalid mapping, the present
    one stays, and the reward is 0.

    ## Starting State
    A valid mapping, drawn from the seed by `Masks.sample`. With `layers` also one of the layers.

    ## Episode End
    Truncated after `episode_length` moves; of 1 move, terminated.

    ## Information
    As in `MaestroEnv`: `status` and `objective` are of the mapping that the step evaluated, after
    a reset of the start. The attributes `vector`, `mapping` and `cost` are of the present mapping.

    ## Arguments
    Those of `MaestroEnv`, without `reward`, `action` and `observation`.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is allowed. By
            `reset`, a space in which no valid mapping was found.
    """

    _ACTIONS: ClassVar[Mapping[str, type[Actions]]] = {"moves": Moves}
    _actions: Moves

    def __init__(
        self,
        layer: str | Layer | None = None,
        objective: str | Objective = "edp",
        hardware: str | Hardware | Hierarchy = "unlimited",
        model: str = DEFAULT_MODEL,
        schema: str = AUTO,
        tiles: str = "integers",
        episode_length: int | None = None,
        guard: bool = True,
        info: str = "basic",
        layers: Sequence[str | Layer] | None = None,
        render_mode: str | None = None,
    ) -> None:
        self._set_up(
            make_tasks(layer, layers, objective, hardware, model, schema, tiles, guard),
            episode_length=episode_length,
            info=info,
            action="moves",
            observation="context",
            render_mode=render_mode,
        )

    @property
    def moves(self) -> tuple[tuple[str, str], ...]:
        """Parameter and name of each action."""
        return self._actions.names

    @property
    def vector(self) -> Points | None:
        """The vector of the present mapping, int32[D]; None before the first reset."""
        return None if self._vector is None else self._actions.present

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Draw a mapping; return the first observation, float32[n], and ``info``."""
        super().reset(seed=seed, options=options)
        task = self._task

        def status(points: Points) -> NDArray[np.uint8]:
            return task.problem.score(points, task.objective)[1]

        self._evaluate(draw_starts(task, [self.np_random], status)[0])
        self._accept()
        return self._observer.see(self._seen, task), self._information()

    def take(self, moves: Sequence[int]) -> tuple[Observations, float, bool, bool, dict[str, Any]]:
        """Make some moves of different parameters at once: a step, as ``step`` returns it."""
        count = self._actions.space.n  # type: ignore[attr-defined]
        # An empty list has no integers.
        asked = np.asarray(moves, dtype=None if len(moves) else np.int64)
        together = as_integers(asked, (len(moves),), count)
        if len({self.moves[move][0] for move in together.tolist()}) < len(together):
            raise EnvError(f"moves are {list(moves)}; allowed: one of a parameter")
        return self._step_to(self._actions.after(together.reshape(1, -1))[0])

    def _accept(self) -> None:
        """Make the mapping that was evaluated the present one."""
        assert self._vector is not None
        self._actions.accept(self._vector)
        self._present = self._value, self._seen

    def _pay(self) -> float:
        before, seen = self._present
        if self._status != OK:
            self._seen = seen
            return 0.0
        self._accept()
        return float(np.log(before) - np.log(self._value))


class MaestroImproveVectorEnv(MaestroVectorEnv):
    """Copies of ``MaestroImproveEnv`` that step together, with the same results bit for bit.

    What ``MaestroVectorEnv`` says of autoreset and information holds here. The starts are samples
    too. Copy i draws them from the seed plus i, as in Gymnasium's own vectors.

    Args:
        evaluator: counts and evaluates the samples, or several, one for each layer.
        num_envs: copies, up to 2^20.
        episode_length: moves of an episode; None for 100.
        info: ``basic``, or ``full``.
        max_episode_steps: steps after which an episode is truncated at the latest, or None.
        autoreset_mode: ``SAME_STEP`` or ``NEXT_STEP`` of Gymnasium, or its value.
        budget: evaluations that the copies may take; None for all that the evaluator has left.

    Raises:
        MaestroEnvError: an argument that is not allowed; the message says what is.
        BudgetExceededError: by ``reset`` and ``step``, the budget of the evaluator is spent.
    """

    _ACTIONS: ClassVar[Mapping[str, type[Actions]]] = {"moves": Moves}
    _actions: Moves

    def __init__(
        self,
        evaluator: Evaluator | Sequence[Evaluator],
        num_envs: int,
        episode_length: int | None = None,
        info: str = "basic",
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        budget: int | None = None,
    ) -> None:
        super().__init__(
            evaluator,
            num_envs,
            episode_length=episode_length,
            info=info,
            action="moves",
            observation="context",
            max_episode_steps=max_episode_steps,
            autoreset_mode=autoreset_mode,
            budget=budget,
        )
        self._generators: list[np.random.Generator] = []
        self._begun = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observations, dict[str, Any]]:
        """Draw a mapping in each copy; ``reset_mask`` is refused.

        Where the budget does not cover that, copies go on with their present mappings.
        """
        before, present = self._task, self._actions.present
        super().reset(seed=seed, options=options)
        if seed is not None or not self._generators:
            seeds = [None if seed is None else seed + copy for copy in range(self.num_envs)]
            self._generators = [np_random(each)[0] for each in seeds]
        try:
            starts = draw_starts(
                self._task, self._generators, lambda points: self.evaluator.evaluate(points).status
            )
        except BudgetExceededError:
            # What the last steps have found counts, though no new episode can begin.
            if before is not self._task or not self._begun:
                raise
            starts = present
        self._begun = True
        # Their samples are counted already.
        rows = self._task.problem.evaluate(starts)
        self._actions.accept(starts)
        self._cost = observation(rows.metrics)
        self._values = self.evaluator.objective.function(rows.metrics)
        batch = Batch(self._values.copy(), rows.status)
        return self._see(), self._information(batch, starts, rows.metrics, self._all(True))

    def _evaluate(self, points: Points) -> tuple[Floats, dict[str, Any]]:
        before = self._cost
        rewards, told = super()._evaluate(points)
        valid = told["status"] == OK
        self._actions.accept(points, valid)
        self._cost = np.where(valid[:, np.newaxis], self._cost, before)
        return rewards, told

    def _pay(self, values: Floats) -> Floats:
        after = np.where(np.isfinite(values), values, self._values)
        rewards: Floats = np.log(self._values) - np.log(after)
        self._values = after
        return rewards


def draw_starts(
    task: Task,
    generators: Sequence[np.random.Generator],
    status_of: Callable[[Points], NDArray[np.uint8]],
) -> Points:
    """Return a valid vector from each generator, int32[N, D], as masked vectors are drawn.

    Raises:
        EnvError: none of many draws is valid.
        MapSpaceError: no mapping of the space is.
    """
    starts = np.tile(task.no_vector, (len(generators), 1))
    left = np.arange(len(generators))
    for _ in range(_MOST_DRAWS):
        drawn = [task.masks.sample(1, generators[index]) for index in left.tolist()]
        starts[left] = task.space.clipped(np.concatenate(drawn))
        left = left[status_of(starts[left]) != OK]
        if not len(left):
            return starts
    raise EnvError(
        f"none of {_MOST_DRAWS} mappings of {task.problem.layer} is valid on "
        f"{task.problem.hardware.name or 'the hardware'}; choose the model 'exact', or more L1 and "
        "L2"
    )
