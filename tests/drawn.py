"""Layers, machines, points and directive lists drawn from a seed.

The generator is SplitMix64, so that the same seed gives the same input with every version of Python
and numpy: digests in ``tests/data`` belong to these inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from maestro_env.accelerators.hardware import Hardware
from maestro_env.mapspace.space import Points
from maestro_env.mapspace.two_level_space import MapSpace
from maestro_env.workloads.finding import find_layer
from maestro_env.workloads.layer import Layer

T = TypeVar("T")
Directive = tuple[str, str, int, int]

TILES = ("integers", "divisors")
LAYERS = (
    *("mobilenetv2_l0", "mobilenetv2_l1", "mobilenetv2_l2", "mobilenetv2_l10", "mobilenetv2_l52"),
    *("resnet18_l0", "resnet18_l2", "resnet18_l7", "resnet18_l16", "resnet18_l20"),
    *("resnet50_l10", "resnet50_l40", "vgg16_l2", "vgg16_l9", "vgg16_l13"),
    *("alexnet_l0", "alexnet_l3", "gpt2_l1", "gpt2_l4", "bert_base_l2"),
)
OPERATORS = ("CONV", "TRCONV", "DSCONV", "NGCONV", "GEMM")
ABSURD = (2**31 - 1, 2**31 - 2, 2**30, 2**30 + 1, 2**29, 10**6, 65536, 65535, 46341, 46340, 4097)
NOT_SIZES = (0, -1, -(2**31))
WINDOWS = {"Y": "R", "X": "S"}

_STEP = 0x9E3779B97F4A7C15
_FACTORS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
_MASK = 2**64 - 1


class Draws:
    """SplitMix64, begun by some numbers."""

    def __init__(self, *seed: int) -> None:
        self._state = 0
        for number in seed:
            self._state = (self.bits() ^ number) & _MASK

    def bits(self) -> int:
        """Return 64 random bits."""
        self._state = (self._state + _STEP) & _MASK
        bits = self._state
        for shift, factor in _FACTORS:
            bits = (bits ^ (bits >> shift)) * factor & _MASK
        return bits ^ (bits >> 31)

    def between(self, low: int, high: int) -> int:
        """Return an integer, both ends included."""
        return low + self.bits() % (high - low + 1)

    def one_of(self, items: Sequence[T]) -> T:
        return items[self.bits() % len(items)]

    def chance(self, percent: float) -> bool:
        return self.between(0, 9999) < percent * 100

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in another order."""
        return [
            item for _, _, item in sorted((self.bits(), i, item) for i, item in enumerate(items))
        ]

    def table(self, rows: int, choices: Sequence[int]) -> Points:
        """Return int32[rows, D], of a column's number of choices each."""
        count = rows * len(choices)
        bits = np.uint64(self.bits()) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(_STEP)
        for shift, factor in _FACTORS:
            bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
        bits ^= bits >> np.uint64(31)
        table = bits.reshape(rows, len(choices)) % np.array(choices, dtype=np.uint64)
        return table.astype(np.int32)


# --- Points of map spaces -----------------------------------------------------------------------


def layer(draws: Draws) -> Layer:
    """Draw a layer of the zoo or, twice as often, one of any operator, batch and strides."""
    if draws.chance(33):
        found = find_layer(draws.one_of(LAYERS))
        return Layer(found.operator, dict(found.extents), found.stride)
    operator = draws.one_of(OPERATORS)
    largest = draws.one_of((6, 30, 300))

    def size() -> int:
        return draws.between(1, largest)

    if operator == "GEMM":
        return Layer(operator, {name: size() for name in "MNK"})
    channels = {"DSCONV": "C", "NGCONV": "GKC"}.get(operator, "KC")
    extents = {name: size() for name in (*channels, *("N" * draws.chance(30)))}
    for axis, window in WINDOWS.items():
        extents[window] = draws.between(1, 5)
        extents[axis] = extents[window] + size() - 1
    return Layer(operator, extents, (draws.between(1, 4), draws.between(1, 4)))


def hardware(draws: Draws) -> Hardware:
    """Draw an unlimited machine, one like Eyeriss or a TPU or, as often as these, any."""
    if draws.chance(50):
        known = ((1024,), (168, 512, 108_000, 64, 16), (65_536, 512, 24 * 2**20, 1024, 49))
        return Hardware(*draws.one_of(known))
    bandwidths = (1, 7, 64, 1000, 2**30)
    return Hardware(
        num_pes=draws.between(1, 1024),
        l1_bytes=draws.one_of((64, 512, 2**30)),
        l2_bytes=draws.one_of((2000, 108_000, 2**30)),
        noc_bw=draws.one_of(bandwidths),
        offchip_bw=draws.one_of(bandwidths),
        noc_hops=draws.between(0, 2),
        noc_hop_latency=draws.between(0, 2),
        simd_lanes=draws.one_of((1, 1, 4)),
        offchip_cost_macs=draws.one_of((0.0, 200.0)),
    )


