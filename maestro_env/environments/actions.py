"""Actions of the environments: how they become vectors.

Each kind of action is a class, which serves one environment or N copies that step together. It
knows the map spaces of all layers, which have the same parameters, but may differ in their choices.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike, NDArray

from maestro_env.base.errors import EnvError, MapSpaceError, quoted
from maestro_env.mapspace.space import Space

Groups = Mapping[str, Sequence[str]] | Sequence[Sequence[str]]
"""The names of the parameters of every agent: by agent, or a list each."""

if TYPE_CHECKING:
    from maestro_env.evaluation.masks import Masks

Mask = NDArray[np.bool_]


class Actions(ABC):
    """Turns actions into vectors.

    Args:
        map_spaces: of the layers.
        copies: empty for one environment, (N,) for N copies.
    """

    space: spaces.Space[Any]
    """Of the actions of one copy."""

    def __init__(self, map_spaces: Sequence[Space], copies: tuple[int, ...] = ()) -> None:
        self._copies = copies
        self._most: NDArray[np.int64] = np.max([each.sizes for each in map_spaces], axis=0)
        self.start(map_spaces[0])

    def start(self, map_space: Space) -> None:
        """Begin an episode on one of the map spaces."""
        self._map_space = map_space

    @abstractmethod
    def vectors(self, actions: Any) -> ArrayLike | None:
        """Return the vectors that actions complete, integers [(N,) D]; None if choices are missing.

        Raises:
            MapSpaceError: actions outside of their space, unless the core refuses the vectors.
        """

    def seen(self) -> list[NDArray[np.float32]]:
        """Return what an observation tells of the choices so far: arrays float32[(N,) ...]."""
        return []

    def masks(self, masks: Masks) -> Mask:
        """Return which actions are allowed, bool[(N,) actions], by the masks of the problem."""
        raise EnvError("a Box has no masks; allowed: action='multidiscrete' or 'discrete_steps'")


class MultiDiscreteActions(Actions):
    """An action is a vector: the choice of every parameter."""

    def __init__(self, map_spaces: Sequence[Space], copies: tuple[int, ...] = ()) -> None:
        super().__init__(map_spaces, copies)
        self.space = spaces.MultiDiscrete(self._most)
        self._alike = all(np.array_equal(each.sizes, self._most) for each in map_spaces)

    def vectors(self, actions: Any) -> ArrayLike | None:
        # None would stand for missing choices.
        if self._alike and actions is not None:
            return actions  # type: ignore[no-any-return]
        shape = (*self._copies, len(self._most))
        return as_integers(actions, shape, self._most) % self._map_space.sizes

    def masks(self, masks: Masks) -> Mask:
        parts = np.split(masks.independent(), np.cumsum(self._map_space.sizes)[:-1])
        padded = map(_padded, parts, self._most.tolist())
        return np.broadcast_to(np.concatenate(list(padded)), (*self._copies, self._most.sum()))


class BoxActions(Actions):
    """An action is a number from -1 to 1 for every parameter.

    The interval is cut into one part for each choice: equal parts, but for integer sizes parts of
    equal ratio, so that small sizes are drawn as often as large ones.
    """

    def __init__(self, map_spaces: Sequence[Space], copies: tuple[int, ...] = ()) -> None:
        super().__init__(map_spaces, copies)
        self.space = spaces.Box(-1.0, 1.0, self._most.shape, np.float32)
        self._logarithmic = np.array(
            [
                parameter.is_size and isinstance(parameter.values, range)
                for parameter in map_spaces[0].parameters
            ]
        )

    def vectors(self, actions: Any) -> ArrayLike | None:
        given, shape = as_array(actions), (*self._copies, *self._most.shape)
        if given.shape != shape or given.dtype.kind not in "fiu":
            raise MapSpaceError(f"actions are {_described(given)}; allowed: numbers, shape {shape}")
        return binned(given, self._map_space.sizes, self._logarithmic)


class DiscreteSteps(Actions):
    """An action is the choice of one parameter, in the order of the map space."""

    def __init__(self, map_spaces: Sequence[Space], copies: tuple[int, ...] = ()) -> None:
        self._chosen = np.zeros((*copies, len(map_spaces[0].sizes)), dtype=np.int32)
        super().__init__(map_spaces, copies)
        self.space = spaces.Discrete(int(self._most.max()))

    def start(self, map_space: Space) -> None:
        super().start(map_space)
        self._next = 0

    def vectors(self, actions: Any) -> ArrayLike | None:
        choices = as_integers(actions, self._copies, self._most.max())
        self._chosen[..., self._next] = choices % self._map_space.sizes[self._next]
        self._next += 1
        if self._next < len(self._most):
            return None
        self._next = 0
        return self._chosen

    def seen(self) -> list[NDArray[np.float32]]:
        """Return the share of each choice made, 0 for others, and 1 for the next parameter."""
        place = np.arange(len(self._most))
        shares = np.where(place < self._next, (self._chosen + 1) / self._map_space.sizes, 0.0)
        following = np.broadcast_to(place == self._next, shares.shape)
        return [shares.astype(np.float32), following.astype(np.float32)]

    def masks(self, masks: Masks) -> Mask:
        most = int(self._most.max())
        prefixes = self._chosen.reshape(-1, len(self._most))[:, : self._next]
        rows = [_padded(masks.allowed(prefix), most) for prefix in prefixes]
        return np.stack(rows).reshape(*self._copies, most)


ACTIONS: Mapping[str, type[Actions]] = {
    "multidiscrete": MultiDiscreteActions,
    "box": BoxActions,
    "discrete_steps": DiscreteSteps,
}
"""The kinds of actions by name."""


def binned(
    actions: NDArray[Any], sizes: NDArray[np.int64], logarithmic: Mask | None = None
) -> NDArray[np.int64]:
    """Return the choices, int64[..., D], of actions of the same shape, clipped to [-1, 1].

    Each of a parameter's choices (``sizes``, shape [D]) gets an equal share; where ``logarithmic``,
    bool[D], choice c of n gets log(1 + 1 / (c + 1)) / log(n + 1) of it. NaN is refused.
    """
    if np.isnan(actions).any():
        raise MapSpaceError("an action is not a number; allowed: numbers from -1 to 1")
    # Single precision would move the bin edges of parameters with many choices.
    shares = (np.clip(actions.astype(np.float64), -1.0, 1.0) + 1.0) / 2.0
    choices = shares * sizes
    if logarithmic is not None:
        choices = np.where(logarithmic, (sizes + 1.0) ** shares - 1.0, choices)
    return np.minimum(choices.astype(np.int64), sizes - 1)


def as_array(actions: Any) -> NDArray[Any]:
    """Return actions as an array of any type, or raise a ``MapSpaceError``."""
    try:
        return np.asarray(actions)
    except (RuntimeError, TypeError, ValueError) as error:
        raise MapSpaceError(f"actions are no array: {error}") from None


def as_integers(actions: Any, shape: tuple[int, ...], most: Any) -> NDArray[np.int64]:
    """Return actions as int64 of a shape if they are integers below ``most``."""
    given = as_array(actions)
    if given.shape != shape or given.dtype.kind not in "iu":
        raise MapSpaceError(f"actions are {_described(given)}; allowed: integers, shape {shape}")
    stray = np.argwhere((given < 0) | (given >= most))
    if len(stray):
        place = tuple(stray[0])
        least = np.broadcast_to(most, shape)[place]
        raise MapSpaceError(f"an action is {given[place]}; allowed: integers from 0 to {least - 1}")
    return given.astype(np.int64)


def _described(given: NDArray[Any]) -> str:
    return f"{given.dtype} of shape {given.shape}" if given.ndim else quoted(given.item())


def _padded(mask: Mask, most: int) -> Mask:
    """Return a mask with False for the choices that the parameter lacks."""
    return np.pad(mask, (0, most - len(mask)))
