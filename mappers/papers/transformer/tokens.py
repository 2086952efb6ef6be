"""Problems and mappings as tokens, which a language model reads and writes.

A problem is its objective, five figures of the hardware, and operator, extents and strides of the
layer. Numbers up to 64 are exact; above there are eight in each octave, and the nearest is taken.

A mapping is written choice by choice: the parallel loops of L2 and L1, the cluster size, then for
each level its tiles and its order, from the innermost loop outwards. What leaves no choice is not
written: a tile of an extent of 1, the last loop of an order, and loops of one pass, whose place
costs nothing.

A tile is written as its size or as its number of passes over what is around it, whichever is less.
It is read as the smallest tile with that number of passes. So a mapping that is read has no larger
tile than the one that was written, and as many passes if extents are at most 4,096; above, not
every number has a token. Of clusters the largest with the same number of them is read. Every
mapping that can be read has one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from maestro_env.accelerators.hardware import Hardware
from maestro_env.base.checks import look_up
from maestro_env.base.errors import MaestroEnvError, quoted
from maestro_env.evaluation.objectives import OBJECTIVES, Objective
from maestro_env.mapspace.space import Parameter, Points, lehmer_rank, tile_name
from maestro_env.mapspace.two_level_space import LEVELS, MapSpace
from maestro_env.workloads.layer import DIMENSIONS, LOOPS, Layer, loop_of

_EXACT, _PARTS, _OCTAVES = 64, 8, 31
NUMBERS: tuple[int, ...] = (
    *range(1, _EXACT),
    *(
        (_PARTS + part << octave) // _PARTS
        for octave in range(_EXACT.bit_length() - 1, _OCTAVES)
        for part in range(_PARTS)
    ),
)
"""Numbers that have a token."""

# More passes than the square root of the largest extent are written as a size.
_PASSES = tuple(number for number in NUMBERS if number * number < NUMBERS[-1])
_WORDS: tuple[object, ...] = (
    *("end", *DIMENSIONS, *OBJECTIVES, *LOOPS),
    *(("size", number) for number in NUMBERS),
    *(("passes", number) for number in _PASSES),
)
_TOKENS = {word: token for token, word in enumerate(_WORDS)}
_MIDDLES = np.sqrt(np.array(NUMBERS[:-1], np.float64) * np.array(NUMBERS[1:], np.float64))

END = _TOKENS["end"]
"""Stands behind the last sentence."""

VOCABULARY = len(_WORDS)
"""How many tokens there are."""


class SentenceError(MaestroEnvError, ValueError):
    """Tokens that are no mapping of a space."""


@dataclass(frozen=True)
class Step:
    """A choice to be written.

    Args:
        parameter: of the map space, which it decides or, of an order, decides in part.
        options: what each token that may follow means: a size, or a dimension by its index.
    """

    parameter: str
    options: Mapping[int, int]


Writing = Generator[Step, int, Points]
"""Yields what may follow, takes a token of it, and returns the vector, int32[D], in the end."""


def of_machine(hardware: Hardware, objective: Objective) -> list[int]:
    """Return the tokens of objective and hardware, of which only capacities and bandwidths count.

    Raises:
        UnknownNameError: an objective that has no token.
    """
    look_up("objective", objective.name, OBJECTIVES)
    words = (each // hardware.word_bytes for each in (hardware.l1_bytes, hardware.l2_bytes))
    figures = (hardware.num_pes, *words, hardware.noc_bw, hardware.offchip_bw)
    return [_TOKENS[objective.name], *(_number(max(each, 1)) for each in figures)]


def of_layer(layer: Layer) -> list[int]:
    """Return the tokens of a layer: of its operator, extents and strides."""
    extents = dict(layer.loop_extents)
    if layer.is_convolution and extents.get("N") == 1:
        del extents["N"]
    numbers = (*extents.values(), *(layer.stride if layer.is_convolution else ()))
    return [_TOKENS[layer.operator], *map(_number, numbers)]


def encode(space: MapSpace, point: Points) -> list[int]:
    """Return the tokens of a vector, int32[D], or of the nearest that can be written."""
    names, tokens = list(space.extents), []
    outer, inner = space.decode(point).levels
    wanted: dict[str, int | list[int]] = {"cluster_size": inner.cluster_size or 0}
    for name, level in zip(LEVELS, (outer, inner), strict=True):
        loops = sorted(level.loops, key=lambda loop: loop.spatial)
        wanted[f"{name}_parallel"] = [names.index(loop.dim) for loop in loops]
        wanted[f"{name}_order"] = [names.index(loop.dim) for loop in level.loops]
        wanted |= {tile_name(name, loop.dim): loop.size for loop in level.loops}

    def choose(step: Step) -> int:
        tokens.append(_nearest(step, wanted[step.parameter]))
        return tokens[-1]

    write(space, choose)
    return tokens


def decode(space: MapSpace, tokens: Sequence[int]) -> Points:
    """Return the vector, int32[D], that tokens say.

    Raises:
        SentenceError: tokens that are too few, too many, or mean nothing where they stand.
    """
    left = list(reversed(tokens))

    def choose(step: Step) -> int:
        token = left.pop() if left else END
        if token not in step.options:
            raise SentenceError(
                f"token {quoted(token)} stands for {step.parameter}; allowed: "
                f"{', '.join(map(str, step.options))}"
            )
        return token

    point = write(space, choose)
    if left:
        raise SentenceError(f"{len(left)} tokens too many; allowed: {len(tokens) - len(left)}")
    return point


def write(space: MapSpace, choose: Callable[[Step], int]) -> Points:
    """Return the vector, int32[D], of which each step was chosen."""
    walk = writing(space)
    state = advance(walk)
    while isinstance(state, Step):
        state = advance(walk, choose(state))
    return state


def advance(walk: Writing, token: int | None = None) -> Step | Points:
    """Go on with a mapping: return the next step or, in the end, the vector.

    Args:
        walk: from ``writing``.
        token: of the step before; None at first.
    """
    try:
        return next(walk) if token is None else walk.send(token)
    except StopIteration as end:
        point: Points = end.value
        return point


def writing(space: MapSpace) -> Writing:
    """Write a mapping: yield every step that leaves a choice, and take its token."""
    names = list(space.extents)
    loops = [_TOKENS[loop_of(space.layer, dim)] for dim in names]
    values: dict[str, int | str] = {}
    for level in LEVELS:
        dims = [names.index(dim) for dim in space.parallel_dims_of(level)]
        step = Step(f"{level}_parallel", {loops[dim]: dim for dim in dims})
        values[step.parameter] = names[(yield from _chosen(step))]
    pes = space.hardware.num_pes
    cluster = yield from _size(space.cluster, _cluster_sizes(pes))
    values["cluster_size"] = cluster
    around = list(space.extents.values())
    for level, units in zip(LEVELS, (pes // cluster, cluster), strict=True):
        left = {}
        for dim, extent in enumerate(around):
            name = tile_name(level, names[dim])
            size = yield from _size(space.tile(level, names[dim]), _tile_sizes(extent))
            values[name] = around[dim] = min(size, extent)
            alone = units if values[f"{level}_parallel"] == names[dim] else 1
            if -(-extent // around[dim]) > alone:
                left[loops[dim]] = dim
        order: list[int] = []
        while left:
            order.insert(0, (yield from _chosen(Step(f"{level}_order", left))))
            left = {token: dim for token, dim in left.items() if dim != order[0]}
        rest = [dim for dim in range(len(names)) if dim not in order]
        values[f"{level}_order"] = lehmer_rank([*rest, *order])
    return space.from_values({name: values[name] for name in space.columns})


def _chosen(step: Step) -> Generator[Step, int, int]:
    if len(step.options) == 1:
        (only,) = step.options.values()
        return only
    token = yield step
    return step.options[token]


def _size(parameter: Parameter | int, sizes: Mapping[int, int]) -> Generator[Step, int, int]:
    if isinstance(parameter, int):
        return parameter
    allowed = {token: size for token, size in sizes.items() if size in parameter.values}
    return (yield from _chosen(Step(parameter.name, allowed)))


@cache
def _tile_sizes(extent: int) -> Mapping[int, int]:
    return _sizes(extent, lambda number: -(-extent // number))


@cache
def _cluster_sizes(pes: int) -> Mapping[int, int]:
    return _sizes(pes, lambda number: pes // number)


def _sizes(whole: int, other: Callable[[int], int]) -> Mapping[int, int]:
    """Return the sizes of parts of a whole by token; ``other`` is their number, or the reverse."""
    found = {}
    for number in NUMBERS:
        if number > whole:
            break
        if number <= other(number):
            found[_TOKENS["size", number]] = number
        if number < other(number):
            found[_TOKENS["passes", number]] = other(number)
    return found


def _nearest(step: Step, wanted: int | list[int]) -> int:
    """Return the token of the nearest size, or of the last of some dimensions that may be."""
    options = step.options
    if isinstance(wanted, list):
        return max(options, key=lambda token: wanted.index(options[token]))
    if step.parameter == "cluster_size":
        return min(options, key=lambda token: (options[token] < wanted, options[token]))
    return max(options, key=lambda token: (options[token] <= wanted, options[token]))


def _number(number: int) -> int:
    return _TOKENS["size", NUMBERS[int(_MIDDLES.searchsorted(number))]]
