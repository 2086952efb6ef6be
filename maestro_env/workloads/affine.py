"""What loops over affine accesses compute: the form of Timeloop's and AccelForge's workloads.

An access gives for every rank (axis) of a tensor a sum of loop variables times coefficients, such
as ``2 p + r``. Plain ranks make products; a rank that is a sum makes a convolution.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain

from maestro_env.base.errors import LayerError
from maestro_env.workloads.axes import Axis
from maestro_env.workloads.lowering import Convolution, NotMapped, Work
from maestro_env.workloads.operators import contract

Rank = Mapping[str, int]
"""The coefficient of every variable of a rank."""

_MOST_RANKS = 16


def describe(
    extents: Mapping[str, int], output: Sequence[Rank], inputs: Sequence[Sequence[Rank]]
) -> list[Work]:
    """Return what one output and its inputs compute.

    Args:
        extents: of every loop variable.
        output: the ranks of the output.
        inputs: the ranks of each input.

    Raises:
        LayerError: no layer can say it.
    """
    if not inputs:
        raise LayerError("no tensor is read")
    tensors = [output, *inputs]
    if max(map(len, tensors)) > _MOST_RANKS or len(tensors) > _MOST_RANKS:
        raise LayerError(f"more than {_MOST_RANKS} tensors, or ranks of a tensor")
    used = {variable for ranks in tensors for rank in ranks for variable in rank}
    if missing := sorted(used - set(extents)):
        raise LayerError(f"the extent of {missing[0]} is not known")
    windowed = [ranks for ranks in inputs if not all(map(_is_plain, ranks))]
    if not all(map(_is_plain, output)):
        raise LayerError("the output is accessed by sums of variables")
    if not windowed:
        operands = [{v: extents[v] for rank in ranks for v in rank} for ranks in inputs]
        return [*contract(operands, _variables(output))]
    try:
        if len(windowed) != 1 or len(inputs) != 2:
            raise LayerError("not one tensor of inputs and one of filters")
        (features,) = windowed
        (filters,) = (ranks for ranks in inputs if ranks is not features)
        return [_convolution(extents, _variables(output), features, _variables(filters))]
    except LayerError as error:
        raise NotMapped(math.prod(extents[variable] for variable in used), str(error)) from None


def _is_plain(rank: Rank) -> bool:
    return list(rank.values()) in ([1], [])


def _variables(ranks: Sequence[Rank]) -> set[str]:
    return set(chain.from_iterable(ranks))


def _convolution(
    extents: Mapping[str, int], output: set[str], features: Sequence[Rank], filters: set[str]
) -> Convolution:
    axes = tuple(_axis(extents, output, rank, filters) for rank in features if not _is_plain(rank))
    plain = _variables([rank for rank in features if _is_plain(rank)])
    along = _variables([rank for rank in features if not _is_plain(rank)])
    if plain & along or output - plain - along - filters or filters - plain - along - output:
        raise LayerError("a variable that is used in more than one way")

    def size(variables: set[str]) -> int:
        return math.prod(extents[variable] for variable in variables)

    batch, groups = (plain & output) - filters, plain & output & filters
    inputs, outputs = (plain & filters) - output, (output & filters) - plain - along
    if plain - batch - groups - inputs:
        raise LayerError("inputs that are summed before they are multiplied")
    return Convolution(size(batch), size(groups), size(inputs), size(outputs), axes)


def _axis(extents: Mapping[str, int], output: set[str], rank: Rank, filters: set[str]) -> Axis:
    steps = [variable for variable in rank if variable in output and variable not in filters]
    taps = [variable for variable in rank if variable in filters and variable not in output]
    if len(steps) != 1 or len(taps) > 1 or len(steps) + len(taps) != len(rank):
        raise LayerError(f"an axis over {', '.join(rank)} that is no window")
    window = extents[taps[0]] if taps else 1
    stride, dilation = rank[steps[0]], rank[taps[0]] if taps else 1
    size = (extents[steps[0]] - 1) * stride + (window - 1) * dilation + 1
    return Axis(size, window, stride, dilation)
