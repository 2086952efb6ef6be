"""Reads a row of the reference format for the simulator: layer, levels, status (E1, E2, E7).

Part of the test oracle, so it shares no code with the implementation. Numbers E1 ... E11 are the
sections of the specification of the exact model.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

DIMS = "NGKCPQRS"
MAX_LEVELS = 4

Box = tuple[range, ...]  # one range per canonical dimension, in the order of DIMS

# Canonical dimension of each name that a layer and its directives use, without Y and X (E1).
CONV = {"K": "K", "C": "C", "R": "R", "S": "S", "N": "N"}
NAMES = {
    "CONV": CONV,
    "NGCONV": CONV | {"G": "G"},
    "DSCONV": {"C": "G", "R": "R", "S": "S", "N": "N", "K": "K"},
    "GEMM": {"M": "P", "K": "C", "N": "K"},
    "FC": CONV,
}
OUTPUT_NAMES = {"Y": "P", "Y'": "P", "P": "P", "X": "Q", "X'": "Q", "Q": "Q"}
DEFAULTS = {"CONV": "N", "NGCONV": "N", "DSCONV": "NK", "GEMM": "", "FC": "NRS"}


class RefusedError(Exception):
    """The row has no results; carries its status of E7."""

    def __init__(self, status: str) -> None:
        super().__init__(status)
        self.status = status


def demand(condition: bool, status: str) -> None:
    """Refuse the row unless the condition holds."""
    if not condition:
        raise RefusedError(status)


@dataclass(frozen=True)
class Layer:
    """The eight loops (E1); `names` maps directive names to dimensions, `sizes` serves Sz(D)."""

    type: str
    box: Box
    strides: tuple[int, int]
    names: dict[str, str]
    sizes: dict[str, int]

    @property
    def macs(self) -> int:
        return math.prod(map(len, self.box))


@dataclass(frozen=True)
class Directive:
    """A Map(size, offset) name of the mapping file."""

    name: str
    size: int
    offset: int
    spatial: bool


@dataclass(frozen=True)
class Loop:
    """One loop of a level; the tile is clipped to the largest extent the level can receive."""

    dim: int
    tile: int
    spatial: bool


@dataclass(frozen=True)
class Level:
    """Loops, outermost first, and the number of units that share the spatial one."""

    units: int
    loops: tuple[Loop, ...]


def check_hardware(hw: dict[str, Any]) -> None:
    """Refuse hardware without units or bandwidth."""
    counts = [hw[name] for name in ("num_pes", "noc_bw", "offchip_bw", "simd")]
    demand(min(*counts, hw.get("hops", 1)) >= 1, "bad_hw")
    demand(hw["hop_latency"] >= 0, "bad_hw")
    for name in ("offchip_cost", "l1_macs", "l2_macs", "noc_macs", "mac_nj"):
        demand(0 <= hw.get(name, 1) <= 1e9, "bad_hw")
    demand(hw.get("mac_nj", 1) > 0, "bad_hw")


def latency_of(hw: dict[str, Any]) -> int:
    """Return the cycles a word is on its way (E3.4)."""
    return hw.get("hops", 1) * hw["hop_latency"]


def read_layer(row: dict[str, Any]) -> Layer:
    """Return the canonical layer of a row."""
    kind = row["type"]
    demand(kind in NAMES, "bad_layer")
    strides = (1, 1) if kind == "GEMM" else tuple(row["stride"] or (1, 1))
    sizes = dict.fromkeys(DEFAULTS[kind], 1) | row["dims"]
    demand(min(*strides, *sizes.values()) >= 1, "bad_layer")
    names = NAMES[kind]
    if kind != "GEMM":
        names = names | OUTPUT_NAMES
        add_outputs(sizes, ("Y", "Y'", "P"), "R", strides[0], kind)
        add_outputs(sizes, ("X", "X'", "Q"), "S", strides[1], kind)
    demand(all(name in sizes for name in names), "bad_layer")
    demand(kind != "DSCONV" or sizes["K"] == 1, "bad_layer")
    extents = {dim: sizes[name] for name, dim in names.items() if name not in "YX"}
    box = tuple(range(extents.get(dim, 1)) for dim in DIMS)
    return Layer(kind, box, strides, names, sizes)


def add_outputs(
    sizes: dict[str, int], axis: tuple[str, str, str], window: str, stride: int, kind: str
) -> None:
    """Complete `sizes` by the input and the output extent of one sliding axis."""
    rows, outputs, alias = axis
    demand(window in sizes, "bad_layer")
    if rows not in sizes and outputs in sizes:
        sizes[rows] = (sizes[outputs] - 1) * stride + sizes[window]
    elif kind == "FC":
        sizes.setdefault(rows, 1)
    demand(sizes.get(rows, 0) >= sizes[window], "bad_layer")
    sizes[outputs] = sizes[alias] = (sizes[rows] - sizes[window]) // stride + 1


def tokens_of(texts: Iterable[str]) -> Iterator[str]:
    """Cut directive texts as MAESTRO S1.1 does; a token that begins with // ends its line."""
    for line in "\n".join(texts).split("\n"):
        for token in re.split(r"[ ,\->():\t;]+", line):
            if token.startswith("//"):
                break
            if token:
                yield token


