"""Moves: what an action of ``MaestroImprove-v1`` changes of a mapping; the core makes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from maestro_env import _native
from maestro_env.base.errors import UnknownNameError
from maestro_env.evaluation.masks import Masks
from maestro_env.mapspace.space import Parameter, Points, Space

MOVES = ("plain", "chunks", "pairs")
"""Sets of moves: each has those before it too."""

_STEPS = {"minus": "-1", "plus": "+1", "half": "half", "twice": "double"}
_CHUNKS = ("one", "all", "fewer", "more", "even")
# Sizes that a parallel dimension may need at once.
_RESIZED = {"half": "half", "twice": "double", "one": "one", "all": "all"}

_Changes = list[tuple[int, str, int]]
"""Column, rule of the core, and argument of each change."""


@dataclass(frozen=True, eq=False)
class MoveSet:
    """The moves of a space.

    Args:
        space: of the mappings.
        names: parameter and move of each action.
        native: makes and shows them.
    """

    space: Space
    names: tuple[tuple[str, str], ...]
    native: _native.Moves

    def neighbours(self, point: Points) -> Points:
        """Return where each move leads from a vector, int32[moves, D]."""
        moves = np.arange(len(self.names))[:, np.newaxis]
        before = np.tile(point, (len(moves), 1))
        made = np.ones(moves.shape, dtype=np.bool_)
        return self.space.clipped(self.native.after(before, moves, made))

    def allowed(self, point: Points, masks: Masks) -> NDArray[np.bool_]:
        """Return which moves lead to another mapping that masks allow, bool[moves]."""
        after = self.neighbours(point)
        found: NDArray[np.bool_] = (after != point).any(axis=1)
        found[found] = masks.allow(after[found])
        return found


@lru_cache(maxsize=128)
def moves_of(space: Space, kind: str = "plain") -> MoveSet:
    """Return the moves of a space.

    Args:
        space: of the mappings.
        kind: a name of ``MOVES``. ``plain``: an order exchanges two adjacent loops (``swap 0`` the
            outer two), a parallel dimension is set, a size takes the next smaller or larger choice
            (``-1``, ``+1``), or the largest one up to ``half`` or ``double``. ``chunks``: a size
            also becomes ``one``, ``all`` of what it cuts, or the least that cuts it into one chunk
            ``fewer``, one ``more``, or as many as now (``even``). ``pairs``: a loop also becomes
            ``innermost``, and a parallel dimension is set together with a size.

    Raises:
        UnknownNameError: no such set.
    """
    if kind not in MOVES:
        raise UnknownNameError("moves", kind, MOVES)
    listed = [*_plain(space)]
    if kind != "plain":
        listed += _chunks(space)
    if kind == "pairs":
        listed += [*_innermost(space), *_pairs(space)]
    outer = dict(space.clipped_columns)
    described = [
        _described(each, len(space.ordered(each.name)), outer.get(column, -1))
        for column, each in enumerate(space.parameters)
    ]
    names, changes = zip(*listed, strict=True)
    return MoveSet(space, names, _native.Moves(described, list(changes)))


def _described(
    parameter: Parameter, loops: int, whole: int
) -> tuple[str, int, int, list[int], int, list[float]]:
    """Return a parameter as the core knows it; of a size log(size) / log(largest) is shown."""
    if not parameter.is_size:
        return parameter.kind, parameter.choices, loops, [], -1, []
    sizes = np.array(parameter.values)
    shown = np.log(sizes) / np.log(max(sizes[-1], 2))
    # The core takes no values for 1, 2, 3, ...
    values = [] if isinstance(parameter.values, range) else sizes.tolist()
    return "size", parameter.choices, 0, values, whole, shown.astype(np.float32).tolist()


def _plain(space: Space) -> Iterator[tuple[tuple[str, str], _Changes]]:
    for column, each in enumerate(space.parameters):
        if each.is_size:
            for rule, name in _STEPS.items():
                yield (each.name, name), [(column, rule, 0)]
        elif each.kind == "order":
            for place in range(len(space.ordered(each.name)) - 1):
                yield (each.name, f"swap {place}"), [(column, "swap", place)]
        else:
            for choice, value in enumerate(each.values):
                yield (each.name, str(value)), [(column, "set", choice)]


def _chunks(space: Space) -> Iterator[tuple[tuple[str, str], _Changes]]:
    for column, each in enumerate(space.parameters):
        if each.is_size:
            for rule in _CHUNKS:
                yield (each.name, rule), [(column, rule, 0)]


def _innermost(space: Space) -> Iterator[tuple[tuple[str, str], _Changes]]:
    for column, each in enumerate(space.parameters):
        if each.kind == "order":
            for loop, dim in enumerate(space.ordered(each.name)):
                yield (each.name, f"{dim} innermost"), [(column, "innermost", loop)]


def _pairs(space: Space) -> Iterator[tuple[tuple[str, str], _Changes]]:
    columns = list(enumerate(space.parameters))
    for column, each in columns:
        for choice, value in enumerate(each.values if each.kind == "parallel" else ()):
            for other, size in columns:
                for rule, name in _RESIZED.items() if size.is_size else ():
                    changes = [(column, "set", choice), (other, rule, 0)]
                    yield (f"{each.name}, {size.name}", f"{value}, {name}"), changes
