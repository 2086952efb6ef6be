"""Loops over tensors, as Timeloop and AccelForge write layers: the one recogniser for all uses.

Every axis of a tensor is a sum of loop variables times coefficients. Axes of one variable make
products; an axis such as ``2 p + r`` slides a window ``r`` over the input, for every output ``p``.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maestro_env.base.errors import LayerError
from maestro_env.workloads import lowering
from maestro_env.workloads.layer import Layer
from maestro_env.workloads.lowering import Convolution, NotMapped, Work
from maestro_env.workloads.operators import contract

Axis = Mapping[str, int]
"""Variables and their coefficients: ``2 p + r`` is ``{"p": 2, "r": 1}``."""

_RANKS = {"Y'": "P", "X'": "Q"}
_WINDOWS = (("Y'", "R"), ("X'", "S"))
_ROLES = {
    "batch": (True, False, True),
    "group": (True, True, True),
    "reduced": (True, True, False),
    "filters": (False, True, True),
}
"""Whether a variable of a role indexes input, filter and output."""

_NAMES = {
    "CONV": {"batch": "N", "filters": "K", "reduced": "C"},
    "DSCONV": {"batch": "N", "group": "C"},
    "NGCONV": {"batch": "N", "group": "G", "filters": "K", "reduced": "C"},
    "GEMM": {"batch": "M", "reduced": "K", "filters": "N"},
}
"""The dimension of each role, by operator."""

_MOST = 16


@dataclass(frozen=True)
class Tensor:
    """A tensor: its name and what indexes it."""

    name: str
    axes: tuple[Axis, ...]
    is_output: bool = False

    @property
    def variables(self) -> list[str]:
        """Variables of all axes, repeats included."""
        return [variable for axis in self.axes for variable in axis]

    @property
    def windows(self) -> list[Axis]:
        """Axes that are more than a variable."""
        return [axis for axis in self.axes if list(axis.values()) not in ([1], [])]


@dataclass(frozen=True)
class Loops:
    """Loops of a file: the extent of every variable, and the tensors that they access."""

    name: str
    extents: Mapping[str, int]
    tensors: Sequence[Tensor]


@dataclass(frozen=True)
class Workload:
    """A layer, and what a file calls its dimensions.

    Args:
        layer: of the file.
        dims: variable of the file to dimension of the layer.
        tensors: input, filter and output, with the variables of the file.
    """

    layer: Layer
    dims: Mapping[str, str]
    tensors: tuple[Tensor, Tensor, Tensor]


def rank_of(dim: str) -> str:
    """Return what a dimension of a layer is called where a prime is no part of a name."""
    return _RANKS.get(dim, dim)


def tensors_of(layer: Layer) -> tuple[Tensor, Tensor, Tensor]:
    """Return input, filter and output of a layer, indexed by its dimensions."""
    names = _NAMES.get(layer.operator, _NAMES["CONV"])
    inputs, weights, outputs = (
        tuple({dim: 1} for role, dim in names.items() if _ROLES[role][i] and dim in layer.extents)
        for i in range(3)
    )
    if layer.is_convolution:
        slides = zip(_WINDOWS, layer.stride, strict=True)
        inputs += tuple({out: stride, tap: 1} for (out, tap), stride in slides)
        weights += tuple({tap: 1} for _, tap in _WINDOWS)
        outputs += tuple({out: 1} for out, _ in _WINDOWS)
    return Tensor("Inputs", inputs), Tensor("Weights", weights), Tensor("Outputs", outputs, True)


# --- What loops compute ---------------------------------------------------------------------------


def describe(loops: Loops) -> list[Work]:
    """Return what loops compute, windows with dilation and products of several tensors included.

    Raises:
        LayerError: no layer can say it.
    """
    used = _used(loops)
    outputs = [tensor for tensor in loops.tensors if tensor.is_output]
    inputs = [tensor for tensor in loops.tensors if not tensor.is_output]
    if len(outputs) != 1:
        raise LayerError(f"{len(outputs)} tensors are outputs; allowed: 1")
    if not inputs:
        raise LayerError("no tensor is read")
    if outputs[0].windows:
        raise LayerError("the output is accessed by sums of variables")
    if not any(tensor.windows for tensor in inputs):
        operands = [{each: loops.extents[each] for each in tensor.variables} for tensor in inputs]
        return [*contract(operands, outputs[0].variables)]
    try:
        return [_convolution(loops)]
    except LayerError as error:
        macs = math.prod(loops.extents[variable] for variable in used)
        raise NotMapped(macs, str(error)) from None


def _convolution(loops: Loops) -> Convolution:
    roles, windows = _roles(*_by_use(loops.tensors))
    sizes = {
        role: math.prod(loops.extents[variable] for variable in variables)
        for role, variables in roles.items()
    }
    axes = tuple(window.axis(loops.extents) for window in windows)
    return Convolution(sizes["batch"], sizes["group"], sizes["reduced"], sizes["filters"], axes)


def recognise(loops: Loops, where: str) -> Workload:
    """Recognise one layer without dilation, and what its dimensions are called.

    Raises:
        LayerError: it is none; the message begins with ``where``.
    """
    try:
        return _recognise(loops)
    except LayerError as error:
        raise LayerError(f"{where}: {error}") from None


def _recognise(loops: Loops) -> Workload:
    _used(loops)
    tensors = _by_use(loops.tensors)
    for tensor in tensors:
        _check_once(tensor.variables)
    roles, windows = _roles(*tensors)
    for variables in roles.values():
        if len(variables) > 1:
            pair = " and ".join(variables[:2])
            raise LayerError(f"{pair} index the same tensors; a layer has one such")
    if len(windows) > len(_WINDOWS):
        raise LayerError(f"{len(windows)} axes are sums; a layer has rows and columns")
    operator = "GEMM"
    if windows:
        alone = not roles["filters"] and not roles["reduced"]
        operator = "CONV" if not roles["group"] else "DSCONV" if alone else "NGCONV"
    elif roles["group"] or not all(roles[role] for role in _NAMES["GEMM"]):
        raise LayerError("neither a convolution nor a matrix product: no axis is p + r")
    names = _NAMES[operator]
    dims = {variable: names[role] for role, variables in roles.items() for variable in variables}
    for (out, tap), window in zip(_WINDOWS, windows, strict=False):
        if window.dilation != 1:
            raise LayerError(f"a window has dilation {window.dilation}; allowed: 1")
        dims |= {window.output: out} | ({window.tap: tap} if window.tap else {})
    sizes = {dim: loops.extents[variable] for variable, dim in dims.items()}
    stride_y, stride_x, *_ = (*(window.stride for window in windows), 1, 1)
    if windows:
        sizes = {names[role]: 1 for role in ("filters", "reduced") if role in names} | sizes
        for (out, tap), step in zip(_WINDOWS, (stride_y, stride_x), strict=True):
            sizes[tap] = sizes.get(tap, 1)
            sizes[out[0]] = (sizes.pop(out, 1) - 1) * step + sizes[tap]
    layer = Layer(operator, sizes, (stride_y, stride_x), loops.name[:200])
    return Workload(layer, dims, tensors)


# --- What variables do ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Window:
    """What slides along an axis of the input; a window of one element has no variable."""

    output: str
    tap: str | None
    stride: int
    dilation: int

    def axis(self, extents: Mapping[str, int]) -> lowering.Axis:
        """Return the axis of a convolution for these extents."""
        taps = extents[self.tap] if self.tap else 1
        size = (extents[self.output] - 1) * self.stride + (taps - 1) * self.dilation + 1
        return lowering.Axis(size, taps, self.stride, self.dilation)


def _used(loops: Loops) -> set[str]:
    """Return the variables of all tensors, which have an extent each."""
    axes = [axis for tensor in loops.tensors for axis in tensor.axes]
    listed = (loops.tensors, *(tensor.axes for tensor in loops.tensors), *axes)
    if max(map(len, listed)) > _MOST:
        raise LayerError(f"more than {_MOST} tensors, axes of a tensor, or variables of an axis")
    used = {variable for tensor in loops.tensors for variable in tensor.variables}
    if missing := sorted(used - loops.extents.keys()):
        raise LayerError(f"the extent of {missing[0]} is not known")
    if idle := [each for each, size in loops.extents.items() if size > 1 and each not in used]:
        raise LayerError(f"{idle[0]} runs more than once, and indexes no tensor; write 1")
    return used


def _by_use(tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Return input, filter and output; of a product, a tensor called W or filter is the filter."""
    outputs = [tensor for tensor in tensors if tensor.is_output]
    others = [tensor for tensor in tensors if not tensor.is_output]
    if len(outputs) != 1 or len(others) != 2:
        raise LayerError(
            f"{len(others)} inputs and {len(outputs)} outputs; a layer has an input, a filter and "
            "an output"
        )
    first, second = others
    named = first.name.lower().startswith(("w", "filter"))
    swapped = second.windows or (named and not first.windows)
    return (second, first, outputs[0]) if swapped else (first, second, outputs[0])