def points(draws: Draws, space: MapSpace, count: int) -> Points:
    """Draw vectors of a space, half of them with small sizes."""
    choices = [parameter.choices for parameter in space.parameters]
    drawn = draws.table(count, choices)
    widths = [
        parameter.choices.bit_length() if parameter.is_size else 1 for parameter in space.parameters
    ]
    shifts = draws.table(count // 2, widths)
    drawn[: len(shifts)] >>= shifts
    return drawn


# --- Directive lists ----------------------------------------------------------------------------


def any_layer(draws: Draws) -> tuple[str, dict[str, int], list[tuple[str, int]]]:
    """Draw operator, extents and strides.

    Any operator, input or output extents, a batch, a foreign dimension.
    """
    operator = draws.one_of(OPERATORS)
    largest = 1999 if draws.chance(20) else 19

    def extent() -> int:
        return draws.between(1, largest)

    extents = {name: extent() for name in ("MNK" if operator == "GEMM" else "KCYXRS")}
    if operator == "GEMM":
        return operator, extents, []
    for axis, window in WINDOWS.items():
        extents[window] = draws.between(1, 7)
        extents[axis] += extents[window] - 1
    if operator == "NGCONV":
        extents["G"] = extent()
    if operator == "DSCONV" and draws.chance(70):
        del extents["K"]
    for name, percent in (("N", 20), ("Q", 5)):
        if draws.chance(percent):
            extents[name] = extent()
    if draws.chance(2):
        extents[draws.one_of([dim for dim in extents if dim in "KCYX"])] = draws.one_of(ABSURD)
    if draws.chance(20):
        extents = {f"{name}'" if name in WINDOWS else name: each for name, each in extents.items()}
    strides = [(axis, draws.between(1, 4)) for axis in WINDOWS] if draws.chance(40) else []
    return operator, extents, strides


def _size(draws: Draws, extent: int) -> int:
    kind = draws.between(0, 999)
    if kind < 300:
        return 1
    if kind < 500:
        return extent
    if kind < 850:
        return draws.between(1, min(extent + 2, 2**31 - 2))
    return draws.one_of(ABSURD if kind < 995 else NOT_SIZES)


def _level(draws: Draws, extents: dict[str, int], partitions: float) -> list[Directive]:
    """Loops of one level: some left out, some twice, primed or not, windows often whole."""
    dims = [dim for dim in extents if draws.chance(80)]
    if draws.chance(10):
        dims.append(draws.one_of([*extents, "X'", "Y'", "X", "Y", "Z"]))
    dims = draws.shuffled(dims)
    parallel = {draws.one_of(dims) for _ in range(1 + draws.chance(15))} if dims else set()
    level = []
    for dim in dims:
        size = _size(draws, extents.get(dim, 4))
        if dim in ("R", "S") and draws.chance(90):
            size = extents.get(dim, 1)
        kind = "SpatialMap" if dim in parallel else "TemporalMap"
        name = f"{dim}'" if dim in WINDOWS and draws.chance(50) else dim
        offset = size if draws.chance(partitions) else _size(draws, extents.get(dim, 4))
        level.append((kind, name, size, offset))
    return level


def directives(draws: Draws, extents: dict[str, int], partitions: float) -> list[Directive]:
    """Draw one to six levels; ``partitions``: percent of loops whose tiles neither overlap nor
    skip.
    """
    clusters = draws.one_of((*(0,) * 25, *(1,) * 35, *(2,) * 20, *(3,) * 14, *(4,) * 3, *(5,) * 3))
    drawn = _level(draws, extents, partitions)
    for _ in range(clusters):
        size = draws.one_of((1, 2, 3, 4, 8, 16)) if draws.chance(97) else 2**31 - 1
        kind = "Cluster" if draws.chance(99.5) else "malformed"
        drawn += [(kind, "", size, size), *_level(draws, extents, partitions)]
    return drawn


def any_machine(draws: Draws) -> dict[str, int | None]:
    """Draw a machine, now and then with no PE or no bandwidth."""

    def capacity() -> int | None:
        return draws.one_of((64, 2000, 108_000)) if draws.chance(30) else None

    return {
        "num_pes": draws.one_of((1, 7, 64, 168, 1024, 4096, 65536)) * draws.chance(99.8),
        "simd_lanes": draws.one_of((1, 1, 4, 16)),
        "noc_bw": draws.one_of((1, 8, 64, 2**30, 2**31 - 1)) * draws.chance(99),
        "noc_latency": draws.one_of((0, 1, 5, 2**31 - 1)),
        "offchip_bw": draws.one_of((1, 16, 70000, 2**31 - 1)),
        "l1_bytes": capacity(),
        "l2_bytes": capacity(),
    }
