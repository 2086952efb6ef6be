"""The loops of a layer, and what mappings cut of them (H2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from maestro_env.accelerators.loop_rules import DIMS
from maestro_env.base.checks import require_integer, require_type
from maestro_env.base.errors import ArgumentTypeError, LayerError, quoted
from maestro_env.workloads.layer import Layer, loop_of, nest

_FARTHEST = 2**16
_OUTPUTS = {"P": ("Y", "R"), "Q": ("X", "S")}
_OWN = {"Y'": "P", "X'": "Q"}


@dataclass(frozen=True)
class Shape:
    """Extents of the loops: out[n,g,k,p,q] += in[n,g,c, p*sy+r*dy, q*sx+s*dx] * filter[g,k,c,r,s].

    Args:
        extents: by dimension of ``DIMS``; 1 where none is given.
        stride: of rows and of columns.
        dilation: of rows and of columns.
        names: other names of dimensions, as mappings may have them.

    Raises:
        ArgumentTypeError: an argument of a wrong type.
        LayerError: an unknown dimension, or a number out of range.
    """

    extents: Mapping[str, int]
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_type("extents", self.extents, Mapping, "such as {'K': 16}")
        for dim, extent in self.extents.items():
            if dim not in DIMS:
                raise LayerError(f"unknown dimension {quoted(dim)}; allowed: {', '.join(DIMS)}")
            require_integer(f"extent of {dim}", extent, LayerError)
        for what in ("stride", "dilation"):
            values = getattr(self, what)
            if not isinstance(values, tuple | list) or len(values) != len(_OUTPUTS):
                raise ArgumentTypeError(
                    f"{what} is {quoted(values)}; allowed: a pair, of rows and of columns"
                )
            pair = tuple(require_integer(what, each, LayerError, most=_FARTHEST) for each in values)
            object.__setattr__(self, what, pair)

    @classmethod
    def of(cls, layer: Layer, dilation: tuple[int, int] = (1, 1)) -> Shape:
        """Return the loops of a layer whose windows have some dilation.

        Raises:
            LayerError: a transposed layer, or a dilated window that is larger than the input.
        """
        if layer.operator == "TRCONV":
            raise LayerError(f"layer {layer} is transposed; allowed: other operators")
        spread = cls({}, dilation=dilation).dilation
        extents = {_OWN.get(loop, loop): size for loop, size in nest(layer).items()}
        loops = {dim: loop_of(layer, dim) for dim in layer.loop_extents}
        names = {dim: _OWN.get(loop, loop) for dim, loop in loops.items()}
        pairs = zip(_OUTPUTS.items(), layer.stride, spread, strict=True)
        for (dim, (axis, window)), stride, step in pairs if layer.is_convolution else ():
            reach = (layer.extents[window] - 1) * step + 1
            if reach > layer.extents[axis]:
                raise LayerError(
                    f"layer {layer}: a window {window} = {layer.extents[window]} of dilation "
                    f"{step} is larger than the input {axis} = {layer.extents[axis]}"
                )
            extents[dim] = (layer.extents[axis] - reach) // stride + 1
        return cls(extents, layer.stride, dilation, names)

    @property
    def macs(self) -> int:
        """Multiply-accumulates."""
        return math.prod(self.extents.values())

    def dim(self, name: str) -> int | None:
        """Return the number of a dimension by any of its names, None if there is none."""
        known = self.names.get(name, name)
        return DIMS.index(known) if known in DIMS else None

    def name(self, number: int) -> str:
        """Return the name of a dimension that the layer has for it, else that of ``DIMS``."""
        own = {dim: name for name, dim in self.names.items()}
        return own.get(DIMS[number], DIMS[number])

    @property
    def sizes(self) -> dict[str, int]:
        """Extents of all of ``DIMS``."""
        return {dim: self.extents.get(dim, 1) for dim in DIMS}

    def native(self) -> list[int]:
        """Return all extents in the order of ``DIMS``."""
        return [*self.sizes.values()]


@dataclass(frozen=True)
class Cut:
    """A loop of a mapping (docs/spec/hierarchy.md, H2).

    Args:
        dim: of ``DIMS``.
        extent: of the largest box that the loop gets.
        tile: of its chunks, at most the extent.
    """

    dim: str
    extent: int
    tile: int

    @property
    def chunks(self) -> int:
        """Chunks of the largest box."""
        return math.ceil(self.extent / self.tile)


def cuts_of(shape: Shape, mapping: Sequence[Sequence[tuple[str, int]]]) -> list[list[Cut]]:
    """Return the loops of each element of a mapping that has results, outermost first."""
    box = shape.sizes
    found = []
    for loops in mapping:
        cuts = []
        for name, tile in loops:
            dim = DIMS[shape.dim(name) or 0]
            cuts.append(Cut(dim, box[dim], min(tile, box[dim])))
            box[dim] = cuts[-1].tile
        found.append(cuts)
    return found


def units_of(cuts: Sequence[Cut]) -> int:
    """Return the instances at work that the loops of a fan-out make."""
    return math.prod(cut.chunks for cut in cuts)