def _roles(
    inputs: Tensor, weights: Tensor, output: Tensor
) -> tuple[dict[str, list[str]], list[Window]]:
    """Return the variables of each role, and what slides along the axes of the input."""
    tensors = (inputs, weights, output)
    for tensor in tensors:
        if tensor is not inputs and tensor.windows:
            raise LayerError(f"{tensor.name} is accessed by sums of variables")
    windows = [_window(axis, weights, output) for axis in inputs.windows]
    sliding = {variable for axis in inputs.windows for variable in axis}
    _check_once([each for each in inputs.variables if each in sliding])
    roles: dict[str, list[str]] = {role: [] for role in _ROLES}
    for variable in dict.fromkeys(each for tensor in tensors for each in tensor.variables):
        if variable not in sliding:
            indexes = tuple(variable in tensor.variables for tensor in tensors)
            role = next((role for role, where in _ROLES.items() if where == indexes), None)
            if role is None:
                raise LayerError(f"{variable} indexes only one tensor")
            roles[role].append(variable)
    return roles, windows


def _check_once(variables: Sequence[str]) -> None:
    for variable, number in Counter(variables).items():
        if number > 1:
            raise LayerError(f"{variable} is in more than one axis of a tensor")


def _window(axis: Axis, weights: Tensor, output: Tensor) -> Window:
    steps = [each for each in axis if each in output.variables and each not in weights.variables]
    taps = [each for each in axis if each in weights.variables and each not in output.variables]
    if len(steps) != 1 or len(taps) > 1 or len(steps) + len(taps) != len(axis):
        raise LayerError(
            f"an axis over {', '.join(axis)} that is not a sum of an output rank and a filter rank"
        )
    tap = taps[0] if taps else None
    return Window(steps[0], tap, axis[steps[0]], axis[tap] if tap else 1)