def read_number(tokens: Iterator[str], layer: Layer) -> int:
    """Read a positive integer or Sz(D)."""
    token = next(tokens, "")
    if token == "Sz":
        name = next(tokens, "")
        demand(name in layer.names, "bad_tile")
        return layer.sizes[name]
    demand(re.fullmatch("[0-9]+", token) is not None and int(token) >= 1, "bad_tile")
    return int(token)


def read_directives(texts: Iterable[str], layer: Layer) -> tuple[list[list[Directive]], list[int]]:
    """Return the directives of each level and the cluster sizes between the levels."""
    tokens = tokens_of(texts)
    levels: list[list[Directive]] = [[]]
    clusters: list[int] = []
    for token in tokens:
        if token == "Cluster":
            clusters.append(read_number(tokens, layer))
            demand(next(tokens, "") in ("P", "L"), "bad_tile")
            levels.append([])
            continue
        demand(token in ("TemporalMap", "SpatialMap"), "bad_tile")
        size, offset = read_number(tokens, layer), read_number(tokens, layer)
        found = Directive(next(tokens, ""), size, offset, token == "SpatialMap")
        demand(found.name in layer.names, "bad_tile")
        if layer.type != "DSCONV" or found.name != "K" or found.spatial:
            dim = layer.names[found.name]
            demand(all(layer.names[other.name] != dim for other in levels[-1]), "bad_tile")
            levels[-1].append(found)
    demand(any(levels) or bool(clusters), "bad_tile")
    return levels, clusters


def read_loop(found: Directive, layer: Layer, limits: list[int]) -> Loop:
    """Return a loop; `limits` are the largest extents that its level can receive (E2.3)."""
    dim = DIMS.index(layer.names[found.name])
    tile, offsets = found.size, {found.size}
    if found.name in ("Y", "X"):
        window = layer.sizes["R" if found.name == "Y" else "S"]
        stride = layer.strides["YX".index(found.name)]
        demand(found.size >= window, "coverage")
        tile = (found.size - window) // stride + 1
        offsets = {tile, tile * stride}
    demand(tile >= limits[dim] or found.offset in offsets, "coverage")
    return Loop(dim, min(tile, limits[dim]), found.spatial)


def read_levels(row: dict[str, Any], layer: Layer) -> list[Level]:
    """Return the levels of a row's dataflow."""
    directives, clusters = read_directives(row["dataflow"], layer)
    demand(len(directives) <= MAX_LEVELS, "too_many_levels")
    pes = row["hw"]["num_pes"]
    demand(math.prod(clusters) <= pes, "cluster_exceeds_pes")
    limits = [len(extent) for extent in layer.box]
    levels = []
    for units, found in zip([pes // math.prod(clusters), *clusters], directives, strict=True):
        loops = []
        for directive in found:
            loops.append(read_loop(directive, layer, limits))
            limits[loops[-1].dim] = loops[-1].tile
        demand(sum(loop.spatial for loop in loops) == 1, "bad_spatial")
        levels.append(Level(units, tuple(loops)))
    return levels


def prepare(row: dict[str, Any]) -> tuple[Layer, list[Level]]:
    """Return layer and levels, or raise RefusedError: the statuses of E7 up to overflow."""
    check_hardware(row["hw"])
    layer = read_layer(row)
    levels = read_levels(row, layer)
    bound = layer.macs * (1 + 2 * len(levels) * (1 + latency_of(row["hw"])))
    demand(bound < 2**60, "overflow")
    return layer, levels


def static_status(row: dict[str, Any]) -> str | None:
    """Return the status of a row that has no results, else None; executes nothing."""
    try:
        prepare(row)
    except RefusedError as refused:
        return refused.status
    return None
