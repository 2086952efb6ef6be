"""What the operators of networks compute, from the shapes of their tensors.

Every function returns descriptions that ``lowering`` writes as layers, and raises a ``LayerError``
for shapes that do not fit together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Protocol

from maestro_env.base.errors import LayerError, quoted
from maestro_env.workloads.lowering import GROUPED, Axis, Convolution, Product, TransposedAxis, Work

Shape = tuple[int, ...]

_TERM = r"[A-Za-z ]*(\.{3}[A-Za-z ]*)?"
_EQUATION = re.compile(rf"{_TERM}(,{_TERM}){{0,63}}(->{_TERM})?")


class Call(Protocol):
    """A use of an operator in a network."""

    def shapes(self, *places: int) -> Sequence[Shape]:
        """Return the shapes of some inputs."""


def of_shapes(
    compute: Callable[..., Sequence[Work]], *places: int
) -> Callable[[Call], Sequence[Work]]:
    """Return the rule of an operator whose work follows from the shapes of some inputs."""
    return lambda call: compute(*call.shapes(*places))


def convolution(
    inputs: Shape,
    weights: Shape,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: Sequence[tuple[int, int]],
    groups: int,
) -> Convolution:
    """Convolve ``[batch, channels, *sizes]`` with ``[filters, channels / groups, *windows]``."""
    batch, channels, *sizes = inputs
    filters, entering, *windows = weights
    if _per_group(channels, groups) != entering:
        raise LayerError(f"filters of {entering} channels for {channels} in {groups} groups")
    along = zip(sizes, windows, strides, dilations, padding, strict=True)
    axes = tuple(Axis(*axis) for axis in along)
    return Convolution(batch, groups, entering, _per_group(filters, groups), axes)


def transposed_convolution(
    inputs: Shape,
    weights: Shape,
    outputs: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    begins: Sequence[int],
    groups: int,
) -> Convolution:
    """Convolve ``[batch, channels, *sizes]`` with ``[channels, filters / groups, *windows]``.

    ``outputs`` are the numbers of outputs along the axes.
    """
    batch, channels, *sizes = inputs
    entering, filters, *windows = weights
    if channels != entering:
        raise LayerError(f"filters of {entering} channels for {channels}")
    along = zip(sizes, windows, outputs, strides, dilations, begins, strict=True)
    axes = tuple(TransposedAxis(*axis) for axis in along)
    return Convolution(batch, groups, _per_group(channels, groups), filters, axes)


def matmul(left: Shape, right: Shape) -> list[Product]:
    """Multiply as ``numpy.matmul`` does.

    A matrix that several products share is multiplied once with all of theirs, one below another or
    side by side; only products without a shared matrix are executed one by one.
    """
    if not left or not right:
        raise LayerError("a product of a number")
    (*left_batch, rows, inner) = left if len(left) > 1 else (1, *left)
    (*right_batch, same, columns) = right if len(right) > 1 else (*right, 1)
    if inner != same:
        raise LayerError(f"a product of shapes {list(left)} and {list(right)}")
    times = 1
    for own, other in zip_longest(reversed(left_batch), reversed(right_batch), fillvalue=1):
        if own != other and 1 not in (own, other):
            raise LayerError(f"a product of shapes {list(left)} and {list(right)}")
        if own == other:
            times *= own
        rows, columns = rows * (own if other == 1 else 1), columns * (other if own == 1 else 1)
    return [Product(rows, inner, columns, times)]


def attention(query: Shape, key: Shape, value: Shape) -> list[Product]:
    """Score and mix: query ``[..., heads, L, E]``, key and value ``[..., heads or fewer, S, E]``.

    Query heads that share a key head have products of their own, as where the keys are repeated.
    """
    notes: tuple[str, ...] = ()
    if len(query) > 2 and len(key) > 2 and query[-3] != key[-3]:
        _per_group(query[-3], key[-3])
        key, value = ((*each[:-3], query[-3], *each[-2:]) for each in (key, value))
        notes = (GROUPED,)
    products = {
        "scores": matmul(query, (*key[:-2], key[-1], key[-2])),
        "context": matmul((*query[:-1], key[-2]), value),
    }
    return [replace(each, part=part, notes=notes) for part, (each,) in products.items()]


def recurrent(
    steps: int, batch: int, weights: Shape, state_weights: Shape, directions: int = 1
) -> list[Product]:
    """Multiply the inputs of all steps at once, then the state step by step.

    ``weights`` are ``[gates, inputs]``, ``state_weights`` ``[gates, state]``; each direction has
    matrices of its own.
    """
    gates, inputs = weights
    state_gates, state = state_weights
    return [
        Product(steps * batch, inputs, gates, directions, "input"),
        Product(batch, state, state_gates, steps * directions, "state"),
    ]


def einsum(equation: str, *shapes: Shape) -> list[Product]:
    """Contract operands as ``numpy.einsum`` does, with its notation."""
    inputs, output = _labels(equation, shapes)
    operands = [dict(zip(*pair, strict=True)) for pair in zip(inputs, shapes, strict=True)]
    for operand, labels, shape in zip(operands, inputs, shapes, strict=True):
        for label, extent in zip(labels, shape, strict=True):
            if operand[label] != extent:
                raise LayerError(
                    f"dimension {label} of one operand is {extent} and {operand[label]}"
                )
    return contract(operands, output)


def contract(operands: Sequence[Mapping[str, int]], output: Collection[str]) -> list[Product]:
    """Multiply operands one after the other, left to right, and sum over what ``output`` lacks.

    A sum over one operand has no MACs; neither has a product without a sum in which one operand
    scales the other. Which it is depends on the dimensions, not on their extents.

    Args:
        operands: the extent of every dimension of each; where it is 1, it is broadcast.
        output: the dimensions that are not summed over.
    """
    extents: dict[str, int] = {}
    for label, extent in (item for operand in operands for item in operand.items()):
        if 1 not in (extents.get(label, 1), extent) and extents[label] != extent:
            raise LayerError(f"dimension {label} is {extents[label]} and {extent}")
        if extents.get(label, 1) == 1:
            extents[label] = extent
    # Where a dimension of others is 1, an operand is the same along it, as if it had none.
    sets = [{label for label, size in each.items() if size == extents[label]} for each in operands]
    products = []
    left = sets[0]
    for number, right in enumerate(sets[1:], start=1):
        kept = set(output).union(*sets[number + 1 :])
        parts = ((left - right) & kept, (left & right) - kept, (right - left) & kept)
        rows, inner, columns = (math.prod(extents[label] for label in part) for part in parts)
        if parts[1] or (parts[0] and parts[2]):
            times = math.prod(extents[label] for label in left & right & kept)
            products.append(Product(rows, inner, columns, times))
        left = (left | right) & kept
    if len(products) > 1:
        return [replace(each, part=f"product{i}") for i, each in enumerate(products)]
    return products


def is_equation(text: str) -> bool:
    """Whether a text says what an einsum contracts, such as ``ij,...jk->...ik``."""
    return _EQUATION.fullmatch(text) is not None


def _labels(equation: str, shapes: Sequence[Shape]) -> tuple[list[list[str]], list[str]]:
    """Return a label for every dimension of the operands and of the result."""
    if not is_equation(equation):
        raise LayerError(
            f"an einsum of {quoted(equation)}; expected: at most 64 terms, such as ij,...jk->ik"
        )
    text, arrow, result = "".join(equation.split()).partition("->")
    terms = text.split(",")
    if len(terms) != len(shapes):
        raise LayerError(f"an einsum of {len(terms)} terms and {len(shapes)} operands")
    inputs, longest = [], 0
    for term, shape in zip(terms, shapes, strict=True):
        ellipsis = len(shape) - len(term.replace("...", "")) if "..." in term else 0
        inputs.append(_expand(term, ellipsis))
        longest = max(longest, ellipsis)
        if len(inputs[-1]) != len(shape):
            raise LayerError(f"an einsum whose term {quoted(term)} has shape {list(shape)}")
    if not arrow:
        every = [label for labels in inputs for label in labels]
        once = sorted(each for each, n in Counter(every).items() if n == 1 and each.isalpha())
        return inputs, [*_expand("...", longest), *once]
    output = _expand(result, longest)
    known = {label for labels in inputs for label in labels}
    if not known.issuperset(output) or len(set(output)) < len(output):
        raise LayerError(f"an einsum whose result is {quoted(result)}: each once, of an operand")
    return inputs, output


def _expand(term: str, ellipsis: int) -> list[str]:
    """Number the dimensions of an ellipsis from the last one."""
    before, dots, after = term.partition("...")
    return [*before, *(str(i) for i in reversed(range(ellipsis if dots else 0))), *after]


def _per_group(channels: int, groups: int) -> int:
    if groups < 1 or channels % groups:
        raise LayerError(f"{channels} channels in {groups} groups")
    return channels // groups
