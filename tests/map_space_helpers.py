"""What the tests of the map space share: a layer, a machine and drawn spaces."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from maestro_env import _native
from maestro_env.accelerators.hardware import Hardware
from maestro_env.mapspace.space import TILES
from maestro_env.mapspace.two_level_space import SCHEMAS, MapSpace
from maestro_env.workloads.layer import Layer

CONV = Layer("CONV", {"K": 6, "C": 5, "Y": 9, "X": 8, "R": 3, "S": 2}, name="conv")
PES = Hardware(num_pes=12)


def column(metrics: np.ndarray, name: str) -> np.ndarray:
    return metrics[:, _native.METRICS.index(name)]


@st.composite
def layers(draw: st.DrawFn) -> Layer:
    operator = draw(st.sampled_from(["CONV", "TRCONV", "DSCONV", "NGCONV", "GEMM"]))
    size = st.integers(1, 12)
    if operator == "GEMM":
        return Layer("GEMM", {name: draw(size) for name in "MNK"})
    channels = {"DSCONV": "C", "NGCONV": "GKC"}.get(operator, "KC")
    extents = {name: draw(size) for name in channels}
    for axis, window in ("YR", "XS"):
        extents[window] = draw(st.integers(1, 4))
        extents[axis] = extents[window] + draw(st.integers(0, 12))
    if draw(st.booleans()):
        extents["N"] = draw(st.integers(1, 4))
    stride = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    return Layer(operator, extents, stride)


machines = st.builds(
    Hardware,
    num_pes=st.integers(1, 300),
    noc_bw=st.sampled_from([1, 7, 64, 2**30]),
    offchip_bw=st.sampled_from([1, 5, 2**30]),
    noc_hops=st.integers(0, 2),
    noc_hop_latency=st.integers(0, 2),
    simd_lanes=st.integers(1, 4),
)


@st.composite
def spaces(draw: st.DrawFn, schemas: tuple[str, ...] = tuple(SCHEMAS)) -> MapSpace:
    schema = draw(st.sampled_from(schemas))
    return MapSpace(draw(layers()), draw(machines), schema, draw(st.sampled_from(TILES)))


def points(space: MapSpace) -> st.SearchStrategy[np.ndarray]:
    entries = st.tuples(*(st.integers(0, int(size) - 1) for size in space.sizes))
    return entries.map(lambda entries: np.array(entries, dtype=np.int32))


spaces_and_points = spaces().flatmap(lambda space: st.tuples(st.just(space), points(space)))
