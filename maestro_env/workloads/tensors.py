"""Layers as other tools write them: named ranks, and tensors whose axes are sums of ranks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from maestro_env.base.errors import LayerError
from maestro_env.base.yaml_parts import Refuse
from maestro_env.workloads.layer import Layer

Axis = tuple[tuple[str, int], ...]
"""Ranks and their coefficients: the axis p*2 + r is (("p", 2), ("r", 1))."""

RANKS = {"Y'": "P", "X'": "Q"}
"""What ranks are called where a prime is no part of a name."""

_WINDOWS = (("Y'", "R"), ("X'", "S"))


@dataclass(frozen=True)
class Tensor:
    """A tensor of a layer: its name and what indexes it."""

    name: str
    axes: tuple[Axis, ...]
    is_output: bool = False

    @property
    def ranks(self) -> set[str]:
        """Ranks that index the tensor."""
        return {rank for axis in self.axes for rank, _ in axis}


@dataclass(frozen=True)
class Workload:
    """A layer, and what a file calls its dimensions.

    Args:
        layer: of the file.
        dims: rank of the file to dimension of the layer.
        tensors: input, filter and output, with the ranks of the file.
    """

    layer: Layer
    dims: Mapping[str, str]
    tensors: tuple[Tensor, Tensor, Tensor]


def rank_of(dim: str) -> str:
    """Return what a dimension of a layer is called as a rank."""
    return RANKS.get(dim, dim)


def tensors_of(layer: Layer) -> tuple[Tensor, Tensor, Tensor]:
    """Return input, filter and output of a layer, indexed by its dimensions."""
    if not layer.is_convolution:
        axes = ("MK", "KN", "MN")
    else:
        group = {"DSCONV": "C", "NGCONV": "G"}.get(layer.operator, "")
        channels = "" if layer.operator == "DSCONV" else "C"
        filters = "" if layer.operator == "DSCONV" else "K"
        batch = "N" if "N" in layer.extents else ""
        axes = (batch + group + channels, group + filters + channels, batch + group + filters)
    inputs, weights, outputs = map(_straight, axes)
    if layer.is_convolution:
        slides = zip(_WINDOWS, layer.stride, strict=True)
        inputs += tuple(((out, stride), (window, 1)) for (out, window), stride in slides)
        weights += tuple(((window, 1),) for _, window in _WINDOWS)
        outputs += tuple(((out, 1),) for out, _ in _WINDOWS)
    return Tensor("Inputs", inputs), Tensor("Weights", weights), Tensor("Outputs", outputs, True)


def _straight(dims: str) -> tuple[Axis, ...]:
    return tuple(((dim, 1),) for dim in dims)


def workload_of(
    name: str, extents: Mapping[str, int], tensors: list[Tensor], where: str
) -> Workload:
    """Recognise a layer of ours in ranks and tensors.

    Raises:
        LayerError: it is none; the message begins with ``where``.
    """

    def refuse(problem: str) -> LayerError:
        return LayerError(f"{where}: {problem}")

    inputs, weights, outputs = _by_role(tensors, refuse)
    single = _single_roles(extents, (inputs, weights, outputs), refuse)
    slides = [axis for axis in inputs.axes if len(axis) > 1]
    dims: dict[str, str] = {}
    if not slides:
        if sorted(single) != ["batch", "filters", "reduced"]:
            raise refuse("neither a convolution nor a matrix product: no axis is p + r")
        names = {"batch": "M", "filters": "N", "reduced": "K"}
        operator = "GEMM"
    else:
        grouped, alone = "group" in single, not {"filters", "reduced"} & single.keys()
        operator = "CONV" if not grouped else "DSCONV" if alone else "NGCONV"
        names = {"batch": "N", "filters": "K", "reduced": "C"}
        names["group"] = "C" if operator == "DSCONV" else "G"
    dims = {rank: names[role] for role, rank in single.items()}
    stride = _slide(slides, dims, extents, (inputs, weights, outputs), refuse)
    sizes = {dim: extents[rank] for rank, dim in dims.items()}
    try:
        layer = Layer(operator, _layer_extents(operator, sizes, stride), stride, name[:200])
    except LayerError as error:
        raise refuse(str(error)) from None
    return Workload(layer, dims, (inputs, weights, outputs))


def _layer_extents(operator: str, sizes: dict[str, int], stride: tuple[int, int]) -> dict[str, int]:
    if operator == "GEMM":
        return sizes
    extents = {dim: size for dim, size in sizes.items() if dim not in RANKS}
    for (out, window), step in zip(_WINDOWS, stride, strict=True):
        extents[window] = sizes.get(window, 1)
        extents[out[0]] = (sizes.get(out, 1) - 1) * step + extents[window]
    if operator != "DSCONV":
        extents = {"K": 1, "C": 1} | extents
    return extents


def _by_role(tensors: list[Tensor], refuse: Refuse) -> tuple[Tensor, Tensor, Tensor]:
    outputs = [tensor for tensor in tensors if tensor.is_output]
    others = [tensor for tensor in tensors if not tensor.is_output]
    if len(outputs) != 1 or len(others) != 2:
        raise refuse(
            f"{len(others)} inputs and {len(outputs)} outputs; a layer has an input, a filter and "
            "an output"
        )
    first, second = others
    swapped = any(len(axis) > 1 for axis in second.axes) or (
        first.name.lower().startswith(("w", "filter"))
    )
    return (second, first, outputs[0]) if swapped else (first, second, outputs[0])


_ROLES = {
    (True, True, True): "group",
    (True, True, False): "reduced",
    (False, True, True): "filters",
    (True, False, True): "batch",
}


def _single_roles(
    extents: Mapping[str, int], tensors: tuple[Tensor, Tensor, Tensor], refuse: Refuse
) -> dict[str, str]:
    """Return the rank of each role, of ranks that slide over nothing."""
    sliding = {rank for axis in tensors[0].axes if len(axis) > 1 for rank, _ in axis}
    unknown = set().union(*(tensor.ranks for tensor in tensors)) - extents.keys()
    if unknown:
        raise refuse(f"{min(unknown)} has no extent")
    single: dict[str, str] = {}
    for rank in extents:
        if rank in sliding:
            continue
        in_which = tuple(rank in tensor.ranks for tensor in tensors)
        role = _ROLES.get(in_which)  # type: ignore[arg-type]
        if role is None:
            raise refuse(f"{rank} indexes only one tensor")
        if role in single:
            raise refuse(f"{single[role]} and {rank} index the same tensors; a layer has one such")
        single[role] = rank
    for tensor in tensors:
        straight = [axis for axis in tensor.axes if len(axis) == 1]
        if len({axis[0][0] for axis in straight}) < len(straight) or any(
            axis[0][1] != 1 for axis in straight
        ):
            raise refuse(f"an axis of {tensor.name} is neither a rank nor a sum of two")
    return single


def _slide(
    slides: list[Axis],
    dims: dict[str, str],
    extents: Mapping[str, int],
    tensors: tuple[Tensor, Tensor, Tensor],
    refuse: Refuse,
) -> tuple[int, int]:
    """Name the ranks of the sliding axes, rows first, and return the strides."""
    if len(slides) > len(_WINDOWS):
        raise refuse(f"{len(slides)} axes are sums of ranks; a layer has rows and columns")
    strides = [1, 1]
    for index, axis in enumerate(slides):
        moving = [(rank, step) for rank, step in axis if rank in tensors[2].ranks]
        window = [(rank, step) for rank, step in axis if rank in tensors[1].ranks]
        if len(axis) != 2 or len(moving) != 1 or len(window) != 1 or moving == window:
            raise refuse("an axis of the input is no sum of an output rank and a filter rank")
        ((out, stride),), ((tap, dilation),) = moving, window
        if dilation != 1:
            raise refuse(f"a window with dilation {dilation} cannot be said; allowed: 1")
        if {out, tap} & dims.keys() or tap in tensors[2].ranks or out in tensors[1].ranks:
            raise refuse(f"{out} or {tap} is in another axis too")
        dims[out], dims[tap] = _WINDOWS[index]
        strides[index] = stride
    return strides[0], strides[1]
